"""Functions that make, reshape, join, cut and index tensors."""

import builtins

import numpy as np

from weir import _core
from weir.framework import (TensorShape, as_dtype, convert_to_tensor, dispatch, executing_eagerly, get_static_value,
                            is_tensor, raw_ops)
from weir.framework.dispatch import scoped
from weir.framework.shapes import Dimension
from weir.ops import dtypes
from weir.ops.dtypes import cast

newaxis = None


def shape_argument(shape):
    """Dimensions as an op's argument: plain numbers stay so in graphs, where the op names its constants itself."""
    if _core.current_graph() is not None and isinstance(shape, (list, builtins.tuple)) and shape and all(
            isinstance(d, (int, np.integer)) and abs_int(d) <= 0x7FFFFFFF for d in shape):
        return np.array(shape, np.int32)
    return shape_tensor(shape)


def shape_tensor(shape, dtype=None, name="shape"):
    """A vector of dimensions from a TensorShape, a number, a sequence of numbers and scalars, or a tensor."""
    if is_tensor(shape):
        return shape
    if isinstance(shape, TensorShape):
        if not shape.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
        shape = shape.as_list()
    if isinstance(shape, (list, builtins.tuple)):
        shape = list(shape)
        if not any(is_tensor(d) for d in shape):
            if dtype is None and any(isinstance(d, int) and abs_int(d) > 0x7FFFFFFF for d in shape):
                dtype = dtypes.int64
            return convert_to_tensor(shape, dtype=dtype or dtypes.int32, name=name)
        kind = dtype or next(as_dtype(d.dtype) for d in shape if is_tensor(d))
        if kind not in (dtypes.int32, dtypes.int64):
            kind = dtypes.int32
        return raw_ops.Pack(values=[convert_to_tensor(d, dtype=kind) if not is_tensor(d) else cast(d, kind)
                                    for d in shape], axis=0)
    if isinstance(shape, np.ndarray) and shape.size == 0:
        return convert_to_tensor(shape.astype(np.int32), name=name)
    return convert_to_tensor(shape, dtype=dtype, name=name)


def abs_int(value):
    """|value| of a Python number."""
    return -value if value < 0 else value


def constant(value, dtype=None, shape=None, name="Const"):
    """A constant tensor of a Python value, a nested list or a numpy array, filled up to `shape` if one is given."""
    from weir.framework import constant as make_constant
    return make_constant(value, dtype=dtype, shape=shape, name=name)


def static_rank(tensor):
    """The rank of a tensor if it is known, else None."""
    return tensor.shape.rank


def _static_axis(axis):
    value = axis if isinstance(axis, (int, np.integer)) else get_static_value(axis) if is_tensor(axis) else None
    return None if value is None else int(value)


@dispatch
def identity(input, name=None):  # pylint: disable=redefined-builtin
    """A tensor with the contents of `input`."""
    from weir.framework import identity as make_identity
    return make_identity(input, name=name)


@dispatch
def stop_gradient(input, name=None):  # pylint: disable=redefined-builtin
    """`input`, through which no gradient flows back."""
    return raw_ops.StopGradient(input=input, name=name)


@dispatch
def shape(input, out_type=None, name=None):  # pylint: disable=redefined-builtin
    """The dimensions of `input` as a vector of `out_type` (int32 unless told)."""
    out_type = dtypes.int32 if out_type is None else as_dtype(out_type)
    input = convert_to_tensor(input)
    if not executing_eagerly() and input.shape.is_fully_defined():
        return constant(np.array(input.shape.as_list(), dtype=out_type.as_numpy_dtype), dtype=out_type,
                        name=name or "Shape")
    return raw_ops.Shape(input=input, out_type=out_type, name=name)


def shape_n(input, out_type=dtypes.int32, name=None):  # pylint: disable=redefined-builtin
    """The shapes of several tensors."""
    return raw_ops.ShapeN(input=input, out_type=out_type, name=name)


@dispatch
def size(input, out_type=None, name=None):  # pylint: disable=redefined-builtin
    """The number of elements of `input` as a scalar of `out_type` (int32 unless told)."""
    out_type = dtypes.int32 if out_type is None else as_dtype(out_type)
    input = convert_to_tensor(input)
    if not executing_eagerly() and input.shape.is_fully_defined():
        return constant(input.shape.num_elements(), dtype=out_type, name=name or "Size")
    return raw_ops.Size(input=input, out_type=out_type, name=name)


@dispatch
def rank(input, name=None):  # pylint: disable=redefined-builtin
    """The number of dimensions of `input`, an int32 scalar."""
    input = convert_to_tensor(input)
    if not executing_eagerly() and input.shape.rank is not None:
        return constant(input.shape.rank, dtype=dtypes.int32, name=name or "Rank")
    return raw_ops.Rank(input=input, name=name)


@dispatch
def reshape(tensor, shape, name=None):  # pylint: disable=redefined-outer-name
    """The elements of `tensor` in another shape; one dimension may be -1 and is then inferred."""
    return raw_ops.Reshape(tensor=tensor, shape=shape_argument(shape), name=name)


