"""`RaggedTensor`: rows of different lengths, nested at will, and the functions of `tf.ragged`.

A ragged tensor is its values, one after the other, and the row splits that cut them into rows. The values may be
ragged themselves. Public functions accept ragged tensors by dispatch: elementwise functions work on the flat values,
reductions use segments.
"""

import builtins

import numpy as np

from weir.framework import (CompositeTensor, TensorShape, TensorSpec, TypeSpec, as_dtype, convert_to_tensor, errors,
                            executing_eagerly, get_static_value, is_tensor, raw_ops, register_dispatch)
from weir.ops import array, dtypes, math
from weir.ops import generated as ops
from weir.ops.dtypes import cast as dense_cast


def _integers(value, name):
    value = convert_to_tensor(value, dtype_hint=dtypes.int64, name=name)
    if value.dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"Argument `{name}` must have dtype int32 or int64, got {value.dtype}")
    return value


def _values(value):
    return value if isinstance(value, RaggedTensor) else convert_to_tensor(value, name="values")


def _length(value):
    return value.nrows() if isinstance(value, RaggedTensor) else array.shape(value, out_type=dtypes.int64)[0]


def _text(value):
    """As numpy prints it, with commas; rows of different lengths are arrays of their own."""
    if not isinstance(value, np.ndarray):
        return str(value)
    if value.size == 0:
        return repr(value.tolist())
    return np.array2string(value, separator=", ", formatter={"all": _text})


