"""A convolutional network on digits: Sequential, callbacks, checkpoints, saving and loading.

    python -m weir examples/python/sequential.py        # or with TensorFlow: python examples/python/sequential.py
"""

import argparse
import os
import tempfile

import digits
import keras
import numpy as np


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--train", type=int, default=4000)
    arguments = parser.parse_args()
    keras.utils.set_random_seed(1)
    (x, y), (x_test, y_test) = digits.load(arguments.train, 1000)
    layers = keras.layers
    model = keras.Sequential([
        keras.Input((28, 28, 1)), layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dropout(0.3),
        layers.Dense(10, activation="softmax")])
    model.summary()
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    with tempfile.TemporaryDirectory() as folder:
        best = os.path.join(folder, "best.keras")
        model.fit(x, y, epochs=arguments.epochs, batch_size=64, validation_split=0.1, verbose=2, callbacks=[
            keras.callbacks.ModelCheckpoint(best, save_best_only=True),
            keras.callbacks.EarlyStopping(patience=2),
            keras.callbacks.CSVLogger(os.path.join(folder, "log.csv"))])
        loaded = keras.models.load_model(best)
    loss, accuracy = loaded.evaluate(x_test, y_test, verbose=0)
    print(f"test loss {loss:.4f}, accuracy {accuracy:.1%}; the first digits are "
          f"{np.argmax(loaded.predict(x_test[:5], verbose=0), -1).tolist()} and should be {y_test[:5].tolist()}")


if __name__ == "__main__":
    main()
