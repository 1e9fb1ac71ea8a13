"""tensorflow.python.framework.test_util: what TensorFlow's own tests are written with."""

import contextlib
import functools
import gc
import inspect

from weir.framework import config as _config
from weir.framework.graph import Graph, eager_mode, executing_eagerly
from weir.internal.combinations import combine, name_of
from weir.test import (TestCase, assert_equal_graph_def, create_local_cluster, gpu_device_name, is_gpu_available,
                       with_eager_op_as_function)

TensorFlowTestCase = TestCase
assert_equal_graph_def_v1 = assert_equal_graph_def_v2 = assert_equal_graph_def

__all__ = ["TensorFlowTestCase", "assert_equal_graph_def", "create_local_cluster", "gpu_device_name",
           "is_gpu_available", "with_eager_op_as_function"]


def for_all_test_methods(decorator, *args, **kwargs):
    """Applies a decorator to every test method of a class."""
    def decorate(cls):
        for name in dir(cls):
            value = getattr(cls, name)
            if callable(value) and name.startswith(unittest_prefix) and name != "test_session":
                setattr(cls, name, decorator(*args, **kwargs)(value))
        return cls
    return decorate


unittest_prefix = "test"


def _decorator(wrap):
    """Makes `wrap(f)` usable on methods and on classes, with and without arguments before them."""
    def outer(function=None, *args, **kwargs):
        if function is None or isinstance(function, str):
            return lambda f: outer(f, *args, **kwargs)
        if inspect.isclass(function):
            for name, value in list(vars(function).items()):
                if callable(value) and name.startswith(unittest_prefix) and name != "test_session":
                    setattr(function, name, wrap(value))
            return function
        return wrap(function)
    return outer


def _in_graph(function):
    @functools.wraps(function)
    def call(self, *args, **kwargs):
        with Graph().as_default():
            return function(self, *args, **kwargs)
    return call


run_deprecated_v1 = _decorator(_in_graph)
deprecated_graph_mode_only = _decorator(_in_graph)
run_all_in_deprecated_graph_mode_only = _decorator(_in_graph)


def _in_both(function):
    @functools.wraps(function)
    def call(self, *args, **kwargs):
        if inspect.isclass(function):
            raise ValueError("`run_in_graph_and_eager_modes` only supports test methods.")
        # Eager first where that is the mode, as TensorFlow does it, then the graph in a fresh fixture.
        import unittest
        try:
            with Graph().as_default(), self.test_session():
                function(self, *args, **kwargs)
        except unittest.case.SkipTest:
            pass
        self.tearDown()
        self._tempdir = None
        with eager_mode(), self.test_session():
            self.setUp()
            function(self, *args, **kwargs)
    return call


def run_in_graph_and_eager_modes(func=None, config=None, use_gpu=True, assert_no_eager_garbage=False):
    """Decorator: the test runs in a graph with a session, then eagerly."""
    if func is None:
        return _in_both
    return _in_both(func)


def run_all_in_graph_and_eager_modes(cls):
    """Decorator of a class: as `run_in_graph_and_eager_modes` for each of its tests."""
    for name, value in list(vars(cls).items()):
        if callable(value) and name.startswith(unittest_prefix) and not name.startswith("testSkipEager") and \
                not name.startswith("test_skip_eager") and name != "test_session" and "_run_in_graph_mode" not in name:
            setattr(cls, name, _in_both(value))
    return cls


def run_functions_eagerly(run_eagerly):
    """Context: tf.functions run as plain Python."""
    @contextlib.contextmanager
    def context():
        before = _config.functions_run_eagerly()
        _config.run_functions_eagerly(run_eagerly)
        try:
            yield
        finally:
            _config.run_functions_eagerly(before)
    return context()


