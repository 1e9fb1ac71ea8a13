"""`SparseTensor` and the functions of `tf.sparse`."""

import builtins
import collections

import numpy as np

from weir.framework import (CompositeTensor, TensorShape, TensorSpec, TypeSpec, as_dtype, convert_to_tensor,
                            get_static_value, is_tensor, raw_ops, register_dispatch)
from weir.ops import array, dtypes, math
from weir.ops import generated as ops
from weir.ops.dtypes import cast as dense_cast

SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])


class SparseTensor(CompositeTensor):
    """The non-zero elements of a tensor: `values[i]` is at the coordinates `indices[i]` in `dense_shape`.

    Most functions want the indices in row-major order, as `reorder` puts them.
    """

    is_tensor_like = True  # for tf.is_tensor

    def __init__(self, indices, values, dense_shape):
        self._indices = convert_to_tensor(indices, dtype=dtypes.int64, name="indices")
        self._values = convert_to_tensor(values, name="values")
        self._dense_shape = convert_to_tensor(dense_shape, dtype=dtypes.int64, name="dense_shape")
        self._static_shape = None
        indices_shape = self._indices.shape.with_rank(2)
        values_shape = self._values.shape.with_rank(1)
        rank_shape = self._dense_shape.shape.with_rank(1)
        if indices_shape[0] is not None and values_shape[0] is not None and indices_shape[0] != values_shape[0]:
            raise ValueError(f"Dimensions {indices_shape[0]} and {values_shape[0]} are not compatible")
        if indices_shape[1] is not None and rank_shape[0] is not None and indices_shape[1] != rank_shape[0]:
            raise ValueError(f"Dimensions {indices_shape[1]} and {rank_shape[0]} are not compatible")

    indices = property(lambda self: self._indices, doc="The coordinates of the elements, a matrix of int64.")
    values = property(lambda self: self._values, doc="The elements.")
    dense_shape = property(lambda self: self._dense_shape, doc="The shape of the whole as a vector of int64.")
    dtype = property(lambda self: self._values.dtype, doc="The type of the elements.")
    op = property(lambda self: self._values.op)
    graph = property(lambda self: self._indices.graph)

    @classmethod
    def from_value(cls, sparse_tensor_value):
        """A SparseTensor of a SparseTensorValue."""
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        if not isinstance(sparse_tensor_value, SparseTensorValue):
            raise TypeError(f"Argument sparse_tensor_value={sparse_tensor_value} is neither SparseTensor nor "
                            "SparseTensorValue.")
        return cls(*sparse_tensor_value)

    @property
    def shape(self):
        """What is known of the shape."""
        value = get_static_value(self._dense_shape)
        known = (TensorShape([int(d) for d in value]) if value is not None else
                 TensorShape([None] * self._dense_shape.shape[0]) if self._dense_shape.shape[0] is not None else
                 TensorShape(None))
        return known if self._static_shape is None else known.merge_with(self._static_shape)

    def get_shape(self):
        """What is known of the shape."""
        return self.shape

    def set_shape(self, shape):
        """Adds to what is known of the shape."""
        self._static_shape = self.shape.merge_with(shape)

    def with_values(self, new_values):
        """Other values at the same places."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def eval(self, feed_dict=None, session=None):
        """The value in a session."""
        from weir.compat import v1
        session = session or v1.get_default_session()
        return SparseTensorValue(*session.run([self._indices, self._values, self._dense_shape], feed_dict=feed_dict))

    @property
    def _type_spec(self):
        return SparseTensorSpec(self.shape, self.dtype)

    def __str__(self):
        return f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"

    __repr__ = __str__

    def __mul__(self, y):
        return self.with_values(raw_ops.SparseDenseCwiseMul(sp_indices=self.indices, sp_values=self.values,
                                                            sp_shape=self.dense_shape, dense=_dense_like(self, y)))

    __rmul__ = __mul__

    def __truediv__(self, y):
        y = _dense_like(self, y)
        values = self.values
        if values.dtype.is_integer:
            values, y = dense_cast(values, dtypes.float64), dense_cast(y, dtypes.float64)
        return self.with_values(raw_ops.SparseDenseCwiseDiv(sp_indices=self.indices, sp_values=values,
                                                            sp_shape=self.dense_shape, dense=y))

    def __neg__(self):
        return self.with_values(-self.values)

    __iter__ = None  # or Python would take items without end

    def __getitem__(self, key):
        return getitem(self, key)


def _dense_like(sp, y):
    return convert_to_tensor(y, dtype_hint=sp.dtype)


class SparseTensorSpec(TypeSpec):
    """The type of a SparseTensor."""

    __slots__ = ["_shape", "_dtype"]

    def __init__(self, shape=None, dtype=dtypes.float32):
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)

    value_type = property(lambda self: SparseTensor)
    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._dtype)

    def _serialize(self):
        return (self._shape, self._dtype)

    @property
    def _component_specs(self):
        rank = self._shape.rank
        count = None
        return (TensorSpec([count, rank], dtypes.int64), TensorSpec([count], self._dtype),
                TensorSpec([rank], dtypes.int64))

    def _to_components(self, value):
        if isinstance(value, SparseTensorValue):
            value = SparseTensor.from_value(value)
        return (value.indices, value.values, value.dense_shape)

    def _from_components(self, components):
        result = SparseTensor(*components)
        result._static_shape = result.shape.merge_with(self._shape)
        return result

    @classmethod
    def from_value(cls, value):
        """The spec of a value."""
        return cls(value.shape, value.dtype)

    # Elements of datasets.

    def _batch(self, batch_size):
        return SparseTensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self):
        if self._shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return SparseTensorSpec(self._shape[1:], self._dtype)

    @property
    def _flat_tensor_specs(self):
        return [TensorSpec(None, dtypes.variant)]

    def _to_tensor_list(self, value):
        return [serialize_sparse(value, out_type=dtypes.variant)]

    def _to_batched_tensor_list(self, value):
        return [serialize_many_sparse(value, out_type=dtypes.variant)]

    def _from_compatible_tensor_list(self, tensors):
        rank = self._shape.rank
        parts = raw_ops.DeserializeSparse(serialized_sparse=tensors[0], dtype=self._dtype)
        result = SparseTensor(*parts)
        if rank is not None:
            result._static_shape = self._shape
        return result


def _sparse(value):
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


def from_dense(tensor, name=None):
    """The non-zero elements of a dense tensor."""
    del name
    tensor = convert_to_tensor(tensor)
    zero = array.zeros([], dtype=tensor.dtype)
    indices = array.where(math.not_equal(tensor, zero))
    return SparseTensor(indices, array.gather_nd(tensor, indices), array.shape(tensor, out_type=dtypes.int64))


def to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    """A dense tensor, `default_value` (0) where nothing is stored."""
    sp_input = _sparse(sp_input)
    if default_value is None:
        default_value = array.zeros([], dtype=sp_input.dtype)
    else:
        default_value = convert_to_tensor(default_value, dtype=None if is_tensor(default_value) else sp_input.dtype)
    result = raw_ops.SparseToDense(sparse_indices=sp_input.indices, output_shape=sp_input.dense_shape,
                                   sparse_values=sp_input.values, default_value=default_value,
                                   validate_indices=validate_indices, name=name)
    return result


def reorder(sp_input, name=None):
    """The elements in row-major order."""
    sp_input = _sparse(sp_input)
    indices, values = raw_ops.SparseReorder(input_indices=sp_input.indices, input_values=sp_input.values,
                                            input_shape=sp_input.dense_shape, name=name)
    return SparseTensor(indices, values, sp_input.dense_shape)


def reshape(sp_input, shape, name=None):
    """The elements in another shape."""
    sp_input = _sparse(sp_input)
    shape = dense_cast(array.shape_tensor(shape), dtypes.int64)
    indices, new_shape = raw_ops.SparseReshape(input_indices=sp_input.indices, input_shape=sp_input.dense_shape,
                                               new_shape=shape, name=name)
    return SparseTensor(indices, sp_input.values, new_shape)


def expand_dims(sp_input, axis=None, name=None):
    """A dimension of size 1 inserted at `axis` (at the end by default)."""
    del name
    sp_input = _sparse(sp_input)
    rank = sp_input.dense_shape.shape[0]
    axis = -1 if axis is None else int(axis)
    if axis < 0:
        axis += rank + 1
    indices = array.concat([sp_input.indices[:, :axis], array.zeros_like(sp_input.indices[:, :1]),
                            sp_input.indices[:, axis:]], 1) if rank else array.zeros(
                                [array.shape(sp_input.indices)[0], 1], dtypes.int64)
    shape = array.concat([sp_input.dense_shape[:axis], array.constant([1], dtypes.int64),
                          sp_input.dense_shape[axis:]], 0)
    return SparseTensor(indices, sp_input.values, shape)


def transpose(sp_input, perm=None, name=None):
    """The dimensions permuted; reversed without `perm`."""
    del name
    sp_input = _sparse(sp_input)
    if perm is None:
        rank = sp_input.shape.rank
        perm = list(range(rank - 1, -1, -1))
    indices = array.gather(sp_input.indices, perm, axis=1)
    shape = array.gather(sp_input.dense_shape, perm)
    return reorder(SparseTensor(indices, sp_input.values, shape))


def concat(axis, sp_inputs, expand_nonconcat_dims=False, name=None):
    """Sparse tensors joined along `axis`."""
    if len(sp_inputs) == 1:
        return sp_inputs[0]
    inputs = [_sparse(v) for v in sp_inputs]
    shapes = [v.dense_shape for v in inputs]
    if expand_nonconcat_dims:
        largest = math.reduce_max(array.stack(shapes), axis=0)
        position = axis if axis >= 0 else axis + inputs[0].shape.rank
        shapes = [array.concat([largest[:position], s[position:position + 1], largest[position + 1:]], 0)
                  for s in shapes]
    indices, values, shape = raw_ops.SparseConcat(indices=[v.indices for v in inputs],
                                                  values=[v.values for v in inputs], shapes=shapes, concat_dim=axis,
                                                  name=name)
    return SparseTensor(indices, values, shape)


def split(sp_input=None, num_split=None, axis=None, name=None):
    """A sparse tensor cut into `num_split` parts along `axis`."""
    if sp_input is None or num_split is None or axis is None:
        raise ValueError("sp_input, num_split and axis are required")
    sp_input = _sparse(sp_input)
    indices, values, shapes = raw_ops.SparseSplit(split_dim=array.constant(axis, dtypes.int64),
                                                  indices=sp_input.indices, values=sp_input.values,
                                                  shape=sp_input.dense_shape, num_split=num_split, name=name)
    return [SparseTensor(i, v, s) for i, v, s in zip(indices, values, shapes)]


def slice(sp_input, start, size, name=None):  # pylint: disable=redefined-builtin
    """The part of a sparse tensor that starts at `start` and has the shape `size`."""
    sp_input = _sparse(sp_input)
    indices, values, shape = raw_ops.SparseSlice(
        indices=sp_input.indices, values=sp_input.values, shape=sp_input.dense_shape,
        start=convert_to_tensor(start, dtypes.int64), size=convert_to_tensor(size, dtypes.int64), name=name)
    return SparseTensor(indices, values, shape)


def row(sp_input, index):
    """The element `index` along the first dimension."""
    sp_input = _sparse(sp_input)
    index = dense_cast(index, dtypes.int64)
    keep = math.equal(sp_input.indices[:, 0], index)
    return SparseTensor(array.boolean_mask(sp_input.indices[:, 1:], keep), array.boolean_mask(sp_input.values, keep),
                        sp_input.dense_shape[1:])


def getitem(sp_input, key):
    """Slices and indices of a sparse tensor."""
    keys = key if isinstance(key, tuple) else (key,)
    rank = sp_input.shape.rank
    if Ellipsis in keys:
        at = keys.index(Ellipsis)
        keys = keys[:at] + (builtins.slice(None),) * (rank - len(keys) + 1) + keys[at + 1:]
    result = sp_input
    axis = 0
    for item in keys:
        if isinstance(item, builtins.slice):
            if item.step not in (None, 1):
                raise ValueError("Sparse slices must have a step of 1")
            size = result.dense_shape[axis]
            start = _resolve(item.start, 0, size)
            stop = _resolve(item.stop, size, size)
            starts = array.one_hot(axis, result.shape.rank, on_value=start, off_value=array.constant(0, dtypes.int64))
            sizes = array.where(math.equal(array.range(result.shape.rank), axis), math.multiply(
                array.ones([], dtypes.int64), raw_ops.Maximum(x=stop - start, y=array.constant(0, dtypes.int64))),
                result.dense_shape)
            result = slice(result, starts, sizes)
            axis += 1
        else:
            order = [axis] + [i for i in range(result.shape.rank) if i != axis]
            result = row(transpose(result, order) if axis else result, item)
    return result


def _resolve(value, default, size):
    if value is None:
        return dense_cast(default, dtypes.int64)
    value = dense_cast(value, dtypes.int64)
    return array.where(value < 0, value + size, raw_ops.Minimum(x=value, y=size))


def retain(sp_input, to_retain):
    """The elements for which `to_retain` holds."""
    sp_input = _sparse(sp_input)
    to_retain = convert_to_tensor(to_retain)
    if to_retain.shape.rank not in (None, 1):
        raise ValueError(f"Shape {to_retain.shape} must have rank 1")
    if not to_retain.shape[:1].is_compatible_with(sp_input.values.shape[:1]):
        raise ValueError(f"Dimensions {to_retain.shape[0]} and {sp_input.values.shape[0]} are not compatible")
    places = array.reshape(array.where(to_retain), [-1])
    return SparseTensor(array.gather(sp_input.indices, places), array.gather(sp_input.values, places),
                        sp_input.dense_shape)


def fill_empty_rows(sp_input, default_value, name=None):
    """Rows without elements get `default_value` in their first column; also which rows these were."""
    sp_input = _sparse(sp_input)
    default_value = convert_to_tensor(default_value, dtype=sp_input.dtype)
    indices, values, empty, _ = raw_ops.SparseFillEmptyRows(indices=sp_input.indices, values=sp_input.values,
                                                            dense_shape=sp_input.dense_shape,
                                                            default_value=default_value, name=name)
    return SparseTensor(indices, values, sp_input.dense_shape), empty


def reset_shape(sp_input, new_shape=None):
    """The elements in a larger shape, or in the smallest that holds them."""
    sp_input = _sparse(sp_input)
    if new_shape is None:
        shape = raw_ops.Maximum(x=math.reduce_max(sp_input.indices, axis=0) + 1,
                                y=array.zeros_like(sp_input.dense_shape))
    else:
        shape = convert_to_tensor(new_shape, dtypes.int64)
        known, old = get_static_value(shape), get_static_value(sp_input.dense_shape)
        if known is not None and old is not None:
            if len(known) != len(old):
                raise ValueError(f"Shape {TensorShape(list(old))} must have rank {len(known)}")
            if np.any(known < old):
                raise ValueError(f"Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape="
                                 f"{known} sp_input.shape={old}")
    return SparseTensor(sp_input.indices, sp_input.values, shape)


def add(a, b, threshold=0):
    """The sum of two tensors of which at least one is sparse; small sums are dropped below `threshold`."""
    sparse_a, sparse_b = isinstance(a, (SparseTensor, SparseTensorValue)), isinstance(b, (SparseTensor, SparseTensorValue))
    if not sparse_a and not sparse_b:
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if sparse_a and sparse_b:
        a, b = _sparse(a), _sparse(b)
        threshold = convert_to_tensor(threshold, dtype=a.dtype.real_dtype if a.dtype.is_complex else a.dtype)
        indices, values, shape = raw_ops.SparseAdd(a_indices=a.indices, a_values=a.values, a_shape=a.dense_shape,
                                                   b_indices=b.indices, b_values=b.values, b_shape=b.dense_shape,
                                                   thresh=threshold)
        return SparseTensor(indices, values, shape)
    if sparse_b:
        a, b = b, a
    a = _sparse(a)
    return raw_ops.SparseTensorDenseAdd(a_indices=a.indices, a_values=a.values, a_shape=a.dense_shape, b=b)


def _pairwise(op, a, b, name):
    a, b = _sparse(a), _sparse(b)
    indices, values = op(a_indices=a.indices, a_values=a.values, a_shape=a.dense_shape, b_indices=b.indices,
                         b_values=b.values, b_shape=b.dense_shape, name=name)
    return SparseTensor(indices, values, a.dense_shape)


def maximum(sp_a, sp_b, name=None):
    """The elementwise maximum; missing elements are 0."""
    return _pairwise(raw_ops.SparseSparseMaximum, sp_a, sp_b, name)


def minimum(sp_a, sp_b, name=None):
    """The elementwise minimum; missing elements are 0."""
    return _pairwise(raw_ops.SparseSparseMinimum, sp_a, sp_b, name)


def softmax(sp_input, name=None):
    """The softmax over the stored elements of each row."""
    sp_input = _sparse(sp_input)
    values = raw_ops.SparseSoftmax(sp_indices=sp_input.indices, sp_values=sp_input.values,
                                   sp_shape=sp_input.dense_shape, name=name)
    return SparseTensor(sp_input.indices, values, sp_input.dense_shape)


def _reduce(dense_op, sparse_op, sp_input, axis, keepdims, output_is_sparse, name):
    sp_input = _sparse(sp_input)
    rank = sp_input.shape.rank
    if axis is None:
        axis = array.range(array.size(sp_input.dense_shape)) if rank is None else list(range(rank))
    axis = array.shape_tensor([axis] if isinstance(axis, int) else axis)
    arguments = dict(input_indices=sp_input.indices, input_values=sp_input.values, input_shape=sp_input.dense_shape,
                     reduction_axes=axis, keep_dims=builtins.bool(keepdims), name=name)
    if output_is_sparse:
        return SparseTensor(*sparse_op(**arguments))
    return dense_op(**arguments)


def reduce_sum(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """The sum of the stored elements along `axis`."""
    return _reduce(raw_ops.SparseReduceSum, raw_ops.SparseReduceSumSparse, sp_input, axis, keepdims, output_is_sparse,
                   name)


def reduce_max(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """The largest stored element along `axis`."""
    return _reduce(raw_ops.SparseReduceMax, raw_ops.SparseReduceMaxSparse, sp_input, axis, keepdims, output_is_sparse,
                   name)


def sparse_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """The product of a sparse and a dense matrix, in either order."""
    if isinstance(b, (SparseTensor, SparseTensorValue)):
        # (a @ b)^H = b^H @ a^H.
        flipped = sparse_dense_matmul(b, sp_a, adjoint_a=not adjoint_b, adjoint_b=not adjoint_a)
        from weir.ops import linalg
        return linalg.adjoint(flipped)
    sp_a = _sparse(sp_a)
    b = convert_to_tensor(b, dtype=None if is_tensor(b) else sp_a.dtype, name="b")
    return raw_ops.SparseTensorDenseMatMul(a_indices=sp_a.indices, a_values=sp_a.values, a_shape=sp_a.dense_shape, b=b,
                                           adjoint_a=adjoint_a, adjoint_b=adjoint_b, name=name)


def mask(a, mask_indices, name=None):
    """An IndexedSlices without the slices named by `mask_indices`."""
    from weir.ops.indexed_slices import IndexedSlices
    indices = convert_to_tensor(a.indices)
    kept, places = raw_ops.ListDiff(x=indices, y=convert_to_tensor(mask_indices, dtype=indices.dtype))
    return IndexedSlices(array.gather(a.values, places, name=name), kept, a.dense_shape)


def to_indicator(sp_input, vocab_size, name=None):
    """Ids as a dense tensor of booleans that tells which of `vocab_size` ids occur in each row."""
    sp_input = _sparse(sp_input)
    ones = SparseTensor(sp_input.indices, array.ones_like(sp_input.values, dtypes.bool), sp_input.dense_shape)
    return to_dense(_merge(sp_input, ones, vocab_size), default_value=False, validate_indices=False, name=name)


def _merge(ids, values, vocab_size):
    column = dense_cast(array.expand_dims(ids.values, 1), dtypes.int64)
    indices = array.concat([ids.indices[:, :-1], column], 1)
    shape = array.concat([ids.dense_shape[:-1], array.reshape(dense_cast(vocab_size, dtypes.int64), [1])], 0)
    return reorder(SparseTensor(indices, values.values, shape))


def eye(num_rows, num_columns=None, dtype=dtypes.float32, name=None):
    """A sparse identity matrix."""
    del name
    num_rows = dense_cast(num_rows, dtypes.int64)
    num_columns = num_rows if num_columns is None else dense_cast(num_columns, dtypes.int64)
    diagonal = array.range(raw_ops.Minimum(x=num_rows, y=num_columns))
    return SparseTensor(array.stack([diagonal, diagonal], axis=1), array.ones_like(diagonal, dtype=dtype),
                        array.stack([num_rows, num_columns]))


def segment_sum(data, indices, segment_ids, num_segments=None, name=None):
    """The sums of rows of `data`, chosen by `indices`, by segment."""
    return _segment("SparseSegmentSum", data, indices, segment_ids, num_segments, name)


def segment_mean(data, indices, segment_ids, num_segments=None, name=None):
    """The means of rows of `data`, chosen by `indices`, by segment."""
    return _segment("SparseSegmentMean", data, indices, segment_ids, num_segments, name)


def segment_sqrt_n(data, indices, segment_ids, num_segments=None, name=None):
    """Sums of rows by segment, divided by the square root of their number."""
    return _segment("SparseSegmentSqrtN", data, indices, segment_ids, num_segments, name)


def _segment(op, data, indices, segment_ids, num_segments, name):
    if num_segments is None:
        return getattr(raw_ops, op)(data=data, indices=indices, segment_ids=segment_ids, name=name)
    return getattr(raw_ops, op + "WithNumSegments")(data=data, indices=indices, segment_ids=segment_ids,
                                                    num_segments=num_segments, name=name)


def map_values(op, *args, **kwargs):
    """Applies a function to the values of sparse tensors that have equal indices."""
    found = [v for v in list(args) + list(kwargs.values()) if isinstance(v, SparseTensor)]
    if not found:
        raise ValueError("No SparseTensor in argument list of map_values")
    first = found[0]
    for other in found[1:]:
        if other.indices is not first.indices:
            import weir.debugging as debugging
            debugging.assert_equal(first.indices, other.indices, message="map_values needs equal indices")
    strip = lambda v: v.values if isinstance(v, SparseTensor) else v  # noqa: E731
    values = op(*[strip(v) for v in args], **{k: strip(v) for k, v in kwargs.items()})
    return SparseTensor(first.indices, values, first.dense_shape)


def serialize_sparse(sp_input, out_type=dtypes.string, name=None):
    """A sparse tensor as a vector of three serialized tensors."""
    sp_input = _sparse(sp_input)
    return raw_ops.SerializeSparse(sparse_indices=sp_input.indices, sparse_values=sp_input.values,
                                   sparse_shape=sp_input.dense_shape, out_type=out_type, name=name)


def serialize_many_sparse(sp_input, out_type=dtypes.string, name=None):
    """The elements of a batch of sparse tensors, each serialized."""
    sp_input = _sparse(sp_input)
    return raw_ops.SerializeManySparse(sparse_indices=sp_input.indices, sparse_values=sp_input.values,
                                       sparse_shape=sp_input.dense_shape, out_type=out_type, name=name)


def deserialize_many_sparse(serialized_sparse, dtype, rank=None, name=None):
    """A batch of sparse tensors of what `serialize_many_sparse` made."""
    del rank
    return SparseTensor(*raw_ops.DeserializeManySparse(serialized_sparse=serialized_sparse, dtype=dtype, name=name))


def bincount(values, weights=None, axis=0, minlength=None, maxlength=None, binary_output=False, name=None):
    """Counts of integers as a sparse tensor, for each row if `axis` is -1."""
    if axis not in (0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    minlength = -1 if minlength is None else minlength
    maxlength = -1 if maxlength is None else maxlength
    if weights is not None and binary_output:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one.")
    empty = array.constant([], dtypes.float32)
    if isinstance(values, SparseTensor):
        if axis == 0:
            values, weights = values.values, None if weights is None else weights.values
        else:
            w = empty if weights is None else weights.values
            parts = raw_ops.SparseCountSparseOutput(indices=values.indices, values=values.values,
                                                    dense_shape=values.dense_shape, weights=w, minlength=minlength,
                                                    maxlength=maxlength, binary_output=binary_output, name=name)
            return _counts(parts, weights, values.dtype)
    from weir.ops.ragged import RaggedTensor
    if isinstance(values, RaggedTensor):
        if axis == 0:
            values, weights = values.flat_values, None if weights is None else weights.flat_values
        else:
            w = empty if weights is None else weights.flat_values
            parts = raw_ops.RaggedCountSparseOutput(splits=values.row_splits, values=values.values, weights=w,
                                                    minlength=minlength, maxlength=maxlength,
                                                    binary_output=binary_output, name=name)
            return _counts(parts, weights, values.dtype)
    values = convert_to_tensor(values)
    if axis == 0:
        values = array.reshape(values, [-1])
        weights = None if weights is None else array.reshape(weights, [-1])
    parts = raw_ops.DenseCountSparseOutput(values=values, weights=empty if weights is None else weights,
                                           minlength=minlength, maxlength=maxlength, binary_output=binary_output,
                                           name=name)
    return _counts(parts, weights, values.dtype)


def _counts(parts, weights, kind):
    counts = parts[1] if weights is not None else dense_cast(parts[1], kind)
    return SparseTensor(parts[0], counts, parts[2])


def _cross(inputs, hashed, num_buckets, hash_key, separator, name):
    sparse_inputs = [v for v in inputs if isinstance(v, SparseTensor)]
    dense_inputs = [convert_to_tensor(v) for v in inputs if not isinstance(v, SparseTensor)]
    values = [v.values if v.dtype == dtypes.string else dense_cast(v.values, dtypes.int64) for v in sparse_inputs]
    dense = [v if v.dtype == dtypes.string else dense_cast(v, dtypes.int64) for v in dense_inputs]
    common = dict(indices=[v.indices for v in sparse_inputs], values=values,
                  shapes=[v.dense_shape for v in sparse_inputs], dense_inputs=dense, name=name)
    if hashed:
        key = 0xDECAFCAFFE if hash_key is None else hash_key
        salt = convert_to_tensor([key, key], dtypes.int64) if not isinstance(key, (list, tuple)) else key
        if hash_key is None:
            parts = raw_ops.SparseCross(indices=common["indices"], values=common["values"], shapes=common["shapes"],
                                        dense_inputs=common["dense_inputs"], hashed_output=True,
                                        num_buckets=num_buckets, hash_key=key, out_type=dtypes.int64,
                                        internal_type=dtypes.string if all(
                                            v.dtype == dtypes.string for v in values + dense) else dtypes.int64,
                                        name=name)
        else:
            parts = raw_ops.SparseCrossHashed(num_buckets=num_buckets, strong_hash=False, salt=salt, **common)
    else:
        parts = raw_ops.SparseCrossV2(sep=separator, **common)
    return SparseTensor(*parts)


def _check_crossed(inputs, hashed):
    if not all(is_tensor(value) or isinstance(value, SparseTensor) for value in inputs):
        raise TypeError("All inputs must be SparseTensors" if hashed else "All inputs must be Tensor or SparseTensor.")


def cross(inputs, name=None, separator=None):
    """Crosses of features: each combination of values of a row, joined by `_X_` or the separator."""
    _check_crossed(inputs, False)
    return _cross(inputs, False, 0, None, "_X_" if separator is None else separator, name)


def cross_hashed(inputs, num_buckets=0, hash_key=None, name=None):
    """Crosses of features, hashed into buckets."""
    _check_crossed(inputs, True)
    return _cross(inputs, True, num_buckets, hash_key, None, name)


# Public functions on sparse arguments.


def _register():
    def on_values(function):
        register_dispatch(function, SparseTensor, lambda x, *args, **kwargs: x.with_values(
            function(x.values, *args, **kwargs)))

    from weir.ops import nn
    for name in ("Neg", "Sin", "Sinh", "Tan", "Tanh", "Asin", "Asinh", "Atan", "Atanh", "Erf", "Expm1", "Log1p",
                 "Square", "Rint", "IsNan", "IsInf", "IsFinite", "Relu", "Softsign"):
        on_values(getattr(ops, name))
    for function in (math.abs, math.sign, math.sqrt, math.floor, math.ceil, math.round, math.real, math.imag,
                     math.conj, dense_cast, array.identity, nn.leaky_relu):
        on_values(function)
    register_dispatch(array.shape, SparseTensor, lambda input, out_type=None, name=None: dense_cast(
        input.dense_shape, dtypes.int32 if out_type is None else out_type, name=name))
    register_dispatch(array.size, SparseTensor, lambda input, out_type=None, name=None: math.reduce_prod(
        dense_cast(input.dense_shape, dtypes.int32 if out_type is None else out_type), [0]))
    register_dispatch(array.rank, SparseTensor, lambda input, name=None: array.size(input.dense_shape))
    register_dispatch(array.expand_dims, SparseTensor, lambda input, axis, name=None: expand_dims(input, axis))
    register_dispatch(array.zeros_like, SparseTensor, lambda input, dtype=None, name=None, layout=None: array.zeros(
        input.dense_shape, dtype or input.dtype))
    register_dispatch(array.ones_like, SparseTensor, lambda input, dtype=None, name=None, layout=None: array.ones(
        input.dense_shape, dtype or input.dtype))
    register_dispatch(array.reshape, SparseTensor, lambda tensor, shape, name=None: reshape(tensor, shape, name))
    register_dispatch(array.transpose, SparseTensor, lambda a, perm=None, conjugate=False, name=None: transpose(a, perm))
    register_dispatch(math.matmul, SparseTensor, lambda a, b, *args, **kwargs: sparse_dense_matmul(
        a, b, adjoint_a=kwargs.get("transpose_a", False) or kwargs.get("adjoint_a", False),
        adjoint_b=kwargs.get("transpose_b", False) or kwargs.get("adjoint_b", False)))
    register_dispatch(math.bincount, SparseTensor, _dense_bincount)


def _dense_bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32, name=None, axis=None,
                    binary_output=False):
    if axis in (None, 0):
        return math.bincount(arr.values, None if weights is None else weights.values, minlength, maxlength, dtype,
                             name, 0, binary_output)
    size = math.reduce_max(array.concat([arr.values, array.constant([-1], arr.dtype)], 0)) + 1
    if minlength is not None:
        size = raw_ops.Maximum(x=dense_cast(minlength, arr.dtype), y=size)
    if maxlength is not None:
        size = raw_ops.Minimum(x=dense_cast(maxlength, arr.dtype), y=size)
    w = array.constant([], dtype=dtype) if weights is None else weights.values
    return raw_ops.SparseBincount(indices=arr.indices, values=arr.values, dense_shape=arr.dense_shape, size=size,
                                  weights=w, binary_output=binary_output, name=name)


_register()


# Keras knows them by these names.
SparseTensor.__module__ = "tensorflow.python.framework.sparse_tensor"
SparseTensorSpec.__module__ = "tensorflow.python.framework.sparse_tensor"
