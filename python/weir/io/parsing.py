"""Examples (tf.train.Example, SequenceExample) parsed into tensors, as descriptions of their features say."""

import collections

import numpy as np

from weir.framework import as_dtype, convert_to_tensor, dtypes, raw_ops
from weir.framework.shapes import TensorShape, as_shape
from weir.ops import ragged as ragged_ops
from weir.ops import sparse as sparse_ops

__all__ = ["FixedLenFeature", "FixedLenSequenceFeature", "RaggedFeature", "SparseFeature", "VarLenFeature",
           "parse_example", "parse_single_example", "parse_sequence_example", "parse_single_sequence_example"]


class FixedLenFeature(collections.namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"])):
    """A feature of a fixed shape."""

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, dtype, default_value)


class FixedLenSequenceFeature(collections.namedtuple("FixedLenSequenceFeature", ["shape", "dtype", "allow_missing",
                                                                                "default_value"])):
    """Any number of parts of a fixed shape, padded to the longest of a batch."""

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class VarLenFeature(collections.namedtuple("VarLenFeature", ["dtype"])):
    """A feature of any length, which becomes a SparseTensor."""


class SparseFeature(collections.namedtuple("SparseFeature", ["index_key", "value_key", "dtype", "size",
                                                             "already_sorted"])):
    """A sparse tensor whose indices and values are features of their own."""

    def __new__(cls, index_key, value_key, dtype, size, already_sorted=False):
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


class RaggedFeature(collections.namedtuple("RaggedFeature", ["dtype", "value_key", "partitions", "row_splits_dtype",
                                                             "validate"])):
    """A feature that becomes a RaggedTensor; `partitions` give it further ragged dimensions."""

    RowSplits = collections.namedtuple("RowSplits", ["key"])
    RowLengths = collections.namedtuple("RowLengths", ["key"])
    RowStarts = collections.namedtuple("RowStarts", ["key"])
    RowLimits = collections.namedtuple("RowLimits", ["key"])
    ValueRowIds = collections.namedtuple("ValueRowIds", ["key"])
    UniformRowLength = collections.namedtuple("UniformRowLength", ["length"])

    def __new__(cls, dtype, value_key=None, partitions=(), row_splits_dtype=dtypes.int32, validate=False):
        kinds = (cls.RowSplits, cls.RowLengths, cls.RowStarts, cls.RowLimits, cls.ValueRowIds, cls.UniformRowLength)
        for part in partitions:
            if not isinstance(part, kinds):
                raise TypeError(f"Unsupported partition type: {part!r}")
        return super().__new__(cls, as_dtype(dtype), value_key, tuple(partitions), as_dtype(row_splits_dtype), validate)


for _class in (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature, SparseFeature, RaggedFeature):
    _class.__module__ = "tensorflow.python.ops.parsing_config"