@dispatch
def expand_dims(input, axis, name=None):  # pylint: disable=redefined-builtin
    """`input` with a dimension of size 1 inserted at `axis`."""
    if axis is None:
        raise ValueError("axis must not be None")
    return raw_ops.ExpandDims(input=input, axis=axis, name=name)


@dispatch
def squeeze(input, axis=None, name=None):  # pylint: disable=redefined-builtin
    """`input` without its dimensions of size 1: all of them, or those named by `axis`."""
    if np.isscalar(axis):
        axis = [axis]
    return raw_ops.Squeeze(input=input, axis=[] if axis is None else list(axis), name=name)


@dispatch
@scoped("transpose")
def transpose(a, perm=None, conjugate=False, name="transpose"):
    """`a` with its dimensions permuted by `perm`, reversed without one; conjugated if asked."""
    a = convert_to_tensor(a, name="a")
    op = raw_ops.ConjugateTranspose if conjugate and a.dtype.is_complex else raw_ops.Transpose
    if perm is None:
        known = a.shape.rank
        perm = (np.arange(known - 1, -1, -1, dtype=np.int32) if known is not None else
                raw_ops.Sub(x=raw_ops.Sub(x=rank(a), y=1), y=range(rank(a))))
    elif not is_tensor(perm):
        perm = shape_tensor(list(perm) if isinstance(perm, (builtins.tuple, list)) else perm)
    return op(x=a, perm=perm, name=name)


@dispatch
def concat(values, axis, name="concat"):
    """Tensors joined along an existing dimension."""
    if not isinstance(values, (list, builtins.tuple)):
        values = [values]
    if len(values) == 1:
        axis = convert_to_tensor(axis, dtype=dtypes.int32, name="concat_dim")
        axis.shape.with_rank(0)
        return identity(values[0], name=name)
    return raw_ops.ConcatV2(values=list(values), axis=axis, name=name)


@dispatch
def stack(values, axis=0, name="stack"):
    """Tensors of equal shape joined along a new dimension."""
    if axis == 0 and not is_tensor(values) and not any(is_tensor(v) for v in values):
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass  # A list of lists with tensors inside: packed below.
    elements = values if isinstance(values, (list, builtins.tuple)) else unstack(values)
    if len(elements):
        known = convert_to_tensor(elements[0]).shape.rank
        if known is not None and not -(known + 1) <= axis < known + 1:
            raise ValueError(f"Argument `axis` = {axis} not in range [{-(known + 1)}, {known + 1})")
    return raw_ops.Pack(values=list(elements), axis=axis, name=name)


def parallel_stack(values, name="parallel_stack"):
    """As `stack` along the first dimension, copying each value as soon as it is there."""
    first = convert_to_tensor(values[0])
    if not first.shape.is_fully_defined():
        raise ValueError("parallel_stack needs values whose shapes are known")
    rows = [expand_dims(v, 0) for v in values]
    return raw_ops.ParallelConcat(values=rows, shape=TensorShape([len(rows)] + first.shape.as_list()), name=name)


@dispatch
def unstack(value, num=None, axis=0, name="unstack"):
    """The slices of `value` along `axis` as a list. `num` is needed only where that dimension is unknown."""
    if num is None:
        value = convert_to_tensor(value)
        known = value.shape
        if known.rank is not None:
            if not -known.rank <= axis < known.rank:
                raise ValueError(f"Argument `axis` = {axis} not in range [{-known.rank}, {known.rank})")
            num = known[axis]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {known}")
    return list(raw_ops.Unpack(value=value, num=int(num), axis=axis, name=name)) if int(num) != 0 else []


@dispatch
def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """`value` cut along `axis` into equal parts (a number) or parts of given sizes (a vector)."""
    if isinstance(num_or_size_splits, (int, np.integer, Dimension)) and not isinstance(num_or_size_splits, builtins.bool):
        return list(raw_ops.Split(axis=axis, num_split=int(num_or_size_splits), value=value, name=name))
    sizes = shape_tensor(num_or_size_splits) if not is_tensor(num_or_size_splits) else num_or_size_splits
    if sizes.shape.rank == 0:
        raise ValueError("Rank-0 tensors are not supported as the num_or_size_splits argument to split. Argument "
                         f"provided: {num_or_size_splits}")
    if num is None:
        num = sizes.shape[0] if sizes.shape.rank is not None else None
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {num_or_size_splits}")
    return list(raw_ops.SplitV(value=value, size_splits=sizes, axis=axis, num_split=int(num), name=name))


def _is_variable(value):
    return hasattr(value, "sparse_read") and hasattr(value, "handle")


@dispatch
def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    """Slices of `params` along `axis`, chosen by `indices`; the first `batch_dims` dimensions run in parallel."""
    del validate_indices  # Kernels always check.
    if axis is None:
        axis = batch_dims
    if _static_axis(axis) == 0 and batch_dims == 0 and _is_variable(params):
        return params.sparse_read(indices, name=name)
    if not is_tensor(axis):
        axis = convert_to_tensor(axis, dtype=dtypes.int32 if isinstance(axis, int) else None)
    return raw_ops.GatherV2(params=params, indices=indices, axis=axis, batch_dims=batch_dims, name=name)


