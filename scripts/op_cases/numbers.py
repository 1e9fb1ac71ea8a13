"""Arithmetic, reductions, segments, counting."""

import numpy as np

from .draw import TOLERANCES, cases, skip

BINARY = """Add AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor Complex Div DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual Igamma IgammaGradA Igammac
LeftShift Less LessEqual LogicalAnd LogicalOr Maximum Minimum Mod Mul MulNoNan NextAfter NotEqual Polygamma Pow RealDiv RightShift SquaredDifference Sub
TruncateDiv TruncateMod Xdivy Xlog1py Xlogy Zeta""".split()


@cases(*BINARY)
def binary(d):
    left, right = d.broadcast()
    a, b = (arg.name for arg in d.op_def.input_arg)
    low = high = None
    if d.op in ("Igamma", "IgammaGradA", "Igammac", "Zeta", "Polygamma") and d.chance(0.8):
        low, high = 0.1, 9
    types = [d.types[arg.type_attr] if arg.type_attr else "bool" for arg in d.op_def.input_arg]
    x, y = d.of(types[0], left, low, high), d.of(types[1], right, low, high)
    if d.op in ("LeftShift", "RightShift") and d.chance(0.8):
        y = d.of(types[1], right, 0, 7)
    if d.op == "Polygamma" and d.chance(0.8):
        x = np.asarray(np.round(x), x.dtype)
    if d.op in ("FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Mod", "Div") and y.dtype.kind in "iu" and d.chance(0.9):
        y = np.where(y == 0, np.ones((), y.dtype), y)
    if d.op == "Pow" and y.dtype.kind in "iu" and d.chance(0.9):
        y = d.of(types[1], right, 0, 4)
    return {a: x, b: y}


TOLERANCES.update(Igamma=1e-4, Igammac=1e-4, IgammaGradA=1e-3, Zeta=1e-4, Polygamma=1e-4, Digamma=1e-4, Lgamma=1e-4, Betainc=1e-4, Ndtri=1e-4, Erfinv=1e-4)


@cases("Betainc")
def betainc(d):
    shape = d.shape()
    return dict(a=d.T(shape, 0.1, 5), b=d.T(shape, 0.1, 5), x=d.T(shape, 0, 1))


@cases("Select", "SelectV2")
def select(d):
    if d.op == "SelectV2":
        c, x, y = d.broadcast(3)
        return dict(condition=d.of("bool", c), t=d.T(x), e=d.T(y))
    shape = d.shape(0, 3)
    condition = d.choice([shape, (), shape[:1]])
    return dict(condition=d.of("bool", condition), t=d.T(shape), e=d.T(shape))


@cases("ClipByValue")
def clip(d):
    shape = d.shape()
    a, b = d.T(() if d.chance() else shape), d.T(() if d.chance() else shape)
    return dict(t=d.T(shape), clip_value_min=a, clip_value_max=b)


@cases("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum")
def reduction(d):
    shape = d.shape(0, 4)
    rank = len(shape)
    axes = [int(a) for a in d.random.permutation(rank)[: d.int(0, rank)]]
    axes = [a - rank if d.chance(0.3) else a for a in axes]
    axis = d.index(axes if d.chance(0.8) or not axes else axes[0], "Tidx")
    given = d.of("bool", shape) if d.op in ("All", "Any") else d.T(shape)
    return dict(input=given, reduction_indices=axis) if d.op_def.input_arg[1].name == "reduction_indices" else dict(input=given, axis=axis)


@cases("ArgMax", "ArgMin")
def arg(d):
    shape = d.shape(1, 4)
    return dict(input=d.T(shape), dimension=d.index(d.axis(len(shape)), "Tidx"))


@cases("Cumprod", "Cumsum", "CumulativeLogsumexp")
def cumulative(d):
    shape = d.shape(1, 4)
    return dict(x=d.T(shape), axis=d.index(d.axis(len(shape)), "Tidx"))


@cases("AddN", "AccumulateNV2")
def add_n(d):
    shape = d.shape()
    given = dict(inputs=[d.T(shape) for _ in range(d.int(1, 4))])
    if d.op == "AccumulateNV2":
        given["shape"] = shape
    return given


