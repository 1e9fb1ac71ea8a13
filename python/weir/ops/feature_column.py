"""tf.feature_column: how raw features become dense tensors, for compat.v1's input_layer and linear_model.

A column is a named tuple, as in TensorFlow; `name` and `parse_example_spec` tell how its features are called and parsed.
"""

import collections

import numpy as np

import weir as tf

__all__ = ["numeric_column", "bucketized_column", "categorical_column_with_identity", "categorical_column_with_hash_bucket",
           "categorical_column_with_vocabulary_list", "categorical_column_with_vocabulary_file", "indicator_column",
           "embedding_column", "crossed_column", "weighted_categorical_column", "make_parse_example_spec", "input_layer",
           "linear_model"]


class _Features:
    """The features of one call; each column's tensor is made once."""

    def __init__(self, features):
        self._features = dict(features)
        self._made = {}

    def get(self, key):
        if isinstance(key, str):
            if key not in self._features:
                raise ValueError(f"Feature {key} is not in features dictionary.")
            return self._features[key]
        if key not in self._made:
            self._made[key] = key._transform(self)
        return self._made[key]


def _to_sparse(value):
    """A SparseTensor; -1 and "" in a dense tensor stand for nothing."""
    if isinstance(value, tf.SparseTensor):
        return value
    value = tf.convert_to_tensor(value)
    if value.shape.rank == 1:
        value = tf.expand_dims(value, -1)
    nothing = tf.constant("" if value.dtype == tf.string else -1, dtype=value.dtype)
    places = tf.where(tf.not_equal(value, nothing))
    return tf.SparseTensor(places, tf.gather_nd(value, places), tf.shape(value, out_type=tf.int64))


class _Numeric(collections.namedtuple("NumericColumn", ["key", "shape", "default_value", "dtype", "normalizer_fn"])):
    name = property(lambda self: self.key)
    parse_example_spec = property(lambda self: {self.key: tf.io.FixedLenFeature(self.shape, self.dtype, self.default_value)})
    variable_shape = property(lambda self: tf.TensorShape(self.shape))

    def _transform(self, features):
        value = features.get(self.key)
        if isinstance(value, tf.SparseTensor):
            raise ValueError(f"The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. "
                             f"key: {self.key}")
        value = tf.convert_to_tensor(value)
        if self.normalizer_fn is not None:
            value = self.normalizer_fn(value)
        value = tf.cast(value, tf.float32)
        return tf.expand_dims(value, -1) if value.shape.rank == 1 else value

    def _dense(self, features):
        return features.get(self)


def numeric_column(key, shape=(1,), default_value=None, dtype=None, normalizer_fn=None):
    """Real numbers as they are."""
    dtype = tf.float32 if dtype is None else tf.as_dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(d <= 0 for d in shape):
        raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if default_value is not None:
        default_value = tuple(np.broadcast_to(np.asarray(default_value), shape).reshape(-1).tolist())
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return _Numeric(key, shape, default_value, dtype, normalizer_fn)


class _Bucketized(collections.namedtuple("BucketizedColumn", ["source_column", "boundaries"])):
    name = property(lambda self: self.source_column.name + "_bucketized")
    parse_example_spec = property(lambda self: self.source_column.parse_example_spec)
    num_buckets = property(lambda self: (len(self.boundaries) + 1) * self.source_column.shape[0])
    variable_shape = property(lambda self: tf.TensorShape([*self.source_column.shape, len(self.boundaries) + 1]))

    def _transform(self, features):
        return tf.raw_ops.Bucketize(input=features.get(self.source_column), boundaries=list(self.boundaries))

    def _dense(self, features):
        return tf.one_hot(features.get(self), len(self.boundaries) + 1, 1.0, 0.0)

    def _ids(self, features):
        buckets = features.get(self)
        batch, width = tf.shape(buckets)[0], self.source_column.shape[0]
        rows = tf.reshape(tf.tile(tf.expand_dims(tf.range(batch), 1), [1, width]), [-1])
        columns = tf.tile(tf.range(width), [batch])
        ids = tf.reshape(buckets, [-1]) + (len(self.boundaries) + 1) * columns
        indices = tf.cast(tf.stack([rows, columns], axis=1), tf.int64)
        return tf.SparseTensor(indices, tf.cast(ids, tf.int64), tf.cast(tf.stack([batch, width]), tf.int64)), None