@dispatch
def gather_nd(params, indices, batch_dims=0, name=None, bad_indices_policy=""):
    """Elements or slices of `params`; the last dimension of `indices` holds index tuples."""
    batch = _static_axis(batch_dims)
    if batch == 0:
        if hasattr(params, "gather_nd") and not is_plain_tensor(params):
            return params.gather_nd(indices, name=name)
        extra = {"bad_indices_policy": bad_indices_policy} if bad_indices_policy else {}
        return raw_ops.GatherNd(params=params, indices=indices, name=name, **extra)
    return _batched_gather_nd(convert_to_tensor(params), convert_to_tensor(indices), batch_dims, name)


def is_plain_tensor(value):
    """True for a tensor proper, False for a variable and for everything else."""
    from weir.framework import Tensor
    return isinstance(value, Tensor)


def _batched_gather_nd(params, indices, batch_dims, name):
    """Prefixes every index tuple with the coordinates of its batch, then gathers from the whole."""
    indices_rank = indices.shape.rank
    if indices_rank is None:
        raise ValueError("tf.gather_nd does not allow indices with unknown shape.")
    batch_dims = int(batch_dims)
    if batch_dims < 0:
        batch_dims += indices_rank
    if batch_dims < 0 or batch_dims >= indices_rank:
        raise ValueError(f"batch_dims = {batch_dims} must be less than rank(indices) = {indices_rank}")
    if params.shape.rank is not None and batch_dims >= params.shape.rank:
        raise ValueError(f"batch_dims = {batch_dims} must be less than rank(params) = {params.shape.rank}")
    full = shape(indices, out_type=indices.dtype)
    batch_shape = full[:batch_dims]
    coordinates = meshgrid(*[range(batch_shape[i]) for i in builtins.range(batch_dims)], indexing="ij")
    grid = stack(coordinates, axis=-1)
    inner = indices_rank - 1 - batch_dims
    grid = reshape(grid, concat([batch_shape, [1] * inner, [batch_dims]], 0) if inner else
                   concat([batch_shape, [batch_dims]], 0))
    grid = broadcast_to(grid, concat([full[:-1], [batch_dims]], 0))
    return raw_ops.GatherNd(params=params, indices=concat([cast(grid, indices.dtype), indices], -1), name=name)


@dispatch
@scoped("boolean_mask", names_result=False)
def boolean_mask(tensor, mask, axis=None, name="boolean_mask"):
    """The elements (or slices) of `tensor` where `mask` is True. The mask covers dimensions from `axis` on."""
    tensor = convert_to_tensor(tensor, name="tensor")
    mask = convert_to_tensor(mask, name="mask")
    mask_rank = mask.shape.rank
    if mask_rank == 0:
        raise ValueError("mask cannot be scalar.")
    if mask_rank is None:
        raise ValueError("Number of mask dimensions must be specified, even if some dimensions are None.  E.g. "
                         "shape=[None] is ok, but shape=None is not.")
    axis = 0 if axis is None else axis
    axis_value = _static_axis(axis)
    if axis_value is not None:
        axis = axis_value
        tensor.shape[axis:axis + mask_rank].assert_is_compatible_with(mask.shape)
    sizes = shape(tensor)
    leading = reshape(raw_ops.Prod(input=sizes[axis:axis + mask_rank], axis=[0]), [1])
    flat = reshape(tensor, concat([sizes[:axis], leading, sizes[axis + mask_rank:]], 0))
    indices = squeeze(where(reshape(mask, [-1])), axis=[1])
    return gather(flat, indices, axis=axis, name=name)


