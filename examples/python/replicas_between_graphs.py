"""Between-graph replication: each worker builds its own graph; variables are on the parameter servers.

All tasks in one process, as a first try:

    python -m weir examples/python/replicas_between_graphs.py

One process for each task, on any machines:

    python -m weir replicas_between_graphs.py --ps host1:2222 --workers host2:2222,host3:2222 --job ps --task 0
    python -m weir replicas_between_graphs.py --ps host1:2222 --workers host2:2222,host3:2222 --job worker --task 1
"""

import argparse
import socket
import threading

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def work(server, cluster, task, steps):
    """One worker: asynchronous steps until all workers together have made `steps`."""
    with tf.Graph().as_default():
        with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % task, cluster=cluster)):
            x = tf.placeholder(tf.float32, [None, 4])
            y = tf.placeholder(tf.float32, [None, 1])
            weights = tf.get_variable("weights", [4, 1], initializer=tf.zeros_initializer())
            bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
            loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) + bias - y))
            global_step = tf.train.get_or_create_global_step()
            train_step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=global_step)
        random = np.random.RandomState(task)
        with tf.train.MonitoredTrainingSession(master=server.target, is_chief=task == 0,
                                               hooks=[tf.train.StopAtStepHook(last_step=steps)]) as session:
            while not session.should_stop():
                data = random.rand(32, 4).astype("float32")
                value, step = session.run([loss, global_step, train_step], {
                    x: data, y: data @ np.float32([[1], [2], [3], [4]]) + 0.5})[:2]
        print("worker %d: loss %.4f at step %d" % (task, value, step))


def free_addresses(count):
    sockets = [socket.socket() for _ in range(count)]
    for item in sockets:
        item.bind(("localhost", 0))
    addresses = ["localhost:%d" % item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return addresses


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ps", default="")
    parser.add_argument("--workers", default="")
    parser.add_argument("--job", choices=["ps", "worker"])
    parser.add_argument("--task", type=int, default=0)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()

    if options.job:
        cluster = tf.train.ClusterSpec({"ps": options.ps.split(","), "worker": options.workers.split(",")})
        server = tf.train.Server(cluster, job_name=options.job, task_index=options.task)
        if options.job == "ps":
            server.join()
        work(server, cluster, options.task, options.steps)
        return

    addresses = free_addresses(4)
    cluster = tf.train.ClusterSpec({"ps": addresses[:2], "worker": addresses[2:]})
    servers = {job: [tf.train.Server(cluster, job_name=job, task_index=i) for i in range(2)] for job in ("ps", "worker")}
    threads = [threading.Thread(target=work, args=(servers["worker"][i], cluster, i, options.steps)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
