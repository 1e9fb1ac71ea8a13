#!/usr/bin/env python3
"""TensorFlow's own client trains on a cluster of `weir server` processes: asynchronously, synchronously, with backup
workers, in-graph and between-graph, and goes on by itself after a parameter server was killed.

    python tensorflow_cluster_test.py build/release/bin/weir [name of a test ...]
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "weir"


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    """Processes of `weir server`, one a task."""

    def __init__(self, ps=2, workers=2):
        ports = iter(free_ports(ps + workers))
        self.spec = {
            job: [f"127.0.0.1:{next(ports)}" for _ in range(n)] for job, n in (("ps", ps), ("worker", workers)) if n
        }
        self.processes = {}
        for job, addresses in self.spec.items():
            for i in range(len(addresses)):
                self.start(job, i)

    def start(self, job, index):
        command = [PROGRAM, "server", "--job", job, "--task", str(index)]
        for name, addresses in self.spec.items():
            command += [f"--{name}", ",".join(addresses)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.processes[job, index] = process
        process.stdout.readline()  # it listens

    def kill(self, job, index):
        self.processes[job, index].send_signal(signal.SIGKILL)
        self.processes[job, index].wait()

    def target(self, worker=0):
        return "grpc://" + self.spec["worker"][worker]

    def stop(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
            process.stdout.close()


def config(index=None, timeout_ms=60_000):
    out = v1.ConfigProto(operation_timeout_in_ms=timeout_ms)
    if index is not None:
        out.device_filters.extend(["/job:ps", f"/job:worker/task:{index}"])
    return out


RNG = np.random.default_rng(7)
XS = RNG.normal(size=(64, 10)).astype(np.float32)
YS = XS @ RNG.normal(size=(10, 1)).astype(np.float32)


def linear(resource):
    """A linear model, its loss and its global step; everything is deterministic."""
    step = v1.train.get_or_create_global_step()
    x, y = tf.constant(XS), tf.constant(YS)
    w = v1.get_variable("w", (10, 1), initializer=v1.zeros_initializer(), use_resource=resource)
    b = v1.get_variable("b", (1,), initializer=v1.zeros_initializer(), use_resource=resource)
    return step, tf.reduce_mean(tf.square(x @ w + b - y))


def train_alone(steps, learning_rate=0.1):
    """The losses of a single process, by TensorFlow itself."""
    with tf.Graph().as_default():
        _, loss = linear(True)
        train = v1.train.GradientDescentOptimizer(learning_rate).minimize(loss)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            losses = []
            for _ in range(steps):
                losses.append(session.run(loss))
                session.run(train)
            return losses


def cnn():
    step = v1.train.get_or_create_global_step()
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 10, 64)
    images = rng.normal(size=(64, 28, 28, 1)).astype(np.float32) * 0.1
    for i, label in enumerate(labels):
        images[i, 2 * label : 2 * label + 4, 4:24] += 1
    x, y = tf.constant(images), tf.constant(labels)
    init = v1.initializers.glorot_uniform(seed=1)
    k1 = v1.get_variable("k1", (5, 5, 1, 8), initializer=init, use_resource=True)
    k2 = v1.get_variable("k2", (7 * 7 * 8, 10), initializer=init, use_resource=True)
    h = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, k1, 1, "SAME")), 4, 4, "SAME")
    logits = tf.reshape(h, (64, -1)) @ k2
    return step, tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))


def lstm():
    step = v1.train.get_or_create_global_step()
    rng = np.random.default_rng(4)
    x = tf.constant(rng.normal(size=(16, 6, 5)).astype(np.float32))
    y = tf.reduce_sum(x[:, :, 0], axis=1, keepdims=True)
    units = 8
    init = v1.initializers.glorot_uniform(seed=2)
    kernel = v1.get_variable("kernel", (5 + units, 4 * units), initializer=init, use_resource=True)
    out = v1.get_variable("out", (units, 1), initializer=init, use_resource=True)

    def body(t, h, c):
        gates = tf.concat([x[:, t], h], 1) @ kernel
        i, j, f, o = tf.split(gates, 4, 1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
        return t + 1, tf.sigmoid(o) * tf.tanh(c), c

    zeros = tf.zeros((16, units))
    _, h, _ = tf.while_loop(lambda t, h, c: t < 6, body, (0, zeros, zeros))
    return step, tf.reduce_mean(tf.square(h @ out - y))


class ClusterTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.stop)

    def run_workers(self, work, count=2):
        """work(index) in one thread a worker; what fails there fails here."""
        errors = []

        def guarded(index):
            try:
                work(index)
            except Exception as error:  # told to the test below
                errors.append(error)

        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(240)
        self.assertFalse([t for t in threads if t.is_alive()], "a worker hangs")
        if errors:
            raise errors[0]

    def between_graph(self, model, last_step, optimizer, hooks=lambda optimizer, index: []):
        """Every worker has its own graph and session; gives the first and the last loss of each."""
        losses = {0: [], 1: []}
        initialised = threading.Event()  # who comes too early looks again after 30 s only

        def work(index):
            with tf.Graph().as_default():
                with v1.device(v1.train.replica_device_setter(worker_device=f"/job:worker/task:{index}",
                                                              cluster=tf.train.ClusterSpec(self.cluster.spec))):
                    step, loss = model()
                    chosen = optimizer()
                    train = chosen.minimize(loss, global_step=step)
                stop = v1.train.StopAtStepHook(last_step=last_step)
                if index != 0:
                    initialised.wait(60)
                with v1.train.MonitoredTrainingSession(self.cluster.target(index), is_chief=index == 0,
                                                       config=config(index), stop_grace_period_secs=2,
                                                       hooks=[stop, *hooks(chosen, index)]) as session:
                    initialised.set()
                    while not session.should_stop():
                        _, value = session.run([train, loss])
                        losses[index].append(value)

        self.run_workers(work)
        return losses

    def check_learns(self, losses):
        together = losses[0] + losses[1]
        self.assertLess(min(together), 0.7 * max(together))

    def test_asynchronous(self):
        for resource in (False, True):
            with self.subTest(resource=resource):
                self.check_learns(self.between_graph(lambda: linear(resource), 60,
                                                     lambda: v1.train.GradientDescentOptimizer(0.05)))
                v1.Session.reset(self.cluster.target())

    def test_models_asynchronous(self):
        for model in (cnn, lstm):
            self.check_learns(self.between_graph(model, 40, lambda: v1.train.AdamOptimizer(0.01)))
            v1.Session.reset(self.cluster.target())

    def synchronous(self, model, aggregate, steps):
        def optimizer():
            return v1.train.SyncReplicasOptimizer(v1.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=aggregate,
                                                  total_num_replicas=2)
        return self.between_graph(model, steps, optimizer, lambda o, index: [o.make_session_run_hook(index == 0)])

    def test_synchronous_agrees_with_one_process(self):
        losses = self.synchronous(lambda: linear(True), 2, 20)
        alone = train_alone(40)
        # Both workers see the same batch, so the mean of their gradients is the gradient.
        for index in losses:
            for value in losses[index]:
                self.assertLess(min(abs(value - expected) for expected in alone), 1e-4)
        self.check_learns(losses)

    def test_backup_workers(self):
        self.check_learns(self.synchronous(lambda: linear(True), 1, 20))

    def test_models_synchronous(self):
        for model in (cnn, lstm):
            self.check_learns(self.synchronous(model, 2, 20))
            v1.Session.reset(self.cluster.target())

    def test_in_graph(self):
        with tf.Graph().as_default():
            with v1.device(v1.train.replica_device_setter(ps_tasks=2, ps_device="/job:ps", worker_device="/job:worker/task:0")):
                w = v1.get_variable("w", (10, 1), initializer=v1.zeros_initializer(), use_resource=True)
            gradients, losses = [], []
            for index in range(2):
                with v1.device(f"/job:worker/task:{index}"):
                    x, y = tf.constant(XS[index::2]), tf.constant(YS[index::2])
                    losses.append(tf.reduce_mean(tf.square(x @ w - y)))
                    gradients.append(tf.gradients(losses[-1], w)[0])
            with v1.device("/job:ps/task:0"):
                train = v1.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.add_n(gradients) / 2, w)])
            with v1.Session(self.cluster.target(), config=config()) as session:
                session.run(v1.global_variables_initializer())
                first = np.mean(session.run(losses))
                for _ in range(30):
                    session.run(train)
                self.assertLess(np.mean(session.run(losses)), 0.3 * first)

    def test_sparse_embeddings_in_parts(self):
        with tf.Graph().as_default():
            with v1.device(v1.train.replica_device_setter(cluster=tf.train.ClusterSpec(self.cluster.spec))):
                table = v1.get_variable("table", (100, 4), initializer=v1.ones_initializer(), use_resource=True,
                                        partitioner=v1.fixed_size_partitioner(2))
                ids = v1.placeholder(tf.int64, [None])
                rows = tf.nn.embedding_lookup(table, ids)
                train = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(rows))
            with v1.Session(self.cluster.target(), config=config()) as session:
                session.run(v1.global_variables_initializer())
                session.run(train, {ids: [3, 98, 3]})
                got = session.run(rows, {ids: [3, 98, 4]})
                np.testing.assert_allclose(got, [[0.0] * 4, [0.5] * 4, [1.0] * 4])

    def test_recovers_after_a_parameter_server_was_killed(self):
        last, killed = 60, threading.Event()
        folder = tempfile.mkdtemp()
        seen = []
        with tf.Graph().as_default():
            with v1.device(v1.train.replica_device_setter(worker_device="/job:worker/task:0",
                                                          cluster=tf.train.ClusterSpec(self.cluster.spec))):
                step, loss = linear(True)
                train = v1.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)
            with v1.train.MonitoredTrainingSession(self.cluster.target(), config=config(0), checkpoint_dir=folder,
                                                   save_checkpoint_steps=10, save_summaries_steps=None, stop_grace_period_secs=2,
                                                   log_step_count_steps=None,
                                                   hooks=[v1.train.StopAtStepHook(last_step=last)]) as session:
                while not session.should_stop():
                    _, number = session.run([train, step])
                    seen.append(number)
                    if number >= 25 and not killed.is_set():
                        killed.set()
                        self.cluster.kill("ps", 0)
                        self.cluster.start("ps", 0)
        self.assertTrue(killed.is_set())
        self.assertGreaterEqual(seen[-1], last - 1)  # it may be read before the step counts itself
        self.assertGreater(len(seen), last)  # some steps were done again

    def test_errors_name_the_lost_task(self):
        with tf.Graph().as_default():
            with v1.device("/job:ps/task:1"):
                v = v1.get_variable("v", (), use_resource=True)
            with v1.Session(self.cluster.target(), config=config()) as session:
                session.run(v1.global_variables_initializer())
                self.cluster.kill("ps", 1)
                start = time.monotonic()
                with self.assertRaisesRegex(tf.errors.UnavailableError, "/job:ps/replica:0/task:1"):
                    session.run(v)
                self.assertLess(time.monotonic() - start, 30)


if __name__ == "__main__":
    unittest.main(verbosity=2)
