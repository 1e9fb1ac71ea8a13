"""More functions of arrays for ragged tensors: copies side by side, partitions, sums of segments, crosses."""

from weir.framework import convert_to_tensor, raw_ops, register_dispatch
from weir.ops import array, dtypes, math
from weir.ops import generated as ops
from weir.ops.ragged import RaggedTensor, gather


def _as_tensor(value):
    return value if isinstance(value, RaggedTensor) else convert_to_tensor(value)


def tile(input, multiples, name=None):  # pylint: disable=redefined-builtin
    """Copies of a ragged tensor side by side, as many in each dimension as `multiples` says."""
    del name
    multiples = convert_to_tensor(multiples)
    return _tile(input, [int(m) for m in multiples.numpy()] if hasattr(multiples, "numpy") else
                 array.unstack(multiples, num=input.shape.rank))


def _tile(value, multiples):
    if not isinstance(value, RaggedTensor):
        return array.tile(value, multiples)
    # Inner dimensions first: rows are then repeated whole.
    if any(not isinstance(m, int) or m != 1 for m in multiples[2:]):
        inner = [1] + list(multiples[2:])
        value = value.with_values(_tile(value.values, inner))
    count = value.nrows()
    rows = raw_ops.Range(start=array.zeros([], count.dtype), limit=count, delta=array.ones([], count.dtype))
    if not isinstance(multiples[1], int) or multiples[1] != 1:  # the elements of each row several times
        copies = gather(value, array.repeat(rows, multiples[1]))
        splits = array.gather(copies.row_splits, raw_ops.Range(
            start=array.zeros([], count.dtype), limit=(count + 1) * math.cast(multiples[1], count.dtype),
            delta=math.cast(multiples[1], count.dtype)))
        value = RaggedTensor.from_row_splits(copies.values, splits, validate=False)
    return gather(value, array.tile(rows, [multiples[0]]))


def _segments(op):
    """A sum (or another reduction) of rows by segment: each element joins those of its segment at its own place."""
    def function(data, segment_ids, num_segments, name=None):
        del name
        if isinstance(segment_ids, RaggedTensor):
            return op(data.flat_values, segment_ids.flat_values, num_segments)
        segment_ids = math.cast(segment_ids, dtypes.int64)
        count = math.cast(num_segments, dtypes.int64)
        longest = raw_ops.UnsortedSegmentMax(data=data.row_lengths(), segment_ids=segment_ids, num_segments=count)
        lengths = raw_ops.Maximum(x=longest, y=array.zeros([], dtypes.int64))
        out = RaggedTensor.from_row_lengths(array.zeros([math.reduce_sum(lengths)], dtypes.int64), lengths,
                                            validate=False)
        rows = data.value_rowids()
        place = raw_ops.Range(start=array.zeros([], dtypes.int64), limit=array.shape(rows, dtypes.int64)[0],
                              delta=array.ones([], dtypes.int64)) - array.gather(data.row_starts(), rows)
        target = array.gather(out.row_starts(), array.gather(segment_ids, rows)) + place
        total = math.reduce_sum(lengths)
        values = function(data.values, target, total) if isinstance(data.values, RaggedTensor) else \
            op(data.values, target, total)
        return RaggedTensor.from_row_lengths(values, lengths, validate=False)
    return function


def dynamic_partition(data, partitions, num_partitions, name=None):
    """The rows of `data` by the partition that each is said to belong to."""
    del name
    data = _as_tensor(data)
    partitions = _as_tensor(partitions)
    if isinstance(partitions, RaggedTensor):
        data, partitions = data.flat_values if isinstance(data, RaggedTensor) else data, partitions.flat_values
        return ops.DynamicPartition(data, partitions, num_partitions)
    rows = raw_ops.Range(start=array.zeros([], dtypes.int64), limit=data.nrows(), delta=array.ones([], dtypes.int64))
    return [gather(data, part) for part in raw_ops.DynamicPartition(
        data=rows, partitions=math.cast(partitions, dtypes.int32), num_partitions=num_partitions)]


def stack_dynamic_partitions(data, partitions, num_partitions, name=None):
    """The rows of `data` by partition, stacked: the result has one more ragged dimension."""
    del name
    data = _as_tensor(data)
    partitions = _as_tensor(partitions)
    if isinstance(partitions, RaggedTensor):
        data, partitions = data.values, partitions.values
    order = array.argsort(partitions, stable=True)
    lengths = raw_ops.UnsortedSegmentSum(data=array.ones_like(partitions, dtype=dtypes.int64), segment_ids=partitions,
                                         num_segments=num_partitions)
    return RaggedTensor.from_row_lengths(gather(data, order), lengths, validate=False)