@dispatch
def where(condition, x=None, y=None, name=None):
    """Elements of `x` where `condition` holds, else of `y`; without both, the coordinates of the true elements."""
    if x is None and y is None:
        condition = convert_to_tensor(condition, name="condition")
        return raw_ops.Where(condition=condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return raw_ops.SelectV2(condition=condition, t=x, e=y, name=name)


def _zero_of(dtype):
    if dtype == dtypes.string:
        return ""
    return False if dtype == dtypes.bool else 0


def _filled(shape, value, dtype, name, default):
    """A tensor of one value; in graphs a constant where it is small and its shape is known."""
    graph = _core.current_graph()
    if graph is not None:
        name = name or default
        if isinstance(shape, TensorShape) and shape.is_fully_defined():
            shape = shape.as_list()
        if isinstance(shape, (list, builtins.tuple)) and all(isinstance(d, (int, np.integer)) for d in shape) and \
                0 <= int(np.prod(shape, dtype=np.int64)) < 1000 and dtype != dtypes.string:
            return constant(value, dtype=dtype, shape=list(shape), name=name)
        with graph.name_scope(name) as scope:
            return _fill(shape, value, dtype, scope)
    return _fill(shape, value, dtype, name)


def _fill(shape, value, dtype, name):
    dims = shape_tensor(shape)
    if is_tensor(dims) and dims.shape.rank == 0:
        dims = reshape(dims, [-1])  # one dimension
    return raw_ops.Fill(dims=dims, value=constant(value, dtype=dtype), name=name)


def zeros(shape, dtype=dtypes.float32, name=None, layout=None):
    """A tensor of zeros (of False, of empty strings)."""
    del layout
    dtype = as_dtype(dtype).base_dtype
    return _filled(shape, _zero_of(dtype), dtype, name, "zeros")


def ones(shape, dtype=dtypes.float32, name=None, layout=None):
    """A tensor of ones (of True)."""
    del layout
    dtype = as_dtype(dtype).base_dtype
    return _filled(shape, True if dtype == dtypes.bool else 1, dtype, name, "ones")


@dispatch
def zeros_like(input, dtype=None, name=None, layout=None):  # pylint: disable=redefined-builtin
    """Zeros in the shape of `input`, of its type unless `dtype` names another."""
    del layout
    input = convert_to_tensor(input)
    dtype = input.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
    if dtype == dtypes.variant or (dtype == input.dtype and dtype != dtypes.string):
        if _core.current_graph() is not None and dtype != dtypes.variant and dtype != dtypes.resource and \
                input.shape.is_fully_defined():
            return zeros(input.shape, dtype, name=name or "zeros_like")
        return raw_ops.ZerosLike(x=input, name=name or "zeros_like")
    return zeros(shape(input), dtype, name=name or "zeros_like")


@dispatch
def ones_like(input, dtype=None, name=None, layout=None):  # pylint: disable=redefined-builtin
    """Ones in the shape of `input`, of its type unless `dtype` names another."""
    del layout
    input = convert_to_tensor(input)
    dtype = input.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
    known = _core.current_graph() is not None and input.shape.is_fully_defined()
    return ones(input.shape if known else shape(input), dtype, name=name or "ones_like")


def fill(dims, value, name=None, layout=None):
    """A tensor of shape `dims` whose every element is the scalar `value`."""
    del layout
    return raw_ops.Fill(dims=shape_argument(dims), value=value, name=name)


_RANGE_TYPES = ("int32", "int64", "float16", "bfloat16", "float32", "float64")


@scoped("range")
def range(start, limit=None, delta=1, dtype=None, name="range"):  # pylint: disable=redefined-builtin
    """Numbers from `start` up to but without `limit`, `delta` apart; `range(n)` starts from zero."""
    if limit is None:
        start, limit = 0, start
    start, limit, delta = (v if is_tensor(v) else convert_to_tensor(v, dtype=dtype, name=n)
                           for v, n in ((start, "start"), (limit, "limit"), (delta, "delta")))
    if dtype is None:
        found = [v.dtype.base_dtype.name for v in (start, limit, delta)]
        if all(kind in _RANGE_TYPES for kind in found):
            dtype = as_dtype(max(found, key=_RANGE_TYPES.index))
        else:
            dtype = start.dtype
    else:
        dtype = as_dtype(dtype)
    return raw_ops.Range(start=cast(start, dtype), limit=cast(limit, dtype), delta=cast(delta, dtype), name=name)


@scoped("linspace")
def linspace(start, stop, num, name=None, axis=0):
    """`num` evenly spaced values from `start` to `stop`, both included, along a new dimension `axis`."""
    start = convert_to_tensor(start, name="start")
    stop = convert_to_tensor(stop, name="stop", dtype=start.dtype)
    if start.dtype.is_integer:
        start, stop = cast(start, dtypes.float64), cast(stop, dtypes.float64)
    num = convert_to_tensor(num, name="num")
    count = cast(num, dtypes.int32)
    known = get_static_value(count)
    if known is not None and known < 0:
        from weir.framework import errors
        raise errors.InvalidArgumentError(None, None, f"Requires num > 0: {known} [Op:LinSpace]")
    full = broadcast_dynamic_shape(shape(start), shape(stop))
    start, stop = broadcast_to(start, full), broadcast_to(stop, full)
    first, last = expand_dims(start, axis), expand_dims(stop, axis)
    result_rank = rank(first) if first.shape.rank is None else first.shape.rank
    axis_index = axis if not isinstance(axis, int) or axis >= 0 else result_rank + axis
    steps = raw_ops.Maximum(x=count - 1, y=1)
    delta = (last - first) / cast(steps, last.dtype)
    inner = cast(range(1, steps, dtype=dtypes.int64), delta.dtype)
    along = raw_ops.Equal(x=range(result_rank), y=axis_index)
    inner = reshape(inner, where(along, shape(inner)[0], 1))
    everything = concat([first, first + delta * inner, last], axis=axis)
    sizes = where(along, count, shape(everything))
    begin = zeros_like(sizes)
    result = raw_ops.Slice(input=everything, begin=begin, size=sizes, name=name)
    if known is not None and isinstance(axis, int) and everything.shape.rank is not None:
        dims = everything.shape.as_list()
        dims[axis] = int(known)
        result.set_shape(dims)
    return result


@dispatch
def tile(input, multiples, name=None):  # pylint: disable=redefined-builtin
    """`input` repeated `multiples[i]` times along dimension i."""
    return raw_ops.Tile(input=input, multiples=shape_argument(multiples), name=name)


@dispatch
def broadcast_to(input, shape, name=None):  # pylint: disable=redefined-builtin,redefined-outer-name
    """`input` broadcast to a larger compatible shape."""
    return raw_ops.BroadcastTo(input=input, shape=shape_argument(shape), name=name)


@dispatch
def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):
    """`tensor` with `paddings[i]` = (before, after) elements added along dimension i: constant, reflected, mirrored."""
    mode = mode.upper()
    if mode == "CONSTANT":
        if not is_tensor(constant_values) and np.ndim(constant_values) == 0 and constant_values == np.zeros_like(
                constant_values):
            return raw_ops.Pad(input=tensor, paddings=paddings, name=name)
        return raw_ops.PadV2(input=tensor, paddings=paddings, constant_values=constant_values, name=name)
    if mode in ("REFLECT", "SYMMETRIC"):
        return raw_ops.MirrorPad(input=tensor, paddings=paddings, mode=mode, name=name)
    raise ValueError(f"Value of argument `mode` expected to be one of {{'CONSTANT', 'REFLECT', 'SYMMETRIC'}}. "
                     f"Received: {mode}")


