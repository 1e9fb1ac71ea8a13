"""tensorflow.python.framework.function.Defun: a function with types instead of traces, called in graphs."""

from weir.eager.custom_gradient import custom_gradient
from weir.eager.function import function as tf_function
from weir.framework import TensorSpec, as_dtype, convert_to_tensor

__all__ = ["Defun"]


class _Defined:
    """What `Defun` makes of a Python function."""

    def __init__(self, func, input_types, name, grad_func, python_grad_func):
        signature = [TensorSpec(None, dtype) for dtype in input_types] or None
        self._function = tf_function(func, input_signature=signature, autograph=False)
        self._input_types = input_types
        self._grad_func, self._python_grad_func = grad_func, python_grad_func
        self.name = name or func.__name__
        self.__name__ = self.name
        self.__doc__ = func.__doc__

    def _concrete(self):
        made = self._function.get_concrete_function()
        made.add_to_graph()
        return made

    _function_name = property(lambda self: self._concrete()._function_name)

    def _call(self, args):
        if self._input_types and len(args) != len(self._input_types):
            raise ValueError(f"Expected {len(self._input_types)} arguments, got {len(args)}.")
        result = self._function(*args)
        self._keep()
        return result

    def _keep(self):
        from weir import _core
        graph = _core.current_graph()
        if graph is not None:
            graph._store.setdefault("functions", []).append(self._function)

    def __call__(self, *args, **kwargs):
        kwargs.pop("name", None)
        kwargs.pop("noinline", None)
        if kwargs:
            raise ValueError(f"Invalid keyword arguments: {list(kwargs)}")
        if self._grad_func is None and self._python_grad_func is None:
            return self._call(args)

        @custom_gradient
        def with_gradient(*tensors):
            result = self._call(tensors)

            def gradient(*grads):
                if self._python_grad_func is not None:
                    found = self._python_grad_func(_Op(tensors), *grads)
                else:
                    found = self._grad_func(*tensors, *grads)
                return list(found) if isinstance(found, (list, tuple)) else [found]
            return result, gradient
        types = self._input_types or [None] * len(args)
        return with_gradient(*[convert_to_tensor(a, dtype=t) for a, t in zip(args, types)])


class _Op:
    """What a python_grad_func asks of the operation: its inputs."""

    def __init__(self, inputs):
        self.inputs = inputs


class Defun:
    """Decorator: `Defun(tf.float32, tf.float32)(f)`; `grad_func` or `python_grad_func` compute its gradient."""

    def __init__(self, *input_types, **kwargs):
        self._input_types = [as_dtype(t) for t in input_types]
        self._name = kwargs.pop("func_name", None)
        self._gradients = kwargs.pop("grad_func", None), kwargs.pop("python_grad_func", None)
        unknown = set(kwargs) - {"out_names", "noinline", "shape_func", "capture_by_value"}
        if unknown:
            raise NotImplementedError(f"Defun with {sorted(unknown)}")

    def __call__(self, func):
        return _Defined(func, self._input_types, self._name, *self._gradients)