def run_eagerly(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        with run_functions_eagerly(True):
            return function(*args, **kwargs)
    return call


def also_run_as_tf_function(function):
    """Decorator: the test runs eagerly and then inside a tf.function."""
    @functools.wraps(function)
    def call(self, *args, **kwargs):
        from weir.eager.function import function as tf_function

        def inner():
            function(self, *args, **kwargs)
        with eager_mode():
            inner()
            tf_function(inner, autograph=False)()
    return call


def build_as_function_and_v1_graph(func=None):
    """Decorator: the test builds its ops in a function and in a graph, without running them."""
    def wrap(function):
        @functools.wraps(function)
        def call(self, *args, **kwargs):
            from weir.eager.function import function as tf_function
            with Graph().as_default():
                function(self, *args, **kwargs)
            with eager_mode():
                tf_function(lambda: function(self, *args, **kwargs) and None, autograph=False).get_concrete_function()
        return call
    return wrap if func is None else wrap(func)


def _skip(reason):
    def wrap(function):
        @functools.wraps(function)
        def call(self, *args, **kwargs):
            self.skipTest(reason)
        return call
    return wrap


def run_v1_only(reason, func=None):
    """Decorator: skipped, as weir behaves as TensorFlow 2."""
    del reason
    return _decorator(_skip("Test is only compatible with v1"))(func) if func is not None else \
        _decorator(_skip("Test is only compatible with v1"))


def run_v2_only(func=None, reason=None):
    return func if callable(func) else (lambda f: f)


def run_gpu_only(func=None):
    def wrap(function):
        @functools.wraps(function)
        def call(self, *args, **kwargs):
            if not is_gpu_available():
                self.skipTest("Test requires GPU")
            return function(self, *args, **kwargs)
        return call
    return wrap if func is None else wrap(func)


run_cuda_only = run_gpu_or_tpu = run_gpu_only


def skip_if(condition):
    """Decorator: skips the test where `condition`, a value or a function, is true."""
    def wrap(function):
        @functools.wraps(function)
        def call(self, *args, **kwargs):
            if not (condition() if callable(condition) else condition):
                return function(self, *args, **kwargs)
        return call
    return wrap


@contextlib.contextmanager
def skip_if_error(test_obj, error_type, messages=None):
    messages = [messages] if isinstance(messages, str) else messages or []
    try:
        yield
    except error_type as error:
        if not messages or any(message in str(error) for message in messages):
            test_obj.skipTest(f"Skipping error: {type(error).__name__}: {error}")
        raise


def _unchanged(description=None, *_args, **_kwargs):
    """A decorator for parts of TensorFlow that weir has not, such as XLA: the test is left as it is."""
    return description if callable(description) or inspect.isclass(description) else (lambda f: f)


disable_xla = disable_all_xla = disable_tfrt = disable_mlir_bridge = xla_allow_fallback = _unchanged
enable_control_flow_v2 = disable_control_flow_v2 = enable_all_control_flow_v2 = _unchanged
with_control_flow_v2 = enable_output_all_intermediates = run_without_tensor_float_32 = _unchanged
run_all_without_tensor_float_32 = no_xla_auto_jit = disable_eager_op_as_function = _unchanged
eager_lazy_remote_copy_on_and_off = enable_nested_function_shape_inference = _unchanged
with_forward_compatibility_horizons = enable_eager_op_as_function = add_graph_building_optimization_tests = _unchanged
disable_cudnn_autotune = enable_tf_xla_constant_folding = run_all_in_graph = _unchanged
enable_quantized_dtypes_training = _unchanged


def assert_no_new_tensors(function):
    """Decorator: fails where tensors outlive the test."""
    @functools.wraps(function)
    def call(self, *args, **kwargs):
        from weir.framework.tensor import Tensor
        gc.collect()
        before = {id(o) for o in gc.get_objects() if isinstance(o, Tensor)}
        with contextlib.nullcontext() if executing_eagerly() else Graph().as_default():
            result = function(self, *args, **kwargs)
        gc.collect()
        left = [o for o in gc.get_objects() if isinstance(o, Tensor) and id(o) not in before]
        if left:
            raise AssertionError(f"{len(left)} Tensors are still alive after the test: {left[:3]}")
        return result
    return call


def assert_no_garbage_created(function):
    """Decorator: fails where the test leaves objects that only the collector can free."""
    @functools.wraps(function)
    def call(self, *args, **kwargs):
        gc.disable()
        flags = gc.get_debug()
        gc.set_debug(0)
        gc.collect()
        before = len(gc.garbage)
        try:
            result = function(self, *args, **kwargs)
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            made = len(gc.garbage) - before
            del gc.garbage[before:]
        finally:
            gc.set_debug(flags)
            gc.enable()
        self.assertEqual(0, made, f"{made} objects became garbage")
        return result
    return call


def assert_no_new_pyobjects_executing_eagerly(warmup_iters=2):
    """Decorator: fails where runs of an eager test leave more and more Python objects."""
    def wrap(function):
        @functools.wraps(function)
        def call(self, *args, **kwargs):
            with eager_mode():
                for _ in range(warmup_iters + 2):
                    function(self, *args, **kwargs)
                gc.collect()
                before = len(gc.get_objects())
                for _ in range(3):
                    function(self, *args, **kwargs)
                gc.collect()
                self.assertLess(len(gc.get_objects()) - before, 100)
        return call
    return wrap if not callable(warmup_iters) else assert_no_new_pyobjects_executing_eagerly()(warmup_iters)


@contextlib.contextmanager
def device(use_gpu):
    """Context: on the first GPU where there is one and it is wanted, or on the CPU."""
    from weir.framework import device as scope
    with scope("/device:GPU:0" if use_gpu and is_gpu_available() else "/device:CPU:0"):
        yield


@contextlib.contextmanager
def use_gpu():
    with device(True):
        yield


@contextlib.contextmanager
def force_gpu():
    from weir.framework import device as scope
    with scope(gpu_device_name()):
        yield


@contextlib.contextmanager
def force_cpu():
    with device(False):
        yield


def assert_ops_in_graph(expected_ops, graph):
    """Raises unless the graph has nodes of these names and types: {name: type}."""
    found = {node.name: node for node in graph.as_graph_def().node if node.name in expected_ops}
    for name, kind in expected_ops.items():
        if name not in found:
            raise ValueError(f"Expected ops {sorted(set(expected_ops) - set(found))} not found in graph.")
        if found[name].op != kind:
            raise ValueError(f"Expected op for node {name} is different. {kind}")
    return found


def py_func_if_in_function(f):
    return f


def IsMklEnabled():  # noqa: N802
    return False


def IsBuiltWithROCm():  # noqa: N802
    return False


def IsBuiltWithXLA():  # noqa: N802
    return False


def IsBuiltWithNvcc():  # noqa: N802
    return False


def IsCPUTargetAvailable(target):  # noqa: N802
    from weir.test import is_cpu_target_available
    return is_cpu_target_available(target)


def GpuSupportsHalfMatMulAndConv():  # noqa: N802
    return False


def is_xla_enabled():
    return False


is_tfrt_enabled = is_mlir_bridge_enabled = is_asan_enabled = is_msan_enabled = is_tsan_enabled = is_ubsan_enabled = is_xla_enabled
set_xla_env_flag = _unchanged


def _moved(x, order):
    from weir.framework.conversion import convert_to_tensor
    from weir.ops.array import transpose
    if isinstance(x, (list, tuple)):
        return [x[i] for i in order]
    return transpose(convert_to_tensor(x), order)


def NHWCToNCHW(input_tensor):  # noqa: N802
    """Channels before the sizes: of a tensor, or of a shape given as a list."""
    count = len(input_tensor) if isinstance(input_tensor, (list, tuple)) else input_tensor.shape.ndims
    return _moved(input_tensor, [0, count - 1, *range(1, count - 1)])


def NCHWToNHWC(input_tensor):  # noqa: N802
    """Channels after the sizes: of a tensor, or of a shape given as a list."""
    count = len(input_tensor) if isinstance(input_tensor, (list, tuple)) else input_tensor.shape.ndims
    return _moved(input_tensor, [0, *range(2, count), 1])


def generate_combinations_with_testcase_name(**kwargs):
    """As `combine`, each with a "testcase_name" for absl's parameterized tests."""
    return [{**parameters, "testcase_name": name_of(parameters)} for parameters in combine(**kwargs)]
