"""Sparse, ragged and counted tensors, sets."""

import numpy as np
import tensorflow as tf

from .draw import Program, cases

raw = tf.raw_ops


def sparse(d, shape=None, dtype="T", prefix="", names=("indices", "values", "shape"), least=1, most=3, low=None, high=None, sort=True):
    """Indices, values and shape, by name, and the shape."""
    shape = d.shape(least, most, zero=0) if shape is None else shape
    total = int(np.prod(shape))
    n = d.int(0, min(total, 6))
    places = d.random.permutation(total)[:n]
    if sort:
        places = np.sort(places)
    at = np.stack(np.unravel_index(places, shape), -1) if n else np.zeros((0, len(shape)), int)
    values = d.of(d.types[dtype] if dtype in d.types else dtype, (n,), low, high)
    return {prefix + names[0]: d.i64(at), prefix + names[1]: values, prefix + names[2]: d.i64(shape)}, shape


@cases("SparseAdd")
def sparse_add(d):
    t = d.t("T")
    real = t.name if not t.is_complex else t.real_dtype.name
    a, shape = sparse(d, prefix="a_")
    b, _ = sparse(d, shape, prefix="b_")
    return dict(a, **b, thresh=d.of(d.among("Treal", real), (), 0, 1))


@cases("SparseAddGrad")
def sparse_add_grad(d):
    shape = d.shape(1, 3, zero=0)
    total = int(np.prod(shape))
    pick = lambda: np.sort(d.random.permutation(total)[: d.int(0, min(5, total))])
    place = lambda x: d.i64(np.stack(np.unravel_index(x, shape), -1).reshape(-1, len(shape)))
    a, b = pick(), pick()
    both = np.union1d(a, b).astype(int)
    return dict(backprop_val_grad=d.T((len(both),)), a_indices=place(a), b_indices=place(b), sum_indices=place(both))


@cases("SparseSparseMaximum", "SparseSparseMinimum")
def sparse_sparse(d):
    a, shape = sparse(d, prefix="a_")
    b, _ = sparse(d, shape, prefix="b_")
    return dict(a, **b)


@cases("SparseConcat")
def sparse_concat(d):
    shape = list(d.shape(1, 3, zero=0))
    axis = d.int(0, len(shape) - 1)
    parts = [sparse(d, shape[:axis] + [d.int(1, 3)] + shape[axis + 1:])[0] for _ in range(d.int(2, 3))]
    return dict(indices=[p["indices"] for p in parts], values=[p["values"] for p in parts], shapes=[p["shape"] for p in parts], concat_dim=axis - (len(shape) if d.chance(0.3) else 0))


@cases("SparseSplit")
def sparse_split(d):
    given, shape = sparse(d)
    axis = d.int(0, len(shape) - 1)
    return dict(given, split_dim=d.i64(axis), num_split=d.int(1, shape[axis]))


@cases("SparseSlice")
def sparse_slice(d):
    given, shape = sparse(d)
    start = [d.int(0, n - 1) for n in shape]
    return dict(given, start=d.i64(start), size=d.i64([d.int(0, n) for n in shape]))


@cases("SparseSliceGrad")
def sparse_slice_grad(d):
    given, shape = sparse(d)
    at = given["indices"]
    start = d.i64([d.int(0, n - 1) for n in shape])
    inside = at[np.all(at >= start, axis=1)]
    return dict(backprop_val_grad=d.T((len(inside),)), input_indices=at, input_start=start, output_indices=d.i64(inside - start))


@cases("SparseReorder")
def sparse_reorder(d):
    return sparse(d, prefix="input_", sort=False)[0]


