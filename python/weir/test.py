"""tf.test: what programs' own tests use."""

import tempfile
import unittest

import numpy as np

from weir import _core
from weir.framework import config as _config
from weir.framework import protos
from weir.gradient_checker import compute_gradient, compute_gradient_error, max_error
from weir.test_case import TestCase

__all__ = ["TestCase", "Benchmark", "main", "compute_gradient", "compute_gradient_error", "max_error",
           "assert_equal_graph_def", "create_local_cluster"]


def is_built_with_cuda():
    """Whether the build can use NVIDIA's GPUs; not whether there is one."""
    return _core.cuda_build()


def is_built_with_rocm():
    return False


def is_built_with_xla():
    return False


def is_built_with_gpu_support():
    return is_built_with_cuda()


def is_cpu_target_available(target):
    return target in ("x86", "aarch64")


def gpu_device_name():
    """The name of the first GPU, or an empty string."""
    found = _config.list_logical_devices("GPU")
    return found[0].name if found else ""


def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    cards = _core.gpu_cards()
    if min_cuda_compute_capability is not None:
        cards = [card for card in cards if card[1:] >= tuple(min_cuda_compute_capability)]
    return bool(cards) and bool(gpu_device_name())


def get_temp_dir():
    return tempfile.mkdtemp()


def test_src_dir_path(relative_path):
    import os
    return os.path.join(os.getcwd(), relative_path)


def disable_with_predicate(pred, skip_message):
    """Decorator: the test is skipped where pred() holds."""
    def decorate(function):
        def call(self, *args, **kwargs):
            if pred():
                self.skipTest(skip_message)
            return function(self, *args, **kwargs)
        return call
    return decorate


def with_eager_op_as_function(cls=None, only_as_function=False):
    return cls if cls is not None else (lambda c: c)


def benchmark_config():
    made = protos.message("ConfigProto")()
    made.graph_options.rewrite_options.dependency_optimization = 2
    return made


def main(argv=None):
    """Runs the tests of the program."""
    return unittest.main(argv=argv)


def assert_equal_graph_def(expected, actual):
    """Raises unless two graphs have the same nodes."""
    for name, value in (("expected", expected), ("actual", actual)):
        if not hasattr(value, "node"):
            raise TypeError(f"Expected tf.GraphDef for {name}, got {type(value).__name__}")
    first, second = ({n.name: n for n in g.node} for g in (expected, actual))
    if first != second:
        names = [n for n in sorted(set(first) | set(second)) if first.get(n) != second.get(n)]
        raise AssertionError(f"The graphs differ at {names}")


def create_local_cluster(num_workers, num_ps, protocol="grpc", worker_config=None, ps_config=None):
    """Servers of a cluster in this process: (workers, parameter servers)."""
    import socket

    from weir.compat.v1.cluster import ClusterSpec, Server
    sockets = [socket.socket() for _ in range(num_workers + num_ps)]
    for item in sockets:
        item.bind(("localhost", 0))
    addresses = [f"localhost:{item.getsockname()[1]}" for item in sockets]
    for item in sockets:
        item.close()
    jobs = {"worker": addresses[:num_workers], "ps": addresses[num_workers:]}
    cluster = ClusterSpec({job: tasks for job, tasks in jobs.items() if tasks})
    make = lambda job, count, config: [Server(cluster, job_name=job, task_index=i, protocol=protocol, config=config)  # noqa: E731
                                       for i in range(count)]
    return make("worker", num_workers, worker_config), make("ps", num_ps, ps_config)


class Benchmark:
    """The base of benchmarks; `run_op_benchmark` times an operation in a session."""

    def run_op_benchmark(self, sess, op_or_tensor, feed_dict=None, burn_iters=2, min_iters=10, name=None, **_):
        """Times of `min_iters` runs: their median, in seconds."""
        import time
        for _i in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        times = []
        for _i in range(min_iters):
            begin = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            times.append(time.perf_counter() - begin)
        return {"iters": min_iters, "wall_time": float(np.median(times)), "name": name or type(self).__name__, "extras": {}}


def __getattr__(name):  # names of its namespaces, such as tf.test.experimental
    import weir
    return weir.names_of(__name__)(name)