def bucketized_column(source_column, boundaries):
    """Which of the ranges between `boundaries` a number is in."""
    if not isinstance(source_column, _Numeric):
        raise ValueError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries or list(boundaries) != sorted(set(boundaries)):
        raise ValueError("boundaries must be a sorted list.")
    return _Bucketized(source_column, tuple(boundaries))


class _Categorical:
    """Ids of one key."""

    name = property(lambda self: self.key)
    parse_example_spec = property(lambda self: {self.key: tf.io.VarLenFeature(self.dtype)})

    def _ids(self, features):
        return features.get(self), None


class _Identity(_Categorical, collections.namedtuple("IdentityCategoricalColumn", ["key", "number_buckets", "default_value"])):
    dtype = tf.int64
    num_buckets = property(lambda self: self.number_buckets)

    def _transform(self, features):
        sparse = _to_sparse(features.get(self.key))
        values = tf.cast(sparse.values, tf.int64)
        outside = tf.logical_or(values < 0, values >= self.number_buckets)
        if self.default_value is not None:
            values = tf.where(outside, tf.fill(tf.shape(values), tf.cast(self.default_value, tf.int64)), values)
        return tf.SparseTensor(sparse.indices, values, sparse.dense_shape)


def categorical_column_with_identity(key, num_buckets, default_value=None):
    """Integers that are ids already."""
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    return _Identity(key, num_buckets, default_value)


class _Hashed(_Categorical, collections.namedtuple("HashedCategoricalColumn", ["key", "hash_bucket_size", "dtype"])):
    num_buckets = property(lambda self: self.hash_bucket_size)

    def _transform(self, features):
        sparse = _to_sparse(features.get(self.key))
        values = sparse.values if self.dtype == tf.string else tf.as_string(sparse.values)
        return tf.SparseTensor(sparse.indices, tf.strings.to_hash_bucket_fast(values, self.hash_bucket_size), sparse.dense_shape)


def categorical_column_with_hash_bucket(key, hash_bucket_size, dtype=None):
    """Strings or integers by their hash."""
    if hash_bucket_size is None or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    return _Hashed(key, hash_bucket_size, tf.string if dtype is None else tf.as_dtype(dtype))


class _Vocabulary(_Categorical, collections.namedtuple("VocabularyListCategoricalColumn",
                                                       ["key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets"])):
    num_buckets = property(lambda self: len(self.vocabulary_list) + self.num_oov_buckets)

    def _transform(self, features):
        sparse = _to_sparse(features.get(self.key))
        words = tf.constant(list(self.vocabulary_list), dtype=tf.string if self.dtype == tf.string else tf.int64)
        keys = sparse.values if self.dtype == tf.string else tf.cast(sparse.values, tf.int64)
        initializer = tf.lookup.KeyValueTensorInitializer(words, tf.range(len(self.vocabulary_list), dtype=tf.int64))
        if self.num_oov_buckets:
            table = tf.lookup.StaticVocabularyTable(initializer, self.num_oov_buckets)
        else:
            table = tf.lookup.StaticHashTable(initializer, self.default_value)
        return tf.SparseTensor(sparse.indices, table.lookup(keys), sparse.dense_shape)


def categorical_column_with_vocabulary_list(key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0):
    """Words of a list by their position."""
    if not vocabulary_list:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    if num_oov_buckets and default_value != -1:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if dtype is None:
        dtype = tf.string if isinstance(vocabulary_list[0], (str, bytes)) else tf.int64
    return _Vocabulary(key, tuple(vocabulary_list), tf.as_dtype(dtype), default_value, num_oov_buckets)


def categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size=None, dtype=None, default_value=None,
                                            num_oov_buckets=0, file_format=None):
    """Words of a file, one in each line, by their position."""
    if file_format not in (None, "text"):
        raise NotImplementedError(f"file_format {file_format!r}")
    if not tf.io.gfile.exists(vocabulary_file):
        raise ValueError(f"vocabulary_file in {key} does not exist.")
    with tf.io.gfile.GFile(vocabulary_file) as file:
        words = [line.rstrip("\n") for line in file.read().splitlines()][:vocabulary_size]
    dtype = tf.string if dtype is None else tf.as_dtype(dtype)
    words = words if dtype == tf.string else [int(w) for w in words]
    return categorical_column_with_vocabulary_list(key, words, dtype, -1 if default_value is None else default_value,
                                                   num_oov_buckets)