@cases("SparseReshape")
def sparse_reshape(d):
    given, shape = sparse(d, prefix="input_", dtype="float32")
    given.pop("input_values")
    n = int(np.prod(shape))
    new = d.choice([[n], [-1], [1, n], [-1, 1], [shape[0], -1], [shape[0], n // shape[0]]])
    return dict(given, new_shape=d.i64(new))


@cases("SparseReduceMax", "SparseReduceMaxSparse", "SparseReduceSum", "SparseReduceSumSparse")
def sparse_reduce(d):
    given, shape = sparse(d, prefix="input_")
    axes = [int(a) - (len(shape) if d.chance(0.3) else 0) for a in d.random.permutation(len(shape))[: d.int(0, len(shape))]]
    return dict(given, reduction_axes=d.i32(axes if len(axes) != 1 or d.chance() else axes[0]))


@cases("SparseSoftmax")
def sparse_softmax(d):
    return sparse(d, prefix="sp_", least=2, most=4)[0]


@cases("SparseDenseCwiseAdd", "SparseDenseCwiseDiv", "SparseDenseCwiseMul")
def sparse_dense(d):
    given, shape = sparse(d, prefix="sp_")
    dense = tuple(1 if d.chance(0.2) else n for n in shape)
    y = d.T(dense[d.int(0, len(dense)):] if d.chance(0.2) else dense)
    if d.op.endswith("Div") and y.dtype.kind in "iu":
        y = np.where(y == 0, np.ones((), y.dtype), y)
    return dict(given, dense=y)


@cases("SparseTensorDenseAdd")
def sparse_tensor_dense_add(d):
    given, shape = sparse(d, prefix="a_", most=4)
    return dict(a_indices=d.index(given["a_indices"]), a_values=given["a_values"], a_shape=d.index(shape), b=d.T(shape))


@cases("SparseTensorDenseMatMul")
def sparse_dense_matmul(d):
    given, shape = sparse(d, least=2, most=2, prefix="a_")
    a, b, n = d.chance(), d.chance(), d.int(1, 4)
    inner = shape[0] if a else shape[1]
    return dict(given, a_indices=d.index(given["a_indices"]), b=d.T((n, inner) if b else (inner, n)), adjoint_a=a, adjoint_b=b)


@cases("SparseToDense")
def sparse_to_dense(d):
    given, shape = sparse(d, least=1, most=3)
    values = given["values"] if d.chance(0.8) else d.T(())
    return dict(sparse_indices=d.index(given["indices"]), output_shape=d.index(shape), sparse_values=values, default_value=d.T(()))


@cases("SparseFillEmptyRows")
def sparse_fill(d):
    given, _ = sparse(d, least=2, most=2, names=("indices", "values", "dense_shape"), sort=d.chance(0.8))
    return dict(given, default_value=d.T(()))


@cases("SparseFillEmptyRowsGrad", "RaggedFillEmptyRowsGrad")
def fill_grad(d):
    n = d.int(1, 6)
    m = d.int(0, n)
    return dict(reverse_index_map=d.i64(d.random.permutation(n)[:m]), grad_values=d.T((n,)))


@cases("RaggedFillEmptyRows")
def ragged_fill(d):
    rows, n = d.int(1, 5), d.int(0, 6)
    return dict(value_rowids=d.i64(np.sort(d.random.randint(0, rows, n))), values=d.T((n,)), nrows=d.i64(rows), default_value=d.T(()))


@cases("SerializeSparse", "SerializeManySparse")
def serialize(d):
    given, _ = sparse(d, prefix="sparse_", least=2 if "Many" in d.op else 1)
    return given


@cases("DeserializeSparse", "DeserializeManySparse")
def deserialize(d):
    t = d.of(d.choice(["float32", "int64", "string"]), ()).dtype
    dtype = tf.as_dtype(t) if t.kind != "O" else tf.string
    given, _ = sparse(d, dtype=dtype.name, prefix="sparse_", least=2)

    def build(feed):
        fed = {k: feed(v) for k, v in given.items()}
        many = raw.SerializeManySparse(**fed, out_type=tf.string)
        one = raw.SerializeSparse(**fed, out_type=tf.string)
        return [[raw.DeserializeManySparse(serialized_sparse=many, dtype=dtype), raw.DeserializeSparse(serialized_sparse=one, dtype=dtype), raw.DeserializeSparse(serialized_sparse=many, dtype=dtype)]]

    return Program(build, str(given))


@cases("AddSparseToTensorsMap", "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap")
def tensors_map(d):
    given, _ = sparse(d, dtype="float32", prefix="sparse_", least=2)

    def build(feed):
        fed = {k: feed(v) for k, v in given.items()}
        add = raw.AddManySparseToTensorsMap(**fed, shared_name=d.unique)
        return [[raw.TakeManySparseFromTensorsMap(sparse_handles=add, dtype=tf.float32, shared_name=d.unique)]]

    return Program(build, str(given))


@cases("SetSize")
def set_size(d):
    given, _ = sparse(d, prefix="set_", least=2, low=0, high=3)
    return given


OPERATIONS = ["a-b", "b-a", "intersection", "union"]


@cases("DenseToDenseSetOperation")
def dense_sets(d):
    lead = d.shape(1, 2, 3, zero=0)
    return dict(set1=d.T((*lead, d.int(0, 4)), 0, 4), set2=d.T((*lead, d.int(0, 4)), 0, 4), set_operation=d.choice(OPERATIONS))


@cases("DenseToSparseSetOperation", "SparseToSparseSetOperation")
def sparse_sets(d):
    lead = d.shape(1, 2, 3, zero=0)
    given = sparse(d, (*lead, d.int(1, 4)), prefix="set2_", low=0, high=4)[0]
    if d.op.startswith("Dense"):
        given["set1"] = d.T((*lead, d.int(0, 4)), 0, 4)
    else:
        given.update(sparse(d, (*lead, d.int(1, 4)), prefix="set1_", low=0, high=4)[0])
    return dict(given, set_operation=d.choice(OPERATIONS))


@cases("SparseBincount")
def sparse_bincount(d):
    given, _ = sparse(d, most=2, dtype="Tidx", names=("indices", "values", "dense_shape"), low=0, high=6)
    n = len(given["values"])
    return dict(given, size=d.index(d.int(0, 8), "Tidx"), weights=d.T((n if d.chance() else 0,)))


def count_attrs(d):
    return dict(minlength=d.choice([-1, -1, 3, 8]), maxlength=d.choice([-1, -1, 4, 8]))


@cases("DenseCountSparseOutput")
def dense_count(d):
    shape = d.shape(1, 2, 6)
    return dict(values=d.T(shape, 0, 6), weights=d.T(shape if d.chance() else (0,), attr="output_type"), **count_attrs(d))


@cases("SparseCountSparseOutput")
def sparse_count(d):
    given, _ = sparse(d, most=2, names=("indices", "values", "dense_shape"), low=0, high=6)
    return dict(given, weights=d.T((len(given["values"]) if d.chance() else 0,), attr="output_type"), **count_attrs(d))


def splits(d, rows=None, longest=3):
    rows = d.int(1, 4) if rows is None else rows
    return np.cumsum([0] + [d.int(0, longest) for _ in range(rows)])


@cases("RaggedCountSparseOutput")
def ragged_count(d):
    s = splits(d)
    return dict(splits=d.i64(s), values=d.T((s[-1],), 0, 6), weights=d.T((s[-1] if d.chance() else 0,), attr="output_type"), **count_attrs(d))


@cases("RaggedBincount")
def ragged_bincount(d):
    s = splits(d)
    return dict(splits=d.i64(s), values=d.T((s[-1],), 0, 6, attr="Tidx"), size=d.index(d.int(1, 8), "Tidx"), weights=d.T((s[-1] if d.chance() else 0,)))


@cases("RaggedRange")
def ragged_range(d):
    n = d.int(0, 4)
    vector = lambda low, high: d.T((n,) if d.chance(0.7) else (), low, high)
    one = np.ones((), d.t("T").as_numpy_dtype)
    return dict(starts=vector(-5, 5), limits=vector(-5, 9), deltas=d.choice([one, one * 2, vector(1, 3), -one]))


@cases("RaggedGather")
def ragged_gather(d):
    depth = d.int(1, 2)
    nested = [splits(d)]
    if depth == 2:
        nested.append(splits(d, int(nested[0][-1])))
    rows = len(nested[0]) - 1
    shape = d.shape(0, 2)
    return dict(params_nested_splits=[d.index(s, "Tsplits") for s in nested], params_dense_values=d.T((int(nested[-1][-1]), *d.shape(0, 1)), attr="Tvalues"), indices=d.index(d.random.randint(0, rows, shape)), OUTPUT_RAGGED_RANK=depth + len(shape) - 1)


@cases("RaggedTensorToSparse")
def ragged_to_sparse(d):
    nested = [splits(d)]
    if d.chance():
        nested.append(splits(d, int(nested[0][-1])))
    return dict(rt_nested_splits=[d.index(s, "Tsplits") for s in nested], rt_dense_values=d.T((int(nested[-1][-1]), *d.shape(0, 1))))


@cases("RaggedTensorToTensor")
def ragged_to_tensor(d):
    s = splits(d)
    n, rows = int(s[-1]), len(s) - 1
    tail = d.shape(0, 1)
    ids = np.repeat(np.arange(rows), np.diff(s))
    kind = d.chance()
    partitions = [d.index(s, "Tindex")] if kind else [d.index(rows, "Tindex"), d.index(ids, "Tindex")]
    types = ["ROW_SPLITS"] if kind else ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]
    shape = d.choice([[-1, -1], [rows, 5], [-1, 2], [rows + 1, -1]]) + [t if d.chance() else -1 for t in tail]
    return dict(shape=d.index(shape if d.chance(0.8) else -1, "Tshape"), values=d.T((n, *tail)), default_value=d.T(tail if d.chance(0.3) else ()), row_partition_tensors=partitions, row_partition_types=types)


@cases("RaggedTensorToVariant", "RaggedTensorFromVariant", "RaggedTensorToVariantGradient")
def ragged_variant(d):
    dtype = d.choice([tf.float32, tf.int64, tf.string, tf.float64])
    nested = [splits(d)]
    if d.chance():
        nested.append(splits(d, int(nested[0][-1])))
    values = d.of(dtype, (int(nested[-1][-1]), *d.shape(0, 1)))
    batched = d.chance(0.7)
    kind = d.choice([np.int64, np.int32])

    def build(feed):
        encoded = raw.RaggedTensorToVariant(rt_nested_splits=[feed(s.astype(kind)) for s in nested], rt_dense_values=feed(values), batched_input=batched)
        rank = len(nested) - (1 if batched else 0)
        return [[raw.RaggedTensorFromVariant(encoded_ragged=encoded, input_ragged_rank=rank, output_ragged_rank=len(nested), Tvalues=dtype, Tsplits=tf.as_dtype(kind))]]

    return Program(build, f"{nested} {values.shape} batched={batched}")


def features(d):
    sparse_parts = [sparse(d, (3, d.int(1, 3)), dtype=d.choice(["int64", "string"]))[0] for _ in range(d.int(0, 2))]
    dense_parts = [d.of(d.choice(["int64", "string"]), (3, d.int(1, 2))) for _ in range(d.int(0 if sparse_parts else 1, 2))]
    return sparse_parts, dense_parts


@cases("SparseCross", "SparseCrossHashed", "SparseCrossV2")
def sparse_cross(d):
    parts, dense = features(d)
    if d.op == "SparseCrossV2":
        parts = [dict(p, values=p["values"] if p["values"].dtype == object else d.of("string", p["values"].shape)) for p in parts]
        dense = [x if x.dtype == object else d.of("string", x.shape) for x in dense]
    given = dict(indices=[p["indices"] for p in parts], values=[p["values"] for p in parts], shapes=[p["shape"] for p in parts], dense_inputs=dense)
    if d.op == "SparseCrossV2":
        return dict(given, sep=np.asarray(b"_X_", object))
    if d.op == "SparseCrossHashed":
        return dict(given, num_buckets=d.i64(d.choice([0, 10, 1000])), strong_hash=np.asarray(d.chance()), salt=d.i64([d.int(0, 99), d.int(0, 99)]))
    hashed = d.chance()
    return dict(given, hashed_output=hashed, num_buckets=d.choice([0, 10, 1000]), hash_key=956888297470, out_type=tf.int64 if hashed else tf.string, internal_type=tf.int64 if hashed else tf.string)


@cases("RaggedCross")
def ragged_cross(d):
    rows = 3
    s = [splits(d, rows) for _ in range(d.int(0, 2))]
    values = [d.of(d.choice(["int64", "string"]), (int(x[-1]),)) for x in s]
    parts, dense = features(d)
    order = list("R" * len(s) + "S" * len(parts) + "D" * len(dense))
    d.random.shuffle(order)
    hashed = d.chance()
    return dict(ragged_values=values, ragged_row_splits=[x.astype(d.choice([np.int32, np.int64])) for x in s], sparse_indices=[p["indices"] for p in parts], sparse_values=[p["values"] for p in parts], sparse_shape=[p["shape"] for p in parts],
                dense_inputs=dense, input_order="".join(order), hashed_output=hashed, num_buckets=d.choice([0, 10]), hash_key=956888297470, out_values_type=tf.int64 if hashed else tf.string)


@cases("EditDistance")
def edit_distance(d):
    lead = d.shape(0, 2, 2, zero=0)
    a, _ = sparse(d, (*lead, d.int(1, 5)), prefix="hypothesis_", low=0, high=3)
    b, _ = sparse(d, (*lead, d.int(1, 5)), prefix="truth_", low=0, high=3)
    return dict(a, **b)


@cases("SparseTensorToCSRSparseMatrix", "CSRSparseMatrixToDense", "CSRSparseMatrixToSparseTensor", "DenseToCSRSparseMatrix", "CSRSparseMatrixComponents", "SparseMatrixNNZ", "SparseMatrixTranspose", "SparseMatrixMatMul", "SparseMatrixSparseMatMul", "SparseMatrixAdd", "SparseMatrixMul", "SparseMatrixSoftmax", "SparseMatrixZeros")
def csr(d):
    d.constants = True
    dtype = d.choice([tf.float32, tf.float64, tf.complex64, tf.complex128])
    shape = (*([2] if d.chance(0.4) else []), d.int(1, 4), d.int(1, 4))
    given, _ = sparse(d, shape, dtype=dtype.name, names=("indices", "values", "dense_shape"))

    def build(feed):
        a = raw.SparseTensorToCSRSparseMatrix(**{k: feed(v) for k, v in given.items()})
        fetched = [raw.CSRSparseMatrixToDense(sparse_input=a, type=dtype), raw.CSRSparseMatrixToSparseTensor(sparse_matrix=a, type=dtype)]
        return [fetched]

    return Program(build, str(given))
