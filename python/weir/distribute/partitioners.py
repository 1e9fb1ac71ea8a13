"""tf.distribute.experimental.partitioners: into how many parts a variable is cut."""

import math

__all__ = ["FixedShardsPartitioner", "MaxSizePartitioner", "MinSizePartitioner", "Partitioner"]


def _bytes_of_row(shape, dtype, bytes_per_string):
    import weir as tf
    size = bytes_per_string if dtype == tf.string else dtype.size
    return size * math.prod(shape.as_list()[1:])


class Partitioner:
    """A function of a variable's shape and type that gives the number of parts along each dimension."""

    def __call__(self, shape, dtype, axis=0):
        import weir as tf
        if axis != 0:
            raise ValueError(f"Partitioner only supports `axis=0`, not {axis}")
        shape = tf.TensorShape(shape)
        parts = [1] * shape.rank
        parts[0] = max(1, min(self._parts(shape, tf.as_dtype(dtype)), shape.as_list()[0]))
        return parts

    def _parts(self, shape, dtype):
        raise NotImplementedError


class FixedShardsPartitioner(Partitioner):
    """So many parts."""

    def __init__(self, num_shards):
        self._num_shards = num_shards

    def _parts(self, shape, dtype):
        return self._num_shards


class MinSizePartitioner(Partitioner):
    """As many parts as allowed, of at least so many bytes."""

    def __init__(self, min_shard_bytes=256 << 10, max_shards=1, bytes_per_string=16):
        if min_shard_bytes < 1:
            raise ValueError(f"Argument `min_shard_bytes` must be positive. Received: {min_shard_bytes}")
        if max_shards < 1:
            raise ValueError(f"Argument `max_shards` must be positive. Received: {max_shards}")
        if bytes_per_string < 1:
            raise ValueError(f"Argument `bytes_per_string` must be positive. Received: {bytes_per_string}")
        self._least, self._most, self._bytes_per_string = min_shard_bytes, max_shards, bytes_per_string

    def _parts(self, shape, dtype):
        total = _bytes_of_row(shape, dtype, self._bytes_per_string) * shape.as_list()[0]
        return min(self._most, max(1, total // self._least))


class MaxSizePartitioner(Partitioner):
    """As few parts as needed, of at most so many bytes."""

    def __init__(self, max_shard_bytes, max_shards=None, bytes_per_string=16):
        if max_shard_bytes < 1:
            raise ValueError(f"Argument `max_shard_bytes` must be positive. Received {max_shard_bytes}")
        if max_shards is not None and max_shards < 1:
            raise ValueError(f"Argument `max_shards` must be positive. Received {max_shards}")
        if bytes_per_string < 1:
            raise ValueError(f"Argument `bytes_per_string` must be positive. Received: {bytes_per_string}")
        self._largest, self._most, self._bytes_per_string = max_shard_bytes, max_shards, bytes_per_string

    def _parts(self, shape, dtype):
        rows = max(1, self._largest // max(1, _bytes_of_row(shape, dtype, self._bytes_per_string)))
        parts = math.ceil(shape.as_list()[0] / rows)
        return parts if self._most is None else min(self._most, parts)
