"""`IndexedSlices`: some slices of a larger tensor along its first dimension, as gradients of `gather` are."""

from weir.framework import (CompositeTensor, TensorShape, TensorSpec, TypeSpec, as_dtype, convert_to_tensor, raw_ops,
                            register_conversion)
from weir.ops import dtypes


class IndexedSlices(CompositeTensor):
    """`values[i]` is the slice `indices[i]` of a tensor of shape `dense_shape`; equal indices add up."""

    _is_a_dense_tensor = True

    is_tensor_like = True  # for tf.is_tensor

    def __init__(self, values, indices, dense_shape=None):
        self._values, self._indices, self._dense_shape = values, indices, dense_shape

    @property
    def values(self):
        """The slices."""
        return self._values

    @property
    def indices(self):
        """Which slice each one is."""
        return self._indices

    @property
    def dense_shape(self):
        """The shape of the whole as a tensor, or None if it is not known."""
        return self._dense_shape

    @property
    def shape(self):
        """What is known of the whole's shape."""
        if self._dense_shape is None:
            return TensorShape(None)
        from weir.framework import get_static_value
        value = get_static_value(self._dense_shape)
        return TensorShape(None) if value is None else TensorShape([int(d) for d in value])

    @property
    def dtype(self):
        """The type of the elements."""
        return self._values.dtype

    @property
    def device(self):
        """The device of the values."""
        return self._values.device

    @property
    def name(self):
        """The name of the values."""
        return self._values.name

    @property
    def op(self):
        """The operation that made the values."""
        return self._values.op

    @property
    def graph(self):
        """The graph of the values."""
        return self._values.graph

    @property
    def _type_spec(self):
        return IndexedSlicesSpec(
            self._values.shape if self._dense_shape is None else self.shape, self.dtype, self._indices.dtype,
            None if self._dense_shape is None else self._dense_shape.dtype, self._indices.shape)

    def __neg__(self):
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __str__(self):
        dense = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{dense})"

    __repr__ = __str__


class IndexedSlicesSpec(TypeSpec):
    """The type of an IndexedSlices."""

    __slots__ = ["_shape", "_values_dtype", "_indices_dtype", "_dense_shape_dtype", "_indices_shape"]

    def __init__(self, shape=None, dtype=dtypes.float32, indices_dtype=dtypes.int64, dense_shape_dtype=None,
                 indices_shape=None):
        self._shape = TensorShape(shape)
        self._values_dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self._indices_shape = TensorShape(indices_shape).with_rank(1)

    value_type = property(lambda self: IndexedSlices)
    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._values_dtype)

    def _serialize(self):
        return (self._shape, self._values_dtype, self._indices_dtype, self._dense_shape_dtype, self._indices_shape)

    @property
    def _component_specs(self):
        value_shape = self._indices_shape.concatenate(self._shape[1:])
        specs = [TensorSpec(value_shape, self._values_dtype), TensorSpec(self._indices_shape, self._indices_dtype)]
        if self._dense_shape_dtype is not None:
            specs.append(TensorSpec([self._shape.rank], self._dense_shape_dtype))
        return tuple(specs)

    def _to_components(self, value):
        if value.dense_shape is None:
            return (value.values, value.indices)
        return (value.values, value.indices, value.dense_shape)

    def _from_components(self, components):
        return IndexedSlices(*components)


def as_dense(value, dtype=None, name=None, as_ref=False):
    """The whole tensor of which some slices are given."""
    del as_ref
    if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(f"Incompatible tensor conversion requested to `dtype` {as_dtype(dtype).name} for IndexedSlices "
                         f"({value}) with dtype {value.dtype.name}")
    if value.dense_shape is None:
        raise ValueError("Tensor conversion requested for IndexedSlices for argument without dense_shape: "
                         f"{value}")
    shape = convert_to_tensor(value.dense_shape)
    return raw_ops.UnsortedSegmentSum(data=value.values, segment_ids=value.indices, num_segments=shape[0], name=name)


register_conversion(IndexedSlices, as_dense)


# Keras knows them by these names.
IndexedSlices.__module__ = "tensorflow.python.framework.indexed_slices"
IndexedSlicesSpec.__module__ = "tensorflow.python.framework.indexed_slices"
