"""Functions of tf.experimental.numpy that make arrays and change their shape."""

import builtins

import numpy as np

from weir.framework import as_dtype, raw_ops
from weir.numpy_functions.types import array as _array
from weir.numpy_functions.types import common_type, default_float, floating, promoted, type_of
from weir.ops import array as array_ops
from weir.ops import linalg
from weir.ops import math as math_ops
from weir.ops.dtypes import cast

__all__ = ["array", "asarray", "asanyarray", "ascontiguousarray", "copy", "empty", "empty_like", "zeros", "zeros_like",
           "ones", "ones_like", "full", "full_like", "eye", "identity", "arange", "linspace", "logspace", "geomspace",
           "tri", "tril", "triu", "vander", "diag", "diagflat", "diagonal", "diag_indices", "meshgrid", "ix_", "shape",
           "size", "ndim", "reshape", "ravel", "flatten", "transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze",
           "concatenate", "stack", "hstack", "vstack", "dstack", "split", "hsplit", "vsplit", "dsplit", "append", "tile",
           "repeat", "roll", "rot90", "flip", "fliplr", "flipud", "pad", "broadcast_to", "broadcast_arrays",
           "atleast_1d", "atleast_2d", "atleast_3d", "take", "take_along_axis", "compress", "nonzero", "diff"]


def array(val, dtype=None, copy=True, ndmin=0):  # pylint: disable=redefined-outer-name
    """`val` as an array, of at least `ndmin` dimensions."""
    out = _array(val, dtype)
    missing = ndmin - out.shape.rank
    return array_ops.reshape(out, [1] * missing + out.shape.as_list()) if missing > 0 else out


def asarray(a, dtype=None):
    """`a` as an array."""
    return _array(a, dtype)


asanyarray = ascontiguousarray = asarray


def copy(a):
    """A copy."""
    return array_ops.identity(_array(a))


def _sizes(shape):  # pylint: disable=redefined-outer-name
    return [shape] if isinstance(shape, (int, np.integer)) else shape


def zeros(shape, dtype=float):  # pylint: disable=redefined-outer-name
    """Zeros."""
    return array_ops.zeros(_sizes(shape), dtype=_type(dtype))


def ones(shape, dtype=float):  # pylint: disable=redefined-outer-name
    """Ones."""
    return array_ops.ones(_sizes(shape), dtype=_type(dtype))


empty = zeros


def _type(dtype):
    if dtype is float:
        return as_dtype(default_float())
    return as_dtype({int: np.int64, bool: np.bool_, complex: np.complex128}.get(dtype, dtype))


def zeros_like(a, dtype=None):
    """Zeros in the shape of `a`."""
    a = _array(a)
    return array_ops.zeros_like(a, dtype=_type(dtype) if dtype is not None else None)


def ones_like(a, dtype=None):
    """Ones in the shape of `a`."""
    a = _array(a)
    return array_ops.ones_like(a, dtype=_type(dtype) if dtype is not None else None)


empty_like = zeros_like


def full(shape, fill_value, dtype=None):  # pylint: disable=redefined-outer-name
    """An array of one value."""
    value = _array(fill_value, dtype)
    return array_ops.broadcast_to(value, _sizes(shape))


def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None):  # pylint: disable=redefined-outer-name
    """One value in the shape of `a`."""
    if order != "K":
        raise ValueError("Non-standard orders are not supported.")
    if not subok:
        raise ValueError("subok being False is not supported.")
    if shape:
        raise ValueError("Overriding the shape is not supported.")
    a = _array(a)
    return array_ops.broadcast_to(_array(fill_value, dtype or a.dtype), array_ops.shape(a))


def eye(N, M=None, k=0, dtype=float):  # pylint: disable=invalid-name
    """Ones on a diagonal."""
    return _array(np.eye(N, M, k), _type(dtype))


def identity(n, dtype=float):
    """The identity matrix."""
    return eye(n, dtype=dtype)