class RaggedTensor(CompositeTensor):
    """A tensor with at least one dimension whose slices differ in length. Made by the `from_...` methods."""

    is_tensor_like = True  # for tf.is_tensor

    __array_priority__ = 110

    def __init__(self, values, row_splits, uniform_row_length=None, internal=False):
        if not internal:
            raise ValueError("RaggedTensor constructor is private; please use one of the factory methods instead "
                             "(e.g., RaggedTensor.from_row_lengths())")
        self._values = values
        self._row_splits = row_splits
        self._uniform_row_length = uniform_row_length

    # Making one.

    @classmethod
    def _make(cls, values, row_splits, uniform_row_length=None):
        return cls(values, row_splits, uniform_row_length, internal=True)

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True):
        """Row i is `values[row_splits[i]:row_splits[i + 1]]`."""
        del name
        values, row_splits = _values(values), _integers(row_splits, "row_splits")
        row_splits.shape.with_rank(1)
        if row_splits.shape[0] == 0:
            raise ValueError("row_splits may not be empty")
        if validate and executing_eagerly():
            splits = row_splits.numpy()
            if splits[0] != 0 or np.any(np.diff(splits) < 0):
                raise errors.InvalidArgumentError(None, None, "Arguments to from_row_splits do not form a valid "
                                                  f"RaggedTensor: row_splits must start at 0 and not decrease: {splits}")
            if int(_length(values)) != splits[-1]:
                raise errors.InvalidArgumentError(None, None, "Arguments to from_row_splits do not form a valid "
                                                  f"RaggedTensor: the last row split is {splits[-1]}, the number of "
                                                  f"values {int(_length(values))}")
        return cls._make(values, row_splits)

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        """Row i has `row_lengths[i]` values."""
        row_lengths = _integers(row_lengths, "row_lengths")
        row_lengths.shape.with_rank(1)
        splits = array.concat([array.zeros([1], row_lengths.dtype), math.cumsum(row_lengths)], 0)
        return cls.from_row_splits(values, splits, name, validate)

    @classmethod
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        """Value i belongs to row `value_rowids[i]`; the ids do not decrease."""
        del name
        values, value_rowids = _values(values), _integers(value_rowids, "value_rowids")
        if nrows is None:
            ids = array.concat([value_rowids, array.constant([-1], value_rowids.dtype)], 0) if \
                value_rowids.shape[0] in (0, None) else value_rowids
            nrows = math.reduce_max(ids) + 1
        else:
            if isinstance(nrows, int) and nrows < 0:
                raise ValueError(f"Expected nrows >= 0; got {nrows}")
            nrows = dense_cast(nrows, value_rowids.dtype)
        if validate and executing_eagerly():
            ids = value_rowids.numpy()
            if ids.size and ids[-1] >= int(nrows) and not np.any(np.diff(ids) < 0):
                raise ValueError(f"Expected nrows >= value_rowids[-1] + 1; got nrows={int(nrows)}, value_rowids[-1]={ids[-1]}")
            if np.any(np.diff(ids) < 0) or (ids.size and (ids[0] < 0 or ids[-1] >= int(nrows))):
                raise errors.InvalidArgumentError(None, None, "Arguments to from_value_rowids do not form a valid "
                                                  f"RaggedTensor: value_rowids={ids}, nrows={int(nrows)}")
        nrows32 = dense_cast(nrows, dtypes.int32)
        lengths = raw_ops.DenseBincount(input=dense_cast(value_rowids, dtypes.int32), size=nrows32,
                                        weights=array.constant([], dtypes.int64))
        return cls.from_row_lengths(values, dense_cast(lengths, value_rowids.dtype), validate=False)

    @classmethod
    def from_row_starts(cls, values, row_starts, name=None, validate=True):
        """Row i begins at `row_starts[i]`."""
        values, row_starts = _values(values), _integers(row_starts, "row_starts")
        end = array.reshape(dense_cast(_length(values), row_starts.dtype), [1])
        return cls.from_row_splits(values, array.concat([row_starts, end], 0), name, validate)

    @classmethod
    def from_row_limits(cls, values, row_limits, name=None, validate=True):
        """Row i ends before `row_limits[i]`."""
        row_limits = _integers(row_limits, "row_limits")
        return cls.from_row_splits(values, array.concat([array.zeros([1], row_limits.dtype), row_limits], 0), name,
                                   validate)

    @classmethod
    def from_uniform_row_length(cls, values, uniform_row_length, nrows=None, validate=True, name=None):
        """All rows have `uniform_row_length` values."""
        del name
        values = _values(values)
        length = dense_cast(uniform_row_length, dtypes.int64)
        if nrows is None:
            count = _length(values)
            known = get_static_value(length)
            nrows = raw_ops.FloorDiv(x=count, y=length) if known != 0 else array.constant(0, dtypes.int64)
        if validate:
            known = [get_static_value(dense_cast(v, dtypes.int64)) for v in (length, nrows, _length(values))]
            if None not in known and known[0] * known[1] != known[2]:
                raise ValueError(f"uniform_row_length={known[0]} times nrows={known[1]} must equal nvals={known[2]}")
        splits = array.range(dense_cast(nrows, dtypes.int64) + 1) * length
        return cls._make(values, splits, length)

    @classmethod
    def from_nested_row_splits(cls, flat_values, nested_row_splits, name=None, validate=True):
        """Nested rows: the splits from the outermost to the innermost."""
        result = flat_values
        for splits in reversed(list(nested_row_splits)):
            result = cls.from_row_splits(result, splits, name, validate)
        return result

    @classmethod
    def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name=None, validate=True):
        """Nested rows: the lengths from the outermost to the innermost."""
        result = flat_values
        for lengths in reversed(list(nested_row_lengths)):
            result = cls.from_row_lengths(result, lengths, name, validate)
        return result

    @classmethod
    def from_nested_value_rowids(cls, flat_values, nested_value_rowids, nested_nrows=None, name=None, validate=True):
        """Nested rows: the row ids from the outermost to the innermost."""
        ids = list(nested_value_rowids)
        rows = [None] * len(ids) if nested_nrows is None else list(nested_nrows)
        result = flat_values
        for value_rowids, nrows in zip(reversed(ids), reversed(rows)):
            result = cls.from_value_rowids(result, value_rowids, nrows, name, validate)
        return result

    @classmethod
    def from_tensor(cls, tensor, lengths=None, padding=None, ragged_rank=1, name=None, row_splits_dtype=dtypes.int64):
        """The rows of a dense tensor, cut to `lengths` or before trailing `padding`."""
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        if not isinstance(ragged_rank, int) or ragged_rank <= 0:
            raise ValueError(f"Argument `ragged_rank` must be greater than 0. Received {ragged_rank}")
        row_splits_dtype = as_dtype(row_splits_dtype)
        tensor = convert_to_tensor(tensor, name="tensor")
        rank = tensor.shape.rank
        if rank is not None and rank <= ragged_rank:
            raise ValueError(f"Shape {tensor.shape} must have rank at least {ragged_rank + 1}")
        if isinstance(lengths, (list, tuple)) and lengths and (isinstance(lengths[0], (list, tuple)) or (
                is_tensor(lengths[0]) and lengths[0].shape.rank == 1)):
            return cls._from_tensor_nested_lengths(tensor, lengths, row_splits_dtype)
        shape = array.shape(tensor, out_type=row_splits_dtype)
        if ragged_rank > 1:
            merged = array.reshape(tensor, array.concat([[math.reduce_prod(shape[:ragged_rank])],
                                                         shape[ragged_rank:]], 0))
            inner = cls.from_tensor(merged, lengths if lengths is None else array.reshape(lengths, [-1]), padding, 1,
                                    name, row_splits_dtype)
            result = inner
            for axis in builtins.range(ragged_rank - 1, 0, -1):
                outer = math.reduce_prod(shape[:axis])
                splits = array.range(outer + 1) * shape[axis]
                result = cls._make(result, splits, shape[axis])
            return result
        nrows, ncols = shape[0], shape[1]
        if padding is not None:
            padding = convert_to_tensor(padding, dtype=tensor.dtype)
            differs = math.not_equal(tensor, padding)
            while differs.shape.rank > 2:
                differs = math.reduce_any(differs, axis=-1)
            places = array.where(differs, array.broadcast_to(array.range(ncols) + 1, array.shape(differs)),
                                 array.zeros_like(differs, row_splits_dtype))
            lengths = math.reduce_max(places, axis=1)
        if lengths is None:
            flat = array.reshape(tensor, array.concat([[nrows * ncols], shape[2:]], 0))
            splits = array.range(nrows + 1) * ncols
            return cls._make(flat, splits, ncols)
        lengths = dense_cast(convert_to_tensor(lengths), row_splits_dtype)
        lengths = raw_ops.Maximum(x=raw_ops.Minimum(x=lengths, y=ncols), y=array.zeros([], row_splits_dtype))
        flat = array.boolean_mask(tensor, array.sequence_mask(lengths, ncols))
        return cls.from_row_lengths(flat, lengths, validate=False)

    @classmethod
    def _from_tensor_nested_lengths(cls, tensor, lengths, row_splits_dtype):
        outer = dense_cast(convert_to_tensor(lengths[0]), row_splits_dtype)
        result = cls.from_tensor(tensor, outer, row_splits_dtype=row_splits_dtype)
        if len(lengths) == 1:
            return result
        inner = cls.from_tensor(result.values, lengths=lengths[1:] if len(lengths) > 2 else lengths[1],
                                row_splits_dtype=row_splits_dtype)
        return result.with_values(inner)

    @classmethod
    def from_sparse(cls, st_input, name=None, row_splits_dtype=dtypes.int64):
        """The rows of a sparse matrix whose elements are at the front of each row."""
        del name
        if st_input.shape.rank is not None and st_input.shape.rank != 2:
            raise ValueError(f"rank(st_input) must be 2. Received st_input.shape={st_input.shape}.")
        rows = dense_cast(st_input.indices[:, 0], row_splits_dtype)
        result = cls.from_value_rowids(st_input.values, rows, nrows=st_input.dense_shape[0], validate=False)
        if executing_eagerly():
            columns = st_input.indices[:, 1].numpy()
            expected = np.concatenate([np.arange(n) for n in result.row_lengths().numpy()] or [np.zeros(0)])
            if not np.array_equal(columns, expected):
                raise errors.InvalidArgumentError(None, None, "SparseTensor is not right-ragged")
        return result

    # Looking at it.

    @property
    def values(self):
        """The values of all rows, one after the other."""
        return self._values

    @property
    def flat_values(self):
        """The innermost values, which are dense."""
        value = self._values
        while isinstance(value, RaggedTensor):
            value = value._values
        return value

    @property
    def row_splits(self):
        """Where rows begin and end in the values."""
        return self._row_splits

    @property
    def uniform_row_length(self):
        """The length of all rows if it is the same by construction, else None."""
        return self._uniform_row_length

    @property
    def nested_row_splits(self):
        """The row splits of all ragged dimensions, the outermost first."""
        result, value = [], self
        while isinstance(value, RaggedTensor):
            result.append(value._row_splits)
            value = value._values
        return tuple(result)

    @property
    def dtype(self):
        """The type of the elements."""
        return self.flat_values.dtype

    @property
    def ragged_rank(self):
        """How many dimensions are partitioned by row splits."""
        return 1 + (self._values.ragged_rank if isinstance(self._values, RaggedTensor) else 0)

    @property
    def shape(self):
        """What is known of the shape; ragged dimensions are None."""
        rows = self._row_splits.shape[0]
        rows = None if rows is None else rows - 1
        length = None if self._uniform_row_length is None else get_static_value(self._uniform_row_length)
        inner = self._values.shape
        if inner.rank is None:
            return TensorShape(None)
        return TensorShape([rows, None if length is None else int(length)]).concatenate(inner[1:])

    def get_shape(self):
        """What is known of the shape."""
        return self.shape

    def nrows(self, out_type=None, name=None):
        """The number of rows."""
        del name
        out_type = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        return array.shape(self._row_splits, out_type=out_type)[0] - 1

    def row_lengths(self, axis=1, name=None):
        """The length of each row along `axis`."""
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return math.subtract(self._row_splits[1:], self._row_splits[:-1], name=name)
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(axis - 1))
        shape = array.shape(self._values, out_type=self._row_splits.dtype)
        return self.with_values(array.ones(shape[:axis - 1], shape.dtype) * shape[axis - 1])

    def nested_row_lengths(self, name=None):
        """The row lengths of all ragged dimensions."""
        del name
        return tuple(s[1:] - s[:-1] for s in self.nested_row_splits)

    def row_starts(self, name=None):
        """Where rows begin."""
        del name
        return self._row_splits[:-1]

    def row_limits(self, name=None):
        """Where rows end."""
        del name
        return self._row_splits[1:]

    def value_rowids(self, name=None):
        """The row of each value."""
        del name
        return array.repeat(array.range(self.nrows()), self.row_lengths())

    def nested_value_rowids(self, name=None):
        """The row ids of all ragged dimensions."""
        del name
        result, value = [], self
        while isinstance(value, RaggedTensor):
            result.append(value.value_rowids())
            value = value._values
        return tuple(result)

    def bounding_shape(self, axis=None, name=None, out_type=None):
        """The shape of the smallest dense tensor that holds all rows."""
        del name
        out_type = self._row_splits.dtype if out_type is None else as_dtype(out_type)
        sizes, value = [self.nrows(out_type)], self
        while isinstance(value, RaggedTensor):
            lengths = dense_cast(value.row_lengths(), out_type)
            sizes.append(math.reduce_max(array.concat([lengths, array.zeros([1], out_type)], 0)))
            value = value._values
        shape = array.concat([array.stack(sizes), array.shape(value, out_type=out_type)[1:]], 0)
        return shape if axis is None else array.gather(shape, axis)

    def with_values(self, new_values):
        """Other values in the same rows."""
        new_values = _values(new_values)
        self._values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        return RaggedTensor._make(new_values, self._row_splits, self._uniform_row_length)

    def with_flat_values(self, new_values):
        """Other innermost values in the same rows."""
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.with_flat_values(new_values))
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype):
        """The same with row splits of another integer type."""
        values = self._values.with_row_splits_dtype(dtype) if isinstance(self._values, RaggedTensor) else self._values
        return RaggedTensor._make(values, dense_cast(self._row_splits, dtype), self._uniform_row_length)

    def merge_dims(self, outer_axis, inner_axis):
        """The dimensions from `outer_axis` to `inner_axis` as one."""
        rank = self.shape.rank
        outer_axis = outer_axis + rank if outer_axis < 0 else outer_axis
        inner_axis = inner_axis + rank if inner_axis < 0 else inner_axis
        if outer_axis > inner_axis:
            raise ValueError(f"Expected outer_axis ({outer_axis}) to be less than or equal to inner_axis ({inner_axis})")
        if outer_axis == inner_axis:
            return self
        if outer_axis > 1:
            inner = self._values
            if isinstance(inner, RaggedTensor):
                return self.with_values(inner.merge_dims(outer_axis - 1, inner_axis - 1))
            return self.with_values(_merge_dense(inner, outer_axis - 1, inner_axis - 1))
        if outer_axis == 1:  # the rows stay, and have what their own rows had
            value, splits = self._values, self.row_splits
            for _ in builtins.range(inner_axis - 1):
                if isinstance(value, RaggedTensor):
                    splits = array.gather(value.row_splits, splits)
                    value = value._values
                else:
                    splits = splits * dense_cast(array.shape(value)[1], splits.dtype)
                    value = _merge_dense(value, 0, 1)
            return RaggedTensor.from_row_splits(value, splits, validate=False)
        value = self
        for _ in builtins.range(inner_axis):
            if isinstance(value, RaggedTensor):
                value = value._values
            else:
                value = _merge_dense(value, 0, 1)
        return value

    # Turning it into something else.

    def to_tensor(self, default_value=None, name=None, shape=None):
        """A dense tensor; short rows are filled with `default_value` (0)."""
        if default_value is None:
            default_value = array.zeros([], dtype=self.dtype)
        default_value = convert_to_tensor(default_value, dtype=self.dtype)
        if shape is None:
            shape_arg = array.constant(-1, dtype=dtypes.int64)
        elif is_tensor(shape):
            shape_arg = shape
        else:
            dims = TensorShape(shape)
            shape_arg = (array.constant(-1, dtype=dtypes.int64) if dims.rank is None else
                         array.constant([-1 if d is None else d for d in dims.as_list()], dtype=dtypes.int64))
        kind = self._row_splits.dtype
        result = raw_ops.RaggedTensorToTensor(
            shape=dense_cast(shape_arg, kind), values=self.flat_values, default_value=default_value,
            row_partition_tensors=list(self.nested_row_splits), row_partition_types=["ROW_SPLITS"] * self.ragged_rank,
            name=name)
        if not executing_eagerly() and self.shape.rank is not None:
            wanted = [None] * self.shape.rank if shape is None or is_tensor(shape) else TensorShape(shape).as_list()
            known = self.shape.as_list()
            ragged = is_tensor(shape)  # then the dense shape is only known when it runs
            result.set_shape([w if w is not None else None if ragged else k for w, k in zip(wanted, known)])
        return result

    def to_sparse(self, name=None):
        """A sparse tensor with the elements at the front of each row."""
        from weir.ops.sparse import SparseTensor
        parts = raw_ops.RaggedTensorToSparse(rt_nested_splits=list(self.nested_row_splits),
                                             rt_dense_values=self.flat_values, name=name)
        return SparseTensor(*parts)

    def numpy(self):
        """A numpy array; of arrays (dtype object) if the rows differ in length."""
        if not executing_eagerly():
            raise ValueError("RaggedTensor.numpy() is only supported in eager mode.")
        values = self._values.numpy()
        splits = self._row_splits.numpy()
        rows = np.split(values, splits[1:-1])
        if not rows:
            return np.zeros((0, int(self._uniform_row_length or 0)) + values.shape[1:], dtype=values.dtype)
        if len(splits) == 1:
            return np.zeros((0, 0) + values.shape[1:], dtype=values.dtype)
        if len({r.shape for r in rows}) == 1 and not any(r.dtype == object and isinstance(self._values, RaggedTensor)
                                                         for r in rows):
            return np.stack(rows)
        result = np.empty(len(rows), dtype=object)
        for i, r in enumerate(rows):
            result[i] = r
        return result

    def to_list(self):
        """Nested Python lists."""
        if not executing_eagerly():
            raise ValueError("RaggedTensor.to_list() is only supported in eager mode")
        values = self._values.to_list() if isinstance(self._values, RaggedTensor) else self._values.numpy().tolist()
        splits = [int(s) for s in self._row_splits.numpy()]
        return [values[a:b] for a, b in zip(splits[:-1], splits[1:])]

    def __repr__(self):
        if executing_eagerly():
            return f"<tf.RaggedTensor {_text(self.numpy())}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    __str__ = __repr__

    def __iter__(self):
        return (self[i] for i in builtins.range(int(self.nrows())))

    @property
    def _type_spec(self):
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def __getitem__(self, key):
        return getitem(self, key)

    # Operators go through the public functions, which dispatch.

    def _operator(name):  # pylint: disable=no-self-argument
        def forward(self, other):
            return _function(name)(self, other)

        return forward

    def _reflected(name):  # pylint: disable=no-self-argument
        def backward(self, other):
            return _function(name)(other, self)

        return backward

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _operator("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _operator("truediv"), _reflected("truediv")
    __floordiv__, __rfloordiv__ = _operator("floordiv"), _reflected("floordiv")
    __mod__, __rmod__ = _operator("FloorMod"), _reflected("FloorMod")
    __pow__, __rpow__ = _operator("pow"), _reflected("pow")
    __lt__, __le__ = _operator("Less"), _operator("LessEqual")
    __gt__, __ge__ = _operator("Greater"), _operator("GreaterEqual")
    __and__, __rand__ = _operator("LogicalAnd"), _reflected("LogicalAnd")
    __or__, __ror__ = _operator("LogicalOr"), _reflected("LogicalOr")

    def __eq__(self, other):
        return math.equal(self, other)

    def __ne__(self, other):
        return math.not_equal(self, other)

    def __hash__(self):
        raise TypeError("RaggedTensor is unhashable.")

    def __bool__(self):
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __neg__(self):
        return self.with_flat_values(-self.flat_values)

    def __abs__(self):
        return math.abs(self)

    def __invert__(self):
        return self.with_flat_values(raw_ops.LogicalNot(x=self.flat_values))


def _function(name):
    return getattr(math, name, None) or getattr(ops, name)


class RaggedTensorSpec(TypeSpec):
    """The type of a RaggedTensor."""

    __slots__ = ["_shape", "_dtype", "_ragged_rank", "_row_splits_dtype", "_flat_values_spec"]

    def __init__(self, shape=None, dtype=dtypes.float32, ragged_rank=None, row_splits_dtype=dtypes.int64,
                 flat_values_spec=None):
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._row_splits_dtype = as_dtype(row_splits_dtype)
        self._flat_values_spec = flat_values_spec
        rank = self._shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if rank is not None and ragged_rank >= rank:
            raise ValueError(f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank}).")
        self._ragged_rank = ragged_rank

    value_type = property(lambda self: RaggedTensor if self._ragged_rank > 0 else _tensor_class())
    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._dtype)
    ragged_rank = property(lambda self: self._ragged_rank)
    row_splits_dtype = property(lambda self: self._row_splits_dtype)
    flat_values_spec = property(lambda self: self._flat_values_spec)

    def _serialize(self):
        return (self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype)

    @property
    def _component_specs(self):
        if self._ragged_rank == 0:
            return [TensorSpec(self._shape, self._dtype)]
        rows = self._shape[0] if self._shape.rank is not None else None
        inner = [None] + self._shape.as_list()[self._ragged_rank + 1:] if self._shape.rank is not None else None
        specs = [TensorSpec(inner, self._dtype), TensorSpec([None if rows is None else rows + 1], self._row_splits_dtype)]
        specs.extend(TensorSpec([None], self._row_splits_dtype) for _ in builtins.range(self._ragged_rank - 1))
        return specs

    def _to_components(self, value):
        if self._ragged_rank == 0:
            return [convert_to_tensor(value)]
        return [value.flat_values] + list(value.nested_row_splits)

    def _from_components(self, components):
        result = components[0]
        for splits in reversed(components[1:]):
            result = RaggedTensor._make(result, splits)
        return result

    @classmethod
    def from_value(cls, value):
        """The spec of a value."""
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)

    # Elements of datasets travel as one variant.

    def _batch(self, batch_size):
        return RaggedTensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype, self._ragged_rank + 1,
                                self._row_splits_dtype)

    def _unbatch(self):
        return RaggedTensorSpec(self._shape[1:], self._dtype, max(self._ragged_rank - 1, 0), self._row_splits_dtype)

    @property
    def _flat_tensor_specs(self):
        return [TensorSpec(None, dtypes.variant)]

    def _to_tensor_list(self, value):
        return [to_variant(value, self)]

    def _to_batched_tensor_list(self, value):
        splits = value.nested_row_splits if isinstance(value, RaggedTensor) else []
        return [raw_ops.RaggedTensorToVariant(rt_nested_splits=list(splits), rt_dense_values=value.flat_values if splits
                                              else value, batched_input=True)]

    def _from_compatible_tensor_list(self, tensors):
        dims = tensors[0].shape.rank
        parts = raw_ops.RaggedTensorFromVariant(
            encoded_ragged=tensors[0], input_ragged_rank=-1 if dims is None else self._ragged_rank - dims,
            output_ragged_rank=self._ragged_rank, Tvalues=self._dtype, Tsplits=self._row_splits_dtype)
        result = parts.output_dense_values if hasattr(parts, "output_dense_values") else parts[1]
        splits = parts.output_nested_splits if hasattr(parts, "output_nested_splits") else parts[0]
        if self._ragged_rank == 0 and hasattr(result, "set_shape"):
            return array.ensure_shape(result, self._shape)
        for s in reversed(list(splits)):
            result = RaggedTensor._make(result, s)
        return result


