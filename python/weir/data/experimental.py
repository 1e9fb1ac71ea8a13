"""The functions of `tf.data.experimental` that the methods of Dataset replaced, and a few that have no method."""

import weir
from weir.data import structure
from weir.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset  # noqa: F401
from weir.framework import raw_ops

__getattr__ = weir.names_of(__name__)  # names of other modules of weir.data

INFINITE = INFINITE_CARDINALITY
UNKNOWN = UNKNOWN_CARDINALITY


def cardinality(dataset):
    """The number of elements of a dataset."""
    return dataset.cardinality()


def assert_cardinality(expected_cardinality):
    """A transformation that checks the number of elements."""
    return lambda dataset: dataset.assert_cardinality(expected_cardinality)


def Counter(start=0, step=1, dtype="int64"):  # pylint: disable=invalid-name
    """Numbers without end."""
    return Dataset.counter(start, step, dtype)


def RandomDataset(seed=None):  # pylint: disable=invalid-name
    """Random numbers without end."""
    return Dataset.random(seed)


def _method(name, doc):
    def transformation(*args, **kwargs):
        return lambda dataset: getattr(dataset, name)(*args, **kwargs)

    transformation.__name__, transformation.__doc__ = name, doc
    return transformation


unbatch = _method("unbatch", "A transformation: the elements of batches.")
unique = _method("unique", "A transformation: each element once.")
ignore_errors = _method("ignore_errors", "A transformation: leaves out elements that fail.")
group_by_window = _method("group_by_window", "A transformation: groups by key.")
bucket_by_sequence_length = _method("bucket_by_sequence_length", "A transformation: batches of similar length.")
dense_to_ragged_batch = _method("ragged_batch", "A transformation: ragged batches.")
dense_to_sparse_batch = _method("sparse_batch", "A transformation: sparse batches.")
enumerate_dataset = _method("enumerate", "A transformation: numbered elements.")
scan = _method("scan", "A transformation: a running state.")
take_while = _method("take_while", "A transformation: elements while a predicate holds.")
rejection_resample = _method("rejection_resample", "A transformation: classes in wanted proportions.")
snapshot = _method("snapshot", "A transformation: keeps elements in files.")


def shuffle_and_repeat(buffer_size, count=None, seed=None):
    """A transformation: shuffles, then repeats."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(map_func, batch_size, num_parallel_batches=None, drop_remainder=False, num_parallel_calls=None):
    """A transformation: maps, then batches."""
    del num_parallel_batches
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(batch_size, drop_remainder)


def parallel_interleave(map_func, cycle_length, block_length=1, sloppy=False, buffer_output_elements=None,
                        prefetch_input_elements=None):
    """A transformation: interleaves datasets in parallel."""
    del buffer_output_elements, prefetch_input_elements
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, num_parallel_calls=cycle_length,
                                              deterministic=not sloppy)


def prefetch_to_device(device, buffer_size=None):
    """A transformation: elements ahead of their use."""
    del device
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


def copy_to_device(target_device, source_device="/cpu:0"):
    """A transformation that changes nothing on one device."""
    del target_device, source_device
    return lambda dataset: dataset


choose_from_datasets = Dataset.choose_from_datasets
sample_from_datasets = Dataset.sample_from_datasets


def get_single_element(dataset):
    """The only element of a dataset."""
    return dataset.get_single_element()


def get_next_as_optional(iterator):
    """The next element of an iterator as an optional."""
    return iterator.get_next_as_optional()


def get_structure(dataset_or_iterator):
    """The spec of the elements."""
    return dataset_or_iterator.element_spec


def to_variant(dataset):
    """The variant tensor of a dataset."""
    return dataset._variant_tensor


def from_variant(variant, structure):  # pylint: disable=redefined-outer-name
    """The dataset of a variant tensor."""
    return Dataset(variant, structure)


def save(dataset, path, compression=None, shard_func=None, checkpoint_args=None):
    """Writes the elements to files."""
    dataset.save(path, compression, shard_func, checkpoint_args)


def load(path, element_spec=None, compression=None, reader_func=None):
    """A dataset that `save` wrote."""
    return Dataset.load(path, element_spec, compression, reader_func)


class TFRecordWriter:
    """Writes a dataset of strings to a TFRecord file."""

    def __init__(self, filename, compression_type=None):
        self._filename, self._compression = filename, compression_type or ""

    def write(self, dataset):
        """Writes all elements."""
        spec = dataset.element_spec
        if structure.is_structure(spec) or spec.dtype.name != "string":
            raise TypeError(f"Invalid `dataset`. `dataset` must produce scalar strings but has the spec {spec}")
        return raw_ops.DatasetToTFRecord(input_dataset=dataset._variant_tensor, filename=self._filename,
                                         compression_type=self._compression)


def get_model_proto(iterator):
    """Not available: the engine tunes itself without a model."""
    raise NotImplementedError("get_model_proto is not supported")
