"""Training by hand: a tape, an optimizer, a tf.function over a dataset, and checkpoints to go on from.

    python -m weir examples/python/custom_loop.py       # or with TensorFlow: python examples/python/custom_loop.py
"""

import argparse
import os
import tempfile

import digits
import keras
import tensorflow as tf


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--train", type=int, default=4000)
    arguments = parser.parse_args()
    keras.utils.set_random_seed(1)
    (x, y), (x_test, y_test) = digits.load(arguments.train, 1000)
    model = keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Flatten(),
                              keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)])
    optimizer = keras.optimizers.Adam()
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    accuracy = keras.metrics.SparseCategoricalAccuracy()
    step = tf.Variable(0, dtype=tf.int64)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(4000, seed=1).batch(50)

    @tf.function
    def train_epoch():
        total = 0.0
        for pictures, labels in dataset:
            with tf.GradientTape() as tape:
                loss = loss_of(labels, model(pictures, training=True))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            step.assign_add(1)
            total += loss
        return total

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = tf.train.Checkpoint(step=step, weights=[v.value for v in model.variables])
        manager = tf.train.CheckpointManager(checkpoint, os.path.join(folder, "checkpoints"), max_to_keep=2)
        for epoch in range(arguments.epochs):
            before = int(step)
            total = train_epoch()
            print(f"epoch {epoch + 1}: loss {float(total) / (int(step) - before):.4f}")
            manager.save()
        for variable in model.variables:
            variable.assign(tf.zeros_like(variable))
        checkpoint.restore(manager.latest_checkpoint)
    accuracy.update_state(y_test, model(x_test))
    print(f"after {int(step)} steps and a restored checkpoint: test accuracy {float(accuracy.result()):.1%}")


if __name__ == "__main__":
    main()
