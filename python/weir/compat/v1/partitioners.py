"""Into how many parts get_variable splits a variable."""

import math

from weir.framework import as_dtype, dtypes
from weir.framework.shapes import as_shape

__all__ = ["fixed_size_partitioner", "min_max_variable_partitioner", "variable_axis_size_partitioner"]


def fixed_size_partitioner(num_shards, axis=0):
    """Splits variables into this many parts, as far as they are long enough."""
    def partitioner(shape, **unused):
        parts = [1] * as_shape(shape).rank
        parts[axis] = min(num_shards, as_shape(shape).as_list()[axis])
        return parts
    return partitioner


def variable_axis_size_partitioner(max_shard_bytes, axis=0, bytes_per_string_element=16, max_shards=None):
    """Splits variables so that no part has more than this many bytes."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape, dtype):
        shape = as_shape(shape)
        parts = [1] * shape.rank
        element = bytes_per_string_element if as_dtype(dtype) == dtypes.string else as_dtype(dtype).size
        slice_bytes = shape.num_elements() // shape.as_list()[axis] * element
        per_part = max(1, math.floor(max_shard_bytes / slice_bytes)) if slice_bytes <= max_shard_bytes else 1
        count = math.ceil(shape.as_list()[axis] / per_part)
        parts[axis] = min(count, max_shards) if max_shards else count
        return parts
    return partitioner


def min_max_variable_partitioner(max_partitions=1, axis=0, min_slice_size=256 << 10, bytes_per_string_element=16):
    """Splits variables into at most this many parts, none smaller than `min_slice_size` bytes."""
    def partitioner(shape, dtype):
        shape = as_shape(shape)
        if not shape.is_fully_defined():
            raise ValueError(f"The shape specified must be fully defined, received: {shape}")
        element = bytes_per_string_element if as_dtype(dtype) == dtypes.string else as_dtype(dtype).size
        parts = [1] * shape.rank
        total = shape.num_elements() * element
        parts[axis] = min(max(1, min(shape.as_list()[axis], max_partitions)), max(1, math.ceil(total / min_slice_size)))
        return parts
    return partitioner
