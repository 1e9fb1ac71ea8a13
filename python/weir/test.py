"""tf.test: what programs' own tests use."""

import contextlib
import tempfile
import unittest

import numpy as np

from weir import nest
from weir.framework import config as _config
from weir.framework import convert_to_tensor, errors, protos
from weir.framework.graph import executing_eagerly, get_default_graph

__all__ = ["TestCase", "Benchmark", "main", "compute_gradient", "assert_equal_graph_def", "create_local_cluster"]


def is_built_with_cuda():
    return False


def is_built_with_rocm():
    return False


def is_built_with_xla():
    return False


def is_built_with_gpu_support():
    return False


def is_cpu_target_available(target):
    return target in ("x86", "aarch64")


def gpu_device_name():
    """The name of the first GPU, or an empty string."""
    found = _config.list_logical_devices("GPU")
    return found[0].name if found else ""


def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    return bool(gpu_device_name())


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


def compute_gradient(f, x, delta=None):
    """Jacobians of `f` by each of `x`: by the tape, and by small differences."""
    from weir.eager.tape import GradientTape
    arrays = [np.array(convert_to_tensor(v).numpy()) for v in x]
    delta = 1.0 / 1024 if delta is None else delta
    analytic, numeric = [], []
    for i, array in enumerate(arrays):
        tensors = [convert_to_tensor(a) for a in arrays]
        with GradientTape(persistent=True) as tape:
            tape.watch(tensors[i])
            y = f(*tensors)
        rows = tape.jacobian(y, tensors[i]).numpy().reshape(-1, array.size)
        analytic.append(rows)
        columns = np.zeros_like(rows)
        for k in range(array.size):
            values = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[i].reshape(-1)[k] += sign * delta
                values.append(f(*[convert_to_tensor(a) for a in moved]).numpy().reshape(-1))
            columns[:, k] = (values[0] - values[1]) / (2 * delta)
        numeric.append(columns)
    return analytic, numeric


def compute_gradient_error(*args, **kwargs):
    raise NotImplementedError("tf.compat.v1.test.compute_gradient_error; use tf.test.compute_gradient with eager execution")


class TestCase(unittest.TestCase):
    """unittest's, with comparisons of tensors and arrays."""

    def setUp(self):
        super().setUp()
        np.random.seed(1234)
        self._folder = None

    def get_temp_dir(self):
        """A folder for this test."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory()
            self.addCleanup(self._folder.cleanup)
        return self._folder.name

    def evaluate(self, tensors):
        """The values of a structure of tensors."""
        if executing_eagerly():
            return nest.map_structure(lambda t: t.numpy() if hasattr(t, "numpy") else t, tensors)
        from weir.compat.v1.session import get_default_session
        session = get_default_session()
        if session is None:
            with self.session() as session:
                return session.run(tensors)
        return session.run(tensors)

    @contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu=True, force_gpu=False):
        """A session over the graph."""
        if executing_eagerly():
            yield None
            return
        from weir.compat.v1.session import Session
        with Session(graph=graph or get_default_graph(), config=config) as session:
            yield session

    test_session = cached_session = session

    def _array(self, value):
        if isinstance(value, np.ndarray) or np.isscalar(value):
            return np.asarray(value)
        return np.asarray(self.evaluate(value) if hasattr(value, "graph") or hasattr(value, "numpy") else value)

    def assertAllEqual(self, a, b, msg=None):
        np.testing.assert_array_equal(self._array(a), self._array(b), msg or "")

    def assertNotAllEqual(self, a, b, msg=None):
        if np.array_equal(self._array(a), self._array(b)):
            raise AssertionError(msg or "The two values are equal at all elements.")

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        if isinstance(a, dict):
            self.assertEqual(sorted(a), sorted(b))
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
        elif isinstance(a, (list, tuple)) and any(isinstance(v, (list, tuple, np.ndarray)) or hasattr(v, "shape")
                                                  for v in a) and len(a) == len(b):
            for x, y in zip(a, b):
                self.assertAllClose(x, y, rtol, atol, msg)
        else:
            np.testing.assert_allclose(self._array(a), self._array(b), rtol=rtol, atol=atol, err_msg=msg or "")

    def assertAllCloseAccordingToType(self, a, b, rtol=1e-6, atol=1e-6, half_rtol=1e-3, half_atol=1e-3, **_):
        half = any(self._array(v).dtype == np.float16 for v in (a, b))
        self.assertAllClose(a, b, half_rtol if half else rtol, half_atol if half else atol)

    def assertNear(self, f1, f2, err, msg=None):
        self.assertLessEqual(abs(f1 - f2), err, msg)

    def assertArrayNear(self, farray1, farray2, err, msg=None):
        for a, b in zip(farray1, farray2):
            self.assertNear(float(a), float(b), err, msg)

    def assertAllGreater(self, a, comparison_target):
        self.assertGreater(self._array(a).min(), comparison_target)

    def assertAllGreaterEqual(self, a, comparison_target):
        self.assertGreaterEqual(self._array(a).min(), comparison_target)

    def assertAllLess(self, a, comparison_target):
        self.assertLess(self._array(a).max(), comparison_target)

    def assertAllLessEqual(self, a, comparison_target):
        self.assertLessEqual(self._array(a).max(), comparison_target)

    def assertAllInRange(self, target, lower_bound, upper_bound, open_lower_bound=False, open_upper_bound=False):
        value = self._array(target)
        self.assertTrue((value >= lower_bound).all() and (value <= upper_bound).all())

    def assertAllInSet(self, target, expected_set):
        self.assertTrue(set(self._array(target).reshape(-1).tolist()) <= set(expected_set))

    def assertShapeEqual(self, input_a, input_b, msg=None):
        self.assertEqual(tuple(input_a.shape), tuple(input_b.shape), msg)

    def assertDTypeEqual(self, target, expected_dtype):
        self.assertEqual(np.dtype(self._array(target).dtype), np.dtype(getattr(expected_dtype, "as_numpy_dtype",
                                                                              expected_dtype)))

    def assertProtoEquals(self, expected_message_maybe_ascii, message, msg=None):
        if isinstance(expected_message_maybe_ascii, (str, bytes)):
            from google.protobuf import text_format
            expected_message_maybe_ascii = text_format.Parse(expected_message_maybe_ascii, type(message)())
        self.assertEqual(expected_message_maybe_ascii, message, msg)

    def assertStartsWith(self, actual, expected_start, msg=None):
        self.assertTrue(actual.startswith(expected_start), msg)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):
        import re
        check = expected_err_re_or_predicate if callable(expected_err_re_or_predicate) else (
            lambda error: re.search(expected_err_re_or_predicate, str(error)))
        try:
            yield
        except exception_type as error:
            if not check(error):
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
        else:
            self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate):
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)


TestCase.__module__ = "tensorflow.python.framework.test_util"


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