def _tensor_class():
    from weir.framework import Tensor
    return Tensor


def to_variant(value, spec):
    """A ragged (or dense) value as a scalar variant."""
    del spec
    splits = list(value.nested_row_splits) if isinstance(value, RaggedTensor) else []
    flat = value.flat_values if isinstance(value, RaggedTensor) else convert_to_tensor(value)
    return raw_ops.RaggedTensorToVariant(rt_nested_splits=splits, rt_dense_values=flat, batched_input=False)


def from_variant(stacked, spec):
    """The ragged tensor of a vector of variants, one dimension more than `spec`."""
    parts = raw_ops.RaggedTensorFromVariant(encoded_ragged=stacked, input_ragged_rank=spec.ragged_rank,
                                            output_ragged_rank=spec.ragged_rank + 1, Tvalues=spec.dtype,
                                            Tsplits=spec.row_splits_dtype)
    result = parts[1]
    for s in reversed(list(parts[0])):
        result = RaggedTensor._make(result, s)
    return result


def _merge_dense(value, outer, inner):
    shape = array.shape(value)
    merged = math.reduce_prod(shape[outer:inner + 1])
    return array.reshape(value, array.concat([shape[:outer], [merged], shape[inner + 1:]], 0))


def from_dense_prefix(values, shape, rank):
    """A ragged tensor whose rows belong to the elements of a dense tensor of the given shape."""
    result = values
    for axis in builtins.range(rank - 1, 0, -1):
        outer = math.reduce_prod(shape[:axis])
        splits = array.range(dense_cast(outer, dtypes.int64) + 1) * dense_cast(shape[axis], dtypes.int64)
        result = RaggedTensor._make(result, splits, dense_cast(shape[axis], dtypes.int64))
    return result


