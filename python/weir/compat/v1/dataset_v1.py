"""Datasets as programs of TensorFlow 1 know them: with methods that make iterators, and what they make likewise."""

import functools

from weir.compat.v1 import dataset as iterators
from weir.data import experimental, readers, reducing
from weir.data.dataset import Dataset
from weir.data.kinds import methods_that_make

__all__ = ["Counter", "CsvDataset", "DatasetV1", "FixedLengthRecordDataset", "RandomDataset", "TFRecordDataset",
           "TextLineDataset", "choose_from_datasets", "make_batched_features_dataset", "make_csv_dataset",
           "sample_from_datasets"]


class DatasetV1(Dataset):
    """A dataset with `make_one_shot_iterator` and `make_initializable_iterator`."""

    def make_one_shot_iterator(self):
        """An iterator over the dataset, once."""
        return iterators.make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name=None):
        """An iterator whose `initializer` must be run first."""
        return iterators.make_initializable_iterator(self, shared_name)

    output_types = property(iterators.get_output_types)
    output_shapes = property(iterators.get_output_shapes)
    output_classes = property(iterators.get_output_classes)

    @staticmethod
    def from_sparse_tensor_slices(sparse_tensor):
        """The rows of a SparseTensor."""
        return DatasetV1.from_tensor_slices(sparse_tensor)

    def map_with_legacy_function(self, map_func, num_parallel_calls=None, deterministic=None):
        """As `map`."""
        return self.map(map_func, num_parallel_calls=num_parallel_calls, deterministic=deterministic)

    def filter_with_legacy_function(self, predicate):
        """As `filter`."""
        return self.filter(predicate)


DatasetV1.__module__ = "tensorflow.python.data.ops.dataset_ops"


def as_v1(dataset):
    """The same dataset, with the methods of TensorFlow 1."""
    if isinstance(dataset, DatasetV1):
        return dataset
    made = object.__new__(DatasetV1)
    made.__dict__.update(dataset.__dict__)
    made._kind = dataset._kind
    return made


def _making_v1(function):
    @functools.wraps(function)
    def make(*args, **kwargs):
        return as_v1(function(*args, **kwargs))
    return make


for _name in methods_that_make(Dataset):
    _given = Dataset.__dict__[_name]
    if isinstance(_given, staticmethod):
        setattr(DatasetV1, _name, staticmethod(_making_v1(_given.__func__)))
    else:
        setattr(DatasetV1, _name, _making_v1(_given))


def _reader(of):
    class Reader(DatasetV1):
        __doc__ = of.__doc__
        _kind = of._kind

        def __init__(self, *args, **kwargs):
            self.__dict__.update(of(*args, **kwargs).__dict__)
    Reader.__name__ = Reader.__qualname__ = of._kind.replace("V2", "V1")
    Reader.__module__ = "tensorflow.python.data.ops.readers"
    return Reader


FixedLengthRecordDataset = _reader(readers.FixedLengthRecordDataset)
TFRecordDataset = _reader(readers.TFRecordDataset)
TextLineDataset = _reader(readers.TextLineDataset)
CsvDataset = _reader(readers.CsvDataset)
make_csv_dataset = _making_v1(readers.make_csv_dataset)
Counter = _making_v1(experimental.Counter)
RandomDataset = _making_v1(experimental.RandomDataset)
choose_from_datasets = _making_v1(Dataset.choose_from_datasets)
sample_from_datasets = _making_v1(Dataset.sample_from_datasets)
make_batched_features_dataset = _making_v1(reducing.make_batched_features_dataset)