class _Weighted(collections.namedtuple("WeightedCategoricalColumn", ["categorical_column", "weight_feature_key", "dtype"])):
    name = property(lambda self: f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}")
    num_buckets = property(lambda self: self.categorical_column.num_buckets)
    parse_example_spec = property(lambda self: {**self.categorical_column.parse_example_spec,
                                                self.weight_feature_key: tf.io.VarLenFeature(self.dtype)})

    def _ids(self, features):
        weights = features.get(self.weight_feature_key)
        if not isinstance(weights, tf.SparseTensor):
            weights = _to_sparse(tf.cast(weights, tf.float32))
        return self.categorical_column._ids(features)[0], tf.SparseTensor(weights.indices, tf.cast(weights.values, tf.float32),
                                                                          weights.dense_shape)


def weighted_categorical_column(categorical_column, weight_feature_key, dtype=tf.float32):
    """Ids with weights from another feature."""
    return _Weighted(categorical_column, weight_feature_key, tf.as_dtype(dtype))


class _Crossed(collections.namedtuple("CrossedColumn", ["keys", "hash_bucket_size", "hash_key"])):
    num_buckets = property(lambda self: self.hash_bucket_size)

    def _leaves(self):
        out = []
        for key in self.keys:
            out += key._leaves() if isinstance(key, _Crossed) else [key]
        return out

    @property
    def name(self):
        return "_X_".join(sorted(k if isinstance(k, str) else k.name for k in self._leaves()))

    @property
    def parse_example_spec(self):
        spec = {}
        for key in self.keys:
            spec.update({key: tf.io.VarLenFeature(tf.string)} if isinstance(key, str) else key.parse_example_spec)
        return spec

    def _ids(self, features):
        inputs = [features.get(k) if isinstance(k, str) else k._ids(features)[0] for k in self._leaves()]
        inputs = [_to_sparse(v) if not isinstance(v, tf.SparseTensor) and tf.convert_to_tensor(v).shape.rank == 1 else v
                  for v in inputs]
        crossed = tf.sparse.cross_hashed(inputs, self.hash_bucket_size, self.hash_key)
        return crossed, None


def crossed_column(keys, hash_bucket_size, hash_key=None):
    """Combinations of categorical features by their hash."""
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    return _Crossed(tuple(keys), hash_bucket_size, hash_key)


class _Indicator(collections.namedtuple("IndicatorColumn", ["categorical_column"])):
    name = property(lambda self: self.categorical_column.name + "_indicator")
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
    variable_shape = property(lambda self: tf.TensorShape([1, self.categorical_column.num_buckets]))

    def _dense(self, features):
        ids, weights = self.categorical_column._ids(features)
        count = self.categorical_column.num_buckets
        known = tf.logical_and(ids.values >= 0, ids.values < count)
        values = tf.ones_like(ids.values, dtype=tf.float32) if weights is None else weights.values
        rows, columns = tf.boolean_mask(ids.indices[:, 0], known), tf.boolean_mask(ids.values, known)
        return tf.scatter_nd(tf.stack([rows, columns], axis=1), tf.boolean_mask(values, known),
                             tf.stack([ids.dense_shape[0], tf.constant(count, tf.int64)]))

    def get_sequence_dense_tensor(self, transformation_cache, state_manager=None):
        """The ids of a sequence as one-hot rows, and how many steps each example has."""
        del state_manager
        if not hasattr(self.categorical_column, "get_sequence_dense_tensor"):
            raise ValueError("In indicator_column: the categorical_column must be of type SequenceCategoricalColumn to use "
                             f"its steps. Given (type {type(self.categorical_column)}): {self.categorical_column}")
        return self.categorical_column.get_sequence_dense_tensor(transformation_cache, self.categorical_column.num_buckets)


def indicator_column(categorical_column):
    """How often each id occurs."""
    return _Indicator(categorical_column)


class _Embedding(collections.namedtuple("EmbeddingColumn", [
        "categorical_column", "dimension", "combiner", "initializer", "ckpt_to_load_from", "tensor_name_in_ckpt", "max_norm",
        "trainable", "use_safe_embedding_lookup"])):
    name = property(lambda self: self.categorical_column.name + "_embedding")
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
    variable_shape = property(lambda self: tf.TensorShape([self.dimension]))

    def _dense(self, features):
        ids, weights = self.categorical_column._ids(features)
        table = tf.compat.v1.get_variable("embedding_weights", [self.categorical_column.num_buckets, self.dimension],
                                          tf.float32, initializer=self.initializer, trainable=self.trainable)
        return tf.nn.safe_embedding_lookup_sparse(table, ids, weights, combiner=self.combiner, max_norm=self.max_norm)