@cases("Cast")
def cast(d):
    return dict(x=d.T(d.shape(), attr="SrcT"), DstT=d.t("DstT"))


@cases("Bucketize")
def bucketize(d):
    return dict(input=d.T(d.shape()), boundaries=sorted(d.float(-5, 5) for _ in range(d.int(0, 5))))


@cases("Range")
def range_(d):
    d.types.pop("dtype", None)
    t = d.t("Tidx")
    start, limit, delta = d.int(-3, 5), d.int(-3, 12), d.choice([1, 2, 3, -1, 1, 1])
    if t.is_floating:
        delta = delta / 2
    return dict(start=np.asarray(start).astype(t.as_numpy_dtype), limit=np.asarray(limit).astype(t.as_numpy_dtype), delta=np.asarray(delta).astype(t.as_numpy_dtype))


@cases("LinSpace")
def linspace(d):
    return dict(start=d.T((), -5, 5), stop=d.T((), -5, 5), num=d.index(d.int(1, 9), "Tidx"))


@cases("MatMul", "SparseMatMul")
def matmul(d):
    m, k, n = d.int(1, 5), d.int(1, 5), d.int(0, 5)
    a, b = d.chance(), d.chance()
    left, right = (k, m) if a else (m, k), (n, k) if b else (k, n)
    if d.op == "MatMul":
        return dict(a=d.T(left), b=d.T(right), transpose_a=a, transpose_b=b, grad_a=False, grad_b=False)
    return dict(a=d.T(left, attr="Ta"), b=d.T(right, attr="Tb"), transpose_a=a, transpose_b=b)