def getitem(rt, key):
    """Indices and slices of a ragged tensor."""
    keys = list(key) if isinstance(key, (tuple, list)) else [key]
    if any(k is Ellipsis for k in keys):
        at = [k is Ellipsis for k in keys].index(True)
        used = len([k for k in keys if k is not None and k is not Ellipsis])
        keys = keys[:at] + [builtins.slice(None)] * (rt.shape.rank - used) + keys[at + 1:]
    return _getitem(rt, keys)


def _getitem(rt, keys):
    if not keys:
        return rt
    if not isinstance(rt, RaggedTensor):
        return rt[tuple(keys)]
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = _getitem(rt, rest)
        return expand_dims(inner, 0)
    if isinstance(first, builtins.slice):
        if first.start is None and first.stop is None and first.step in (None, 1):
            chosen = rt
        else:
            starts, limits = rt.row_splits[:-1][first], rt.row_splits[1:][first]
            chosen = _rows(rt, starts, limits)
        if not rest:
            return chosen
        return _getitem_inner(chosen, rest)
    index = dense_cast(first, rt.row_splits.dtype) if is_tensor(first) else int(first)
    if isinstance(index, int) and index < 0:
        index = index + (int(rt.nrows()) if executing_eagerly() else rt.nrows())
    if executing_eagerly() and not 0 <= int(index) < int(rt.nrows()):
        raise IndexError(f"Row key {int(first)} out of bounds")
    start, limit = rt.row_splits[index], rt.row_splits[index + 1]
    row = rt.values[start:limit]
    return _getitem(row, rest)


def _getitem_inner(rt, keys):
    """Applies keys to each row."""
    first, rest = keys[0], keys[1:]
    if first is None:
        inner = _getitem_inner(rt, rest) if rest else rt
        return RaggedTensor._make(inner.values if False else inner, array.range(inner.nrows() + 1),
                                  array.constant(1, dtypes.int64)) if False else expand_dims(inner, 1)
    if isinstance(first, builtins.slice):
        if first.start is None and first.stop is None and first.step in (None, 1):
            chosen = rt
        else:
            lengths = rt.row_lengths()
            step = 1 if first.step is None else int(first.step)
            start = _clip_bound(first.start, 0 if step > 0 else None, lengths, step)
            stop = _clip_bound(first.stop, None, lengths, step)
            counts = raw_ops.Maximum(x=raw_ops.FloorDiv(x=stop - start + step - (1 if step > 0 else -1),
                                                        y=array.constant(step, lengths.dtype)),
                                     y=array.zeros_like(lengths))
            base = rt.row_splits[:-1] + start
            ranges = range(base, base + counts * step, step)
            chosen = RaggedTensor._make(array.gather(rt.values, ranges.values) if not isinstance(
                rt.values, RaggedTensor) else gather(rt.values, ranges.values), ranges.row_splits)
        if not rest:
            return chosen
        if isinstance(chosen.values, RaggedTensor):
            return chosen.with_values(_getitem_inner(chosen.values, rest))
        return chosen.with_values(chosen.values[(builtins.slice(None),) + tuple(rest)])
    if rt.uniform_row_length is None:
        raise ValueError("Cannot index into an inner ragged dimension.")
    index = int(first) if not is_tensor(first) else first
    if isinstance(index, int):
        places = rt.row_splits[:-1] + index if index >= 0 else rt.row_splits[1:] + index
    else:
        places = rt.row_splits[:-1] + dense_cast(index, rt.row_splits.dtype)
    picked = gather(rt.values, places) if isinstance(rt.values, RaggedTensor) else array.gather(rt.values, places)
    if not rest:
        return picked
    return _getitem_inner(picked, rest) if isinstance(picked, RaggedTensor) else picked[(builtins.slice(None),) +
                                                                                       tuple(rest)]


def _clip_bound(value, default, lengths, step):
    if value is None:
        if step > 0:
            return array.zeros_like(lengths) if default == 0 else lengths
        return lengths - 1 if default is None and False else array.ones_like(lengths) * -1
    value = dense_cast(value, lengths.dtype)
    value = array.where(value < 0, value + lengths, array.broadcast_to(value, array.shape(lengths)))
    return raw_ops.Maximum(x=raw_ops.Minimum(x=value, y=lengths), y=array.zeros_like(lengths))


def _rows(rt, starts, limits):
    ranges = range(starts, limits)
    values = gather(rt.values, ranges.values) if isinstance(rt.values, RaggedTensor) else array.gather(rt.values,
                                                                                                    ranges.values)
    return RaggedTensor._make(values, ranges.row_splits)


# tf.ragged.