class _Plan:
    """What an op is asked for: keys of sparse, dense and ragged features, each in order."""

    def __init__(self, features, kinds):
        self.features = features
        self.sparse, self.dense, self.ragged = {}, {}, {}  # key -> dtype; key -> (dtype, shape, default); key -> types
        for key in sorted(features):
            feature = features[key]
            if not isinstance(feature, kinds):
                raise ValueError(f"Unsupported {type(feature).__name__} {feature}.")
            if isinstance(feature, VarLenFeature):
                if not feature.dtype:
                    raise ValueError(f"Missing type for feature {key}. Received feature={feature}")
                self._put(self.sparse, key, as_dtype(feature.dtype))
            elif isinstance(feature, SparseFeature):
                if not feature.index_key:
                    raise ValueError(f"Missing index_key for SparseFeature {feature}.")
                if not feature.value_key:
                    raise ValueError(f"Missing value_key for SparseFeature {feature}.")
                for index in _list(feature.index_key):
                    self._put(self.sparse, index, dtypes.int64)
                self._put(self.sparse, feature.value_key, as_dtype(feature.dtype))
            elif isinstance(feature, RaggedFeature):
                self._put(self.ragged, feature.value_key or key, (feature.dtype, feature.row_splits_dtype))
                for part in feature.partitions:
                    if hasattr(part, "key"):
                        self._put(self.ragged, part.key, (dtypes.int64, feature.row_splits_dtype))
            else:
                self._add_dense(key, feature)
        both = set(self.ragged) & (set(self.sparse) | set(self.dense))
        if both:
            raise ValueError(f"Ragged and sparse keys must not intersect; ragged_keys: {list(self.ragged)}, sparse_keys: "
                             f"{list(self.sparse)}, intersection: {both}")

    @staticmethod
    def _put(table, key, value):
        if table.setdefault(key, value) != value:
            raise ValueError(f"Conflicting type {table[key]} vs {value} for feature {key}.")

    def _add_dense(self, key, feature):
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}. Received feature={feature}.")
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
        dtype, shape = as_dtype(feature.dtype), as_shape(feature.shape)
        default = feature.default_value
        if isinstance(feature, FixedLenSequenceFeature):
            shape = TensorShape([None]).concatenate(shape)
            if default is None:
                default = b"" if dtype == dtypes.string else 0
            default = np.asarray(default, dtype.as_numpy_dtype)
        elif default is not None:
            default = np.asarray(default, dtype.as_numpy_dtype if dtype != dtypes.string else object).reshape(
                shape.as_list())
        self.dense[key] = (dtype, shape, default)

    def dense_types(self):
        return [dtype for dtype, _, _ in self.dense.values()]

    def dense_shapes(self):
        return [shape for _, shape, _ in self.dense.values()]

    def dense_defaults(self):
        return [convert_to_tensor(np.zeros([0], dtype.as_numpy_dtype) if default is None else default, dtype)
                for dtype, _, default in self.dense.values()]

    def result(self, sparse, dense, ragged):
        """Features by name from the parsed parts; `ragged` are (values, [splits]) pairs by key."""
        out = {}
        for key, feature in self.features.items():
            if isinstance(feature, VarLenFeature):
                out[key] = sparse[key]
            elif isinstance(feature, SparseFeature):
                out[key] = _merge([sparse[k] for k in _list(feature.index_key)], sparse[feature.value_key],
                                  _list(feature.size), feature.already_sorted)
            elif isinstance(feature, RaggedFeature):
                out[key] = _partitioned(ragged[feature.value_key or key], feature, ragged)
            else:
                out[key] = dense[key]
        order = [VarLenFeature, (FixedLenFeature, FixedLenSequenceFeature), RaggedFeature, SparseFeature]
        return {key: out[key] for kind in order for key in sorted(out) if isinstance(self.features[key], kind)}


def _list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _keys(table):
    return convert_to_tensor(np.asarray(list(table), dtype=object).reshape([-1]), dtypes.string)


def _merge(indices, values, sizes, already_sorted):
    columns = [raw_ops.ExpandDims(input=i.values, axis=1) for i in indices]
    outer = raw_ops.StridedSlice(input=values.indices, begin=[0, 0], end=[0, -1], strides=[1, 1], begin_mask=3, end_mask=1)
    merged = raw_ops.ConcatV2(values=[outer] + columns, axis=1)
    shape = raw_ops.ConcatV2(values=[values.dense_shape[:-1], convert_to_tensor(sizes, dtypes.int64)], axis=0)
    result = sparse_ops.SparseTensor(merged, values.values, shape)
    return result if already_sorted else sparse_ops.reorder(result)