def arange(start, stop=None, step=1, dtype=None):
    """Numbers from `start` to before `stop`."""
    if not step:
        raise ValueError("step must be non-zero.")
    if dtype is None:
        dtype = common_type(*[v for v in (start, stop, step) if v is not None])
        dtype = np.dtype(np.int64) if dtype.kind == "b" else dtype
    dtype = as_dtype(dtype)
    if stop is None:
        start, stop = 0, start
    if (step > 0 and start > stop) or (step < 0 and start < stop):
        return _array(np.zeros([0]), dtype)
    return cast(array_ops.range(start, limit=stop, delta=step), dtype)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=float, axis=0):
    """`num` numbers at equal distances."""
    if dtype is not None:
        dtype = _type(dtype)
    start, stop = (_array(v, floating(common_type(start, stop))) for v in (start, stop))
    if num < 0:
        raise ValueError(f"Argument `num` (number of samples) must be a non-negative integer. Received: num={num}")
    steps = num - 1 if endpoint else num
    step = (stop - start) / _array(steps, type_of(start)) if steps > 0 else _array(np.nan, type_of(start))
    counts = _array(np.arange(num), type_of(start))
    rank = (start + stop).shape.rank
    counts = array_ops.reshape(counts, [-1] + [1] * rank)
    out = start + counts * step if steps > 0 else start + counts * (stop - start)
    if endpoint and num > 1:
        out = array_ops.concat([out[:-1], array_ops.broadcast_to(stop, array_ops.shape(out[0]))[None]], 0)
    if axis:
        out = moveaxis(out, 0, axis)
    if dtype is not None:
        out = cast(out, dtype)
    return (out, step) if retstep else out


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Numbers at equal distances on a scale of logarithms."""
    dtype = as_dtype(dtype) if dtype is not None else as_dtype(floating(common_type(start, stop)))
    exponents = linspace(start, stop, num=num, endpoint=endpoint, axis=axis)
    return cast(math_ops.pow(_array(base, type_of(exponents)), exponents), dtype)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """Numbers of equal ratios."""
    dtype = as_dtype(dtype) if dtype is not None else as_dtype(floating(common_type(start, stop)))
    computed = default_float()
    start, stop = _array(start, computed), _array(stop, computed)
    sign = raw_ops.Sign(x=start)
    logs = linspace(raw_ops.Log(x=start * sign), raw_ops.Log(x=stop * sign), num=num, endpoint=endpoint, axis=axis)
    return cast(sign * raw_ops.Exp(x=logs), dtype)


def tri(N, M=None, k=0, dtype=None):  # pylint: disable=invalid-name
    """Ones on and below a diagonal."""
    return _array(np.tri(N, M, k), _type(dtype if dtype is not None else float))


def _triangle(m, k, keep):
    m = _array(m)
    if m.shape.rank < 2:
        raise ValueError("Argument to tril must have rank at least 2")
    mask = keep(np.ones(m.shape.as_list()[-2:], bool), k)
    return array_ops.where(_array(mask), m, array_ops.zeros_like(m))


def tril(m, k=0):
    """What is on and below a diagonal."""
    return _triangle(m, k, np.tril)


def triu(m, k=0):
    """What is on and above a diagonal."""
    return _triangle(m, k, np.triu)


def vander(x, N=None, increasing=False):  # pylint: disable=invalid-name
    """The matrix of the powers of `x`."""
    x = _array(x)
    count = x.shape[0] if N is None else N
    if count < 0:
        raise ValueError("N must be nonnegative")
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    return raw_ops.Pow(x=x[:, None], y=_array(powers.copy(), type_of(x)))


def diag(v, k=0):
    """The diagonal of a matrix, or the matrix with a diagonal."""
    v = _array(v)
    if v.shape.rank == 1:
        return raw_ops.MatrixDiagV3(diagonal=v, k=k, num_rows=-1, num_cols=-1,
                                    padding_value=_array(0, type_of(v)), align="RIGHT_LEFT")
    if v.shape.rank != 2:
        raise ValueError("Input must be 1- or 2-d.")
    return diagonal(v, k)


def diagflat(v, k=0):
    """The matrix whose diagonal holds the elements."""
    return diag(array_ops.reshape(_array(v), [-1]), k)


def diagonal(a, offset=0, axis1=0, axis2=1):
    """The diagonals of the matrices along two axes."""
    a = moveaxis(moveaxis(_array(a), axis1, -2) if axis1 != -2 else a, *_second(axis1, axis2, a), -1)
    rows, columns = a.shape[-2], a.shape[-1]
    if offset >= columns or offset <= -rows:
        return a[..., 0, :0]
    return linalg.diag_part(a, k=offset)


def _second(axis1, axis2, a):
    """Where axis2 is once axis1 has moved to the last place but one."""
    rank = _array(a).shape.rank
    axis1, axis2 = axis1 % rank, axis2 % rank
    order = [i for i in range(rank) if i != axis1]
    order.insert(rank - 2, axis1)
    return (order.index(axis2),)


def diag_indices(n, ndim=2):  # pylint: disable=redefined-outer-name
    """The indices of a diagonal."""
    return (array_ops.range(n),) * ndim


def meshgrid(*xi, **kwargs):
    """Coordinates of a grid."""
    sparse, copies = kwargs.get("sparse", False), kwargs.get("copy", True)
    if sparse:
        raise ValueError(f"Function `meshgrid` does not support returning sparse arrays yet. Received: sparse={sparse}")
    if not copies:
        raise ValueError(f"Function `meshgrid` only supports copy=True. Received: copy={copies}")
    return array_ops.meshgrid(*[_array(x) for x in xi], indexing=kwargs.get("indexing", "xy"))


def ix_(*args):
    """Vectors shaped so that they index a grid."""
    out = []
    for i, arg in enumerate(args):
        arg = _array(arg)
        if arg.shape.rank != 1:
            raise ValueError(f"Arguments must be 1-d, got arg {i} of rank {arg.shape.rank}")
        if arg.dtype.is_bool:
            arg = nonzero(arg)[0]
        out.append(array_ops.reshape(arg, [1] * i + [-1] + [1] * (len(args) - 1 - i)))
    return out


def shape(a):
    """The sizes, as a tuple."""
    return tuple(_array(a).shape.as_list())


def size(x, axis=None):
    """How many elements there are."""
    if axis is not None:
        raise NotImplementedError("axis argument is not supported in the current `np.size` implementation")
    if isinstance(x, (int, float, np.int32, np.int64, np.float32, np.float64)):
        return 1
    x = _array(x)
    return x.shape.num_elements() if x.shape.is_fully_defined() else array_ops.size(x)


def ndim(a):
    """The number of dimensions."""
    return _array(a).shape.rank


def reshape(a, newshape, order="C"):
    """The elements in another shape."""
    if order not in ("C", "F"):
        raise ValueError(f"Unsupported order argument {order}")
    a = _array(a)
    newshape = _sizes(newshape)
    if order == "F":
        return transpose(array_ops.reshape(transpose(a), list(newshape)[::-1]))
    return array_ops.reshape(a, newshape)


def ravel(a):
    """The elements as a vector."""
    return array_ops.reshape(_array(a), [-1])


def flatten(a, order="C"):
    """The elements as a vector."""
    a = _array(a)
    if order in ("C", "A", "K"):
        return array_ops.reshape(a, [-1])
    if order == "F":
        return array_ops.reshape(transpose(a), [-1])
    raise ValueError("order can only be C, A, K (all row major) or F (column major).")


def transpose(a, axes=None):
    """The axes in another order, or reversed."""
    return array_ops.transpose(_array(a), perm=axes)


def swapaxes(a, axis1, axis2):
    """Two axes exchanged."""
    a = _array(a)
    order = list(range(a.shape.rank))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return array_ops.transpose(a, order)


def moveaxis(a, source, destination):
    """Axes moved to other places."""
    a = _array(a)
    rank = a.shape.rank
    source = [s % rank for s in ([source] if isinstance(source, int) else source)]
    destination = [d % rank for d in ([destination] if isinstance(destination, int) else destination)]
    if len(source) != len(destination):
        raise ValueError("The lengths of source and destination must equal")
    order = [i for i in range(rank) if i not in source]
    for place, axis in sorted(zip(destination, source)):
        order.insert(place, axis)
    return a if order == list(range(rank)) else array_ops.transpose(a, order)


def expand_dims(a, axis):
    """A dimension of size 1 more."""
    return array_ops.expand_dims(_array(a), axis)


def squeeze(a, axis=None):
    """Without dimensions of size 1."""
    return array_ops.squeeze(_array(a), axis)


def _together(arrays):
    return promoted(*arrays) if len(arrays) > 1 or not hasattr(arrays, "shape") else promoted(*list(arrays))


def concatenate(arys, axis=0):
    """Arrays one after the other."""
    arys = _together(list(arys))
    if axis is None:
        return array_ops.concat([ravel(a) for a in arys], 0)
    return array_ops.concat(arys, axis)


def stack(arrays, axis=0):
    """Arrays along a new axis."""
    if hasattr(arrays, "shape"):
        arrays = _array(arrays)
        return arrays if axis == 0 else swapaxes(arrays, 0, axis)
    return array_ops.stack(promoted(*arrays), axis)


def hstack(tup):
    """Arrays side by side."""
    parts = [atleast_1d(a) for a in promoted(*tup)]
    return array_ops.concat(parts, 0 if parts[0].shape.rank == 1 else 1)


def vstack(tup):
    """Arrays one above the other."""
    return array_ops.concat([atleast_2d(a) for a in promoted(*tup)], 0)


def dstack(tup):
    """Arrays along the third axis."""
    return array_ops.concat([atleast_3d(a) for a in promoted(*tup)], 2)


def split(ary, indices_or_sections, axis=0):
    """Parts of an array along an axis."""
    ary = _array(ary)
    if isinstance(indices_or_sections, int):
        return array_ops.split(ary, indices_or_sections, axis=axis)
    edges = [0, *[int(i) for i in np.asarray(indices_or_sections)], ary.shape[axis]]
    return array_ops.split(ary, [builtins.max(b - a, 0) for a, b in zip(edges, edges[1:])], axis=axis)


def hsplit(ary, indices_or_sections):
    """Parts side by side."""
    ary = _array(ary)
    return split(ary, indices_or_sections, 0 if ary.shape.rank == 1 else 1)


def vsplit(ary, indices_or_sections):
    """Parts one above the other."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary, indices_or_sections):
    """Parts along the third axis."""
    return split(ary, indices_or_sections, 2)