def constant(pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None, row_splits_dtype=dtypes.int64):
    """A ragged tensor of nested Python lists."""
    del name
    row_splits_dtype = as_dtype(row_splits_dtype)
    if not isinstance(pylist, (list, tuple, np.ndarray)):
        if ragged_rank not in (None, 0):
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}")
        return array.constant(pylist, dtype)
    depth, inner = _depth(pylist), None
    if ragged_rank is None:
        ragged_rank = max(depth - 1, 0) if inner_shape is None else depth - 1 - len(tuple(inner_shape))
    if depth is not None and ragged_rank > max(depth - 1, 0) and _has_scalars(pylist):
        raise ValueError(f"Invalid pylist={pylist}: incompatible with ragged_rank={ragged_rank}")
    del inner
    splits, values = [], pylist
    for _ in builtins.range(ragged_rank):
        rows = list(values)
        for row in rows:
            if not isinstance(row, (list, tuple, np.ndarray)):
                raise ValueError("all scalar values must have the same nesting depth")
        splits.append(np.cumsum([0] + [len(row) for row in rows]))
        values = [item for row in rows for item in row]
    if ragged_rank and depth == ragged_rank + 1 and any(isinstance(v, (list, tuple)) for v in values):
        raise ValueError("all scalar values must have the same nesting depth")
    if inner_shape is not None:
        result = array.reshape(array.constant(list(values), dtype), (-1,) + tuple(inner_shape))
    else:
        result = array.constant(list(values), dtype) if len(values) else array.zeros(
            [0], as_dtype(dtype) if dtype is not None else dtypes.float32)
    for s in reversed(splits):
        result = RaggedTensor._make(result, array.constant(s, dtype=row_splits_dtype))
    return result


def _depth(value):
    if isinstance(value, np.ndarray):
        return value.ndim if value.dtype != object else 1 + max([_depth(v) for v in value] or [0])
    if isinstance(value, (list, tuple)):
        return 1 + max([_depth(v) for v in value] or [0])
    return 0


def _has_scalars(value):
    if isinstance(value, (list, tuple, np.ndarray)):
        return any(_has_scalars(v) for v in value)
    return True


def range(starts, limits=None, deltas=1, dtype=None, name=None, row_splits_dtype=dtypes.int64):  # pylint: disable=redefined-builtin
    """Rows of numbers, one range each."""
    if limits is None:
        starts, limits = 0, starts
    row_splits_dtype = as_dtype(row_splits_dtype)
    starts = convert_to_tensor(starts, dtype=dtype, dtype_hint=getattr(limits, "dtype", None))
    limits = convert_to_tensor(limits, dtype=dtype, dtype_hint=starts.dtype)
    deltas = convert_to_tensor(deltas, dtype=dtype, dtype_hint=starts.dtype)
    if not starts.dtype == limits.dtype == deltas.dtype:
        order = ["int32", "int64", "float32", "float64"]
        widest = max((v.dtype.name for v in (starts, limits, deltas)), key=order.index)
        starts, limits, deltas = (dense_cast(v, widest) for v in (starts, limits, deltas))
    splits, values = raw_ops.RaggedRange(starts=starts, limits=limits, deltas=deltas, Tsplits=row_splits_dtype,
                                         name=name)
    return RaggedTensor._make(values, splits)


def row_splits_to_segment_ids(splits, name=None, out_type=None):
    """The row of each value, of row splits."""
    del name
    splits = _integers(splits, "splits")
    return dense_cast(array.repeat(array.range(array.size(splits, out_type=splits.dtype) - 1), splits[1:] - splits[:-1]),
                      out_type or splits.dtype)


def segment_ids_to_row_splits(segment_ids, num_segments=None, out_type=None, name=None):
    """Row splits of the row of each value."""
    del name
    result = RaggedTensor.from_value_rowids(segment_ids, segment_ids, nrows=num_segments, validate=False).row_splits
    return dense_cast(result, out_type or dtypes.int64)


def map_flat_values(op, *args, **kwargs):
    """Applies a function to the flat values of ragged tensors with equal rows."""
    found = [v for v in list(args) + list(kwargs.values()) if isinstance(v, RaggedTensor)]
    if not found:
        return op(*args, **kwargs)
    first = found[0]
    sizes = {size for size in (v.flat_values.shape[0] for v in found) if size is not None}
    if len(sizes) > 1:
        raise ValueError("Input RaggedTensors' flat_values must all have the same outer-dimension size.  Got sizes: "
                         f"{sizes}")
    for other in found[1:]:
        _assert_same_rows(first, other)
    strip = lambda v: v.flat_values if isinstance(v, RaggedTensor) else (  # noqa: E731
        [strip(x) for x in v] if isinstance(v, list) else v)
    result = op(*[strip(v) for v in args], **{k: strip(v) for k, v in kwargs.items()})
    return first.with_flat_values(result)


def _assert_same_rows(a, b):
    if a.ragged_rank != b.ragged_rank:
        raise ValueError("Inputs must have the same ragged_rank")
    for x, y in zip(a.nested_row_splits, b.nested_row_splits):
        if x is not y and executing_eagerly() and not np.array_equal(x.numpy(), y.numpy()):
            raise errors.InvalidArgumentError(None, None, "Inputs have incompatible row splits: "
                                              f"{x.numpy().tolist()} and {y.numpy().tolist()}")


def _to_ragged(value, ragged_rank):
    if isinstance(value, RaggedTensor):
        return value
    return RaggedTensor.from_tensor(value, ragged_rank=ragged_rank)


def broadcast_dense(dense, rt):
    """A dense value repeated so that it lies beside the flat values of a ragged tensor."""
    rank, full = dense.shape.rank, rt.shape.rank
    if rank == 0:
        return dense
    inner = full - rt.ragged_rank - 1
    if rank <= inner:
        return dense
    # Leading dimensions of size 1 or equal to the rows: gathered by row ids.
    if rank < full:
        dense = array.reshape(dense, array.concat([[1] * (full - rank), array.shape(dense)], 0))
    value, current = dense, rt
    ids = None
    for level in builtins.range(rt.ragged_rank):
        rows = current.value_rowids() if ids is None else current.value_rowids()
        size = array.shape(value)[0]
        if value.shape[0] == 1:
            value = array.gather(value, array.zeros_like(rows))
        else:
            if ids is None and executing_eagerly():
                _must_be_equal(int(size), int(current.nrows()))
            value = array.gather(value, rows)
        del size
        ids = rows
        # The next dimension becomes the first: pick column by position in the row.
        columns = array.range(_length(current.values)) - array.gather(current.row_splits, rows)
        if value.shape[1] == 1:
            value = array.squeeze(value, [1])
        else:
            if executing_eagerly():
                _must_be_equal(current.row_lengths().numpy(), value.shape[1])
            value = array.gather(value, columns, batch_dims=1, axis=1)
        current = current.values
        del level
    return value


def _must_be_equal(lengths, others):
    """Refuses sizes of a dimension that do not fit: rows are never cut or repeated."""
    if not np.all(np.equal(lengths, others)):
        raise errors.InvalidArgumentError(None, None, "Condition x == y did not hold.")


def _binary(function):
    def handler(x, y, name=None):
        if isinstance(x, RaggedTensor) and isinstance(y, RaggedTensor):
            if x.ragged_rank != y.ragged_rank or not _same_rows(x, y):
                x, y = _broadcast_ragged(x, y)
            if x.ragged_rank != y.ragged_rank or not _same_rows(x, y):
                raise errors.InvalidArgumentError(None, None, "Condition x == y did not hold.")
            return x.with_flat_values(function(x.flat_values, y.flat_values, name=name))
        if isinstance(x, RaggedTensor):
            y = convert_to_tensor(y, dtype_hint=x.dtype)
            y = convert_to_tensor(y, dtype=x.dtype) if y.shape.rank == 0 and not is_tensor(y) else y
            x = _with_rank(x, y.shape.rank)
            return x.with_flat_values(function(x.flat_values, broadcast_dense(y, x), name=name))
        x = convert_to_tensor(x, dtype_hint=y.dtype)
        y = _with_rank(y, x.shape.rank)
        return y.with_flat_values(function(broadcast_dense(x, y), y.flat_values, name=name))

    return handler


def _with_rank(rt, rank):
    """The ragged tensor with leading dimensions of size 1 up to a rank."""
    while rank is not None and rt.shape.rank is not None and rt.shape.rank < rank:
        rt = expand_dims(rt, 0)
    return rt


def _same_rows(x, y):
    if not executing_eagerly():
        return True
    return all(a is b or np.array_equal(a.numpy(), b.numpy())
               for a, b in zip(x.nested_row_splits, y.nested_row_splits))


