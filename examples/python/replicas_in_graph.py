"""In-graph replication: one program builds the model once for each device, and averages the gradients.

    python -m weir examples/python/replicas_in_graph.py --replicas 4
"""

import argparse

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def loss_of(x, y):
    """One replica's loss. All replicas share the variables."""
    with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
        weights = tf.get_variable("weights", [4, 1], initializer=tf.zeros_initializer())
        bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
    return tf.reduce_mean(tf.square(tf.matmul(x, weights) + bias - y))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--device", default="/cpu:0", help='of each replica; "/gpu:{}" spreads them over GPUs')
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()

    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.placeholder(tf.float32, [None, 1])
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    losses, gradients = [], []
    for i, (part_x, part_y) in enumerate(zip(tf.split(x, options.replicas), tf.split(y, options.replicas))):
        with tf.device(options.device.format(i)), tf.name_scope("replica_%d" % i):
            losses.append(loss_of(part_x, part_y))
            gradients.append(optimizer.compute_gradients(losses[-1]))
    averaged = [(tf.reduce_mean(tf.stack([gradient for gradient, _ in pairs]), 0), pairs[0][1])
                for pairs in zip(*gradients)]
    train_step = optimizer.apply_gradients(averaged)
    loss = tf.reduce_mean(tf.stack(losses))

    random = np.random.RandomState(0)
    data = random.rand(16 * options.replicas, 4).astype("float32")
    target = data @ np.float32([[1], [2], [3], [4]]) + 0.5
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss, {x: data, y: target})
        for _ in range(options.steps):
            session.run(train_step, {x: data, y: target})
        print("loss %.4f before, %.4f after %d steps" % (before, session.run(loss, {x: data, y: target}), options.steps))


if __name__ == "__main__":
    main()