def embedding_column(categorical_column, dimension, combiner="mean", initializer=None, ckpt_to_load_from=None,
                     tensor_name_in_ckpt=None, max_norm=None, trainable=True, use_safe_embedding_lookup=True):
    """A trained vector for each id, combined over the ids of an example."""
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if ckpt_to_load_from is not None or tensor_name_in_ckpt is not None:
        raise NotImplementedError("embeddings from a checkpoint: use tf.compat.v1.train.init_from_checkpoint")
    if initializer is not None and not callable(initializer):
        raise ValueError("initializer must be callable if specified. Embedding of column_name: "
                         f"{categorical_column.name}")
    initializer = initializer or tf.compat.v1.truncated_normal_initializer(mean=0.0, stddev=1 / np.sqrt(dimension))
    return _Embedding(categorical_column, dimension, combiner, initializer, None, None, max_norm, trainable,
                      use_safe_embedding_lookup)


def make_parse_example_spec(feature_columns):
    """What tf.io.parse_example needs for these columns."""
    out = {}
    for column in feature_columns:
        for key, value in column.parse_example_spec.items():
            if key in out and out[key] != value:
                raise ValueError(f"feature_columns contain different parse_spec for key {key}. Given {value} and {out[key]}")
            out[key] = value
    return out


def input_layer(features, feature_columns, weight_collections=None, trainable=True, cols_to_vars=None,
                cols_to_output_tensors=None):
    """compat.v1: one dense tensor of all columns, in the order of their names."""
    del weight_collections, trainable
    columns = list(feature_columns) if isinstance(feature_columns, (list, tuple, set)) else [feature_columns]
    made, outputs = _Features(features), []
    with tf.compat.v1.variable_scope(None, default_name="input_layer"):
        for column in sorted(columns, key=lambda c: c.name):
            if not hasattr(column, "_dense"):
                raise ValueError(f"Items of feature_columns must be a _DenseColumn. You can wrap a categorical column with an "
                                 f"embedding_column or indicator_column. Given: {column}")
            with tf.compat.v1.variable_scope(getattr(column, "_var_scope_name", column.name)) as scope:
                value = column._dense(made)
                width = column.variable_shape.num_elements()
                value = tf.reshape(value, [-1, width])
                outputs.append(value)
                if cols_to_vars is not None:
                    cols_to_vars[column] = tf.compat.v1.get_collection("variables", scope=scope.name + "/")
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = value
    return tf.concat(outputs, axis=1)


def linear_model(features, feature_columns, units=1, sparse_combiner="sum", weight_collections=None, trainable=True,
                 cols_to_vars=None):
    """compat.v1: a weighted sum of all columns, and a bias."""
    del weight_collections
    columns = list(feature_columns) if isinstance(feature_columns, (list, tuple, set)) else [feature_columns]
    made, total = _Features(features), None
    v1 = tf.compat.v1
    with v1.variable_scope("linear_model"):
        for column in sorted(columns, key=lambda c: c.name):
            with v1.variable_scope(column.name):
                if hasattr(column, "_ids"):
                    ids, weights = column._ids(made)
                    table = v1.get_variable("weights", [column.num_buckets, units], initializer=v1.zeros_initializer(),
                                            trainable=trainable)
                    term = tf.nn.safe_embedding_lookup_sparse(table, ids, weights, combiner=sparse_combiner)
                else:
                    width = column.variable_shape.num_elements()
                    table = v1.get_variable("weights", [width, units], initializer=v1.zeros_initializer(), trainable=trainable)
                    term = tf.matmul(tf.reshape(column._dense(made), [-1, width]), table)
                if cols_to_vars is not None:
                    cols_to_vars[column] = [table]
            total = term if total is None else total + term
        bias = v1.get_variable("bias_weights", [units], initializer=v1.zeros_initializer(), trainable=trainable)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        return tf.nn.bias_add(total, bias)


for _class in (_Numeric, _Bucketized, _Identity, _Hashed, _Vocabulary, _Weighted, _Crossed, _Indicator, _Embedding):
    _class.__name__ = _class.__qualname__ = _class.__bases__[-1].__name__  # by which they are printed
    _class.__module__ = "tensorflow.python.feature_column.feature_column_v2"