def _broadcast_ragged(x, y):
    """Two ragged tensors with equal rows, where the rows of one are repeated that are known to be of length 1."""
    if x.ragged_rank != y.ragged_rank or int(x.nrows()) != int(y.nrows()):
        return x, y

    def stretch(a, b):
        if a.uniform_row_length is None or int(a.uniform_row_length) != 1:
            return a
        lengths_a, lengths_b = a.row_lengths(), b.row_lengths()
        repeats = array.where(raw_ops.LogicalAnd(x=math.equal(lengths_a, 1), y=math.not_equal(lengths_b, 1)), lengths_b,
                              array.ones_like(lengths_a))
        per_value = array.gather(repeats, a.value_rowids())
        values = array.repeat(a.values, per_value, axis=0) if not isinstance(a.values, RaggedTensor) else a.values
        return RaggedTensor.from_row_lengths(values, math.multiply(lengths_a, repeats), validate=False)

    return stretch(x, y), stretch(y, x)


def _unary(function):
    return lambda x, *args, **kwargs: x.with_flat_values(function(x.flat_values, *args, **kwargs))


# Handlers.


def expand_dims(input, axis, name=None):  # pylint: disable=redefined-builtin
    """A dimension of size 1 inserted at `axis`."""
    if not isinstance(input, RaggedTensor):
        return array.expand_dims(input, axis, name=name)
    rank = input.shape.rank
    axis = axis + rank + 1 if axis < 0 else axis
    kind = input.row_splits.dtype
    if axis == 0:
        return RaggedTensor._make(input, array.stack([array.zeros([], kind), input.nrows()]), input.nrows())
    if axis == 1:
        return RaggedTensor._make(input, array.range(input.nrows() + 1), array.constant(1, kind))
    return input.with_values(expand_dims(input.values, axis - 1) if isinstance(input.values, RaggedTensor) else
                             array.expand_dims(input.values, axis - 1))


def concat(values, axis, name=None):
    """Ragged and dense tensors joined along `axis`."""
    del name
    values = [v if isinstance(v, RaggedTensor) else convert_to_tensor(v) for v in values]
    rank = next(v.shape.rank for v in values if isinstance(v, RaggedTensor))
    axis = int(axis)
    axis = axis + rank if axis < 0 else axis
    ragged_rank = max(v.ragged_rank for v in values if isinstance(v, RaggedTensor))
    values = [_to_ragged(v, ragged_rank) for v in values]
    if axis == 0:
        return _concat_outer(values)
    if axis == 1:
        # Rows i of all inputs follow each other: join all, then reorder the rows.
        joined = _concat_outer(values)
        count = values[0].nrows()
        order = array.reshape(array.transpose(array.reshape(array.range(count * len(values)),
                                                            array.stack([array.constant(len(values), count.dtype), count]))), [-1])
        reordered = gather(joined, order)
        splits = array.gather(reordered.row_splits, array.range(count + 1) * len(values))
        return RaggedTensor._make(reordered.values, splits)
    inner = [v.values for v in values]
    return values[0].with_values(concat(inner, axis - 1) if any(isinstance(v, RaggedTensor) for v in inner) else
                                 array.concat(inner, axis - 1))


def _concat_outer(values):
    inner = [v.values for v in values]
    joined = _concat_outer(inner) if isinstance(inner[0], RaggedTensor) else array.concat(inner, 0)
    pieces, offset = [values[0].row_splits], values[0].row_splits[-1]
    for value in values[1:]:
        pieces.append(value.row_splits[1:] + offset)
        offset = offset + value.row_splits[-1]
    return RaggedTensor._make(joined, array.concat(pieces, 0))


def stack(values, axis=0, name=None):
    """Tensors of which some may be ragged, stacked along a new dimension, which may be ragged."""
    del name
    values = [v if isinstance(v, RaggedTensor) else convert_to_tensor(v) for v in values]
    rank = values[0].shape.rank
    axis = axis + rank + 1 if axis < 0 else axis
    if not any(isinstance(v, RaggedTensor) for v in values):
        if rank == 0:
            return array.stack(values, axis)
        if axis == 0:
            lengths = array.stack([array.shape(v, out_type=dtypes.int64)[0] for v in values])
            if rank == 1:
                return RaggedTensor.from_row_lengths(array.concat(values, 0), lengths, validate=False)
            values = [RaggedTensor.from_tensor(v, ragged_rank=rank - 1) for v in values]
        else:
            return concat([expand_dims(RaggedTensor.from_tensor(v), axis) for v in values], axis)
    if axis == 0:
        ragged_rank = max(v.ragged_rank for v in values if isinstance(v, RaggedTensor))
        values = [_to_ragged(v, ragged_rank) for v in values]
        counts = array.stack([v.nrows() for v in values])
        joined = _concat_outer(values)
        return RaggedTensor.from_row_lengths(joined, counts, validate=False)
    return concat([expand_dims(v, axis) for v in values], axis)


def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    """Rows of a ragged tensor, or of a dense one by ragged indices."""
    del validate_indices, name
    if isinstance(indices, RaggedTensor):
        if batch_dims:
            return _batch_gather(params, indices)
        return indices.with_values(gather(params, indices.values, axis=axis))
    if not isinstance(params, RaggedTensor):
        return array.gather(params, indices, axis=axis, batch_dims=batch_dims)
    indices = convert_to_tensor(indices)
    if batch_dims:
        return _batch_gather(params, indices)
    if axis == 1:  # the same places of every row
        lengths = math.reduce_min(params.row_lengths()) if executing_eagerly() and int(params.nrows()) else None
        wanted = dense_cast(indices, params.row_splits.dtype)
        if lengths is not None and array.size(wanted) and int(math.reduce_max(wanted)) >= int(lengths):
            raise errors.InvalidArgumentError(None, None, "indices are out of range for a row of the ragged tensor")
        starts = array.reshape(params.row_starts(), array.concat([[-1], array.ones([indices.shape.rank], dtypes.int32)], 0))
        return gather(params.values, starts + wanted)
    if axis not in (None, 0):
        return params.with_values(gather(params.values, indices, axis=axis - 1))
    if indices.shape.rank == 0:
        return params[indices]
    if indices.shape.rank > 1:
        flat = gather(params, array.reshape(indices, [-1]))
        return from_dense_prefix(flat, array.shape(indices), indices.shape.rank)
    indices = dense_cast(indices, params.row_splits.dtype)
    starts = array.gather(params.row_splits, indices)
    limits = array.gather(params.row_splits, indices + 1)
    return _rows(params, starts, limits)


def _batch_gather(params, indices):
    """Element j of row i of the result is `params[i][indices[i][j]]`."""
    if not isinstance(params, RaggedTensor):
        params = RaggedTensor.from_tensor(params)
    if not isinstance(indices, RaggedTensor):
        dense = True
        shape = array.shape(indices)
        indices = RaggedTensor.from_tensor(indices)
    else:
        dense, shape = False, None
    starts = array.gather(params.row_splits, indices.value_rowids())
    flat = dense_cast(indices.flat_values, starts.dtype) + starts
    values = gather(params.values, flat) if isinstance(params.values, RaggedTensor) else array.gather(params.values, flat)
    if dense and not isinstance(values, RaggedTensor):
        return array.reshape(values, array.concat([shape, array.shape(values)[1:]], 0))
    return indices.with_values(values)


def boolean_mask(data, mask, name=None):
    """The elements where a mask, dense or ragged, is True; dimensions stay, rows become shorter."""
    del name
    if isinstance(mask, RaggedTensor):
        if not isinstance(data, RaggedTensor):
            data = RaggedTensor.from_tensor(data, ragged_rank=mask.ragged_rank)
        flat_mask = mask.values
        lengths = RaggedTensor._make(dense_cast(mask.flat_values, dtypes.int64), mask.nested_row_splits[-1])
        if mask.ragged_rank > 1:
            return data.with_values(boolean_mask(data.values, flat_mask))
        kept = reduce_function("sum")(lengths, axis=1)
        values = boolean_mask(data.values, flat_mask) if isinstance(data.values, RaggedTensor) else array.boolean_mask(
            data.values, flat_mask)
        return RaggedTensor.from_row_lengths(values, kept, validate=False)
    mask = convert_to_tensor(mask)
    if mask.shape.rank == 1:
        if not isinstance(data, RaggedTensor):
            return array.boolean_mask(data, mask)
        return gather(data, array.reshape(array.where(mask), [-1]))
    return boolean_mask(data, RaggedTensor.from_tensor(mask, ragged_rank=mask.shape.rank - 1))


