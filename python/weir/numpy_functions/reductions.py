"""Functions of tf.experimental.numpy that combine elements: sums, means, products, sorting."""

import numpy as np

from weir.framework import as_dtype, raw_ops
from weir.numpy_functions.types import array, floating, promoted, type_of
from weir.ops import array as array_ops
from weir.ops import math as math_ops
from weir.ops.dtypes import cast

__all__ = ["sum", "prod", "mean", "std", "var", "amax", "amin", "max", "min", "all", "any", "ptp", "average", "cumsum",
           "cumprod", "count_nonzero", "nansum", "nanprod", "nanmean", "argmax", "argmin", "argsort", "sort", "dot",
           "inner", "outer", "vdot", "matmul", "tensordot", "einsum", "kron", "cross", "trace"]


def _kind(x):
    return np.dtype(x.dtype.as_numpy_dtype).kind


def _wide(dtype):
    """Sums of small integers are made in the machine's own."""
    if dtype.kind == "b" or (dtype.kind == "i" and dtype.itemsize < 8):
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if dtype.kind == "u" and dtype.itemsize < 8 else dtype


def _reduce(op, a, axis, dtype, keepdims, to=None):
    a = array(a, dtype)
    if dtype is None and to is not None:
        a = array(a, to(np.dtype(a.dtype.as_numpy_dtype)))
    if isinstance(axis, (tuple, list)):
        axis = list(axis)
    return op(a, axis=axis, keepdims=bool(keepdims))


def sum(a, axis=None, dtype=None, keepdims=None):  # pylint: disable=redefined-builtin
    """The sum of elements along axes."""
    return _reduce(math_ops.reduce_sum, a, axis, dtype, keepdims, _wide)


def prod(a, axis=None, dtype=None, keepdims=None):
    """The product of elements along axes."""
    return _reduce(math_ops.reduce_prod, a, axis, dtype, keepdims, _wide)


def mean(a, axis=None, dtype=None, out=None, keepdims=None):
    """The mean of elements along axes."""
    _no_out(out)
    return _reduce(math_ops.reduce_mean, a, axis, dtype, keepdims, floating)


def std(a, axis=None, keepdims=None):
    """The standard deviation along axes."""
    return _reduce(math_ops.reduce_std, a, axis, None, keepdims, floating)


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=None):
    """The variance along axes."""
    _no_out(out)
    a = array(a)
    own = np.dtype(a.dtype.as_numpy_dtype)
    working = np.dtype(as_dtype(dtype).as_numpy_dtype) if dtype is not None else floating(own)
    x = array(a, working)
    axes = list(axis) if isinstance(axis, tuple) else axis
    deviations = x - math_ops.reduce_mean(x, axis=axes, keepdims=True)
    squares = math_ops.real(deviations * math_ops.conj(deviations)) if working.kind == "c" else deviations * deviations
    if ddof == 0:
        return math_ops.reduce_mean(squares, axis=axes, keepdims=bool(keepdims))
    total = math_ops.reduce_sum(squares, axis=axes, keepdims=bool(keepdims))
    count = math_ops.reduce_sum(array_ops.ones_like(squares), axis=axes, keepdims=bool(keepdims))
    return total / (count - array(ddof, type_of(count)))


def _no_out(out):
    if out is not None:
        raise ValueError("Setting out is not supported.")


def _extreme(op, logical):
    def function(a, axis=None, out=None, keepdims=None):
        _no_out(out)
        a = array(a)
        return _reduce(logical if _kind(a) == "b" else op, a, axis, None, keepdims)
    return function


amax = max = _extreme(math_ops.reduce_max, math_ops.reduce_any)
amin = min = _extreme(math_ops.reduce_min, math_ops.reduce_all)
amax.__doc__, amin.__doc__ = "The largest element along axes.", "The smallest element along axes."


def all(a, axis=None, keepdims=None):  # pylint: disable=redefined-builtin
    """Whether all elements along axes are true."""
    return _reduce(math_ops.reduce_all, cast(array(a), "bool"), axis, None, keepdims)


def any(a, axis=None, keepdims=None):  # pylint: disable=redefined-builtin
    """Whether an element along axes is true."""
    return _reduce(math_ops.reduce_any, cast(array(a), "bool"), axis, None, keepdims)


