#!/usr/bin/env python3
"""Steps of `model.fit` with Keras on weir and on TensorFlow, by turns, with the ratio of their times.

    benchmarks/keras_fit.py --weir PYTHON --tensorflow PYTHON [--model NAME]... [--turns N]

`--weir` is a Python with keras and weir (PYTHONPATH is passed on), `--tensorflow` one with keras and tensorflow. For each
model: the seconds that building it takes, those up to the end of the first step, and the median milliseconds of a step.
A ratio below 1 means that weir is faster. Each turn is a new process, so compilation is measured, too.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time


def _cnn(keras):
    layers = keras.layers
    return keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
                             layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(),
                             layers.Dropout(0.5), layers.Dense(10, activation="softmax")]), (28, 28, 1), 10, 64


def _resnet(keras):
    layers = keras.layers

    def block(x, width, stride):
        y = layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
        y = layers.Activation("relu")(layers.BatchNormalization()(y))
        y = layers.BatchNormalization()(layers.Conv2D(width, 3, padding="same", use_bias=False)(y))
        if stride != 1:
            x = layers.Conv2D(width, 1, strides=stride, padding="same", use_bias=False)(x)
        return layers.Activation("relu")(layers.Add()([x, y]))

    inputs = keras.Input((32, 32, 3))
    x = layers.Activation("relu")(layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same", use_bias=False)(inputs)))
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        for i in range(3):
            x = block(x, width, stride if i == 0 else 1)
    outputs = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, outputs), (32, 32, 3), 10, 32


def _transformer(keras):
    layers = keras.layers
    inputs = keras.Input((32,), dtype="int32")
    x = layers.Embedding(1000, 64)(inputs)
    for _ in range(2):
        y = layers.MultiHeadAttention(4, 16)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, y]))
        y = layers.Dense(64)(layers.Dense(128, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, y]))
    outputs = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling1D()(x))
    return keras.Model(inputs, outputs), (32,), 10, 32


MODELS = {"mnist_cnn": _cnn, "resnet20": _resnet, "transformer": _transformer}


def measure(name, steps):
    """One process's measurements, printed as a line of JSON."""
    begin = time.perf_counter()
    import keras
    import numpy as np
    imported = time.perf_counter()
    keras.utils.set_random_seed(1)
    model, shape, classes, batch = MODELS[name](keras)
    built = time.perf_counter()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    rng = np.random.RandomState(0)
    x = rng.randint(0, 1000, (batch * steps,) + shape).astype("int32") if len(shape) == 1 else \
        rng.rand(batch * steps, *shape).astype("float32")
    y = rng.randint(0, classes, batch * steps)
    ends, losses = [], []

    class Clock(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            ends.append(time.perf_counter())
            losses.append(float(logs["loss"]))

    compiled = time.perf_counter()
    model.fit(x, y, batch_size=batch, verbose=0, shuffle=False, callbacks=[Clock()])
    durations = [b - a for a, b in zip(ends[5:], ends[6:])]
    print(json.dumps({"import_s": imported - begin, "build_s": built - imported, "first_step_s": ends[0] - compiled,
                      "step_ms": 1e3 * statistics.median(durations), "loss": losses[-1]}))


def run(python, is_weir, name, steps):
    command = [python] + (["-m", "weir"] if is_weir else []) + [os.path.abspath(__file__), "--measure", name, "--steps",
                                                                str(steps)]
    environment = dict(os.environ, KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    if not is_weir:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", default=sys.executable)
    parser.add_argument("--tensorflow")
    parser.add_argument("--model", action="append", choices=list(MODELS))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--measure", choices=list(MODELS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        return measure(arguments.measure, arguments.steps)
    for name in arguments.model or MODELS:
        results = {"weir": [], "tensorflow": []}
        for _ in range(arguments.turns):
            results["weir"].append(run(arguments.weir, True, name, arguments.steps))
            if arguments.tensorflow:
                results["tensorflow"].append(run(arguments.tensorflow, False, name, arguments.steps))
        for key in ("import_s", "build_s", "first_step_s", "step_ms", "loss"):
            mine = statistics.median(r[key] for r in results["weir"])
            line = f"{name:12} {key:13} weir {mine:9.4f}"
            if results["tensorflow"]:
                theirs = statistics.median(r[key] for r in results["tensorflow"])
                line += f"  tensorflow {theirs:9.4f}" + ("" if key == "loss" else f"  ratio {mine / theirs:5.2f}")
            print(line, flush=True)


if __name__ == "__main__":
    main()