def append(arr, values, axis=None):
    """`values` behind `arr`."""
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis)


def tile(a, reps):
    """Copies of an array side by side."""
    a = _array(a)
    reps = [int(r) for r in np.asarray(reps).reshape(-1)]
    missing = len(reps) - a.shape.rank
    if missing > 0:
        a = array_ops.reshape(a, [1] * missing + a.shape.as_list())
    return array_ops.tile(a, [1] * builtins.max(-missing, 0) + reps)


def repeat(a, repeats, axis=None):
    """Each element several times."""
    a = _array(a)
    return array_ops.repeat(a, repeats, axis)


def roll(a, shift, axis=None):
    """Elements moved along an axis; those that leave come in again at the other end."""
    a = _array(a)
    if axis is not None:
        return raw_ops.Roll(input=a, shift=shift, axis=axis)
    return array_ops.reshape(raw_ops.Roll(input=array_ops.reshape(a, [-1]), shift=shift, axis=0), array_ops.shape(a))


def rot90(m, k=1, axes=(0, 1)):
    """Turned by 90 degrees `k` times."""
    m = _array(m)
    first, second = (x % m.shape.rank for x in axes)
    k %= 4
    if k == 0:
        return m
    if k == 2:
        return flip(flip(m, first), second)
    return swapaxes(flip(m, second), first, second) if k == 1 else flip(swapaxes(m, first, second), second)


