"""tf.test.TestCase: unittest's, or absl's where it is installed, with sessions and comparisons of tensors."""

import collections.abc
import contextlib
import os
import random
import re
import tempfile
import threading
import unittest

import numpy as np

from weir import nest
from weir.framework import errors
from weir.framework.graph import executing_eagerly, get_default_graph, reset_default_graph

try:
    from absl.testing import absltest as _absltest
    _Base = _absltest.TestCase
except ImportError:
    _Base = unittest.TestCase

__all__ = ["TestCase", "FakeEagerSession"]


class FakeEagerSession:
    """What `with self.session() as sess` gives where operations run at once: `run` evaluates."""

    def __init__(self, test_case):
        self._test_case = test_case

    def run(self, fetches, *args, **kwargs):
        feed_dict = kwargs.pop("feed_dict", {})
        if feed_dict:
            raise RuntimeError("placeholders don't work in eager mode")
        return self._test_case.evaluate(fetches)


class _CheckedThread:
    """A thread whose exception `join` raises in the caller."""

    def __init__(self, test_case, target, args=None, kwargs=None):
        self._test_case = test_case
        self._target, self._args, self._kwargs = target, args or (), kwargs or {}
        self._thread = threading.Thread(target=self._run)
        self._error, self._joined = None, False

    def _run(self):
        try:
            self._target(*self._args, **self._kwargs)
        except Exception as error:  # noqa: BLE001
            self._error = error

    def start(self):
        self._thread.start()

    def join(self):
        self._joined = True
        self._thread.join()
        if self._error is not None:
            self._test_case.fail(f"Error in checkedThread: {self._error}")

    def is_alive(self):
        return self._thread.is_alive()


class _Captured:
    def __init__(self, path):
        self._path = path

    def contents(self):
        with open(self._path) as file:
            return file.read()


