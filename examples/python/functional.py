"""A model of two inputs and two outputs by the functional interface: words and numbers in, a class and a price out.

    python -m weir examples/python/functional.py        # or with TensorFlow: python examples/python/functional.py
"""

import argparse

import keras
import numpy as np
import tensorflow as tf

WORDS = "old new small large red blue house boat car".split()


def goods(count, rng):
    """Descriptions and sizes of goods, their kind and their price."""
    adjectives, kinds = rng.randint(0, 6, (count, 2)), rng.randint(0, 3, count)
    text = [" ".join([WORDS[a], WORDS[b], WORDS[6 + k]]) for (a, b), k in zip(adjectives, kinds)]
    size = rng.rand(count, 1).astype("float32")
    price = (kinds[:, None] + 1) * (1 + size) + (adjectives == 1).sum(1, keepdims=True)
    return {"text": np.array(text)[:, None], "size": size}, {"kind": kinds, "price": price.astype("float32")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--count", type=int, default=2000)
    arguments = parser.parse_args()
    keras.utils.set_random_seed(1)
    inputs, targets = goods(arguments.count, np.random.RandomState(0))

    vectorize = keras.layers.TextVectorization(output_mode="int", output_sequence_length=3)
    vectorize.adapt(inputs["text"][:, 0])
    text = keras.Input((1,), dtype="string", name="text")
    size = keras.Input((1,), name="size")
    words = keras.layers.Embedding(vectorize.vocabulary_size(), 8)(vectorize(text))
    joined = keras.layers.Concatenate()([keras.layers.Flatten()(words), size])
    hidden = keras.layers.Dense(32, activation="relu")(joined)
    model = keras.Model({"text": text, "size": size}, {
        "kind": keras.layers.Dense(3, activation="softmax", name="kind")(hidden),
        "price": keras.layers.Dense(1, name="price")(hidden)})
    model.compile("adam", {"kind": "sparse_categorical_crossentropy", "price": "mse"},
                  loss_weights={"kind": 1.0, "price": 0.5}, metrics={"kind": ["accuracy"]})
    dataset = tf.data.Dataset.from_tensor_slices((inputs, targets)).shuffle(1000, seed=1).batch(50).prefetch(2)
    history = model.fit(dataset, epochs=arguments.epochs, verbose=0)
    print(f"loss {history.history['loss'][0]:.3f} -> {history.history['loss'][-1]:.3f}")
    told = model.predict({"text": tf.constant([["new large boat"]]), "size": tf.constant([[0.5]])}, verbose=0)
    kind, price = WORDS[6 + int(np.argmax(told["kind"]))], float(told["price"][0, 0])
    print(f"'new large boat' of size 0.5: a {kind}, {price:.1f}")


if __name__ == "__main__":
    main()