def flip(m, axis=None):
    """The elements in reverse order."""
    m = _array(m)
    if axis is None:
        return raw_ops.ReverseV2(tensor=m, axis=list(range(m.shape.rank)))
    return raw_ops.ReverseV2(tensor=m, axis=[axis % m.shape.rank])


def flipud(m):
    """The rows in reverse order."""
    return flip(m, 0)


def fliplr(m):
    """The columns in reverse order."""
    return flip(m, 1)


def pad(array, pad_width, mode, **kwargs):  # pylint: disable=redefined-outer-name
    """More elements at the edges."""
    if mode not in ("constant", "reflect", "symmetric"):
        raise ValueError(f"Unsupported padding mode: {mode}")
    array = _array(array)
    widths = np.broadcast_to(np.asarray(pad_width), (array.shape.rank, 2))
    return array_ops.pad(array, widths.astype(np.int32), mode.upper(),
                         constant_values=kwargs.get("constant_values", 0))


def broadcast_to(array, shape):  # pylint: disable=redefined-outer-name
    """In a larger shape."""
    return array_ops.broadcast_to(_array(array), _sizes(shape))


def broadcast_arrays(*args, **kwargs):
    """All in one shape."""
    if kwargs.get("subok", False):
        raise ValueError("subok=True is not supported.")
    args = [_array(a) for a in args]
    common = np.broadcast_shapes(*[tuple(a.shape.as_list()) for a in args])
    return [array_ops.broadcast_to(a, common) for a in args]