def ptp(a, axis=None, keepdims=None):
    """The largest element less the smallest one."""
    return amax(a, axis=axis, keepdims=keepdims) - amin(a, axis=axis, keepdims=keepdims)


def average(a, axis=None, weights=None, returned=False):
    """The mean, or the mean by weights; with `returned`, also the sum of the weights."""
    a = array(a)
    if weights is None:
        a = array(a, floating(np.dtype(a.dtype.as_numpy_dtype)))
        out = math_ops.reduce_mean(a, axis=axis)
        total = cast(array_ops.size(a) / array_ops.size(out), a.dtype)
    else:
        a, weights = promoted(a, weights, to=floating)
        if weights.shape.rank != a.shape.rank:
            if axis is None:
                raise ValueError("Axis must be specified when the shapes of `a` and `weights` are different.")
            shape = [1] * a.shape.rank
            shape[axis] = -1
            weights = array_ops.reshape(weights, shape)
        weights = array_ops.broadcast_to(weights, array_ops.shape(a))
        total = math_ops.reduce_sum(weights, axis=axis)
        out = math_ops.reduce_sum(a * weights, axis=axis) / total
    if returned:
        return out, array_ops.broadcast_to(total, array_ops.shape(out))
    return out


def _scan(op, a, axis, dtype):
    a = array(a, dtype)
    if dtype is None and _kind(a) in "biu":
        a = array(a, np.int64)
    if axis is None:
        a, axis = array_ops.reshape(a, [-1]), 0
    return op(a, axis)


def cumsum(a, axis=None, dtype=None):
    """Running sums along an axis, or over all elements."""
    return _scan(math_ops.cumsum, a, axis, dtype)


def cumprod(a, axis=None, dtype=None):
    """Running products along an axis, or over all elements."""
    return _scan(math_ops.cumprod, a, axis, dtype)


def count_nonzero(a, axis=None):
    """How many elements are not zero."""
    return math_ops.count_nonzero(array(a), axis=axis)


def _replace_nan(a, value):
    a = array(a)
    if _kind(a) not in "f":
        return a
    return array_ops.where(raw_ops.IsNan(x=a), array_ops.fill(array_ops.shape(a), array(value, type_of(a))), a)


def nansum(a, axis=None, dtype=None, keepdims=False):
    """The sum of elements that are numbers."""
    return sum(_replace_nan(a, 0), axis, dtype, keepdims)


def nanprod(a, axis=None, dtype=None, keepdims=False):
    """The product of elements that are numbers."""
    return prod(_replace_nan(a, 1), axis, dtype, keepdims)


def nanmean(a, axis=None, dtype=None, keepdims=None):
    """The mean of elements that are numbers."""
    a = array(a)
    if _kind(a) in "biu":
        return mean(a, axis, dtype, keepdims=keepdims)
    count = sum(cast(raw_ops.LogicalNot(x=raw_ops.IsNan(x=a)), a.dtype), axis, dtype, keepdims)
    return nansum(a, axis, dtype, keepdims) / count


def _place(op):
    def function(a, axis=None):
        a = array(a)
        if _kind(a) == "b":
            a = cast(a, "int8")
        if axis is None:
            a, axis = array_ops.reshape(a, [-1]), 0
        elif a.shape.rank == 0:
            a = array_ops.reshape(a, [-1])
        return op(a, axis=axis, output_type=as_dtype("int64"))
    return function


argmax, argmin = _place(math_ops.argmax), _place(math_ops.argmin)
argmax.__doc__, argmin.__doc__ = "Where the largest element is.", "Where the smallest element is."


def argsort(a, axis=-1, kind="quicksort", order=None):
    """The indices that sort along an axis."""
    if kind not in ("quicksort", "stable"):
        raise ValueError(f"Invalid value for argument `kind`. Only kind='quicksort' and kind='stable' are supported. "
                         f"Received: kind={kind}")
    if order is not None:
        raise ValueError(f"The `order` argument is not supported. Pass order=None. Received: order={order}")
    a = array(a)
    if axis is None or a.shape.rank == 0:
        a, axis = array_ops.reshape(a, [-1]), 0
    return cast(array_ops.argsort(a, axis=axis, stable=True), "int64")