def reduce_function(kind):
    """The reduction of ragged tensors named "sum", "prod", "max", "min", "mean", "all" or "any"."""
    segment = {"sum": "UnsortedSegmentSum", "prod": "UnsortedSegmentProd", "max": "UnsortedSegmentMax",
               "min": "UnsortedSegmentMin"}
    dense = getattr(math, "reduce_" + kind)

    def reduce(input_tensor, axis=None, keepdims=False, name=None):
        if axis is None:
            values = input_tensor.flat_values
            # As along an axis, the mean of integers is a quotient.
            result = dense(values, axis=None) if kind != "mean" or not values.dtype.is_integer else math.divide(
                math.reduce_sum(values), array.size(values))
            if keepdims:
                for _ in builtins.range(input_tensor.shape.rank):
                    result = array.expand_dims(result, 0)
            return result
        if is_tensor(axis):
            axis = get_static_value(axis)
            axis = int(axis) if np.ndim(axis) == 0 else [int(i) for i in axis]
        rank = input_tensor.shape.rank
        if isinstance(axis, (list, tuple)):
            places = sorted((i + rank if i < 0 else i) for i in axis)
            result = input_tensor
            for place in reversed(places):
                result = _any_reduce(kind)(result, axis=place, keepdims=keepdims)
            return result
        if not -rank <= axis < rank:
            raise ValueError(f"axis={axis} out of bounds: expected {-rank}<=axis<{rank}")
        axis = axis + rank if axis < 0 else axis
        if kind == "mean":
            total = reduce_function("sum")(input_tensor, axis, keepdims)
            ones = input_tensor.with_flat_values(array.ones_like(input_tensor.flat_values))
            count = reduce_function("sum")(ones, axis, keepdims)
            return math.divide(total, count) if not isinstance(total, RaggedTensor) else _binary(math.divide)(total, count)
        if kind in ("all", "any"):
            as_int = input_tensor.with_flat_values(dense_cast(input_tensor.flat_values, dtypes.int32))
            result = reduce_function("min" if kind == "all" else "max")(as_int, axis, keepdims)
            strip = lambda v: dense_cast(v, dtypes.bool)  # noqa: E731
            if kind == "all":
                strip = lambda v: math.not_equal(v, 0)  # noqa: E731
            else:
                strip = lambda v: v > 0  # noqa: E731
            return result.with_flat_values(strip(result.flat_values)) if isinstance(result, RaggedTensor) else strip(result)
        if axis == 0:
            rowids = input_tensor.value_rowids()
            columns = array.range(_length(input_tensor.values)) - array.gather(input_tensor.row_splits, rowids)
            values = input_tensor.values
            count = math.reduce_max(array.concat([input_tensor.row_lengths(),
                                                  array.zeros([1], input_tensor.row_splits.dtype)], 0))
            if isinstance(values, RaggedTensor):
                # Rows of the same column follow each other, then one ragged reduction per column is left.
                order = array.argsort(columns, stable=True)
                lengths = raw_ops.DenseBincount(input=dense_cast(columns, dtypes.int32),
                                                size=dense_cast(count, dtypes.int32),
                                                weights=array.constant([], dtypes.int64))
                grouped = RaggedTensor.from_row_lengths(gather(values, order), lengths, validate=False)
                result = reduce_function(kind)(_swap_rows(grouped), 1)
                return expand_dims(result, 0) if keepdims else result
            result = getattr(raw_ops, segment[kind])(data=values, segment_ids=columns, num_segments=count)
            return expand_dims(result, 0) if keepdims else result
        if axis == 1:
            values = input_tensor.values
            if isinstance(values, RaggedTensor):
                result = reduce_function(kind)(_swap_rows(input_tensor), 2)
                return expand_dims(result, 1) if keepdims else result
            result = getattr(raw_ops, segment[kind])(data=values, segment_ids=input_tensor.value_rowids(),
                                                     num_segments=input_tensor.nrows(), name=name)
            return array.expand_dims(result, 1) if keepdims else result
        inner = _any_reduce(kind)(input_tensor.values, axis=axis - 1, keepdims=keepdims)
        return input_tensor.with_values(inner)

    return reduce


def _any_reduce(kind):
    def reduce(value, axis, keepdims=False):
        if isinstance(value, RaggedTensor):
            return reduce_function(kind)(value, axis=axis, keepdims=keepdims)
        return getattr(math, "reduce_" + kind)(value, axis=axis, keepdims=keepdims)

    return reduce


def _swap_rows(rt):
    """`[a, (b), (c)]` as `[a, (c), (b)]`: element j of each inner row of row i becomes row j of i."""
    inner = rt.values
    outer_of_value = array.gather(rt.value_rowids(), inner.value_rowids())
    column = array.range(_length(inner.values)) - array.gather(inner.row_splits, inner.value_rowids())
    lengths = reduce_function("max")(RaggedTensor._make(inner.row_lengths(), rt.row_splits), axis=1)
    lengths = raw_ops.Maximum(x=lengths, y=array.zeros_like(lengths))
    starts = array.concat([array.zeros([1], lengths.dtype), math.cumsum(lengths)], 0)
    row = array.gather(starts, outer_of_value) + column
    order = array.argsort(row, stable=True)
    values = array.gather(inner.values, order)
    counts = raw_ops.DenseBincount(input=dense_cast(row, dtypes.int32), size=dense_cast(starts[-1], dtypes.int32),
                                   weights=array.constant([], dtypes.int64))
    new_inner = RaggedTensor.from_row_lengths(values, counts, validate=False)
    return RaggedTensor._make(new_inner, starts)


def _tile(input, multiples, name=None):  # pylint: disable=redefined-builtin
    """Rows repeated along each dimension."""
    del name
    counts = [int(m) for m in (multiples.numpy() if is_tensor(multiples) else multiples)]
    result = input
    for axis, count in enumerate(counts):
        if count != 1:
            result = concat([result] * count, axis) if count else result[:0]
    return result


def _where(condition, x=None, y=None, name=None):
    if x is None:
        parts = condition.to_sparse()
        return array.boolean_mask(parts.indices, parts.values)
    rt = next(v for v in (condition, x, y) if isinstance(v, RaggedTensor))
    flat = [v.flat_values if isinstance(v, RaggedTensor) else broadcast_dense(convert_to_tensor(v), rt)
            for v in (condition, x, y)]
    return rt.with_flat_values(array.where(*flat, name=name))


def _reverse(tensor, axis, name=None):
    del name
    rank = tensor.shape.rank
    result = tensor
    for place in [int(i) for i in (axis.numpy() if is_tensor(axis) else axis)]:
        place = place + rank if place < 0 else place
        result = _reverse_one(result, place)
    return result


def _reverse_one(value, axis):
    if not isinstance(value, RaggedTensor):
        return array.reverse(value, [axis])
    if axis == 0:
        return gather(value, array.range(value.nrows() - 1, -1, -1))
    if axis == 1:
        starts = value.row_splits[1:] - 1
        ranges = range(starts, value.row_splits[:-1] - 1, -1)
        values = gather(value.values, ranges.values) if isinstance(value.values, RaggedTensor) else array.gather(
            value.values, ranges.values)
        return RaggedTensor._make(values, value.row_splits)
    return value.with_values(_reverse_one(value.values, axis - 1))


def _size(input, out_type=None, name=None):  # pylint: disable=redefined-builtin
    return array.size(input.flat_values, out_type=out_type, name=name)


def _squeeze(input, axis=None, name=None):  # pylint: disable=redefined-builtin
    del name
    if axis is None:
        raise ValueError("Ragged.squeeze must have an axis argument.")
    axes = [axis] if isinstance(axis, int) else list(axis)
    rank = input.shape.rank
    axes = sorted((a + rank if a < 0 else a for a in axes), reverse=True)
    result = input
    for a in axes:
        if not isinstance(result, RaggedTensor):
            result = array.squeeze(result, [a])
        elif a == 0:
            result = result.values if result.ragged_rank == 1 or True else result
        elif a == 1:
            result = result.values
        else:
            result = result.with_values(_squeeze(result.values, a - 1) if isinstance(result.values, RaggedTensor) else
                                        array.squeeze(result.values, [a - 1]))
    return result