def _at_least(rank, arys, reshape_of):
    out = [_array(a) for a in arys]
    out = [a if a.shape.rank >= rank else array_ops.reshape(a, reshape_of(a.shape.as_list())) for a in out]
    return out[0] if len(out) == 1 else out


def atleast_1d(*arys):
    """At least one dimension."""
    return _at_least(1, arys, lambda s: [1])


def atleast_2d(*arys):
    """At least two dimensions."""
    return _at_least(2, arys, lambda s: [1] * (2 - len(s)) + s)


def atleast_3d(*arys):
    """At least three dimensions."""
    return _at_least(3, arys, lambda s: [1, 1, 1] if not s else [1, s[0], 1] if len(s) == 1 else s + [1])


def take(a, indices, axis=None, out=None, mode="clip"):
    """Elements along an axis by their indices."""
    if out is not None:
        raise ValueError("out argument is not supported in take.")
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"Invalid mode '{mode}' for take")
    a, indices = _array(a), _array(indices)
    if axis is None:
        a, axis = array_ops.reshape(a, [-1]), 0
    axis_size = array_ops.shape(a, out_type=indices.dtype)[axis]
    if mode == "clip":
        indices = raw_ops.Minimum(x=raw_ops.Maximum(x=indices, y=_array(0, type_of(indices))), y=axis_size - 1)
    elif mode == "wrap":
        indices = raw_ops.FloorMod(x=indices, y=axis_size)
    else:
        raise ValueError("The 'raise' mode to take is not supported.")
    return array_ops.gather(a, indices, axis=axis)


def take_along_axis(arr, indices, axis):
    """For each place the element at its own index along an axis."""
    arr, indices = _array(arr), _array(indices)
    if axis is None:
        return take_along_axis(array_ops.reshape(arr, [-1]), indices, 0)
    rank = arr.shape.rank
    axis %= rank
    sizes = [b if i == axis else builtins.max(a, b) for i, (a, b) in
             enumerate(zip(arr.shape.as_list(), indices.shape.as_list()))]
    indices = array_ops.broadcast_to(indices, sizes)
    arr = array_ops.broadcast_to(arr, [arr.shape[i] if i == axis else s for i, s in enumerate(sizes)])
    arr, indices = moveaxis(arr, axis, -1), moveaxis(indices, axis, -1)
    indices = raw_ops.FloorMod(x=indices, y=_array(arr.shape[-1], type_of(indices)))
    out = array_ops.gather(arr, indices, axis=-1, batch_dims=rank - 1)
    return moveaxis(out, -1, axis)


def compress(condition, a, axis=None):
    """The slices where the condition holds."""
    condition, a = cast(_array(condition), "bool"), _array(a)
    if condition.shape.rank != 1:
        raise ValueError("condition must be a 1-d array.")
    if axis is None:
        a, axis = array_ops.reshape(a, [-1]), 0
    keep = cast(array_ops.where(condition)[:, 0], "int64")
    return array_ops.gather(a, keep, axis=axis)


def nonzero(a):
    """The indices of elements that are not zero, a vector for each axis."""
    a = atleast_1d(_array(a))
    places = array_ops.where(cast(a, "bool"))
    return array_ops.unstack(places, num=a.shape.rank, axis=1)


def diff(a, n=1, axis=-1):
    """Differences of neighbours."""
    a = _array(a)
    if n < 0:
        raise ValueError(f"Argument `order` must be a non-negative integer. Received: axis={n}")
    axis %= a.shape.rank
    for _ in range(n):
        count = a.shape[axis]
        high = array_ops.gather(a, np.arange(1, builtins.max(count, 1)), axis=axis)
        low = array_ops.gather(a, np.arange(builtins.max(count - 1, 0)), axis=axis)
        a = raw_ops.NotEqual(x=high, y=low) if a.dtype.is_bool else high - low
    return a