@dispatch
def repeat(input, repeats, axis=None, name=None):  # pylint: disable=redefined-builtin
    """Each element (or slice along `axis`) of `input`, repeated as often as `repeats` says."""
    input = convert_to_tensor(input, name="data")
    repeats = convert_to_tensor(repeats, name="repeats")
    if repeats.dtype not in (dtypes.int32, dtypes.int64):
        repeats = cast(repeats, dtypes.int32)
    if repeats.shape.rank is not None and repeats.shape.rank > 1:
        raise ValueError("`repeats` must be a scalar or a vector")
    if axis is None:
        input, axis = reshape(input, [-1]), 0
    known = input.shape.rank
    if known == 0:
        input, known = reshape(input, [1]), 1
    if axis < 0 and known is None:
        raise ValueError("`repeat` with a negative axis needs an input of known rank")
    if known is not None:
        if not -known <= axis < known:
            raise ValueError(f"axis={axis} out of bounds: expected {-known}<=axis<{known}")
        axis = axis if axis >= 0 else axis + known
    if repeats.shape.num_elements() == 1:
        expanded = expand_dims(input, axis + 1)
        copies = reshape(repeats, [])
        multiples = raw_ops.SelectV2(condition=raw_ops.Equal(x=range(rank(expanded)), y=axis + 1),
                                     t=cast(copies, dtypes.int32), e=1)
        sizes = shape(input)
        final = concat([sizes[:axis], [sizes[axis] * cast(copies, dtypes.int32)], sizes[axis + 1:]], 0)
        return reshape(tile(expanded, multiples), final, name=name)
    if repeats.shape.rank == 1 and known is not None and input.shape[axis] is not None and repeats.shape[0] is not None:
        if input.shape[axis] != repeats.shape[0] and input.shape[axis] != 1:
            raise ValueError(f"Dimensions {input.shape[axis]} and {repeats.shape[0]} are not compatible")
        if input.shape[axis] == 1 and repeats.shape[0] != 1:
            input = raw_ops.GatherV2(params=input, indices=zeros_like(repeats), axis=axis)
    ends = raw_ops.Cumsum(x=repeats, axis=0)
    total = raw_ops.Sum(input=repeats, axis=[0])
    rows = searchsorted(ends, range(total), side="right")
    return gather(input, rows, axis=axis, name=name)


def meshgrid(*args, **kwargs):
    """Coordinate grids of vectors: `indexing` is "xy" (the default) or "ij"."""
    indexing = kwargs.pop("indexing", "xy")
    name = kwargs.pop("name", "meshgrid")
    if kwargs:
        key = next(iter(kwargs))
        raise TypeError(f"'{key}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` must be 'xy' or 'ij'. Received: {indexing}")
    del name
    vectors = [convert_to_tensor(a) for a in args]
    count = len(vectors)
    columns = []
    for i, vector in enumerate(vectors):
        sizes = [1] * count
        sizes[i] = -1
        columns.append(reshape(vector, sizes))
    lengths = [size(v) for v in vectors]
    if indexing == "xy" and count > 1:
        columns[0] = reshape(vectors[0], [1, -1] + [1] * (count - 2))
        columns[1] = reshape(vectors[1], [-1, 1] + [1] * (count - 2))
        lengths[0], lengths[1] = lengths[1], lengths[0]
    if not columns:
        return []
    factor = ones(stack(lengths), dtype=vectors[0].dtype)
    return [column * factor for column in columns]


