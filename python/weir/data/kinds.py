"""The names by which datasets are printed: of the transformation that made them, as `_MapDataset`."""

import functools

__all__ = ["methods_that_make", "name_results"]

_KINDS = {
    "from_tensors": "Tensor", "from_tensor_slices": "TensorSlice", "range": "Range", "counter": "Scan", "zip": "Zip",
    "from_generator": "FlatMap", "random": "Random", "_interleaved": "DirectedInterleave", "load": "Load",
    "concatenate": "Concatenate", "prefetch": "Prefetch", "shuffle": "Shuffle", "repeat": "Repeat", "take": "Take",
    "skip": "Skip", "shard": "Shard", "enumerate": "Zip", "batch": "Batch", "padded_batch": "PaddedBatch",
    "ragged_batch": "Batch", "unbatch": "Unbatch", "rebatch": "Rebatch", "window": "Window", "map": "Map",
    "filter": "Filter", "flat_map": "FlatMap", "interleave": "Interleave", "take_while": "TakeWhile", "scan": "Scan",
    "group_by_window": "GroupByWindow", "unique": "Unique", "snapshot": "Map",
    "sparse_batch": "DenseToSparseBatch", "ignore_errors": "IgnoreErrors", "with_options": "Options",
    "assert_cardinality": "AssertCardinality"}
_PARALLEL = ("batch", "map", "interleave")


def _named(method, function, kind):
    @functools.wraps(function)
    def make(*args, **kwargs):
        result = function(*args, **kwargs)
        parallel = method in _PARALLEL and kwargs.get("num_parallel_calls") is not None
        result._kind = f"_{'Parallel' if parallel else ''}{kind}Dataset"
        return result
    return make


def name_results(dataset_class):
    """The class's methods that make datasets say so in what they make."""
    for method, kind in _KINDS.items():
        given = dataset_class.__dict__[method]
        is_static = isinstance(given, staticmethod)
        named = _named(method, given.__func__ if is_static else given, kind)
        setattr(dataset_class, method, staticmethod(named) if is_static else named)
    cache = dataset_class.cache

    @functools.wraps(cache)
    def named_cache(*args, **kwargs):
        result = cache(*args, **kwargs)
        result._kind = "CacheDataset"
        return result
    dataset_class.cache = named_cache


def methods_that_make(dataset_class):
    """The names of the class's methods whose result is a dataset."""
    others = ("apply", "bucket_by_sequence_length", "cache", "choose_from_datasets", "list_files", "rejection_resample",
              "sample_from_datasets")
    return [name for name in (*_KINDS, *others) if name in dataset_class.__dict__ and not name.startswith("_")]