def _lengths(part, values, ragged):
    """The lengths of the rows that a partition makes, one list for each example."""
    from weir.ops import array, math
    if isinstance(part, RaggedFeature.UniformRowLength):
        counts = values.row_lengths()
        rows = math.floordiv(counts, convert_to_tensor(part.length, counts.dtype))
        total = math.reduce_sum(rows)
        return ragged_ops.RaggedTensor.from_row_lengths(
            array.fill([math.cast(total, dtypes.int32)], convert_to_tensor(part.length, counts.dtype)), rows)
    given = ragged[part.key].with_row_splits_dtype(dtypes.int64)
    if isinstance(part, RaggedFeature.RowLengths):
        return given
    if isinstance(part, RaggedFeature.RowSplits):
        return given[:, 1:] - given[:, :-1]
    rows = given.row_lengths()
    zeros = ragged_ops.RaggedTensor.from_uniform_row_length(array.zeros_like(rows), 1)
    if isinstance(part, RaggedFeature.RowStarts):
        ends = ragged_ops.RaggedTensor.from_uniform_row_length(values.row_lengths(), 1)
        both = ragged_ops.concat([given, ends], axis=1)
        return both[:, 1:] - both[:, :-1]
    if isinstance(part, RaggedFeature.RowLimits):
        both = ragged_ops.concat([zeros, given], axis=1)
        return both[:, 1:] - both[:, :-1]
    # Row ids: how often each number up to the largest occurs.
    last = array.concat([given.values, [0]], 0)  # so that there is one to take
    ends = raw_ops.Maximum(x=given.row_splits[1:] - 1, y=0)
    count = array.where(given.row_lengths() > 0, array.gather(last, ends) + 1, 0)
    starts = math.cumsum(count, exclusive=True)
    flat = given.values + array.gather(starts, given.value_rowids())
    sums = raw_ops.UnsortedSegmentSum(data=array.ones_like(flat), segment_ids=flat, num_segments=math.reduce_sum(count))
    return ragged_ops.RaggedTensor.from_row_lengths(sums, count)


def _partitioned(values, feature, ragged):
    single = not isinstance(values, ragged_ops.RaggedTensor)
    if single:
        if not feature.partitions:
            return values
        if all(isinstance(part, RaggedFeature.UniformRowLength) for part in feature.partitions):
            return raw_ops.Reshape(tensor=values, shape=[-1] + [part.length for part in feature.partitions])
        one = lambda v: ragged_ops.RaggedTensor.from_row_lengths(  # noqa: E731
            v, [raw_ops.Size(input=v, out_type=feature.row_splits_dtype)])
        ragged = {key: one(value) for key, value in ragged.items()}
        values = one(values)
    result = values.with_row_splits_dtype(dtypes.int64)
    for part in reversed(feature.partitions):
        lengths = _lengths(part, result, ragged)
        inner = ragged_ops.RaggedTensor.from_row_lengths(result.values, lengths.values, validate=feature.validate)
        result = ragged_ops.RaggedTensor.from_row_splits(inner, lengths.row_splits, validate=feature.validate)
    result = result[0] if single else result
    return result.with_row_splits_dtype(feature.row_splits_dtype)


_ALL = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature, RaggedFeature)


def _sparse_by_key(keys, indices, values, shapes):
    return {k: sparse_ops.SparseTensor(i, v, s) for k, i, v, s in zip(keys, indices, values, shapes)}


