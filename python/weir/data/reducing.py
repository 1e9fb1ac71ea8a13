"""Functions of tf.data.experimental over whole datasets: reducers, tables, batches of parsed examples."""

import weir as tf
from weir.data.dataset import Dataset

__all__ = ["Reducer", "group_by_reducer", "at", "from_list", "enable_debug_mode", "pad_to_cardinality", "table_from_dataset",
           "index_table_from_dataset", "make_batched_features_dataset", "parse_example_dataset", "SHARD_HINT"]

SHARD_HINT = -1


class Reducer:
    """Three functions: the first state of a key, the state after an element, and the result of a state."""

    def __init__(self, init_func, reduce_func, finalize_func):
        self._functions = init_func, reduce_func, finalize_func

    init_func = property(lambda self: self._functions[0])
    reduce_func = property(lambda self: self._functions[1])
    finalize_func = property(lambda self: self._functions[2])


def group_by_reducer(key_func, reducer):
    """A transformation: one result for each key, in the order in which keys appear."""
    def apply(dataset):
        def keys():
            return dataset.map(lambda *element: key_func(*element)).unique()

        def result(key):
            chosen = dataset.filter(lambda *element: tf.equal(key_func(*element), key))
            state = chosen.reduce(reducer.init_func(key), lambda state, *element: reducer.reduce_func(
                state, element[0] if len(element) == 1 else element))
            return reducer.finalize_func(*state) if isinstance(state, tuple) else reducer.finalize_func(state)
        return keys().map(result)
    return apply


def at(dataset, index):
    """The element at an index of a dataset that has random access."""
    from weir.data import structure
    flat = structure.flat_specs(dataset.element_spec) if hasattr(structure, "flat_specs") else None
    specs = flat if flat is not None else tf.nest.flatten(dataset.element_spec)
    values = tf.raw_ops.GetElementAtIndex(dataset=dataset._variant_tensor, index=tf.cast(index, tf.int64),
                                          output_types=[s.dtype for s in specs], output_shapes=[s.shape for s in specs])
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    return tf.nest.pack_sequence_as(dataset.element_spec, values)


def from_list(elements, name=None):
    """A dataset of the elements of a list."""
    from weir.data.dataset import experimental_from_list
    return experimental_from_list(elements, name)


def enable_debug_mode():
    """Functions of datasets run as plain Python."""
    from weir.framework import config
    config.run_functions_eagerly(True)


def pad_to_cardinality(cardinality, mask_key="valid"):
    """A transformation of datasets of dictionaries: zeros up to a number of elements, and which ones are real."""
    def apply(dataset):
        if not isinstance(dataset.element_spec, dict):
            raise ValueError("`pad_to_cardinality` requires its input dataset to be a dictionary.")
        if mask_key in dataset.element_spec:
            raise ValueError(f"`{mask_key}` is a key of the dataset already")
        real = dataset.map(lambda element: {**element, mask_key: True})
        padding = Dataset.from_tensors({key: tf.zeros(spec.shape, spec.dtype) for key, spec in dataset.element_spec.items()})
        padding = padding.map(lambda element: {**element, mask_key: False}).repeat()
        return real.concatenate(padding).take(cardinality)
    return apply


def table_from_dataset(dataset=None, num_oov_buckets=0, vocab_size=None, default_value=None,
                       hasher_spec=None, key_dtype=tf.string, name=None):
    """A lookup table of the (key, value) pairs of a dataset."""
    del hasher_spec, key_dtype, name
    if num_oov_buckets and vocab_size is None:
        raise ValueError("`vocab_size` must be specified if `num_oov_buckets` > 0.")
    keys, values = zip(*[(k, v) for k, v in dataset.take(vocab_size or -1).as_numpy_iterator()])
    initializer = tf.lookup.KeyValueTensorInitializer(tf.constant(list(keys)), tf.constant(list(values)))
    if num_oov_buckets:
        return tf.lookup.StaticVocabularyTable(initializer, num_oov_buckets)
    return tf.lookup.StaticHashTable(initializer, -1 if default_value is None else default_value)


def index_table_from_dataset(dataset=None, num_oov_buckets=0, vocab_size=None, default_value=-1, hasher_spec=None,
                             key_dtype=tf.string, name=None):
    """A lookup table from the keys of a dataset to their positions."""
    return table_from_dataset(dataset.enumerate().map(lambda i, key: (key, i)), num_oov_buckets,
                              vocab_size if vocab_size is not None else (int(dataset.cardinality()) if num_oov_buckets else None),
                              default_value, hasher_spec, key_dtype, name)


def parse_example_dataset(features, num_parallel_calls=1, deterministic=None):
    """A transformation of batches of serialized examples to dictionaries of tensors."""
    if features is None:
        raise ValueError("Argument `features` is required, but not specified.")
    return lambda dataset: dataset.map(lambda serialized: tf.io.parse_example(serialized, features),
                                       num_parallel_calls=num_parallel_calls, deterministic=deterministic)


def make_batched_features_dataset(file_pattern, batch_size, features, reader=None, label_key=None, reader_args=None,
                                  num_epochs=None, shuffle=True, shuffle_buffer_size=10000, shuffle_seed=None,
                                  prefetch_buffer_size=None, reader_num_threads=None, parser_num_threads=None,
                                  sloppy_ordering=False, drop_final_batch=False):
    """Batches of features of the examples in files; with `label_key`, pairs of features and label."""
    del prefetch_buffer_size
    reader = tf.data.TFRecordDataset if reader is None else reader
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    dataset = files.interleave(lambda name: reader(name, *(reader_args or [])), cycle_length=reader_num_threads or 1,
                               deterministic=not sloppy_ordering)
    if isinstance(dataset.element_spec, tuple):
        dataset = dataset.map(lambda _, value: value)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    dataset = dataset.repeat(num_epochs) if num_epochs != 1 else dataset
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features, num_parallel_calls=parser_num_threads or 2))
    if label_key:
        if label_key not in features:
            raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys: {features.keys()}.")
        dataset = dataset.map(lambda x: (x, x.pop(label_key)))
    return dataset.prefetch(1)
