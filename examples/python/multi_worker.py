"""Several workers, each with a part of every batch: MultiWorkerMirroredStrategy with a loop of one's own.

A worker learns from TF_CONFIG which one it is. Without TF_CONFIG the program starts two workers on this machine:

    python -m weir examples/python/multi_worker.py      # or with TensorFlow: python examples/python/multi_worker.py
"""

import argparse
import json
import os
import socket
import subprocess
import sys

import digits
import tensorflow as tf


def start_workers(count):
    """Starts this program as `count` workers, and waits for them."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"localhost:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    workers = []
    for i in range(count):
        config = json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": i}})
        workers.append(subprocess.Popen([sys.executable, *sys.orig_argv[1:]], env=dict(os.environ, TF_CONFIG=config)))
    return max(abs(worker.wait()) for worker in workers)


def network():
    import keras
    return keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
                             keras.layers.Flatten(), keras.layers.Dense(10)])


def train(arguments):
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    import keras
    keras.utils.set_random_seed(1)
    (x, y), (x_test, y_test) = digits.load(arguments.train, 500)
    batch = arguments.batch
    with strategy.scope():
        model, optimizer = network(), keras.optimizers.Adam(0.002)
        optimizer.build(model.trainable_variables)
    # The batches are global ones: each worker gets its part of them.
    dataset = strategy.experimental_distribute_dataset(
        tf.data.Dataset.from_tensor_slices((x, y)).shuffle(arguments.train, seed=1).batch(batch, drop_remainder=True))

    @tf.function
    def step(data):
        def replica_step(pictures, labels):
            with tf.GradientTape() as tape:
                each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(pictures, training=True))
                loss = tf.nn.compute_average_loss(each, global_batch_size=batch)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return loss
        return strategy.reduce("SUM", strategy.run(replica_step, args=data), axis=None)

    losses = [float(step(data)) for _ in range(arguments.epochs) for data in dataset]
    if strategy.cluster_resolver.task_id == 0:  # the chief; all workers have the same variables
        right = tf.equal(tf.argmax(model(x_test), 1), y_test)
        print(f"{strategy.num_replicas_in_sync} workers: loss {losses[0]:.3f} -> {losses[-1]:.3f}, test accuracy "
              f"{float(tf.reduce_mean(tf.cast(right, tf.float32))):.1%}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--train", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=100)
    arguments = parser.parse_args()
    if "TF_CONFIG" not in os.environ:
        sys.exit(start_workers(arguments.workers))
    train(arguments)


if __name__ == "__main__":
    main()
