"""A residual network, ResNet-20 unless told otherwise, on digits that are moved and turned a little.

    python -m weir examples/python/resnet.py            # or with TensorFlow: python examples/python/resnet.py
"""

import argparse

import digits
import keras
import tensorflow as tf


def block(x, width, stride):
    """Two convolutions, added to the input."""
    y = keras.layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(x)
    y = keras.layers.ReLU()(keras.layers.BatchNormalization()(y))
    y = keras.layers.Conv2D(width, 3, padding="same", use_bias=False)(y)
    y = keras.layers.BatchNormalization()(y)
    if stride != 1 or x.shape[-1] != width:
        x = keras.layers.BatchNormalization()(keras.layers.Conv2D(width, 1, strides=stride, use_bias=False)(x))
    return keras.layers.ReLU()(keras.layers.Add()([x, y]))


def resnet(blocks, width):
    inputs = keras.Input((28, 28, 1))
    x = keras.layers.Conv2D(width, 3, padding="same", use_bias=False)(inputs)
    x = keras.layers.ReLU()(keras.layers.BatchNormalization()(x))
    for stage in range(3):
        for i in range(blocks):
            x = block(x, width << stage, 2 if stage > 0 and i == 0 else 1)
    x = keras.layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, keras.layers.Dense(10, kernel_regularizer=keras.regularizers.L2(1e-4))(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--train", type=int, default=4000)
    parser.add_argument("--blocks", type=int, default=3, help="in each of three stages; 3 make a ResNet-20")
    parser.add_argument("--width", type=int, default=16)
    arguments = parser.parse_args()
    keras.utils.set_random_seed(1)
    (x, y), test = digits.load(arguments.train, 500)
    shift = keras.layers.RandomTranslation(0.1, 0.1, seed=1)
    turn = keras.layers.RandomRotation(0.03, seed=2)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(arguments.train, seed=1).batch(64).map(
        lambda pictures, labels: (turn(shift(pictures, training=True), training=True), labels)).prefetch(2)
    model = resnet(arguments.blocks, arguments.width)
    steps = arguments.epochs * -(-arguments.train // 64)
    rate = keras.optimizers.schedules.PiecewiseConstantDecay([steps // 2, steps * 3 // 4], [0.05, 0.01, 0.002])
    model.compile(keras.optimizers.SGD(rate, momentum=0.9, nesterov=True),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    history = model.fit(dataset, epochs=arguments.epochs, verbose=0).history
    print(f"ResNet-{6 * arguments.blocks + 2}, {model.count_params()} parameters: "
          f"loss {history['loss'][0]:.3f} -> {history['loss'][-1]:.3f}")
    print(f"test accuracy {model.evaluate(*test, verbose=0)[1]:.1%}")


if __name__ == "__main__":
    main()
