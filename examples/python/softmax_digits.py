"""Softmax regression on images of digits, as programs of 2015 wrote it: placeholders, a session, steps of mini-batches.

    python -m weir examples/python/softmax_digits.py             # or with TensorFlow: python softmax_digits.py
    python -m weir examples/python/softmax_digits.py mnist.npz   # real digits: x_train, y_train, x_test, y_test
"""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def make_digits(count, seed):
    """Noisy pictures of ten patterns, for a first try without a download."""
    patterns = np.random.RandomState(0).rand(10, 784)
    random = np.random.RandomState(seed)
    labels = random.randint(0, 10, count)
    images = 0.5 * patterns[labels] + 0.5 * random.rand(count, 784)
    return images.astype("float32"), np.eye(10, dtype="float32")[labels]


def load_digits(path):
    data = np.load(path)
    pairs = []
    for part in ("train", "test"):
        images = data["x_" + part].reshape(-1, 784).astype("float32") / 255
        pairs.append((images, np.eye(10, dtype="float32")[data["y_" + part]]))
    return pairs


def main(arguments):
    if len(arguments) > 1 and arguments[1].endswith(".npz"):
        (images, labels), (test_images, test_labels) = load_digits(arguments[1])
    else:
        images, labels = make_digits(2000, seed=1)
        test_images, test_labels = make_digits(500, seed=2)

    x = tf.placeholder(tf.float32, [None, 784])
    y = tf.placeholder(tf.float32, [None, 10])
    weights = tf.Variable(tf.zeros([784, 10]))
    biases = tf.Variable(tf.zeros([10]))
    logits = tf.matmul(x, weights) + biases
    cross_entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    train_step = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)
    correct = tf.equal(tf.argmax(logits, 1), tf.argmax(y, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))

    random = np.random.RandomState(3)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(300):
            batch = random.randint(0, len(images), 100)
            session.run(train_step, feed_dict={x: images[batch], y: labels[batch]})
            if step % 100 == 99:
                print("step %d: accuracy %.3f" % (step + 1, session.run(accuracy, {x: test_images, y: test_labels})))


if __name__ == "__main__":
    main(sys.argv)