def parse_example(serialized, features, example_names=None, name=None):
    """Serialized Examples as a dict of tensors: dense, sparse or ragged, as `features` says of each."""
    if not features:
        raise ValueError("Argument `features` cannot be None or falsy.")
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
        if isinstance(feature, FixedLenFeature) and as_shape(feature.shape)[:1].as_list() == [None]:
            raise ValueError(f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature. "
                             f"Received feature={feature}.")
    plan = _Plan(features, _ALL)
    serialized = convert_to_tensor(serialized, dtypes.string)
    names = convert_to_tensor(np.zeros([0], object) if example_names is None else example_names, dtypes.string)
    parsed = raw_ops.ParseExampleV2(
        serialized=serialized, names=names, sparse_keys=_keys(plan.sparse), dense_keys=_keys(plan.dense),
        ragged_keys=_keys(plan.ragged), dense_defaults=plan.dense_defaults(), num_sparse=len(plan.sparse),
        sparse_types=list(plan.sparse.values()), ragged_value_types=[v for v, _ in plan.ragged.values()],
        ragged_split_types=[s for _, s in plan.ragged.values()], dense_shapes=plan.dense_shapes(), name=name)
    if serialized.shape.rank == 0:
        ragged = dict(zip(plan.ragged, parsed.ragged_values))
    else:
        ragged = {k: ragged_ops.RaggedTensor.from_row_splits(v, s, validate=False)
                  for k, v, s in zip(plan.ragged, parsed.ragged_values, parsed.ragged_row_splits)}
    return plan.result(_sparse_by_key(plan.sparse, parsed.sparse_indices, parsed.sparse_values, parsed.sparse_shapes),
                       dict(zip(plan.dense, parsed.dense_values)), ragged)


def parse_single_example(serialized, features, example_names=None, name=None):
    """One serialized Example as a dict of tensors."""
    serialized = convert_to_tensor(serialized, dtypes.string)
    if serialized.shape.rank not in (0, None):
        raise ValueError(f"Input serialized must be a scalar. Received shape {serialized.shape}")
    return parse_example(serialized, features, example_names, name)


def parse_example_v1(serialized, features, name=None, example_names=None):
    """compat.v1.parse_example, whose last two arguments are the other way round."""
    return parse_example(serialized, features, example_names, name)


def parse_single_example_v1(serialized, features, name=None, example_names=None):
    return parse_single_example(serialized, features, example_names, name)


def _sequence_plans(context_features, sequence_features):
    if not (context_features or sequence_features):
        raise ValueError("Both `context_features` and `sequence_features` argument are None, but at least one should "
                         "have values.")
    context = _Plan(context_features or {}, (VarLenFeature, SparseFeature, FixedLenFeature, RaggedFeature))
    lists = _Plan({}, ())
    lists.features = sequence_features or {}
    empty = []
    for key in sorted(lists.features):
        feature = lists.features[key]
        if isinstance(feature, FixedLenSequenceFeature):
            lists.dense[key] = (as_dtype(feature.dtype), as_shape(feature.shape), None)
            if feature.allow_missing:
                empty.append(key)
            if feature.default_value is not None:
                raise ValueError(f"Unsupported default value {feature.default_value} in {feature}.")
        else:
            part = _Plan({key: feature}, (VarLenFeature, SparseFeature, RaggedFeature))
            for k, v in part.sparse.items():
                lists._put(lists.sparse, k, v)
            for k, v in part.ragged.items():
                lists._put(lists.ragged, k, v)
    return context, lists, empty