class TestCase(_Base):
    """unittest's, with comparisons of tensors and arrays."""

    def __init__(self, methodName="runTest"):  # noqa: N803
        super().__init__(methodName)
        self._cached = None
        self._folder = None
        self._threads = []

    def setUp(self):
        super().setUp()
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")
        self._clear_cached_session()
        seed = 87654321
        random.seed(seed)
        np.random.seed(seed)
        from weir.framework.random_seed import set_seed
        if not _inside_graph():
            reset_default_graph()
        set_seed(seed)

    def tearDown(self):
        for thread in self._threads:
            if thread.is_alive() and not thread._joined:
                self.fail("A checkedThread was not joined.")
        self._threads = []
        self._clear_cached_session()
        super().tearDown()

    def _clear_cached_session(self):
        if self._cached is not None:
            self._cached.close()
            self._cached = None

    def get_temp_dir(self):
        """A folder for this test."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory()
            self.addCleanup(self._folder.cleanup)
        return self._folder.name

    # Values and sessions.

    def _value(self, tensor):
        if tensor is None:
            return None
        if callable(tensor) and not hasattr(tensor, "numpy"):
            return self._evaluate_all(tensor())
        from weir.framework.tensor import Tensor
        from weir.ops.indexed_slices import IndexedSlices
        from weir.ops.ragged import RaggedTensor
        from weir.ops.sparse import SparseTensor
        if isinstance(tensor, SparseTensor):
            from weir.ops.sparse import SparseTensorValue
            return SparseTensorValue(tensor.indices.numpy(), tensor.values.numpy(), tensor.dense_shape.numpy())
        if isinstance(tensor, RaggedTensor):
            from weir.compat.v1.session import RaggedTensorValue
            values = self._value(tensor.values)
            return RaggedTensorValue(values, tensor.row_splits.numpy())
        if isinstance(tensor, IndexedSlices):
            from weir.compat.v1.session import IndexedSlicesValue
            shape = None if tensor.dense_shape is None else tensor.dense_shape.numpy()
            return IndexedSlicesValue(tensor.values.numpy(), tensor.indices.numpy(), shape)
        if hasattr(tensor, "numpy"):
            return tensor.numpy()
        if isinstance(tensor, (Tensor, np.ndarray, np.generic, int, float, bool, complex, str, bytes)):
            return tensor
        raise ValueError(f"Unsupported type {type(tensor).__name__}.")

    def _evaluate_all(self, tensors):
        return None if tensors is None else nest.map_structure(self._value, tensors)

    def evaluate(self, tensors, options=None):
        """The values of a structure of tensors: NumPy arrays."""
        if executing_eagerly():
            return self._evaluate_all(tensors)
        from weir.compat.v1.session import get_default_session
        session = get_default_session()
        flat = nest.flatten(tensors, expand_composites=False)
        if not flat:
            return tensors
        if session is None:
            with self.test_session() as session:
                return session.run(tensors, options=options)
        return session.run(tensors, options=options)

    def evaluate_if_both_tensors(self, a, b):
        from weir.framework import is_tensor
        return self.evaluate([a, b]) if is_tensor(a) and is_tensor(b) else (a, b)

    @contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu=True, force_gpu=False):
        """A session over the graph."""
        if executing_eagerly() and graph is None:
            yield FakeEagerSession(self)
            return
        from weir.compat.v1.session import Session
        graph = graph or get_default_graph()
        with graph.as_default(), Session(graph=graph, config=config) as session:
            yield session

    @contextlib.contextmanager
    def cached_session(self, graph=None, config=None, use_gpu=True, force_gpu=False):
        """A session that is the same for all calls in one test."""
        if executing_eagerly() and graph is None:
            yield FakeEagerSession(self)
            return
        from weir.compat.v1.session import Session
        graph = graph or get_default_graph()
        if self._cached is not None and self._cached.graph is not graph:
            self._clear_cached_session()
        if self._cached is None:
            self._cached = Session(graph=graph, config=config)
        with graph.as_default(), self._cached.as_default():
            yield self._cached

    @contextlib.contextmanager
    def test_session(self, graph=None, config=None, use_gpu=True, force_gpu=False):
        if graph is None:
            with self.cached_session(config=config) as session:
                yield session
        else:
            with self.session(graph, config) as session:
                yield session

    def checkedThread(self, target, args=None, kwargs=None):  # noqa: N802
        """A thread whose exceptions fail the test."""
        made = _CheckedThread(self, target, args, kwargs)
        self._threads.append(made)
        return made

    @contextlib.contextmanager
    def captureWritesToStream(self, stream):  # noqa: N802
        """What is written to a stream, by Python or below it, while the context is open."""
        descriptor = stream.fileno()
        handle, path = tempfile.mkstemp(dir=self.get_temp_dir())
        stream.flush()
        saved = os.dup(descriptor)
        os.dup2(handle, descriptor)
        try:
            yield _Captured(path)
        finally:
            stream.flush()
            os.dup2(saved, descriptor)
            os.close(saved)
            os.close(handle)

    # Comparisons.

    def _array(self, value):
        from weir.ops.ragged import RaggedTensor
        if isinstance(value, (np.ndarray, np.generic)) or np.isscalar(value):
            return np.asarray(value)
        if isinstance(value, RaggedTensor) or type(value).__name__ == "RaggedTensorValue":
            return _object_array(value.to_list())
        if hasattr(value, "numpy") or hasattr(value, "graph") or hasattr(value, "op") or callable(value):
            value = self.evaluate(value)
        elif isinstance(value, (list, tuple)) and any(hasattr(v, "numpy") or hasattr(v, "graph")
                                                      for v in nest.flatten(value)):
            value = self.evaluate(value)
        try:
            return np.array(value)
        except ValueError:
            return _object_array(value)

    _GetNdArray = _array

    def assertAllEqual(self, a, b, msg=None):  # noqa: N802
        if _is_ragged(a) or _is_ragged(b):
            return self._assert_ragged_equal(a, b, msg)
        msg = msg or ""
        a, b = self.evaluate_if_both_tensors(a, b)
        a, b = self._array(a), self._array(b)
        if b.ndim <= 3 or b.size < 500:
            self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}. Contents: {b!r}. \n{msg}.")
        else:
            self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}. {msg}")
        same = a == b
        if _is_float(a.dtype) and _is_float(b.dtype):
            same = np.logical_or(same, np.logical_and(np.isnan(a), np.isnan(b)))
        if not np.all(same):
            where = np.argwhere(np.logical_not(same)) if a.ndim else "()"
            np.testing.assert_array_equal(a, b, err_msg=f"{msg}\nnot equal where = {where}")
        return None

    def assertNotAllEqual(self, a, b, msg=None):  # noqa: N802
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(f"The two values are equal at all elements. {msg or ''}")

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):  # noqa: N802
        if _is_ragged(a) or _is_ragged(b):
            return self._assert_ragged_close(a, b, rtol, atol, msg)
        return self._close(a, b, rtol, atol, [], msg or "")

    def _close(self, a, b, rtol, atol, path, msg):
        where = "[" + "][".join(str(p) for p in path) + "]" if path else ""
        if hasattr(a, "_asdict"):
            a = a._asdict()
        if hasattr(b, "_asdict"):
            b = b._asdict()
        if isinstance(a, collections.abc.Mapping) != isinstance(b, collections.abc.Mapping):
            raise ValueError(f"Can't compare dict to non-dict, a{where} vs b{where}. {msg}")
        if isinstance(a, collections.abc.Mapping):
            self.assertItemsEqual(a.keys(), b.keys(), f"mismatched keys: a{where} has keys {list(a)}, but b{where} has keys "
                                                      f"{list(b)}. {msg}")
            for key in a:
                self._close(a[key], b[key], rtol, atol, [*path, key], msg)
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            a, b = self.evaluate_if_both_tensors(a, b)
            try:
                self._arrays_close(self._array(a), self._array(b), rtol, atol, where, msg)
                return
            except (ValueError, TypeError, NotImplementedError):
                pass
            if len(a) != len(b):
                raise ValueError(f"Mismatched length: a{where} has {len(a)} items, but b{where} has {len(b)} items. {msg}")
            for i, (x, y) in enumerate(zip(a, b)):
                self._close(x, y, rtol, atol, [*path, str(i)], msg)
        else:
            a, b = self.evaluate_if_both_tensors(a, b)
            self._arrays_close(self._array(a), self._array(b), rtol, atol, where, msg)

    def _arrays_close(self, a, b, rtol, atol, where, msg):
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape} with contents {b}. {msg}")
        if not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, equal_nan=True,
                                       err_msg=f"Mismatched value: a{where} is different from b{where}. {msg}")
            raise AssertionError(f"Mismatched value: a{where} is different from b{where}. {msg}")

    def assertNotAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):  # noqa: N802
        try:
            self.assertAllClose(a, b, rtol=rtol, atol=atol)
        except AssertionError:
            return
        raise AssertionError(f"The two values are close at all elements. {msg or ''}")

    def assertAllCloseAccordingToType(self, a, b, rtol=1e-6, atol=1e-6, float_rtol=1e-6, float_atol=1e-6,  # noqa: N802
                                      half_rtol=1e-3, half_atol=1e-3, bfloat16_rtol=1e-2, bfloat16_atol=1e-2, msg=None):
        a, b = self._array(a), self._array(b)
        for names, more_rtol, more_atol in ((("float32", "complex64"), float_rtol, float_atol),
                                            (("float16",), half_rtol, half_atol),
                                            (("bfloat16",), bfloat16_rtol, bfloat16_atol)):
            if a.dtype.name in names or b.dtype.name in names:
                rtol, atol = max(rtol, more_rtol), max(atol, more_atol)
        self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)

    def _assert_ragged_equal(self, a, b, msg):
        a, b = _to_list(self, a), _to_list(self, b)
        self.assertEqual(a, b, msg)

    def _assert_ragged_close(self, a, b, rtol, atol, msg):
        a, b = _to_list(self, a), _to_list(self, b)

        def compare(x, y):
            if isinstance(x, list):
                self.assertEqual(len(x), len(y), msg)
                for one, other in zip(x, y):
                    compare(one, other)
            else:
                np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, err_msg=msg or "")
        compare(a, b)

    def assertNear(self, f1, f2, err, msg=None):  # noqa: N802
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1!r} != {f2!r} +/- {err!r}{' (' + msg + ')' if msg else ''}")

    def assertArrayNear(self, farray1, farray2, err, msg=None):  # noqa: N802
        self.assertEqual(len(farray1), len(farray2), msg)
        for a, b in zip(farray1, farray2):
            self.assertNear(float(a), float(b), err, msg)

    def assertNDArrayNear(self, ndarray1, ndarray2, err, msg=None):  # noqa: N802
        self.assertTrue(np.linalg.norm(ndarray1 - ndarray2) < err, msg)

    def assertAllGreater(self, a, comparison_target):  # noqa: N802
        self.assertGreater(np.min(self._array(a)), comparison_target)

    def assertAllGreaterEqual(self, a, comparison_target):  # noqa: N802
        self.assertGreaterEqual(np.min(self._array(a)), comparison_target)

    def assertAllLess(self, a, comparison_target):  # noqa: N802
        self.assertLess(np.max(self._array(a)), comparison_target)

    def assertAllLessEqual(self, a, comparison_target):  # noqa: N802
        self.assertLessEqual(np.max(self._array(a)), comparison_target)

    def assertAllInRange(self, target, lower_bound, upper_bound, open_lower_bound=False,  # noqa: N802
                         open_upper_bound=False):
        value = self._array(target)
        if not (np.issubdtype(value.dtype, np.floating) or np.issubdtype(value.dtype, np.integer)):
            raise AssertionError(f"The value of {target} does not have an ordered numeric type, instead it has type: "
                                 f"{value.dtype}")
        below = value <= lower_bound if open_lower_bound else value < lower_bound
        above = value >= upper_bound if open_upper_bound else value > upper_bound
        bad = below | above | (np.isnan(value) if np.issubdtype(value.dtype, np.floating) else False)
        if np.any(bad):
            raise AssertionError(f"{np.count_nonzero(bad)} element(s) in a tensor of shape {value.shape} are not in the "
                                 f"range {'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}"
                                 f"{')' if open_upper_bound else ']'}: {value[bad][:10]}")

    def assertAllInSet(self, target, expected_set):  # noqa: N802
        extra = set(self._array(target).reshape(-1).tolist()) - set(expected_set)
        if extra:
            raise AssertionError(f"{len(extra)} unique element(s) are not in the set {expected_set}: {sorted(extra)[:10]}")

    def assertShapeEqual(self, input_a, input_b, msg=None):  # noqa: N802
        for value in (input_a, input_b):
            if not hasattr(value, "shape"):
                raise TypeError(f"`{value}` is neither a np.ndarray nor a Tensor")
        self.assertAllEqual(tuple(input_a.shape), tuple(input_b.shape), msg)

    def assertDTypeEqual(self, target, expected_dtype):  # noqa: N802
        found = target.dtype if hasattr(target, "dtype") and not isinstance(target, (list, tuple)) else self._array(target).dtype
        self.assertEqual(np.dtype(getattr(found, "as_numpy_dtype", found)),
                         np.dtype(getattr(expected_dtype, "as_numpy_dtype", expected_dtype)))

    def assertDeviceEqual(self, device1, device2, msg=None):  # noqa: N802
        from weir.framework.device_spec import DeviceSpec
        name = lambda d: DeviceSpec.from_string(d).to_string() if d else ""  # noqa: E731
        self.assertEqual(name(device1), name(device2), msg)

    def assertProtoEquals(self, expected_message_maybe_ascii, message, msg=None):  # noqa: N802
        if isinstance(expected_message_maybe_ascii, (str, bytes)):
            from google.protobuf import text_format
            expected_message_maybe_ascii = text_format.Parse(expected_message_maybe_ascii, type(message)())
        self.assertEqual(expected_message_maybe_ascii, message, msg)

    def assertStartsWith(self, actual, expected_start, msg=None):  # noqa: N802
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r} does not start with {expected_start!r}")

    def assertRaisesIncompatibleShapesError(self, exception_type=errors.InvalidArgumentError):  # noqa: N802
        return self.assertRaisesWithPredicateMatch(
            exception_type, r"Incompatible shapes|Dimensions must be equal|required broadcastable shapes")

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):  # noqa: N802
        if callable(expected_err_re_or_predicate):
            check = expected_err_re_or_predicate
        else:
            def check(error):
                text = error.message if isinstance(error, errors.OpError) else str(error)
                return re.search(expected_err_re_or_predicate, text) is not None
        try:
            yield
        except exception_type as error:
            if not check(error):
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
        else:
            self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate):  # noqa: N802
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)

    def assertItemsEqual(self, expected_seq, actual_seq, msg=None):  # noqa: N802
        self.assertCountEqual(expected_seq, actual_seq, msg)

    if not hasattr(unittest.TestCase, "assertRaisesRegexp"):
        assertRaisesRegexp = unittest.TestCase.assertRaisesRegex

    if _Base is unittest.TestCase:
        def assertLen(self, container, expected_len, msg=None):  # noqa: N802
            self.assertEqual(len(container), expected_len, msg)

        def assertEmpty(self, container, msg=None):  # noqa: N802
            self.assertEqual(len(container), 0, msg)

        def assertNotEmpty(self, container, msg=None):  # noqa: N802
            self.assertNotEqual(len(container), 0, msg)

        def assertBetween(self, value, minv, maxv, msg=None):  # noqa: N802
            self.assertTrue(minv <= value <= maxv, msg)

        def assertSameElements(self, expected_seq, actual_seq, msg=None):  # noqa: N802
            self.assertEqual(set(expected_seq), set(actual_seq), msg)

        def assertContainsSubset(self, expected_subset, actual_set, msg=None):  # noqa: N802
            self.assertTrue(set(expected_subset) <= set(actual_set), msg)

        def assertEndsWith(self, actual, expected_end, msg=None):  # noqa: N802
            self.assertTrue(actual.endswith(expected_end), msg)

        def assertDictAlmostEqual(self, d1, d2, places=7, msg=None):  # noqa: N802
            self.assertEqual(set(d1), set(d2), msg)
            for key in d1:
                self.assertAlmostEqual(d1[key], d2[key], places=places, msg=msg)

        def assertSequenceAlmostEqual(self, s1, s2, places=7, msg=None):  # noqa: N802
            self.assertEqual(len(s1), len(s2), msg)
            for x, y in zip(s1, s2):
                self.assertAlmostEqual(x, y, places=places, msg=msg)


TestCase.__module__ = "tensorflow.python.framework.test_util"


def _inside_graph():
    from weir import _core
    return _core.current_graph() is not None


def _is_float(dtype):
    return dtype in (np.float16, np.float32, np.float64, np.complex64, np.complex128) or dtype.name == "bfloat16"


def _is_ragged(value):
    return type(value).__name__ in ("RaggedTensor", "RaggedTensorValue")


def _to_list(test_case, value):
    if type(value).__name__ == "RaggedTensor" and not executing_eagerly():
        value = test_case.evaluate(value)
    if hasattr(value, "to_list"):
        return value.to_list()
    if hasattr(value, "numpy"):
        value = value.numpy()
    return value.tolist() if isinstance(value, np.ndarray) else value


def _object_array(rows):
    made = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        made[i] = row
    return made

