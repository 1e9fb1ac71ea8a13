"""`tf.experimental.RowPartition`: how a sequence of values is divided into rows."""

from weir.framework import convert_to_tensor, get_static_value, raw_ops
from weir.ops import array, dtypes
from weir.ops.dtypes import cast

__all__ = ["RowPartition"]


def _integers(values, dtype, name):
    """An int32 or int64 vector; int64 where nothing is said."""
    values = convert_to_tensor(values, name=name, dtype_hint=dtypes.int64)
    if dtype is None and values.dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError(f"{name} must have dtype int32 or int64, got {values.dtype!r}")
    return values if dtype is None else cast(values, dtype)


class RowPartition:
    """Rows of a flat sequence, given by where each begins and ends."""

    def __init__(self, row_splits, uniform_row_length=None):
        self._row_splits = row_splits
        self._uniform_row_length = uniform_row_length

    @classmethod
    def from_row_splits(cls, row_splits, validate=True, dtype=None):
        """Row i is values[row_splits[i]:row_splits[i + 1]]."""
        del validate
        return cls(_integers(row_splits, dtype, "row_splits"))

    @classmethod
    def from_row_lengths(cls, row_lengths, validate=True, dtype=None):
        """Row i has row_lengths[i] values."""
        del validate
        lengths = _integers(row_lengths, dtype, "row_lengths")
        return cls(array.concat([array.zeros([1], lengths.dtype), raw_ops.Cumsum(x=lengths, axis=0)], 0))

    @classmethod
    def from_row_starts(cls, row_starts, nvals, validate=True, dtype=None):
        """Row i begins at row_starts[i]; the last one ends at `nvals`."""
        del validate
        starts = _integers(row_starts, dtype, "row_starts")
        return cls(array.concat([starts, array.reshape(cast(nvals, starts.dtype), [1])], 0))

    @classmethod
    def from_row_limits(cls, row_limits, validate=True, dtype=None):
        """Row i ends before row_limits[i]."""
        del validate
        limits = _integers(row_limits, dtype, "row_limits")
        return cls(array.concat([array.zeros([1], limits.dtype), limits], 0))

    @classmethod
    def from_value_rowids(cls, value_rowids, nrows=None, validate=True, dtype=None):
        """Value i belongs to row value_rowids[i]; these never go down."""
        del validate
        rows = _integers(value_rowids, dtype, "value_rowids")
        if nrows is None:
            nrows = array.concat([rows[-1:] + 1, array.zeros([1], rows.dtype)], 0)[0]
        # Row i begins behind all values of smaller rows.
        places = array.range(cast(nrows, rows.dtype) + 1)
        return cls(array.searchsorted(rows, cast(places, rows.dtype), side="left", out_type=rows.dtype))

    @classmethod
    def from_uniform_row_length(cls, uniform_row_length, nvals=None, nrows=None, validate=True, dtype=None,
                                dtype_hint=None):
        """All rows have one length."""
        del validate, dtype_hint
        length = _integers(uniform_row_length, dtype, "uniform_row_length")
        if nrows is None:
            if nvals is None:
                raise ValueError("Either nvals or nrows must be specified")
            nrows = cast(nvals, length.dtype) // raw_ops.Maximum(x=length, y=1)
        return cls(array.range(cast(nrows, length.dtype) + 1) * length, length)

    dtype = property(lambda self: self._row_splits.dtype)

    @property
    def static_nrows(self):
        """The number of rows if it is known."""
        size = self._row_splits.shape[0]
        return None if size is None else size - 1

    def row_splits(self):
        """Where rows begin, and the end of the last one."""
        return self._row_splits

    def row_starts(self):
        """Where each row begins."""
        return self._row_splits[:-1]

    def row_limits(self):
        """Where each row ends."""
        return self._row_splits[1:]

    def row_lengths(self):
        """How many values each row has."""
        return self.row_limits() - self.row_starts()

    def nrows(self):
        """The number of rows."""
        return array.shape(self._row_splits, self.dtype)[0] - 1

    def nvals(self):
        """The number of values."""
        return self._row_splits[-1]

    def value_rowids(self):
        """The row of each value."""
        return array.repeat(array.range(self.nrows()), self.row_lengths())

    def offsets_in_rows(self):
        """The place of each value in its row."""
        return array.range(self.nvals()) - array.gather(self.row_starts(), self.value_rowids())

    def uniform_row_length(self):
        """The length of all rows if it was given, else None."""
        return self._uniform_row_length

    def is_uniform(self):
        """Whether the rows were given by one length."""
        return self._uniform_row_length is not None

    def with_dtype(self, dtype):
        """The same with indices of another type."""
        return RowPartition(cast(self._row_splits, dtype), None if self._uniform_row_length is None else cast(
            self._uniform_row_length, dtype))

    def __repr__(self):
        splits = get_static_value(self._row_splits)
        if self._uniform_row_length is not None:
            return (f"tf.RowPartition(nrows={get_static_value(self.nrows())}, uniform_row_length="
                    f"{get_static_value(self._uniform_row_length)})")
        return f"tf.RowPartition(row_splits={self._row_splits if splits is None else splits})"