def parse_sequence_example(serialized, context_features=None, sequence_features=None, example_names=None, name=None):
    """Serialized SequenceExamples: the context's features, those of the lists, and the lists' lengths."""
    context, lists, empty = _sequence_plans(context_features, sequence_features)
    names = convert_to_tensor(np.zeros([0], object) if example_names is None else example_names, dtypes.string)
    parsed = raw_ops.ParseSequenceExampleV2(
        serialized=convert_to_tensor(serialized, dtypes.string), debug_name=names,
        context_sparse_keys=_keys(context.sparse), context_dense_keys=_keys(context.dense),
        context_ragged_keys=_keys(context.ragged), feature_list_sparse_keys=_keys(lists.sparse),
        feature_list_dense_keys=_keys(lists.dense), feature_list_ragged_keys=_keys(lists.ragged),
        feature_list_dense_missing_assumed_empty=np.asarray([k in empty for k in lists.dense], bool),
        context_dense_defaults=context.dense_defaults(), Ncontext_sparse=len(context.sparse),
        context_sparse_types=list(context.sparse.values()),
        context_ragged_value_types=[v for v, _ in context.ragged.values()],
        context_ragged_split_types=[s for _, s in context.ragged.values()], context_dense_shapes=context.dense_shapes(),
        Nfeature_list_sparse=len(lists.sparse), Nfeature_list_dense=len(lists.dense),
        feature_list_dense_types=lists.dense_types(), feature_list_sparse_types=list(lists.sparse.values()),
        feature_list_ragged_value_types=[v for v, _ in lists.ragged.values()],
        feature_list_ragged_split_types=[s for _, s in lists.ragged.values()],
        feature_list_dense_shapes=lists.dense_shapes(), name=name)
    ragged = {k: ragged_ops.RaggedTensor.from_row_splits(v, s, validate=False)
              for k, v, s in zip(context.ragged, parsed.context_ragged_values, parsed.context_ragged_row_splits)}
    of_context = context.result(
        _sparse_by_key(context.sparse, parsed.context_sparse_indices, parsed.context_sparse_values,
                       parsed.context_sparse_shapes), dict(zip(context.dense, parsed.context_dense_values)), ragged)
    nested = {k: ragged_ops.RaggedTensor.from_row_splits(
        ragged_ops.RaggedTensor.from_row_splits(v, inner, validate=False), outer, validate=False)
        for k, v, outer, inner in zip(lists.ragged, parsed.feature_list_ragged_values,
                                      parsed.feature_list_ragged_outer_splits, parsed.feature_list_ragged_inner_splits)}
    for feature in lists.features.values():
        if isinstance(feature, RaggedFeature) and feature.partitions:
            raise NotImplementedError("partitions of a RaggedFeature in the lists of SequenceExamples")
    of_lists = lists.result(
        _sparse_by_key(lists.sparse, parsed.feature_list_sparse_indices, parsed.feature_list_sparse_values,
                       parsed.feature_list_sparse_shapes), dict(zip(lists.dense, parsed.feature_list_dense_values)), nested)
    return of_context, of_lists, dict(zip(lists.dense, parsed.feature_list_dense_lengths))


def parse_single_sequence_example(serialized, context_features=None, sequence_features=None, example_name=None,
                                  name=None):
    """One serialized SequenceExample: the context's features and those of the lists."""
    context, lists, empty = _sequence_plans(context_features, sequence_features)
    if context.ragged or lists.ragged:
        raise NotImplementedError("RaggedFeature in parse_single_sequence_example; parse_sequence_example has it")
    text = lambda keys: [convert_to_tensor(k, dtypes.string) for k in keys]  # noqa: E731
    parsed = raw_ops.ParseSingleSequenceExample(
        serialized=convert_to_tensor(serialized, dtypes.string),
        feature_list_dense_missing_assumed_empty=_keys(empty), context_sparse_keys=text(context.sparse),
        context_dense_keys=text(context.dense), feature_list_sparse_keys=text(lists.sparse),
        feature_list_dense_keys=text(lists.dense), context_dense_defaults=context.dense_defaults(),
        debug_name=convert_to_tensor(example_name or "", dtypes.string),
        context_sparse_types=list(context.sparse.values()), feature_list_dense_types=lists.dense_types(),
        context_dense_shapes=context.dense_shapes(), feature_list_sparse_types=list(lists.sparse.values()),
        feature_list_dense_shapes=lists.dense_shapes(), name=name)
    of_context = context.result(
        _sparse_by_key(context.sparse, parsed.context_sparse_indices, parsed.context_sparse_values,
                       parsed.context_sparse_shapes), dict(zip(context.dense, parsed.context_dense_values)), {})
    of_lists = lists.result(
        _sparse_by_key(lists.sparse, parsed.feature_list_sparse_indices, parsed.feature_list_sparse_values,
                       parsed.feature_list_sparse_shapes), dict(zip(lists.dense, parsed.feature_list_dense_values)), {})
    return of_context, of_lists
