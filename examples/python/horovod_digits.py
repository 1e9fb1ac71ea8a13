"""Horovod's recipe: equal processes, each with its part of the data, gradients averaged.

    weir launch -n 2 -- python -m weir examples/python/horovod_digits.py
    python -m weir examples/python/horovod_digits.py                      # alone

With TensorFlow and Horovod: horovodrun -np 2 python examples/python/horovod_digits.py
"""

import argparse

import digits
import horovod.tensorflow.keras as hvd
import keras


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=50, help="pictures for each process in a step")
    arguments = parser.parse_args()

    hvd.init()
    keras.utils.set_random_seed(1)
    (x, y), test = digits.load(arguments.train, 500)
    x, y = x[hvd.rank()::hvd.size()], y[hvd.rank()::hvd.size()]  # this process's part
    model = keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
                              keras.layers.Flatten(), keras.layers.Dense(10)])
    rate = 0.001 * hvd.size()  # the batch is larger by so much
    model.compile(hvd.DistributedOptimizer(keras.optimizers.Adam(rate)),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    history = model.fit(x, y, batch_size=arguments.batch, epochs=arguments.epochs, verbose=0, callbacks=[
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        hvd.callbacks.MetricAverageCallback(),
        hvd.callbacks.LearningRateWarmupCallback(rate, warmup_epochs=2)])
    if hvd.rank() == 0:
        losses = history.history["loss"]
        print(f"{hvd.size()} processes: loss {losses[0]:.3f} -> {losses[-1]:.3f}, test accuracy "
              f"{model.evaluate(*test, verbose=0)[1]:.1%}", flush=True)


if __name__ == "__main__":
    main()