@cases("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(d):
    m, k, n = d.int(1, 4), d.int(0, 4), d.int(1, 4)
    x, y = d.chance(), d.chance()
    batches = d.broadcast(2, 2) if d.op != "BatchMatMul" else [d.shape(0, 2)] * 2
    if d.op == "BatchMatMul":
        batches = [batches[0]] * 2
    left, right = batches[0] + ((k, m) if x else (m, k)), batches[1] + ((n, k) if y else (k, n))
    given = dict(adj_x=x, adj_y=y)
    if d.op == "BatchMatMulV3":
        return dict(x=d.T(left, attr="Ta"), y=d.T(right, attr="Tb"), Tout=d.t("Tout"), grad_x=False, grad_y=False, **given)
    if d.op == "BatchMatMulV2":
        given.update(grad_x=False, grad_y=False)
    return dict(x=d.T(left), y=d.T(right), **given)


@cases("SegmentMax", "SegmentMean", "SegmentMin", "SegmentProd", "SegmentSum")
def segment(d):
    n = d.int(0, 6)
    ids = np.cumsum(d.random.randint(0, 3, n))
    return dict(data=d.T((n, *d.shape(0, 2))), segment_ids=d.index(ids))


@cases("SegmentMaxV2", "SegmentMinV2", "SegmentProdV2", "SegmentSumV2")
def segment_v2(d):
    return dict(segment(d), num_segments=d.index(d.int(5, 14), "Tnumsegments"))


@cases("UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd", "UnsortedSegmentSum")
def unsorted_segment(d):
    ids, count = d.shape(1, 2), d.int(0 if d.chance(0.1) else 1, 6)
    places = d.random.randint(-1 if d.chance(0.3) else 0, max(count, 1), ids)
    return dict(data=d.T(ids + d.shape(0, 2)), segment_ids=d.index(places), num_segments=d.index(count, "Tnumsegments"))


@cases("UnsortedSegmentJoin")
def unsorted_segment_join(d):
    ids, count = d.shape(1, 2), d.int(1, 5)
    return dict(inputs=d.of("string", ids), segment_ids=d.index(d.random.randint(-1 if d.chance(0.2) else 0, count, ids)), num_segments=d.index(count, "Tnumsegments"), separator=d.choice(["", ",", "--"]))


@cases("SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSum")
def sparse_segment(d):
    rows, n = d.int(1, 6), d.int(0, 7)
    return dict(data=d.T((rows, *d.shape(0, 2))), indices=d.index(d.random.randint(0, rows, n), "Tidx"), segment_ids=d.index(np.cumsum(d.random.randint(0, 3, n)), "Tsegmentids"))


@cases("SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments", "SparseSegmentSumWithNumSegments")
def sparse_segment_count(d):
    return dict(sparse_segment(d), num_segments=d.index(d.int(12, 16), "Tnumsegments"))


@cases("SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad", "SparseSegmentSumGrad")
def sparse_segment_grad(d):
    n, segments, rows = d.int(1, 6), d.int(1, 5), d.int(1, 7)
    ids = np.sort(d.random.randint(0, segments, n))
    return dict(grad=d.T((segments, *d.shape(0, 2))), indices=d.index(d.random.randint(0, rows, n), "Tidx"), segment_ids=d.index(ids, "Tsegmentids"), output_dim0=d.i32(rows))


@cases("SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2", "SparseSegmentSumGradV2")
def sparse_segment_grad_v2(d):
    given = sparse_segment_grad(d)
    given["dense_output_dim0"] = given.pop("output_dim0")
    return given


@cases("Bincount")
def bincount(d):
    shape = d.shape(1, 2, 8)
    return dict(arr=d.of("int32", shape, 0, 7), size=d.i32(d.int(0, 9)), weights=d.T(shape if d.chance() else (0,)))


@cases("DenseBincount")
def dense_bincount(d):
    shape = d.shape(1, 2, 6)
    return dict(input=d.T(shape, 0, 7, attr="Tidx"), size=d.index(d.int(0, 9), "Tidx"), weights=d.T(shape if d.chance() else (0,)))


@cases("HistogramFixedWidth")
def histogram(d):
    t = d.t("T")
    return dict(values=d.T(d.shape()), value_range=np.asarray(sorted(d.random.choice(20, 2, False) - 10)).astype(t.as_numpy_dtype), nbins=d.i32(d.int(1, 7)))


@cases("SobolSample")
def sobol(d):
    return dict(dim=d.i32(d.int(1, 9)), num_results=d.i32(d.int(0, 9)), skip=d.i32(d.int(0, 9)))


@cases("Cross")
def cross(d):
    shape = (*d.shape(0, 2), 3)
    return dict(a=d.T(shape), b=d.T(shape))


@cases("ApproximateEqual")
def approximate(d):
    shape = d.shape()
    x = d.T(shape)
    return dict(x=x, y=(x + np.asarray(0.00001)).astype(x.dtype) if d.chance() and x.dtype.kind == "f" else d.T(shape), tolerance=d.choice([1e-5, 0.5, 3.0]))


@cases("Einsum")
def einsum(d):
    sizes = {c: d.int(1, 4) for c in "abcdef"}
    if d.chance(0.15):
        pool, batch = list("abcd"), "..."
    else:
        pool, batch = list("abcd"), ""
    operands, shapes, known = [], [], []
    lead = d.shape(0, 2)
    for _ in range(d.int(1, 2)):
        labels = [d.choice(pool) for _ in range(d.int(0, 4))] if d.chance(0.15) else [str(c) for c in d.random.permutation(pool)[: d.int(0, 4)]]
        known += labels
        operands.append(batch + "".join(labels))
        shapes.append((lead if batch else ()) + tuple(sizes[c] for c in labels))
    output = [c for c in dict.fromkeys(known) if d.chance(0.6)]
    output = [str(c) for c in d.random.permutation(output)] if output else []
    return dict(inputs=[d.T(s) for s in shapes], equation=",".join(operands) + "->" + batch + "".join(output))


@cases("RandomGammaGrad")
def random_gamma_grad(d):
    a, b = d.broadcast()
    return dict(alpha=d.T(a, 0.1, 5), sample=d.T(b, 0.1, 5))


@cases("LowerBound", "UpperBound")
def bound(d):
    batch = d.int(1, 3)
    t = d.t("T")
    rows = np.sort(d.of(t, (batch, d.int(1, 6)), -9, 9), axis=1) if t.name != "string" else d.of(t, (batch, 3))
    return dict(sorted_inputs=rows, values=d.of(t, (batch, d.int(1, 5)), -9, 9))


@cases("RGBToHSV", "HSVToRGB")
def hsv(d):
    return dict(images=d.T((*d.shape(0, 3), 3), 0, 1))


skip("their values are not compared, only that they run", "NonDeterministicInts", "GetSessionHandle", "GetSessionHandleV2", "Timestamp")
