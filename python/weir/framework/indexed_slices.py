"""Gives the extension the class of sparse gradients, which is made with the first of them."""

from weir import _core
from weir.framework.conversion import convert_to_tensor


def _split_gradient(value):
    """A gradient that is no tensor, in parts: (tensor,) or (values, indices, dense_shape)."""
    from weir.ops.indexed_slices import IndexedSlices
    if isinstance(value, IndexedSlices):
        return value.values, value.indices, value.dense_shape
    return (convert_to_tensor(value),)


def _make(values, indices, dense_shape):
    from weir.ops.indexed_slices import IndexedSlices
    return IndexedSlices(values, indices, dense_shape)


_core.set_hook("make_indexed_slices", _make)
_core.set_hook("split_gradient", _split_gradient)