@dispatch
@scoped("one_hot")
def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    """Vectors of length `depth` that are `on_value` at the index and `off_value` elsewhere, along a new `axis`."""
    given = [as_dtype(dtype).base_dtype] if dtype is not None else []
    on_given, off_given = on_value is not None, off_value is not None
    hint = given[0] if given else None
    kinds = []
    if on_given:
        on_value = convert_to_tensor(on_value, dtype_hint=hint, name="on_value")
        kinds.append(on_value.dtype.base_dtype)
    if off_given:
        off_value = convert_to_tensor(off_value, dtype_hint=hint, name="off_value")
        kinds.append(off_value.dtype.base_dtype)
    if not given and not kinds:
        dtype = dtypes.float32
    else:
        dtype = (given or kinds)[0]
    if on_given and kinds[0] != dtype:
        raise TypeError(f"dtype {kinds[0]} of on_value does not match dtype parameter {dtype}")
    if off_given and kinds[-1] != dtype:
        if on_given and not given:
            raise TypeError(f"dtype {kinds[0]} of on_value does not match dtype {kinds[-1]} of off_value")
        raise TypeError(f"dtype {kinds[-1]} of off_value does not match dtype parameter {dtype}")
    if not on_given:
        on_value = convert_to_tensor(1, dtype=dtype) if dtype != dtypes.bool else convert_to_tensor(True)
    if not off_given:
        off_value = convert_to_tensor(0, dtype=dtype) if dtype != dtypes.bool else convert_to_tensor(False)
    return raw_ops.OneHot(indices=indices, depth=depth, on_value=on_value, off_value=off_value,
                          axis=-1 if axis is None else axis, name=name)


def slice(input_, begin, size, name=None):  # pylint: disable=redefined-builtin,redefined-outer-name
    """The block of `input_` that starts at `begin`; a size of -1 means "to the end"."""
    return raw_ops.Slice(input=input_, begin=shape_argument(begin), size=shape_argument(size), name=name)


def strided_slice(input_, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0,
                  shrink_axis_mask=0, var=None, name=None):
    """The extended slice `input_[begin:end:strides]`; the masks carry what Python's notation leaves out."""
    del var
    begin, end = shape_tensor(begin), shape_tensor(end)
    strides = ones_like(begin) if strides is None else shape_tensor(strides)
    return raw_ops.StridedSlice(input=input_, begin=begin, end=end, strides=strides, begin_mask=begin_mask,
                                end_mask=end_mask, ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask,
                                shrink_axis_mask=shrink_axis_mask, name=name or "strided_slice")


@dispatch
def reverse(tensor, axis, name=None):
    """`tensor` reversed along the dimensions in `axis`."""
    return raw_ops.ReverseV2(tensor=tensor, axis=shape_argument(axis), name=name)


def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None):  # pylint: disable=redefined-builtin
    """Reverses the first `seq_lengths[i]` elements of row i along `seq_axis`; rows lie along `batch_axis`."""
    return raw_ops.ReverseSequence(input=input, seq_lengths=seq_lengths, seq_dim=seq_axis or 0,
                                   batch_dim=batch_axis or 0, name=name)


def _unique_axis(x):
    return convert_to_tensor(x)


@dispatch
def unique(x, out_idx=dtypes.int32, name=None):
    """The distinct values of a vector in the order of appearance, and each element's index among them."""
    return raw_ops.Unique(x=x, out_idx=out_idx, name=name)


@dispatch
def unique_with_counts(x, out_idx=dtypes.int32, name=None):
    """As `unique`, and how often each value occurs."""
    return raw_ops.UniqueWithCounts(x=x, out_idx=out_idx, name=name)


@dispatch
def searchsorted(sorted_sequence, values, side="left", out_type=dtypes.int32, name=None):
    """Where `values` would be inserted into sorted rows to keep them sorted, before (left) or after equal ones."""
    sorted_sequence = convert_to_tensor(sorted_sequence)
    values = convert_to_tensor(values, dtype_hint=sorted_sequence.dtype)
    sequence_size = shape(sorted_sequence)[-1]
    values_size = shape(values)[-1]
    rows = reshape(sorted_sequence, stack([-1, sequence_size]))
    keys = reshape(values, stack([-1, values_size]))
    if side == "right":
        found = raw_ops.UpperBound(sorted_inputs=rows, values=keys, out_type=out_type, name=name)
    elif side == "left":
        found = raw_ops.LowerBound(sorted_inputs=rows, values=keys, out_type=out_type, name=name)
    else:
        raise ValueError(f"Side must be either 'right' or 'left'.  Saw: {side}.")
    return reshape(found, shape(values))


@scoped("SequenceMask", names_result=False)
def sequence_mask(lengths, maxlen=None, dtype=dtypes.bool, name=None):
    """True for the first `lengths[i]` of `maxlen` places, False after them."""
    lengths = convert_to_tensor(lengths)
    if maxlen is None:
        maxlen = raw_ops.Max(input=lengths, axis=range(rank(lengths)))
        maxlen = raw_ops.Maximum(x=constant(0, dtype=maxlen.dtype), y=maxlen)
    else:
        maxlen = convert_to_tensor(maxlen)
    known = maxlen.shape.rank
    if known is not None and known != 0:
        raise ValueError("Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = "
                         f"{maxlen} with shape '{maxlen.shape}' instead")
    row = range(constant(0, dtype=maxlen.dtype), maxlen, constant(1, dtype=maxlen.dtype))
    result = raw_ops.Less(x=row, y=cast(expand_dims(lengths, -1), maxlen.dtype), name=name)
    return result if dtype is None or as_dtype(dtype) == dtypes.bool else cast(result, dtype)


def _sort_order(direction):
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be one of 'ASCENDING' or 'DESCENDING'. Received: "
                         f"direction={direction}")
    return direction == "ASCENDING"


