"""Two replicas on two logical CPUs: MirroredStrategy with `fit` and with a loop of one's own.

    python -m weir examples/python/mirrored.py          # or with TensorFlow: python examples/python/mirrored.py
"""

import argparse

import digits
import tensorflow as tf

tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0],
                                           [tf.config.LogicalDeviceConfiguration()] * 2)
import keras  # noqa: E402


def network():
    return keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
                             keras.layers.Flatten(), keras.layers.Dense(10)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--train", type=int, default=2000)
    arguments = parser.parse_args()
    (x, y), test = digits.load(arguments.train, 500)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    print(f"{strategy.num_replicas_in_sync} replicas")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = network()
        model.compile("adam", loss, metrics=["accuracy"])
    model.fit(x, y, batch_size=100, epochs=arguments.epochs, verbose=0)
    print(f"fit: test accuracy {model.evaluate(*test, verbose=0)[1]:.1%}")

    keras.utils.set_random_seed(1)
    batch = 100
    with strategy.scope():
        model, optimizer = network(), keras.optimizers.Adam()
        optimizer.build(model.trainable_variables)
    dataset = strategy.experimental_distribute_dataset(
        tf.data.Dataset.from_tensor_slices((x, y)).shuffle(2000, seed=1).batch(batch))

    @tf.function
    def step(data):
        def replica_step(pictures, labels):
            with tf.GradientTape() as tape:
                each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(pictures, training=True))
                mean = tf.nn.compute_average_loss(each, global_batch_size=batch)
            optimizer.apply_gradients(zip(tape.gradient(mean, model.trainable_variables), model.trainable_variables))
            return mean
        return strategy.reduce("SUM", strategy.run(replica_step, args=data), axis=None)

    losses = [float(step(data)) for _ in range(arguments.epochs) for data in dataset]
    print(f"own loop: loss {losses[0]:.3f} -> {losses[-1]:.3f}")


if __name__ == "__main__":
    main()
