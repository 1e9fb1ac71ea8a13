"""tensorflow.python.framework.function.Defun: a function with types instead of traces, called in graphs."""

import functools

from weir.eager.function import function as tf_function
from weir.framework import TensorSpec, as_dtype

__all__ = ["Defun"]


class Defun:
    """Decorator: `Defun(tf.float32, tf.float32)(f)`; gradients may be given with python_grad_func or shape_func's kin."""

    def __init__(self, *input_types, **kwargs):
        self._input_types = [as_dtype(t) for t in input_types]
        self._name = kwargs.pop("func_name", None)
        unknown = set(kwargs) - {"out_names", "noinline", "shape_func", "capture_by_value"}
        if unknown:
            raise NotImplementedError(f"Defun with {sorted(unknown)}; write the function with tf.custom_gradient")

    def __call__(self, func):
        signature = [TensorSpec(None, dtype) for dtype in self._input_types] or None
        inner = tf_function(func, input_signature=signature, autograph=False)

        @functools.wraps(func)
        def call(*args, **kwargs):
            name = kwargs.pop("name", None)
            del name
            return inner(*args)
        call.name = self._name or func.__name__
        return call
