#!/usr/bin/env python3
"""TensorFlow's own client runs collectives on `weir server` processes, alone and in one cluster with TensorFlow's
servers.

    python tensorflow_collective_test.py build/release/bin/weir [name of a test ...]
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np
import tensorflow as tf
from tensorflow.python.ops import collective_ops

v1 = tf.compat.v1
v1.disable_eager_execution()
PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "weir"

TENSORFLOW_SERVER = """
import sys, json, threading
import tensorflow as tf
spec, task = json.loads(sys.argv[1]), int(sys.argv[2])
config = tf.compat.v1.ConfigProto()
config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
server = tf.distribute.Server(spec, job_name="worker", task_index=task, protocol="grpc", config=config)
sys.stdin.read()
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Workers:
    """Servers of one job, each "weir" or "tensorflow"."""

    def __init__(self, *kinds):
        addresses = [f"127.0.0.1:{port}" for port in free_ports(len(kinds))]
        self.targets = [f"grpc://{address}" for address in addresses]
        self.processes = []
        for task, kind in enumerate(kinds):
            command = [PROGRAM, "server", "--job", "worker", "--task", str(task), "--worker", ",".join(addresses)]
            if kind == "tensorflow":
                command = [sys.executable, "-c", TENSORFLOW_SERVER, json.dumps({"worker": addresses}), str(task)]
            # Those of TensorFlow end with this program: their input does.
            self.processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL))
        for address in addresses:
            host, port = address.split(":")
            deadline = time.monotonic() + 120
            while True:
                try:
                    socket.create_connection((host, int(port)), timeout=1).close()
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()

    def device(self, task):
        return f"/job:worker/replica:0/task:{task}/device:CPU:0"

    def each(self, build, steps=1, graph_key=0):
        """A session per worker, all at once; what each got in its last step."""
        results = [None] * len(self.targets)

        def run(task):
            try:
                with v1.Graph().as_default() as graph, v1.device(self.device(task)):
                    fetch = build(task)
                options = v1.RunOptions(timeout_in_ms=60000)
                options.experimental.collective_graph_key = graph_key
                with v1.Session(self.targets[task], graph=graph) as session:
                    for _ in range(steps):
                        results[task] = session.run(fetch, options=options)
            except Exception as error:  # pylint: disable=broad-except
                results[task] = error

        threads = [threading.Thread(target=run, args=(task,)) for task in range(len(self.targets))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    def one(self, master, build, steps=1):
        """One session over the devices of all workers."""
        with v1.Graph().as_default() as graph:
            fetches = []
            for task in range(len(self.targets)):
                with v1.device(self.device(task)):
                    fetches.append(build(task))
        options = v1.RunOptions(timeout_in_ms=60000)
        options.experimental.collective_graph_key = 4711 + master
        with v1.Session(self.targets[master], graph=graph) as session:
            for _ in range(steps):
                values = session.run(fetches, options=options)
        return values


def all_reduce(size, group, instance, final="Id"):
    return lambda task: collective_ops.all_reduce_v2(
        tf.constant(np.arange(1000, dtype=np.float32) * (task + 1)), size, group, instance, "Add", final)


class CollectiveTest(unittest.TestCase):

    def check_sums(self, results, size):
        expected = np.arange(1000, dtype=np.float32) * (size * (size + 1) // 2)
        for result in results:
            if isinstance(result, Exception):
                raise result
            np.testing.assert_array_equal(result, expected)

    def test_servers_of_weir(self):
        with Workers("weir", "weir", "weir") as workers:
            self.check_sums(workers.each(all_reduce(3, 1, 1), steps=5), 3)
            for result in workers.each(lambda task: collective_ops.all_gather_v2(tf.constant([task, 10]), 3, 2, 1)):
                np.testing.assert_array_equal(result, [0, 10, 1, 10, 2, 10])

            def broadcast(task):
                if task == 1:
                    return collective_ops.broadcast_send_v2(tf.constant([1.5, 2.5]), 3, 3, 1)
                return collective_ops.broadcast_recv_v2([2], tf.float32, 3, 3, 1)

            for result in workers.each(broadcast):
                np.testing.assert_array_equal(result, [1.5, 2.5])

    def test_together_with_tensorflow(self):
        for kinds in (("tensorflow", "weir"), ("weir", "tensorflow")):
            with self.subTest(kinds=kinds), Workers(*kinds) as workers:
                for master in range(2):
                    self.check_sums(workers.one(master, all_reduce(2, 10 + master, 1), steps=2), 2)
                self.check_sums(workers.each(all_reduce(2, 20, 1), steps=4, graph_key=99), 2)


if __name__ == "__main__":
    unittest.main()
