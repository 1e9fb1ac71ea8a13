"""Feature columns of sequences, and columns that share an embedding (tf.feature_column)."""

import collections

import weir as tf
from weir.ops import feature_column as columns

__all__ = ["sequence_numeric_column", "sequence_categorical_column_with_identity",
           "sequence_categorical_column_with_hash_bucket", "sequence_categorical_column_with_vocabulary_list",
           "sequence_categorical_column_with_vocabulary_file", "shared_embedding_columns", "shared_embeddings"]

_Pair = collections.namedtuple("TensorSequenceLengthPair", ["dense_tensor", "sequence_length"])


def _lengths(sparse, width=1):
    """How many steps each row of a sparse tensor has, if a step is `width` values."""
    rows, places = sparse.indices[:, 0], sparse.indices[:, 1]
    steps = tf.cast(sparse.dense_shape[0], tf.int32)
    return tf.maximum(tf.math.unsorted_segment_max(places // width + 1, rows, steps), 0)


class _SequenceNumeric(collections.namedtuple("SequenceNumericColumn", ["key", "shape", "default_value", "dtype",
                                                                       "normalizer_fn"])):
    name = property(lambda self: self.key)
    parse_example_spec = property(lambda self: {self.key: tf.io.VarLenFeature(self.dtype)})
    variable_shape = property(lambda self: tf.TensorShape(self.shape))

    def _transform(self, features):
        value = features.get(self.key)
        return value if self.normalizer_fn is None else self.normalizer_fn(value)

    def get_sequence_dense_tensor(self, transformation_cache, state_manager=None):
        """The steps of all rows, filled up with the default value, and how many each row has."""
        del state_manager
        sparse = self._transform(_plain(transformation_cache))
        width = self.variable_shape.num_elements()
        dense = tf.cast(tf.sparse.to_dense(sparse, default_value=self.default_value), tf.float32)
        return _Pair(tf.reshape(dense, [tf.shape(dense)[0], -1, *self.shape]), _lengths(sparse, width))


class _SequenceCategorical(collections.namedtuple("SequenceCategoricalColumn", ["categorical_column"])):
    name = property(lambda self: self.categorical_column.name)
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
    num_buckets = property(lambda self: self.categorical_column.num_buckets)

    def _ids(self, features):
        raise ValueError(f"The column {self.name} is a sequence. It has no place in a layer that joins the features of an "
                         "example; use the categorical column without 'sequence_'.")

    def get_sequence_dense_tensor(self, transformation_cache, count):
        """A one-hot row for the id of each step, for an indicator_column."""
        ids, _ = self.categorical_column._ids(_plain(transformation_cache))
        dense = tf.sparse.to_dense(ids, default_value=-1)
        return _Pair(tf.one_hot(dense, count, dtype=tf.float32), _lengths(ids))


def _plain(cache):
    """The features behind what a program hands in as a transformation cache."""
    return cache if isinstance(cache, columns._Features) else columns._Features(getattr(cache, "_features", cache))


def sequence_numeric_column(key, shape=(1,), default_value=0.0, dtype=None, normalizer_fn=None):
    """Real numbers of a sequence."""
    plain = columns.numeric_column(key, shape, dtype=dtype, normalizer_fn=normalizer_fn)
    return _SequenceNumeric(key, plain.shape, default_value, plain.dtype, normalizer_fn)


def sequence_categorical_column_with_identity(key, num_buckets, default_value=None):
    """Integers of a sequence that are ids already."""
    return _SequenceCategorical(columns.categorical_column_with_identity(key, num_buckets, default_value))


def sequence_categorical_column_with_hash_bucket(key, hash_bucket_size, dtype=None):
    """Words of a sequence by their hash."""
    return _SequenceCategorical(columns.categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


def sequence_categorical_column_with_vocabulary_list(key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0):
    """Words of a sequence by their position in a list."""
    return _SequenceCategorical(columns.categorical_column_with_vocabulary_list(key, vocabulary_list, dtype, default_value,
                                                                                num_oov_buckets))


def sequence_categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size=None, num_oov_buckets=0,
                                                     default_value=None, dtype=None):
    """Words of a sequence by their line in a file."""
    return _SequenceCategorical(columns.categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size, dtype,
                                                                                default_value, num_oov_buckets))


class _Shared(collections.namedtuple("_SharedEmbeddingColumn", [
        "categorical_column", "dimension", "combiner", "initializer", "shared_embedding_collection_name",
        "ckpt_to_load_from", "tensor_name_in_ckpt", "max_norm", "trainable", "use_safe_embedding_lookup"])):
    name = property(lambda self: self.categorical_column.name + "_shared_embedding")
    _var_scope_name = property(lambda self: self.shared_embedding_collection_name)
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
    variable_shape = property(lambda self: tf.TensorShape([self.dimension]))

    def _dense(self, features):
        ids, weights = self.categorical_column._ids(features)
        shared = tf.compat.v1.get_collection(self.shared_embedding_collection_name)
        if not shared:
            made = tf.compat.v1.get_variable("embedding_weights", [self.categorical_column.num_buckets, self.dimension],
                                             tf.float32, initializer=self.initializer, trainable=self.trainable)
            tf.compat.v1.add_to_collection(self.shared_embedding_collection_name, made)
            shared = [made]
        if shared[0].shape != (self.categorical_column.num_buckets, self.dimension):
            raise ValueError(f"The embedding {self.shared_embedding_collection_name} of column {self.name} has the shape "
                             f"{shared[0].shape}, not {(self.categorical_column.num_buckets, self.dimension)}")
        return tf.nn.safe_embedding_lookup_sparse(shared[0], ids, weights, combiner=self.combiner, max_norm=self.max_norm)


def shared_embedding_columns(categorical_columns, dimension, combiner="mean", initializer=None,
                             shared_embedding_collection_name=None, ckpt_to_load_from=None, tensor_name_in_ckpt=None,
                             max_norm=None, trainable=True, use_safe_embedding_lookup=True):
    """compat.v1: columns whose ids have their vectors in one table."""
    if tf.executing_eagerly():
        raise RuntimeError("shared_embedding_columns are not supported when eager execution is enabled.")
    made = []
    by_name = sorted(categorical_columns, key=lambda c: c.name)
    if len({c.num_buckets for c in by_name}) != 1:
        raise ValueError("To use shared_embedding_column, all categorical_columns must have the same number of buckets. "
                         f"Given: {by_name}")
    name = shared_embedding_collection_name or "_".join(c.name for c in by_name) + "_shared_embedding"
    for column in categorical_columns:
        plain = columns.embedding_column(column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
        initializer = plain.initializer
        made.append(_Shared(column, dimension, combiner, initializer, name, None, None, max_norm, trainable,
                            use_safe_embedding_lookup))
    return made


def shared_embeddings(categorical_columns, dimension, combiner="mean", initializer=None,
                      shared_embedding_collection_name=None, ckpt_to_load_from=None, tensor_name_in_ckpt=None, max_norm=None,
                      trainable=True, use_safe_embedding_lookup=True):
    """Columns whose ids have their vectors in one table, for graphs."""
    return shared_embedding_columns(categorical_columns, dimension, combiner, initializer,
                                    shared_embedding_collection_name, ckpt_to_load_from, tensor_name_in_ckpt, max_norm,
                                    trainable, use_safe_embedding_lookup)


for _class in (_SequenceNumeric, _SequenceCategorical, _Shared):
    _class.__name__ = _class.__qualname__ = _class.__bases__[-1].__name__  # by which they are printed
    _class.__module__ = "tensorflow.python.feature_column.feature_column_v2"