def _sorted_along(values, axis, ascending, want_indices):
    values = convert_to_tensor(values)
    static = _static_axis(axis)
    if static is None:
        raise ValueError("axis must be a constant scalar")
    known = values.shape.rank
    last = static in (-1, None) or (known is not None and static == known - 1)
    if known == 0:
        from weir.framework import errors
        raise errors.InvalidArgumentError(None, None, "slice index -1 of dimension 0 out of bounds.")
    if known is not None and not -known <= static < known:
        raise ValueError(f"axis {static} is out of range for a tensor of rank {known}")
    order = None
    if not last:
        dims = rank(values) if known is None else known
        position = static if static >= 0 else dims + static
        if known is not None:
            order = list(builtins.range(known))
            order[position], order[-1] = order[-1], order[position]
        else:
            order = concat([range(position), [dims - 1], range(position + 1, dims - 1), [position]], 0)
        values = transpose(values, order)
    dtype = values.dtype
    flip = lambda v: v  # noqa: E731
    if ascending:
        if dtype.is_integer:
            offset = constant(dtype.max if dtype.is_unsigned else -1, dtype=dtype)
            flip = lambda v: raw_ops.Sub(x=offset, y=v)  # noqa: E731
        else:
            flip = lambda v: raw_ops.Neg(x=v)  # noqa: E731
    top = raw_ops.TopKV2(input=flip(values), k=shape(values)[-1], sorted=True)
    result = top[1] if want_indices else flip(top[0])
    return result if order is None else transpose(result, order)


def sort(values, axis=-1, direction="ASCENDING", name=None):
    """`values` sorted along `axis`."""
    result = _sorted_along(values, axis, _sort_order(direction), False)
    return result if name is None else raw_ops.Identity(input=result, name=name)


def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    """The indices that sort `values` along `axis`; equal elements keep their order."""
    del stable  # The order of equal elements is always kept.
    result = _sorted_along(values, axis, _sort_order(direction), True)
    return result if name is None else raw_ops.Identity(input=result, name=name)


def roll(input, shift, axis, name=None):  # pylint: disable=redefined-builtin
    """The elements of `input` shifted along one or several dimensions; what leaves one end enters at the other."""
    return raw_ops.Roll(input=input, shift=shape_argument(shift), axis=shape_argument(axis), name=name)


def broadcast_static_shape(shape_x, shape_y):
    """The shape that two compatible static shapes broadcast to."""
    shape_x, shape_y = TensorShape(shape_x), TensorShape(shape_y)
    if shape_x.rank is None or shape_y.rank is None:
        return TensorShape(None)
    a, b = shape_x.as_list(), shape_y.as_list()
    length = max(len(a), len(b))
    a, b = [1] * (length - len(a)) + a, [1] * (length - len(b)) + b
    result = []
    for x, y in zip(a, b):
        if x is None or y is None:
            larger = x if y is None else y
            result.append(larger if larger is not None and larger > 1 else None)
        elif x == 1 or y == 1 or x == y:
            result.append(y if x == 1 else x)
        else:
            raise ValueError("Incompatible shapes for broadcasting. Two shapes are compatible if for each dimension pair they "
                             f"are either equal or one of them is 1. Received: {shape_x} and {shape_y}.")
    return TensorShape(result)


def broadcast_dynamic_shape(shape_x, shape_y):
    """The shape that two shapes, given as vectors, broadcast to."""
    shape_x, shape_y = shape_tensor(shape_x), shape_tensor(shape_y)
    if shape_x.dtype != shape_y.dtype:
        shape_x, shape_y = cast(shape_x, dtypes.int64), cast(shape_y, dtypes.int64)
    return raw_ops.BroadcastArgs(s0=shape_x, s1=shape_y)


def ensure_shape(x, shape, name=None):  # pylint: disable=redefined-outer-name
    """`x`, after checking that its shape is compatible with `shape`; the result's static shape is at least that."""
    shape = TensorShape(shape)
    return raw_ops.EnsureShape(input=x, shape=shape, name=name)


def tensor_scatter_nd_update(tensor, indices, updates, name=None):
    """`tensor` with the elements or slices at `indices` replaced by `updates`."""
    return raw_ops.TensorScatterUpdate(tensor=tensor, indices=indices, updates=updates, name=name)


def space_to_batch(input, block_shape, paddings, name=None):  # pylint: disable=redefined-builtin
    """Moves blocks of the spatial dimensions of `input` into its batch dimension, after zero-padding."""
    return raw_ops.SpaceToBatchND(input=input, block_shape=block_shape, paddings=paddings, name=name)


def batch_to_space(input, block_shape, crops, name=None):  # pylint: disable=redefined-builtin
    """The inverse of `space_to_batch`: blocks return from the batch dimension, then the result is cropped."""
    if isinstance(block_shape, int):
        block_shape = np.array([block_shape, block_shape], dtype=np.int64)
    return raw_ops.BatchToSpaceND(input=input, block_shape=block_shape, crops=crops, name=name)


