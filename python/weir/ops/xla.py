"""tf.xla.experimental: accepted for TensorFlow's sake; functions are compiled by the engine's own rules."""

import contextlib

from weir.framework import convert_to_tensor, executing_eagerly

__all__ = ["compile", "jit_scope"]


def compile(computation, inputs=None):  # noqa: A001
    """The results of `computation(*inputs)` as a list."""
    from weir import nest
    from weir.eager.function import function
    values = [nest.map_structure(convert_to_tensor, value) for value in inputs or []]
    result = function(computation)(*values) if executing_eagerly() else computation(*values)
    return list(result) if isinstance(result, (list, tuple)) else [result]


@contextlib.contextmanager
def jit_scope(compile_ops=True, separate_compiled_gradients=False):
    """Marks operations of a graph as worth compiling, which they are without it."""
    del compile_ops, separate_compiled_gradients
    if executing_eagerly():
        raise RuntimeError("xla.experimental.jit_scope is not supported when eager execution is enabled. Try use it inside "
                           "tf.function.")
    yield