def _matmul(a, b, **kwargs):
    kwargs = {k: v for k, v in kwargs.items() if k in ("transpose_a", "transpose_b", "adjoint_a", "adjoint_b")}
    rows = [math.matmul(x.to_tensor() if isinstance(x, RaggedTensor) else x,
                        y.to_tensor() if isinstance(y, RaggedTensor) else y, **kwargs)
            for x, y in zip(array.unstack(a) if not isinstance(a, RaggedTensor) else iter(a),
                            array.unstack(b) if not isinstance(b, RaggedTensor) else iter(b))]
    return stack(rows)


_UNARY_OPS = ("Neg Sin Cos Tan Sinh Cosh Tanh Asin Asinh Atan Atanh Acosh Erf Erfc Expm1 Log Log1p Square Rint IsNan "
              "IsInf IsFinite Digamma Lgamma Reciprocal LogicalNot Relu Elu Selu Softsign Invert StringLower StringUpper "
              "StringStrip AsString StringToHashBucketFast StringToHashBucketStrong UnicodeScript UnicodeTranscode "
              "CheckNumerics DecodeBase64 EncodeBase64")
_BINARY_OPS = ("Maximum Minimum Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr FloorMod SquaredDifference "
               "Atan2 BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift RealDiv TruncateDiv TruncateMod")


def _dynamic_shape(input, out_type=None, name=None):  # pylint: disable=redefined-builtin
    from weir.ops.dynamic_ragged_shape import DynamicRaggedShape
    del name
    return DynamicRaggedShape(input, dtypes.int32 if out_type is None else out_type)


def _register():
    from weir.ops import nn, strings
    for name in _UNARY_OPS.split():
        register_dispatch(getattr(ops, name), RaggedTensor, _unary(getattr(raw_ops_function, name)))
    for name in _BINARY_OPS.split():
        register_dispatch(getattr(ops, name), RaggedTensor, _binary(getattr(raw_ops_function, name)))
    for function in (math.abs, math.sign, math.sqrt, math.exp, math.floor, math.ceil, math.round, math.rsqrt,
                     math.sigmoid, math.acos, math.real, math.imag, math.conj, math.angle, math.log_sigmoid,
                     math.erfinv, math.reciprocal_no_nan, dense_cast, array.identity, array.zeros_like,
                     array.ones_like, array.stop_gradient, nn.relu6, nn.leaky_relu, nn.gelu, nn.silu, nn.dropout,
                     nn.stateless_dropout, strings.length, strings.regex_full_match,
                     strings.regex_replace, strings.to_number, strings.to_hash_bucket, strings.substr, array.one_hot,
                     math.clip_by_value):
        register_dispatch(function, RaggedTensor, _unary(function))
    for function in (math.add, math.subtract, math.multiply, math.truediv, math.floordiv, math.pow, math.equal,
                     math.not_equal, math.divide_no_nan, math.multiply_no_nan, math.logical_xor, math.xlogy,
                     math.xdivy):
        register_dispatch(function, RaggedTensor, _binary(function))
    for kind in ("sum", "prod", "max", "min", "mean", "all", "any"):
        register_dispatch(getattr(math, "reduce_" + kind), RaggedTensor, reduce_function(kind))
    register_dispatch(array.expand_dims, RaggedTensor, expand_dims)
    register_dispatch(array.concat, RaggedTensor, concat)
    register_dispatch(array.stack, RaggedTensor, stack)
    register_dispatch(array.gather, RaggedTensor, gather)
    register_dispatch(array.boolean_mask, RaggedTensor, lambda tensor, mask, axis=None, name=None: boolean_mask(tensor, mask))
    register_dispatch(array.where, RaggedTensor, _where)
    register_dispatch(array.reverse, RaggedTensor, _reverse)
    register_dispatch(array.size, RaggedTensor, _size)
    register_dispatch(array.shape, RaggedTensor, _dynamic_shape)
    register_dispatch(array.rank, RaggedTensor, lambda input, name=None: array.constant(input.shape.rank))
    register_dispatch(array.squeeze, RaggedTensor, _squeeze)
    register_dispatch(math.matmul, RaggedTensor, _matmul)
    register_dispatch(math.add_n, RaggedTensor, lambda inputs, name=None: map_flat_values(math.add_n, inputs)
                      if False else inputs[0].with_flat_values(math.add_n([v.flat_values for v in inputs])))
    register_dispatch(nn.softmax, RaggedTensor, _softmax)
    register_dispatch(nn.embedding_lookup, RaggedTensor, lambda params, ids, *args, **kwargs: ids.with_flat_values(
        nn.embedding_lookup(params, ids.flat_values, *args, **kwargs)))
    register_dispatch(strings.join, RaggedTensor, lambda inputs, separator="", name=None: _join(inputs, separator))
    register_dispatch(strings.reduce_join, RaggedTensor, _reduce_join)
    register_dispatch(array.split, RaggedTensor, lambda value, num_or_size_splits, axis=0, num=None, name=None: _split(
        value, num_or_size_splits, axis))


def _split(value, sizes, axis):
    if axis != 0:
        raise ValueError("Ragged tensors can be split along their first dimension only")
    if isinstance(sizes, int):
        sizes = [int(value.nrows()) // sizes] * sizes
    parts, start = [], 0
    for size in sizes:
        parts.append(value[start:start + int(size)])
        start += int(size)
    return parts


def _softmax(logits, axis=None, name=None):
    del name
    axis = -1 if axis is None else axis
    rank = logits.shape.rank
    axis = axis + rank if axis < 0 else axis
    if axis > logits.ragged_rank:
        from weir.ops import nn
        return logits.with_flat_values(nn.softmax(logits.flat_values, axis - logits.ragged_rank))
    largest = reduce_function("max")(logits, axis=axis, keepdims=True)
    shifted = _subtract(logits, largest)
    exponents = shifted.with_flat_values(math.exp(shifted.flat_values))
    total = reduce_function("sum")(exponents, axis=axis, keepdims=True)
    return _binary(math.truediv)(exponents, total)


def _subtract(a, b):
    return _binary(math.subtract)(a, b)


def _join(inputs, separator):
    from weir.ops import strings
    rt = next(v for v in inputs if isinstance(v, RaggedTensor))
    flat = [v.flat_values if isinstance(v, RaggedTensor) else broadcast_dense(convert_to_tensor(v), rt) for v in inputs]
    return rt.with_flat_values(strings.join(flat, separator=separator))


def _reduce_join(inputs, axis=None, keepdims=False, separator="", name=None):
    del name
    from weir.ops import strings
    if axis is None:
        return strings.reduce_join(inputs.flat_values, separator=separator, keepdims=keepdims)
    rank = inputs.shape.rank
    axis = axis + rank if axis < 0 else axis
    if axis == 1 and not isinstance(inputs.values, RaggedTensor):
        result = strings.unsorted_segment_join(inputs.values, inputs.value_rowids(), inputs.nrows(), separator=separator)
        return array.expand_dims(result, 1) if keepdims else result
    if axis > 1:
        inner = inputs.values
        return inputs.with_values(_reduce_join(inner, axis - 1, keepdims, separator) if isinstance(inner, RaggedTensor)
                                  else strings.reduce_join(inner, axis - 1, keepdims, separator))
    raise ValueError(f"reduce_join of a ragged tensor along axis {axis} is not supported")


class _RawFunctions:
    """Ops by name with positional arguments, as handlers call them on flat values."""

    def __getattr__(self, name):
        def call(*args, **kwargs):
            return getattr(raw_ops, name)(*args, **kwargs)

        return call


raw_ops_function = _RawFunctions()
_register()

# Keras knows them by these names.
RaggedTensor.__module__ = "tensorflow.python.ops.ragged.ragged_tensor"
RaggedTensorSpec.__module__ = "tensorflow.python.ops.ragged.ragged_tensor"

from weir.ops import ragged_arrays  # noqa: E402,F401  (registers more functions)
