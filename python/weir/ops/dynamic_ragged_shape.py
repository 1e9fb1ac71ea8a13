"""`tf.experimental.DynamicRaggedShape`: the shape of a ragged tensor, as `tf.shape` gives it."""

from weir.framework import convert_to_tensor, executing_eagerly, raw_ops
from weir.ops import array, dtypes
from weir.ops.dtypes import cast

__all__ = ["DynamicRaggedShape"]


class DynamicRaggedShape:
    """Row lengths of the ragged dimensions and sizes of the others."""

    def __init__(self, tensor, dtype=None):
        self._tensor = tensor
        self._dtype = tensor.row_splits.dtype if dtype is None else dtype

    @classmethod
    def from_tensor(cls, t, dtype=None):
        """The shape of a ragged tensor."""
        return cls(t, dtype)

    dtype = property(lambda self: self._dtype)
    rank = property(lambda self: self._tensor.shape.rank)
    num_row_partitions = property(lambda self: self._tensor.ragged_rank)

    @property
    def inner_rank(self):
        """The number of dense dimensions at the end."""
        return self.rank - self.num_row_partitions

    @property
    def inner_shape(self):
        """The shape of the flat values."""
        return array.shape(self._tensor.flat_values, self._dtype)

    def is_uniform(self, axis):
        """Whether all rows of a dimension have one length."""
        return axis == 0 or axis > self.num_row_partitions

    def static_lengths(self, ragged_lengths=True):
        """What is known of each dimension beforehand: sizes, None, or row lengths."""
        out = []
        for axis in range(self.rank):
            if self.is_uniform(axis):
                out.append(self._tensor.shape[axis])
            elif ragged_lengths and executing_eagerly():
                out.append(tuple(int(n) for n in self._tensor.nested_row_lengths()[axis - 1].numpy()))
            else:
                out.append(None)
        return out

    def __getitem__(self, index):
        if not isinstance(index, int):
            raise TypeError("A DynamicRaggedShape is indexed by whole numbers")
        if index < 0:
            if self.rank is None:
                raise ValueError("Rank must be known to use a negative index")
            index += self.rank
        if index == 0:
            return cast(self._tensor.nrows(), self._dtype)
        if index >= self.rank:
            raise IndexError(f"Index {index} is out of range for a shape of rank {self.rank}")
        if not self.is_uniform(index):
            raise ValueError(f"Index {index} is not uniform")
        return self.inner_shape[index - self.num_row_partitions]

    def _num_elements(self):
        return raw_ops.Prod(input=self.inner_shape, axis=convert_to_tensor([0], dtypes.int32))

    def __repr__(self):
        lengths = ", ".join(str(n) for n in self.static_lengths())
        return f"<DynamicRaggedShape lengths=[{lengths}] num_row_partitions={self.num_row_partitions}>"
