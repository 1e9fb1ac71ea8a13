"""Trains with Keras for 100 steps, by itself or as a worker of TF_CONFIG, and prints the losses of all steps, of `fit`
and of `evaluate`. For multi_worker_test.py, which compares one process with two; runs on TensorFlow as it is, alone."""

import json
import os
import sys

import numpy as np
import tensorflow as tf

DEVICES = int(sys.argv[1])
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0],
                                           [tf.config.LogicalDeviceConfiguration()] * DEVICES)
if DEVICES > 1:  # as if the worker had several GPUs
    tf.distribute.MultiWorkerMirroredStrategy._local_devices = staticmethod(lambda: [f"CPU:{i}" for i in range(DEVICES)])
strategy = tf.distribute.MultiWorkerMirroredStrategy() if "TF_CONFIG" in os.environ else tf.distribute.get_strategy()
import keras  # noqa: E402

keras.utils.set_random_seed(1)
BATCH, STEPS = 16, 25
rng = np.random.RandomState(0)
x = rng.normal(size=(BATCH * STEPS, 6)).astype("float32")
y = (x[:, :1] > x[:, 1:2]).astype("float32")


def network():
    inputs = keras.Input((6,))
    hidden = keras.layers.Dense(8, "tanh")(inputs)
    return keras.Model(inputs, keras.layers.Dense(1)(hidden))


with strategy.scope():
    model = network()
    model.compile(keras.optimizers.Adam(0.02), keras.losses.BinaryCrossentropy(from_logits=True), metrics=["accuracy"],
                  steps_per_execution=5)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)
history = model.fit(dataset, epochs=4, verbose=0).history
evaluated = model.evaluate(x[:90], y[:90], batch_size=32, verbose=0)
predicted = model.predict(x[:21], batch_size=8, verbose=0)

with strategy.scope():
    own, optimizer = network(), keras.optimizers.Adam(0.02)
    optimizer.build(own.trainable_variables)


@tf.function
def step(data):
    def replica_step(inputs, labels):
        with tf.GradientTape() as tape:
            each = tf.nn.sigmoid_cross_entropy_with_logits(labels, own(inputs, training=True))
            loss = tf.nn.compute_average_loss(tf.squeeze(each, 1), global_batch_size=BATCH)
        optimizer.apply_gradients(zip(tape.gradient(loss, own.trainable_variables), own.trainable_variables))
        return loss
    return strategy.reduce("SUM", strategy.run(replica_step, args=data), axis=None)


shared = strategy.experimental_distribute_dataset(dataset)
losses = [float(step(data)) for _ in range(4) for data in shared]
print(json.dumps({"loss": history["loss"], "accuracy": history["accuracy"], "evaluated": evaluated,
                  "predicted": predicted.ravel().tolist(), "steps": losses}), flush=True)
