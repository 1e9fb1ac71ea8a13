"""A small transformer, trained to write a word backwards: "drawer>" is continued by "reward.".

    python -m weir examples/python/transformer.py       # or with TensorFlow: python examples/python/transformer.py
"""

import argparse

import keras
import numpy as np
import tensorflow as tf

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIGNS = " " + LETTERS + ">."  # number 0 fills up


def make_texts(count, longest, rng):
    """Rows of sign numbers: a word, ">", the word backwards, "."."""
    rows = np.zeros((count, 2 * longest + 2), np.int32)
    for row in rows:
        word = rng.randint(1, 1 + len(LETTERS), rng.randint(2, longest + 1))
        text = [*word, SIGNS.index(">"), *word[::-1], SIGNS.index(".")]
        row[:len(text)] = text
    return rows


class Block(keras.layers.Layer):
    """Attention to what came before, then two dense layers, each added to its input."""

    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.attention = keras.layers.MultiHeadAttention(heads, width // heads)
        self.dense = keras.Sequential([keras.layers.Dense(4 * width, "gelu"), keras.layers.Dense(width)])
        self.norms = [keras.layers.LayerNormalization(), keras.layers.LayerNormalization()]

    def call(self, x):
        y = self.norms[0](x)
        x = x + self.attention(y, y, use_causal_mask=True)
        return x + self.dense(self.norms[1](x))


class Transformer(keras.Model):
    def __init__(self, length, width, heads, depth, **kwargs):
        super().__init__(**kwargs)
        self.signs = keras.layers.Embedding(len(SIGNS), width)
        self.places = keras.layers.Embedding(length, width)
        self.blocks = [Block(width, heads) for _ in range(depth)]
        self.norm = keras.layers.LayerNormalization()
        self.scores = keras.layers.Dense(len(SIGNS))

    def call(self, rows):
        x = self.signs(rows) + self.places(tf.range(tf.shape(rows)[1]))
        for block in self.blocks:
            x = block(x)
        return self.scores(self.norm(x))


def loss_of(labels, scores):
    """The mean over the signs after ">": the words themselves cannot be guessed."""
    after = tf.cumsum(tf.cast(tf.equal(labels, SIGNS.index(">")), tf.float32), 1, exclusive=True)
    weights = after * tf.cast(labels > 0, tf.float32)
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(labels, tf.int32), scores)
    return tf.reduce_sum(each * weights) / tf.reduce_sum(weights)


def continued(model, word, length):
    """What the model writes after a word."""
    rows = np.zeros((1, length), np.int32)
    rows[0, :len(word) + 1] = [SIGNS.index(sign) for sign in word + ">"]
    for i in range(len(word) + 1, length):
        rows[0, i] = int(tf.argmax(model(rows)[0, i - 1]))
        if SIGNS[rows[0, i]] == ".":
            break
    return "".join(SIGNS[n] for n in rows[0, len(word) + 1:]).strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--longest", type=int, default=6)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--depth", type=int, default=2)
    arguments = parser.parse_args()
    keras.utils.set_random_seed(1)
    rng = np.random.RandomState(1)
    length = 2 * arguments.longest + 2
    model = Transformer(length, arguments.width, heads=4, depth=arguments.depth)
    schedule = keras.optimizers.schedules.CosineDecay(0.0, arguments.steps, warmup_target=3e-3,
                                                      warmup_steps=max(1, arguments.steps // 10))
    model.compile(keras.optimizers.AdamW(schedule, weight_decay=0.01), loss_of)
    texts = make_texts(64 * arguments.steps, arguments.longest, rng)
    dataset = tf.data.Dataset.from_tensor_slices((texts[:, :-1], texts[:, 1:])).batch(64)
    model.fit(dataset, verbose=0)
    test = make_texts(64, arguments.longest, rng)
    loss = model.evaluate(test[:, :-1], test[:, 1:], verbose=0)
    print(f"{model.count_params()} parameters, {arguments.steps} steps")
    print(f"test loss {loss:.3f}; 'drawer' backwards: {continued(model, 'drawer'[:arguments.longest], length)!r}")


if __name__ == "__main__":
    main()