def _cross(inputs, hashed, buckets, key):
    ragged = [v for v in map(_as_tensor, inputs) if isinstance(v, RaggedTensor)]
    dense = [v for v in map(_as_tensor, inputs) if not isinstance(v, RaggedTensor)]
    internal = lambda v: v if v.dtype is dtypes.string else math.cast(v, dtypes.int64)  # noqa: E731
    values = [internal(v.values) for v in ragged]
    dense = [internal(v) for v in dense]
    letters = iter(["R" if isinstance(_as_tensor(v), RaggedTensor) else "D" for v in inputs])
    out_values, out_splits = raw_ops.RaggedCross(
        ragged_values=values, ragged_row_splits=[v.row_splits for v in ragged], sparse_indices=[], sparse_values=[],
        sparse_shape=[], dense_inputs=dense, input_order="".join(letters), hashed_output=hashed,
        num_buckets=buckets, hash_key=key, out_values_type=dtypes.int64 if hashed else dtypes.string,
        out_row_splits_type=dtypes.int64)
    return RaggedTensor.from_row_splits(out_values, out_splits, validate=False)


def cross(inputs, name=None):
    """All combinations of a value of each input, row by row, as strings "a_X_b"."""
    del name
    return _cross(inputs, False, 0, 0)


def cross_hashed(inputs, num_buckets=0, hash_key=None, name=None):
    """All combinations of a value of each input, row by row, as hashed numbers."""
    del name
    return _cross(inputs, True, num_buckets, 0xDECAFCAFFE if hash_key is None else hash_key)


def reshape(tensor, shape, name=None):
    """The values in another, dense shape."""
    return array.reshape(tensor.flat_values, shape, name=name)


def gather_nd(params, indices, name=None, batch_dims=0, bad_indices_policy=""):
    """The rows or values at places that the last dimension of `indices` names, from the outermost dimension on."""
    if batch_dims:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    indices = math.cast(convert_to_tensor(indices), params.row_splits.dtype)
    depth = indices.shape[-1]
    if depth is None:
        raise ValueError("indices.shape[-1] must be statically known.")
    if not isinstance(params, RaggedTensor):
        return array.gather_nd(params, indices, name=name, bad_indices_policy=bad_indices_policy)
    first = indices[..., 0]
    if depth <= 1:
        return gather(params, first) if depth else params
    inside = array.gather(params.row_starts(), first) + indices[..., 1]
    rest = array.concat([array.expand_dims(inside, -1), indices[..., 2:]], -1)
    if isinstance(params.values, RaggedTensor):
        return gather_nd(params.values, rest)
    return array.gather_nd(params.values, rest, name=name)


def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    """Running sums along a dimension: of rows (0) or within them (1)."""
    if x.ragged_rank != 1:
        raise NotImplementedError("cumsum of tensors with several ragged dimensions is not supported")
    return RaggedTensor.from_tensor(math.cumsum(x.to_tensor(), axis, exclusive, reverse, name), x.row_lengths(),
                                    row_splits_dtype=x.row_splits.dtype)


def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    """The variance: the mean of squares less the square of the mean."""
    del name
    mean = math.reduce_mean(input_tensor, axis, keepdims)
    return math.reduce_mean(input_tensor * input_tensor, axis, keepdims) - mean * mean


def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    """The standard deviation."""
    return math.sqrt(reduce_variance(input_tensor, axis, keepdims, name))


def _register():
    register_dispatch(array.reshape, RaggedTensor, reshape)
    register_dispatch(array.gather_nd, RaggedTensor, gather_nd)
    register_dispatch(math.cumsum, RaggedTensor, cumsum)
    register_dispatch(math.reduce_variance, RaggedTensor, reduce_variance)
    register_dispatch(math.reduce_std, RaggedTensor, reduce_std)
    register_dispatch(array.tile, RaggedTensor, tile)
    register_dispatch(ops.DynamicPartition, RaggedTensor, dynamic_partition)
    register_dispatch(ops.Bitcast, RaggedTensor, lambda input, type, name=None: input.with_flat_values(
        ops.Bitcast(input.flat_values, type)))
    for kind in ("Sum", "Prod", "Max", "Min"):
        op = getattr(ops, "UnsortedSegment" + kind)
        register_dispatch(op, RaggedTensor, _segments(op))


_register()