def sort(a, axis=-1, kind="quicksort", order=None):
    """Sorted along an axis, or all elements."""
    if kind != "quicksort":
        raise ValueError(f"Invalid value for argument `kind`. Only kind='quicksort' is supported. Received: kind={kind}")
    if order is not None:
        raise ValueError("Setting order is not supported.")
    a = array(a)
    if axis is None:
        a, axis = array_ops.reshape(a, [-1]), 0
    return array_ops.sort(a, axis=axis)


def matmul(x1, x2):
    """The product of matrices, or of vectors with them."""
    a, b = promoted(x1, x2)
    if a.shape.rank == 1 and b.shape.rank == 1:
        return math_ops.tensordot(a, b, axes=[[0], [0]])
    if b.shape.rank == 1:
        return array_ops.squeeze(math_ops.matmul(a, b[:, None]), -1)
    if a.shape.rank == 1:
        return array_ops.squeeze(math_ops.matmul(a[None, :], b), -2)
    return math_ops.matmul(a, b)


def dot(a, b):
    """The sum of products over the last axis of `a` and the last but one of `b`."""
    a, b = promoted(a, b)
    if a.shape.rank == 0 or b.shape.rank == 0:
        return a * b
    return math_ops.tensordot(a, b, axes=[[-1], [-1 if b.shape.rank == 1 else -2]])


def inner(a, b):
    """The sum of products over the last axes."""
    a, b = promoted(a, b)
    if a.shape.rank == 0 or b.shape.rank == 0:
        return a * b
    return math_ops.tensordot(a, b, axes=[[-1], [-1]])


def outer(a, b):
    """All products of an element of `a` and one of `b`."""
    a, b = promoted(a, b)
    return array_ops.reshape(a, [-1, 1]) * array_ops.reshape(b, [1, -1])


def vdot(a, b):
    """The sum of products of all elements, those of `a` conjugated."""
    a, b = promoted(a, b)
    a, b = array_ops.reshape(a, [-1]), array_ops.reshape(b, [-1])
    return math_ops.tensordot(math_ops.conj(a) if _kind(a) == "c" else a, b, axes=[[0], [0]])


def tensordot(a, b, axes=2):
    """Sums of products over the given axes."""
    a, b = promoted(a, b)
    return math_ops.tensordot(a, b, axes=axes)


def einsum(subscripts, *operands, **kwargs):
    """Einstein's notation for sums of products."""
    casting = kwargs.pop("casting", "safe")
    optimize = kwargs.pop("optimize", False)
    if casting != "safe":
        raise ValueError(f"casting must be 'safe'; got {casting}")
    return math_ops.einsum(subscripts, *promoted(*operands), optimize={False: "greedy", True: "greedy"}.get(
        optimize, optimize), **kwargs)


def kron(a, b):
    """Kronecker's product."""
    a, b = promoted(a, b)
    rank = np.maximum(a.shape.rank, b.shape.rank)

    def widen(x, own, at):
        dims = [1] * (rank - len(own)) + list(own)
        return array_ops.reshape(x, [d for size in dims for d in ((size, 1) if at == 0 else (1, size))])

    product = widen(a, a.shape.as_list(), 0) * widen(b, b.shape.as_list(), 1)
    sizes = product.shape.as_list()
    return array_ops.reshape(product, [sizes[2 * i] * sizes[2 * i + 1] for i in range(rank)])


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross product of vectors of two or three elements."""
    if axis is not None:
        axisa = axisb = axisc = axis
    from weir.numpy_functions.arrays import moveaxis
    a, b = promoted(a, b)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    sizes = a.shape[-1], b.shape[-1]
    if not set(sizes) <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product (dimension must be 2 or 3)")
    if sizes == (2, 2):
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    x = [a[..., i] if i < sizes[0] else array_ops.zeros_like(a[..., 0]) for i in range(3)]
    y = [b[..., i] if i < sizes[1] else array_ops.zeros_like(b[..., 0]) for i in range(3)]
    parts = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    return moveaxis(array_ops.stack(parts, axis=-1), -1, axisc)


def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    """The sum of a diagonal."""
    from weir.numpy_functions.arrays import diagonal
    a = array(a, dtype)
    if offset == 0:  # as linalg.trace, which does not widen integers
        return math_ops.reduce_sum(diagonal(a, offset, axis1, axis2), axis=-1)
    return sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)