def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
    """The paddings that make each dimension a multiple of its block, and the crops that undo them."""
    del name
    input_shape = convert_to_tensor(input_shape, dtype=dtypes.int32)
    block_shape = convert_to_tensor(block_shape, dtype=dtypes.int32)
    count = block_shape.shape[0]
    if count == 0:
        return zeros([0, 2], dtypes.int32), zeros([0, 2], dtypes.int32)
    base = zeros([count, 2], dtypes.int32) if base_paddings is None else convert_to_tensor(base_paddings, dtypes.int32)
    start, end = base[:, 0], base[:, 1]
    padded = input_shape + start + end
    extra = raw_ops.FloorMod(x=block_shape - raw_ops.FloorMod(x=padded, y=block_shape), y=block_shape)
    paddings = stack([start, end + extra], axis=1)
    crops = stack([zeros_like(extra), extra], axis=1)
    return paddings, crops


def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    """The Levenshtein distance between sequences held in two sparse tensors, relative to the truth's length."""
    from weir.ops.sparse import SparseTensor
    for value, what in ((hypothesis, "Hypothesis"), (truth, "Truth")):
        if not isinstance(value, SparseTensor) and not hasattr(value, "dense_shape"):
            raise TypeError(f"{what} must be a SparseTensor.")
    return raw_ops.EditDistance(hypothesis_indices=hypothesis.indices, hypothesis_values=hypothesis.values,
                                hypothesis_shape=hypothesis.dense_shape, truth_indices=truth.indices,
                                truth_values=truth.values, truth_shape=truth.dense_shape, normalize=normalize,
                                name=name)


def fingerprint(data, method="farmhash64", name=None):
    """64-bit fingerprints of the rows of `data`, as rows of eight bytes."""
    return raw_ops.Fingerprint(data=data, method=method, name=name)


def guarantee_const(input, name=None):  # pylint: disable=redefined-builtin
    """`input`, with a promise to the runtime that it never changes."""
    return raw_ops.GuaranteeConst(input=input, name=name)


@scoped("eye", names_result=False)
def eye(num_rows, num_columns=None, batch_shape=None, dtype=dtypes.float32, name=None):
    """An identity matrix, or a batch of them."""
    dtype = as_dtype(dtype)
    num_columns = num_rows if num_columns is None else num_columns
    batch = [] if batch_shape is None else batch_shape
    if isinstance(num_rows, int) and isinstance(num_columns, int) and not is_tensor(batch):
        diagonal_size = min(num_rows, num_columns)
        leading = batch.as_list() if isinstance(batch, TensorShape) else list(batch)
        diagonal_shape = shape_tensor(leading + [diagonal_size])
        full = shape_tensor(leading + [num_rows, num_columns])
    else:
        num_rows, num_columns = cast(num_rows, dtypes.int32), cast(num_columns, dtypes.int32)
        diagonal_size = raw_ops.Minimum(x=num_rows, y=num_columns)
        leading = cast(shape_tensor(batch), dtypes.int32)
        diagonal_shape = concat([leading, [diagonal_size]], 0)
        full = concat([leading, [num_rows], [num_columns]], 0)
    diagonal = ones(diagonal_shape, dtype=dtype)
    if num_rows is num_columns or (isinstance(num_rows, int) and num_rows == num_columns):
        return raw_ops.MatrixDiag(diagonal=diagonal, name=name)
    return raw_ops.MatrixSetDiag(input=zeros(full, dtype=dtype), diagonal=diagonal, name=name)


def tensor_diag_part(input, name=None):  # pylint: disable=redefined-builtin
    """The diagonal of a tensor of rank 2k whose first k dimensions equal its last k."""
    return raw_ops.DiagPart(input=input, name=name)


def depth_to_space(input, block_size, data_format="NHWC", name=None):  # pylint: disable=redefined-builtin
    """Moves channels into blocks of the image: the inverse of `space_to_depth`."""
    return raw_ops.DepthToSpace(input=input, block_size=block_size, data_format=data_format, name=name)


def space_to_depth(input, block_size, data_format="NHWC", name=None):  # pylint: disable=redefined-builtin
    """Moves blocks of the image into its channels."""
    return raw_ops.SpaceToDepth(input=input, block_size=block_size, data_format=data_format, name=name)


def group(*inputs, **kwargs):
    """An operation that is done when all `inputs` are; None in eager execution, where they are done already."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    if executing_eagerly():
        return None
    import weir.nest as nest
    from weir.framework import control_dependencies
    flat = [v for v in nest.flatten(inputs, expand_composites=True) if v is not None]
    with control_dependencies(flat):
        return raw_ops.NoOp(name=name or "group_deps")


def tuple(tensors, control_inputs=None, name=None):  # pylint: disable=redefined-builtin
    """`tensors`, none of which is handed on before all of them and the `control_inputs` are computed."""
    if executing_eagerly():
        return tensors
    from weir.framework import control_dependencies
    del name
    real = [t for t in tensors if t is not None]
    if not real:
        raise ValueError(f"Must have at least one Tensor: {tensors}")
    gate = list(real) + list(control_inputs or [])
    with control_dependencies(gate):
        return [None if t is None else identity(t) for t in tensors]


def unravel_index(indices, dims, name=None):
    """Flat indices as coordinates in an array of shape `dims`."""
    return raw_ops.UnravelIndex(indices=indices, dims=dims, name=name)
