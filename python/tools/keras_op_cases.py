"""Cases for compare_keras.py: calls of every function of keras.ops, keras.ops.image and keras.ops.nn's own names."""

import keras
import numpy as np
import tensorflow as tf
from keras import ops

_random = np.random.RandomState(0)


def f(*shape, low=-2.0, high=2.0, dtype="float32"):
    return _random.uniform(low, high, shape).astype(dtype)


def p(*shape, dtype="float32"):
    return f(*shape, low=0.1, high=0.9, dtype=dtype)


def i(*shape, low=-5, high=6, dtype="int32"):
    return _random.randint(low, high, shape).astype(dtype)


def b(*shape):
    return _random.randint(0, 2, shape).astype(bool)


def c(*shape):
    return (f(*shape) + 1j * f(*shape)).astype("complex64")


def nans(*shape):
    out = f(*shape)
    out.reshape(-1)[::3] = np.nan
    return out


def spd(n, batch=()):
    a = f(*batch, n, n)
    return (a @ np.swapaxes(a, -1, -2) + n * np.eye(n)).astype("float32")


UNARY = """abs absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil celu conj cos cosh deg2rad elu erf erfc erfinv
exp exp2 expm1 fabs floor gelu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh i0 imag isfinite isinf isnan isneginf
isposinf isreal leaky_relu log log10 log1p log2 log_sigmoid logical_not negative rad2deg real reciprocal relu relu6 rsqrt
selu sigmoid sign signbit silu sin sinc sinh soft_shrink softplus softsign sparse_plus sparse_sigmoid sqrt square squareplus
tan tanh tanh_shrink trunc copy ravel ndim size shape angle nan_to_num round conjugate flipud fliplr ones_like zeros_like
empty_like identity_ swish""".split()
BINARY = """add subtract multiply divide true_divide floor_divide divide_no_nan maximum minimum fmax fmin fmod mod power
arctan2 equal not_equal greater greater_equal less less_equal logical_and logical_or logical_xor logaddexp logaddexp2 hypot
heaviside nextafter isclose allclose copysign_ gcd lcm ldexp""".split()
REDUCE = """all any amax amin max min mean median sum prod std var ptp count_nonzero argmax argmin logsumexp nanmax nanmin
nanmean nansum nanprod nanstd nanvar nanmedian nanargmax nanargmin""".split()
SCAN = "cumsum cumprod nancumsum nancumprod".split()
BITS = "bitwise_and bitwise_or bitwise_xor left_shift right_shift bitwise_left_shift bitwise_right_shift".split()


def _listed():
    """(label, function, arrays)"""
    for name in UNARY:
        function = getattr(ops, name, None)
        if function is None:
            continue
        for array in (f(2, 3), p(4), i(2, 3), b(2, 2), f(3, dtype="float64"), f(2, 3, dtype="float16"), i(3, dtype="int8"),
                      i(2, 2, low=0, dtype="uint8"), c(2, 2), f()):
            yield name, function, [array]
        yield name, lambda x, g=function: g(ops.cast(x, "bfloat16")), [p(2, 3)]
    for name in BINARY:
        function = getattr(ops, name, None)
        if function is None:
            continue
        for pair in ((f(2, 3), f(2, 3)), (f(2, 3), f(3)), (f(2, 1), f(1, 3)), (i(2, 3), i(2, 3, low=1)), (b(4), b(4)),
                     (i(3), f(3)), (f(3, dtype="float16"), f(3)), (i(2, low=1, dtype="uint8"), i(2, low=1, dtype="int8")),
                     (p(2), p(2)), (f(2, dtype="float64"), f(2))):
            yield name, function, list(pair)
        yield name + ".scalar", lambda x, g=function: g(x, 2), [f(2, 3)]
        yield name + ".scalar", lambda x, g=function: g(x, 2.5), [i(2, 3)]
    for name in REDUCE:
        function = getattr(ops, name)
        for array in (f(2, 3), i(2, 3), b(2, 3), f(2, 3, 4), nans(3, 4) if "nan" in name else f(5)):
            yield name, function, [array]
            yield name + ".axis", lambda x, g=function: g(x, axis=-1), [array]
            if name != "count_nonzero":
                yield name + ".keep", lambda x, g=function: g(x, axis=0, keepdims=True), [array]
        if name not in ("argmax", "argmin", "nanargmax", "nanargmin"):
            yield name + ".axes", lambda x, g=function: g(x, axis=(0, 2)), [f(2, 3, 4)]
    for name in SCAN:
        function = getattr(ops, name)
        for array in (f(2, 3), i(2, 3), b(2, 3)):
            yield name, function, [array]
            yield name + ".axis", lambda x, g=function: g(x, axis=1), [array]
        yield name + ".dtype", lambda x, g=function: g(x, axis=0, dtype="float64"), [f(2, 3)]
    for name in BITS:
        yield name, getattr(ops, name), [i(2, 3, low=0), i(2, 3, low=0, high=4)]
        yield name, getattr(ops, name), [i(3, low=0, dtype="uint8"), i(3, low=0, high=4, dtype="uint8")]
    yield "bitwise_not", ops.bitwise_not, [i(3)]
    yield "bitwise_invert", ops.bitwise_invert, [i(3, low=0, dtype="uint8")]

    yield "append", ops.append, [f(2, 3), f(2, 3)]
    yield "append.axis", lambda x, y: ops.append(x, y, axis=1), [f(2, 3), f(2, 1)]
    yield "argpartition", lambda x: ops.argpartition(x, 2), [f(2, 5)]
    yield "argsort", ops.argsort, [f(3, 4)]
    yield "argsort.axis", lambda x: ops.argsort(x, axis=0), [f(3, 4)]
    yield "argsort.none", lambda x: ops.argsort(x, axis=None), [f(3, 4)]
    yield "sort", ops.sort, [f(3, 4)]
    yield "sort.axis", lambda x: ops.sort(x, axis=0), [i(3, 4)]
    yield "array_split", lambda x: ops.array_split(x, 3, axis=1), [f(2, 7)]
    yield "associative_scan", lambda x: ops.associative_scan(lambda a, b: a + b, x), [f(5, 2)]
    yield "associative_scan.reverse", lambda x: ops.associative_scan(lambda a, b: a * b, x, reverse=True, axis=1), [f(2, 4)]
    yield "average", ops.average, [f(2, 3)]
    yield "average.weights", lambda x, w: ops.average(x, axis=1, weights=w), [f(2, 3), p(3)]
    for name in "bartlett blackman hamming hanning".split():
        yield name, lambda g=getattr(ops, name): g(7), []
    yield "kaiser", lambda: ops.kaiser(6, 3.0), []
    yield "bincount", ops.bincount, [i(6, low=0)]
    yield "bincount.weights", lambda x, w: ops.bincount(x, weights=w, minlength=8), [i(6, low=0), f(6)]
    yield "bincount.2d", lambda x: ops.bincount(x, minlength=6), [i(2, 5, low=0)]
    yield "bincount.sparse", lambda x: ops.bincount(x, minlength=6, sparse=True), [i(2, 5, low=0)]
    yield "broadcast_to", lambda x: ops.broadcast_to(x, (4, 2, 3)), [f(2, 3)]
    for dtype in "float16 bfloat16 float64 int8 uint8 int32 int64 bool complex64 float8_e4m3fn uint16 uint32".split():
        yield "cast." + dtype, lambda x, d=dtype: ops.cast(x, d), [f(2, 3, low=0)]
        yield "saturate_cast." + dtype, lambda x, d=dtype: ops.saturate_cast(x, d), [f(2, 3, low=-300, high=300)]
        yield "zeros." + dtype, lambda d=dtype: ops.zeros((2, 3), d), []
        yield "full." + dtype, lambda d=dtype: ops.full((2,), 1, d), []
    yield "cdist", ops.cdist, [f(3, 4), f(2, 4)]
    yield "clip", lambda x: ops.clip(x, -1, 1), [f(2, 3)]
    yield "clip.int", lambda x: ops.clip(x, -1, 1), [i(2, 3)]
    yield "clip.tensor", ops.clip, [f(2, 3), f(3) - 1, f(3) + 1]
    yield "concatenate", lambda x, y: ops.concatenate([x, y]), [f(2, 3), f(4, 3)]
    yield "concatenate.axis", lambda x, y: ops.concatenate([x, y], axis=-1), [f(2, 3), i(2, 2)]
    yield "cond", lambda x: ops.cond(ops.sum(x) > 0, lambda: x + 1, lambda: x - 1), [f(2, 3)]
    yield "switch", lambda x: ops.switch(1, [lambda v: v + 1, lambda v: v * 3], x), [f(2, 3)]
    yield "fori_loop", lambda x: ops.fori_loop(0, 4, lambda k, v: v + ops.cast(k, "float32"), x), [f(2)]
    yield "while_loop", lambda x: ops.while_loop(lambda k, v: k < 3, lambda k, v: (k + 1, v * 2), (0, x)), [f(2)]
    yield "while_loop.max", lambda x: ops.while_loop(lambda k: k < 30, lambda k: k + 1, x, maximum_iterations=4), [i()]
    yield "scan", lambda x: ops.scan(lambda s, v: (s + v, s * v), ops.zeros((3,)), x), [f(4, 3)]
    yield "scan.reverse", lambda x: ops.scan(lambda s, v: (s + v, s), ops.zeros((3,)), x, reverse=True), [f(4, 3)]
    yield "map", lambda x: ops.map(lambda v: v * 2, x), [f(4, 3)]
    yield "vectorized_map", lambda x: ops.vectorized_map(lambda v: ops.sum(v) * v, x), [f(4, 3)]
    yield "vectorize", lambda x: ops.vectorize(lambda v: v + 1)(x), [f(4, 3)]
    yield "corrcoef", ops.corrcoef, [f(3, 5)]
    for mode in ("valid", "same", "full"):
        yield "correlate." + mode, lambda x, y, m=mode: ops.correlate(x, y, m), [f(6), f(3)]
    yield "cross", ops.cross, [f(4, 3), f(4, 3)]
    yield "cross.2d", ops.cross, [f(4, 2), f(4, 2)]
    yield "diag", ops.diag, [f(3)]
    yield "diag.2d", lambda x: ops.diag(x, k=1), [f(3, 4)]
    yield "diagflat", lambda x: ops.diagflat(x, k=1), [f(2, 2)]
    yield "diagonal", ops.diagonal, [f(3, 4)]
    yield "diagonal.axes", lambda x: ops.diagonal(x, 1, 1, 2), [f(2, 3, 4)]
    yield "diff", ops.diff, [f(2, 5)]
    yield "diff.n", lambda x: ops.diff(x, n=2, axis=0), [f(5, 2)]
    yield "digitize", lambda x: ops.digitize(x, np.array([-1.0, 0.0, 1.0])), [f(2, 3)]
    for pair in ((f(3), f(3)), (f(2, 3), f(3, 4)), (f(2, 3), f(3)), (f(2, 4, 3), f(3, 5)), (i(2, 3), i(3, 2)), (f(), f(2))):
        yield "dot", ops.dot, list(pair)
    for pair in ((f(2, 3), f(3, 4)), (f(5, 2, 3), f(5, 3, 4)), (f(5, 2, 3), f(3, 4)), (f(3), f(3, 2)), (f(2, 3), f(3)),
                 (i(2, 3, dtype="int8"), i(3, 4, dtype="int8")), (i(2, 3), f(3, 4)), (f(1, 2, 3), f(4, 3, 2)),
                 (f(2, 3, dtype="float16"), f(3, 2, dtype="float16"))):
        yield "matmul", ops.matmul, list(pair)
    yield "inner", ops.inner, [f(2, 3), f(4, 3)]
    yield "outer", ops.outer, [f(3), f(2)]
    yield "vdot", ops.vdot, [f(2, 3), f(2, 3)]
    yield "kron", ops.kron, [f(2, 2), f(2, 3)]
    yield "tensordot", ops.tensordot, [f(2, 3, 4), f(3, 4, 5)]
    yield "tensordot.axes", lambda x, y: ops.tensordot(x, y, axes=[[1], [0]]), [f(2, 3), f(3, 5)]
    for spec, shapes in (("ij,jk->ik", ((2, 3), (3, 4))), ("bij,bjk->bik", ((5, 2, 3), (5, 3, 4))), ("ij->ji", ((2, 3),)),
                         ("ii->i", ((3, 3),)), ("...ij,...jk", ((2, 2, 3), (2, 3, 4))), ("i,j->ij", ((2,), (3,))),
                         ("abc,cde->abde", ((2, 3, 4), (4, 5, 2))), ("aecd,abcd->acbe", ((2, 3, 2, 4), (2, 5, 2, 4))),
                         ("ij,kj,lj->ikl", ((2, 3), (4, 3), (2, 3))), ("ij->", ((2, 3),))):
        yield "einsum." + spec, lambda *x, s=spec: ops.einsum(s, *x), [f(*s) for s in shapes]
    yield "einsum.int8", lambda x, y: ops.einsum("ij,jk->ik", x, y), [i(2, 3, dtype="int8"), i(3, 2, dtype="int8")]
    yield "dsplit", lambda x: ops.dsplit(x, 2), [f(2, 3, 4)]
    yield "hsplit", lambda x: ops.hsplit(x, 2), [f(2, 4)]
    yield "vsplit", lambda x: ops.vsplit(x, [1]), [f(3, 4)]
    yield "split", lambda x: ops.split(x, 2, axis=1), [f(3, 4)]
    yield "split.indices", lambda x: ops.split(x, [1, 3], axis=1), [f(3, 4)]
    for name in "dstack hstack vstack".split():
        yield name, lambda x, y, g=getattr(ops, name): g([x, y]), [f(2, 3), f(2, 3)]
    yield "stack", lambda x, y: ops.stack([x, y], axis=1), [f(2, 3), f(2, 3)]
    yield "unstack", lambda x: ops.unstack(x, axis=1), [f(2, 3)]
    yield "expand_dims", lambda x: ops.expand_dims(x, 1), [f(2, 3)]
    yield "expand_dims.several", lambda x: ops.expand_dims(x, (0, -1)), [f(2, 3)]
    yield "squeeze", ops.squeeze, [f(2, 1, 3)]
    yield "squeeze.axis", lambda x: ops.squeeze(x, axis=1), [f(2, 1, 3)]
    yield "extract_sequences", lambda x: ops.extract_sequences(x, 4, 2), [f(2, 10)]
    yield "eye", lambda: ops.eye(3, 4, k=1), []
    yield "identity", lambda: ops.identity(3), []
    yield "tri", lambda: ops.tri(3, 4, 1), []
    yield "arange", lambda: [ops.arange(3), ops.arange(1, 4), ops.arange(0.0, 1.0, 0.25), ops.arange(3, dtype="int64")], []
    yield "linspace", lambda: [ops.linspace(0, 1, 5), ops.linspace(0, 1, 5, endpoint=False, retstep=True)], []
    yield "linspace.tensor", lambda x, y: ops.linspace(x, y, 4), [f(2), f(2)]
    yield "logspace", lambda: ops.logspace(0, 2, 4), []
    yield "geomspace", lambda: ops.geomspace(1.0, 100.0, 4), []
    yield "meshgrid", ops.meshgrid, [f(2), f(3)]
    yield "meshgrid.ij", lambda x, y: ops.meshgrid(x, y, indexing="ij"), [f(2), f(3)]
    for name in "fft".split():
        yield name, lambda x, y, g=getattr(ops, name): g((x, y)), [f(2, 8), f(2, 8)]
    yield "fft2", lambda x, y: ops.fft2((x, y)), [f(2, 4, 8), f(2, 4, 8)]
    yield "ifft2", lambda x, y: ops.ifft2((x, y)), [f(2, 4, 8), f(2, 4, 8)]
    yield "rfft", ops.rfft, [f(2, 9)]
    yield "rfft.length", lambda x: ops.rfft(x, 16), [f(2, 9)]
    yield "irfft", lambda x, y: ops.irfft((x, y)), [f(2, 5), f(2, 5)]
    yield "stft", lambda x: ops.stft(x, 8, 4, 8), [f(2, 32)]
    yield "istft", lambda x, y: ops.istft((x, y), 8, 4, 8), [f(2, 9, 5), f(2, 9, 5)]
    yield "flip", ops.flip, [f(2, 3)]
    yield "flip.axis", lambda x: ops.flip(x, axis=1), [f(2, 3)]
    yield "rot90", ops.rot90, [f(2, 3)]
    yield "roll", lambda x: ops.roll(x, 2), [f(2, 3)]
    yield "roll.axis", lambda x: ops.roll(x, 1, axis=1), [f(2, 3)]
    yield "full_like", lambda x: ops.full_like(x, 2), [f(2, 3)]
    yield "get_item", lambda x: [ops.get_item(x, 0), ops.get_item(x, (slice(None), 1)), x[..., None], x[:, ::2], x[1:, -1]], \
        [f(2, 3)]
    yield "glu", ops.glu, [f(2, 4)]
    yield "histogram", lambda x: ops.histogram(x, bins=4), [f(20)]
    yield "histogram.range", lambda x: ops.histogram(x, bins=4, range=(-1, 1)), [f(20)]
    yield "in_top_k", lambda t, x: ops.in_top_k(t, x, k=2), [i(4, low=0, high=3), f(4, 3)]
    yield "top_k", lambda x: ops.top_k(x, 2), [f(3, 5)]
    yield "isin", ops.isin, [i(2, 3), i(4)]
    yield "isin.invert", lambda x, y: ops.isin(x, y, invert=True), [i(2, 3), i(4)]
    yield "jvp", lambda x, t: ops.jvp(lambda v: v * v, (x,), (t,)), [f(3), f(3)]
    yield "layer_normalization", ops.layer_normalization, [f(4, 6)]
    yield "layer_normalization.scaled", lambda x, g, o: ops.layer_normalization(x, g, o, axis=-1), [f(4, 6), f(6), f(6)]
    yield "rms_normalization", ops.rms_normalization, [f(4, 6)]
    yield "batch_normalization", lambda x, m, v: ops.batch_normalization(x, m, v, axis=-1), [f(4, 3), f(3), p(3)]
    yield "batch_normalization.all", lambda x, m, v, o, s: ops.batch_normalization(x, m, v, axis=1, offset=o, scale=s), \
        [f(4, 3, 2), f(3), p(3), f(3), f(3)]
    yield "normalize", ops.normalize, [f(2, 3)]
    yield "normalize.order", lambda x: ops.normalize(x, axis=0, order=1), [f(2, 3)]
    yield "moments", lambda x: ops.moments(x, axes=[0]), [f(4, 3)]
    yield "moments.half", lambda x: ops.moments(x, axes=[0], keepdims=True), [f(4, 3, dtype="float16")]
    yield "softmax", ops.softmax, [f(2, 3)]
    yield "softmax.axis", lambda x: ops.softmax(x, axis=(1, 2)), [f(2, 3, 2)]
    yield "log_softmax", ops.log_softmax, [f(2, 3)]
    yield "sparsemax", ops.sparsemax, [f(2, 3)]
    yield "threshold", lambda x: ops.threshold(x, 0.1, -9.0), [f(2, 3)]
    for ord in (None, 1, 2, np.inf, "fro", "nuc"):
        yield f"norm.{ord}", lambda x, o=ord: ops.norm(x, ord=o), [f(3, 4)]
        yield f"norm.{ord}.axis", lambda x, o=ord: ops.norm(x, ord=o, axis=(0, 1) if isinstance(o, str) else 1), [f(3, 4)]
    yield "moveaxis", lambda x: ops.moveaxis(x, 0, -1), [f(2, 3, 4)]
    yield "swapaxes", lambda x: ops.swapaxes(x, 0, 1), [f(2, 3, 4)]
    yield "transpose", ops.transpose, [f(2, 3, 4)]
    yield "transpose.axes", lambda x: ops.transpose(x, (1, 0, 2)), [f(2, 3, 4)]
    yield "rearrange", lambda x: ops.rearrange(x, "b (h w) c -> b c h w", h=2), [f(2, 4, 3)]
    yield "multi_hot", lambda x: ops.multi_hot(x, 6), [i(2, 3, low=0)]
    yield "one_hot", lambda x: ops.one_hot(x, 6), [i(2, 3, low=-1)]
    yield "one_hot.axis", lambda x: ops.one_hot(x, 6, axis=0, dtype="int32"), [i(2, 3, low=0)]
    yield "one_hot.sparse", lambda x: ops.one_hot(x, 6, sparse=True), [i(2, 3, low=0)]
    yield "nonzero", ops.nonzero, [i(2, 3, low=0, high=2)]
    for mode in ("constant", "reflect", "symmetric"):
        yield "pad." + mode, lambda x, m=mode: ops.pad(x, ((1, 1), (0, 2)), mode=m), [f(3, 4)]
    yield "pad.value", lambda x: ops.pad(x, 1, constant_values=3), [i(2, 2)]
    for method in "linear lower higher midpoint nearest".split():
        yield "quantile." + method, lambda x, m=method: ops.quantile(x, 0.3, method=m), [f(3, 4)]
        yield "quantile.axis." + method, lambda x, m=method: ops.quantile(x, [0.2, 0.9], axis=1, method=m), [f(3, 4)]
    yield "percentile", lambda x: ops.percentile(x, 30.0, axis=0), [f(3, 4)]
    yield "nanquantile", lambda x: ops.nanquantile(x, 0.4, axis=1), [nans(3, 4)]
    yield "nanpercentile", lambda x: ops.nanpercentile(x, 40.0), [nans(3, 4)]
    yield "repeat", lambda x: ops.repeat(x, 2), [f(2, 3)]
    yield "repeat.axis", lambda x: ops.repeat(x, 3, axis=1), [f(2, 3)]
    yield "repeat.list", lambda x: ops.repeat(x, [1, 2], axis=0), [f(2, 3)]
    yield "reshape", lambda x: ops.reshape(x, (3, 4)), [f(2, 6)]
    yield "reshape.unknown", lambda x: ops.reshape(x, (-1, 3, 2)), [f(2, 6)]
    yield "tile", lambda x: ops.tile(x, (2, 1, 3)), [f(2, 3)]
    yield "tile.int", lambda x: ops.tile(x, 2), [f(2, 3)]
    yield "scatter", lambda n, v: ops.scatter(n, v, (5,)), [i(3, 1, low=0, high=5), f(3)]
    yield "scatter_update", ops.scatter_update, [f(4, 3), np.array([[0, 1], [2, 0]], "int32"), f(2)]
    for reduction in "add max min mul".split():
        yield "scatter_update." + reduction, lambda x, n, u, r=reduction: ops.scatter_update(x, n, u, reduction=r), \
            [f(4, 3), np.array([[0, 1], [2, 0]], "int32"), f(2)]
    yield "searchsorted", ops.searchsorted, [np.sort(f(6)), f(3)]
    yield "searchsorted.right", lambda x, v: ops.searchsorted(x, v, side="right"), [np.sort(i(6)), i(3)]
    for name in "segment_max segment_min segment_prod segment_sum".split():
        function = getattr(ops, name)
        yield name, lambda d, s, g=function: g(d, s, num_segments=4), [f(5, 2), np.array([2, 0, 1, 2, 0], "int32")]
        yield name + ".sorted", lambda d, s, g=function: g(d, s, num_segments=3, sorted=True), \
            [f(5, 2), np.array([0, 0, 1, 2, 2], "int32")]
        yield name + ".open", lambda d, s, g=function: g(d, s), [f(5), np.array([0, 0, 1, 2, 2], "int32")]
    yield "select", lambda p_, q, x, y: ops.select([p_, q], [x, y], default=7), [b(4), b(4), f(4), f(4)]
    yield "slice", lambda x: ops.slice(x, (1, 0), (2, 2)), [f(4, 3)]
    yield "slice_update", lambda x, u: ops.slice_update(x, (1, 1), u), [f(4, 3), f(2, 2)]
    yield "stop_gradient", ops.stop_gradient, [f(2, 3)]
    yield "take", lambda x: ops.take(x, [1, 0, 1], axis=1), [f(2, 3)]
    yield "take.none", lambda x: ops.take(x, [1, -1]), [f(2, 3)]
    yield "take.tensor", lambda x, n: ops.take(x, n, axis=0), [f(4, 3), i(2, 2, low=0, high=4)]
    yield "take_along_axis", lambda x, n: ops.take_along_axis(x, n, axis=1), [f(3, 4), i(3, 2, low=0, high=4)]
    yield "take_along_axis.none", ops.take_along_axis, [f(3, 4), i(5, low=0, high=4)]
    yield "trace", ops.trace, [f(3, 4)]
    yield "trace.axes", lambda x: ops.trace(x, 1, 1, 2), [f(2, 3, 4)]
    yield "trapezoid", ops.trapezoid, [f(2, 5)]
    yield "tril", lambda x: ops.tril(x, k=1), [f(3, 4)]
    yield "triu", lambda x: ops.triu(x, k=-1), [f(3, 4)]
    yield "unique", ops.unique, [i(8)]
    yield "unique.all", lambda x: ops.unique(x, return_inverse=True, return_counts=True, return_index=True), [i(8)]
    yield "unique.axis", lambda x: ops.unique(x, axis=0), [i(4, 2, low=0, high=2)]
    yield "unique.size", lambda x: ops.unique(x, size=10, fill_value=-1), [i(8)]
    yield "unravel_index", lambda x: ops.unravel_index(x, (3, 4)), [i(4, low=0, high=12)]
    yield "vander", ops.vander, [f(3)]
    yield "vander.n", lambda x: ops.vander(x, N=2, increasing=True), [f(3)]
    yield "view", lambda x: ops.view(x, "int32"), [f(2, 3)]
    yield "view.small", lambda x: ops.view(x, "int16"), [f(2, 4)]
    yield "view_as_complex", ops.view_as_complex, [f(3, 2)]
    yield "view_as_real", ops.view_as_real, [c(3)]
    yield "polar", ops.polar, [p(3), f(3)]
    yield "psnr", lambda x, y: ops.psnr(x, y, 1.0), [p(3, 4), p(3, 4)]
    yield "where", ops.where, [b(2, 3), f(2, 3), f(3)]
    yield "where.one", ops.where, [b(2, 3)]
    yield "where.mixed", lambda k, x: ops.where(k, x, 0.0), [b(2, 3), i(2, 3)]
    yield "round.decimals", lambda x: ops.round(x, 1), [f(2, 3)]
    yield "round.negative", lambda x: ops.round(x, -1), [i(3, low=-100, high=100)]
    yield "squareplus.b", lambda x: ops.squareplus(x, b=2), [f(3)]
    yield "gelu.exact", lambda x: ops.gelu(x, approximate=False), [f(2, 3)]
    yield "custom_gradient", lambda x: ops.custom_gradient(lambda v: (v * 2, lambda *a, upstream=None: upstream * 7))(x), [f(3)]
    yield "depth_to_space", lambda x: ops.depth_to_space(x, 2), [f(2, 2, 2, 8)]
    yield "space_to_depth", lambda x: ops.space_to_depth(x, 2), [f(2, 4, 4, 2)]
    yield "is_tensor", lambda x: ops.is_tensor(x), [f(2)]
    yield "dtype", lambda x: ops.dtype(x), [f(2)]
    yield "max.initial", lambda x: ops.max(x, initial=10), [f(2)]

    # Linear algebra.
    for name in "det inv cholesky eigh qr svd slogdet logdet eig pinv matrix_rank lu_factor".split():
        yield name, getattr(ops, name), [spd(3)]
        yield name + ".batch", getattr(ops, name), [spd(3, (2,))]
    yield "cholesky.upper", lambda x: ops.cholesky(x, upper=True), [spd(3)]
    yield "cholesky_inverse", ops.cholesky_inverse, [np.linalg.cholesky(spd(3))]
    yield "qr.complete", lambda x: ops.qr(x, mode="complete"), [f(4, 3)]
    yield "svd.values", lambda x: ops.svd(x, compute_uv=False), [f(4, 3)]
    yield "svd.thin", lambda x: ops.svd(x, full_matrices=False), [f(4, 3)]
    yield "solve", ops.solve, [spd(3), f(3, 2)]
    yield "solve.vector", ops.solve, [spd(3), f(3)]
    yield "solve_triangular", lambda a, b_: ops.solve_triangular(a, b_, lower=True), [np.tril(spd(3)), f(3, 2)]
    yield "lstsq", ops.lstsq, [f(4, 3), f(4, 2)]

    # Neural networks.
    for padding in ("valid", "same"):
        for stride in (1, 2):
            tag = f".{padding}.{stride}"
            yield "conv.1d" + tag, lambda x, k, q=padding, s=stride: ops.conv(x, k, s, q), [f(2, 8, 3), f(3, 3, 4)]
            yield "conv.2d" + tag, lambda x, k, q=padding, s=stride: ops.conv(x, k, s, q), [f(2, 7, 8, 3), f(3, 3, 3, 4)]
            yield "conv.3d" + tag, lambda x, k, q=padding, s=stride: ops.conv(x, k, s, q), [f(2, 5, 5, 5, 2), f(3, 3, 3, 2, 3)]
            yield "conv_transpose.1d" + tag, lambda x, k, q=padding, s=stride: ops.conv_transpose(x, k, s, q), \
                [f(2, 4, 3), f(3, 4, 3)]
            yield "conv_transpose.2d" + tag, lambda x, k, q=padding, s=stride: ops.conv_transpose(x, k, s, q), \
                [f(2, 4, 5, 3), f(3, 3, 4, 3)]
            yield "conv_transpose.3d" + tag, lambda x, k, q=padding, s=stride: ops.conv_transpose(x, k, s, q), \
                [f(1, 3, 3, 3, 2), f(3, 3, 3, 2, 2)]
            yield "depthwise_conv.2d" + tag, lambda x, k, q=padding, s=stride: ops.depthwise_conv(x, k, s, q), \
                [f(2, 7, 8, 3), f(3, 3, 3, 2)]
            yield "depthwise_conv.1d" + tag, lambda x, k, q=padding, s=stride: ops.depthwise_conv(x, k, s, q), \
                [f(2, 7, 3), f(3, 3, 2)]
            yield "separable_conv" + tag, lambda x, k, l, q=padding, s=stride: ops.separable_conv(x, k, l, s, q), \
                [f(2, 7, 8, 3), f(3, 3, 3, 2), f(1, 1, 6, 4)]
            for pool in ("max_pool", "average_pool"):
                yield f"{pool}.1d" + tag, lambda x, q=padding, s=stride, g=getattr(ops, pool): g(x, 2, s, q), [f(2, 7, 3)]
                yield f"{pool}.2d" + tag, lambda x, q=padding, s=stride, g=getattr(ops, pool): g(x, (3, 2), s, q), \
                    [f(2, 7, 8, 3)]
                yield f"{pool}.3d" + tag, lambda x, q=padding, s=stride, g=getattr(ops, pool): g(x, 2, s, q), \
                    [f(2, 5, 5, 5, 3)]
    yield "conv.groups", ops.conv, [f(2, 7, 8, 4), f(3, 3, 2, 6)]
    yield "conv.dilation", lambda x, k: ops.conv(x, k, dilation_rate=2), [f(2, 9, 9, 3), f(3, 3, 3, 4)]
    yield "conv.dilation.same", lambda x, k: ops.conv(x, k, padding="same", dilation_rate=(2, 3)), \
        [f(2, 9, 9, 3), f(3, 3, 3, 4)]
    yield "conv.first", lambda x, k: ops.conv(x, k, data_format="channels_first"), [f(2, 3, 7, 8), f(3, 3, 3, 4)]
    yield "conv_transpose.dilation", lambda x, k: ops.conv_transpose(x, k, dilation_rate=2), [f(2, 4, 5, 3), f(3, 3, 4, 3)]
    yield "conv_transpose.out", lambda x, k: ops.conv_transpose(x, k, 2, "same", output_padding=1), \
        [f(2, 4, 5, 3), f(3, 3, 4, 3)]
    yield "adaptive_average_pool", lambda x: ops.adaptive_average_pool(x, (3, 2)), [f(2, 7, 8, 3)]
    yield "adaptive_max_pool", lambda x: ops.adaptive_max_pool(x, (3, 2)), [f(2, 7, 8, 3)]
    yield "fold", lambda x: ops.fold(x, (4, 4), 2), [f(2, 12, 9)]
    yield "unfold", lambda x: ops.unfold(x, 2), [f(2, 3, 4, 4)]
    yield "binary_crossentropy", ops.binary_crossentropy, [p(3), p(3)]
    yield "binary_crossentropy.logits", lambda t, x: ops.binary_crossentropy(t, x, from_logits=True), [p(3), f(3)]
    yield "categorical_crossentropy", ops.categorical_crossentropy, [p(3, 4), p(3, 4)]
    yield "categorical_crossentropy.logits", lambda t, x: ops.categorical_crossentropy(t, x, from_logits=True), \
        [p(3, 4), f(3, 4)]
    yield "sparse_categorical_crossentropy", ops.sparse_categorical_crossentropy, [i(3, low=0, high=4), p(3, 4)]
    yield "sparse_categorical_crossentropy.logits", \
        lambda t, x: ops.sparse_categorical_crossentropy(t, x, from_logits=True), [i(3, low=0, high=4), f(3, 4)]
    yield "ctc_loss", ops.ctc_loss, [i(2, 3, low=1, high=5), f(2, 8, 5), np.array([3, 2], "int32"), np.array([8, 7], "int32")]
    yield "ctc_decode", ops.ctc_decode, [f(2, 8, 5), np.array([8, 7], "int32")]
    yield "ctc_decode.beam", lambda x, n: ops.ctc_decode(x, n, strategy="beam_search", beam_width=8, top_paths=2), \
        [f(2, 8, 5), np.array([8, 7], "int32")]
    yield "dot_product_attention", ops.dot_product_attention, [f(2, 5, 2, 4), f(2, 6, 2, 4), f(2, 6, 2, 4)]
    yield "dot_product_attention.causal", lambda q, k, v: ops.dot_product_attention(q, k, v, is_causal=True), \
        [f(2, 5, 2, 4), f(2, 5, 2, 4), f(2, 5, 2, 4)]
    yield from _images()
    yield from _randoms()


def _images():
    image = ops.image
    for name in sorted(n for n in dir(image) if not n.startswith("_") and callable(getattr(image, n))):
        function = getattr(image, name)
        x = p(2, 8, 9, 3)
        if name == "resize":
            for method in "bilinear nearest bicubic lanczos3 lanczos5 area".split():
                for antialias in (False, True):
                    yield f"image.resize.{method}.{antialias}", \
                        lambda v, m=method, a=antialias: image.resize(v, (5, 13), interpolation=m, antialias=a), [x]
            yield "image.resize.crop", lambda v: image.resize(v, (5, 5), crop_to_aspect_ratio=True), [x]
            yield "image.resize.pad", lambda v: image.resize(v, (5, 5), pad_to_aspect_ratio=True), [x]
        elif name == "affine_transform":
            transform = np.array([[1.1, 0.1, 0.5, -0.1, 0.9, 0.2, 0, 0]] * 2, "float32")
            for mode in "constant nearest reflect wrap".split():
                yield f"image.affine.{mode}", lambda v, t, m=mode: function(v, t, fill_mode=m), [x, transform]
            yield "image.affine.nearest", lambda v, t: image.affine_transform(v, t, interpolation="nearest"), [x, transform]
        elif name == "extract_patches":
            yield "image.extract_patches", lambda v: image.extract_patches(v, (3, 3), strides=2), [x]
            yield "image.extract_patches.same", lambda v: image.extract_patches(v, 2, padding="same"), [x]
        elif name == "extract_patches_3d":
            yield "image.extract_patches_3d", lambda v: image.extract_patches_3d(v, (2, 2, 2)), [p(2, 4, 4, 4, 2)]
        elif name == "map_coordinates":
            for mode in "constant nearest wrap mirror reflect".split():
                for order in (0, 1):
                    yield f"image.map_coordinates.{mode}.{order}", \
                        lambda v, n, m=mode, o=order: image.map_coordinates(v, n, order=o, fill_mode=m), \
                        [f(5, 6), f(2, 4, low=-2, high=7)]
        elif name == "pad_images":
            yield "image.pad_images", lambda v: image.pad_images(v, 1, 2, 12, 14), [x]
        elif name == "crop_images":
            yield "image.crop_images", lambda v: image.crop_images(v, 1, 2, target_height=4, target_width=5), [x]
        elif name == "perspective_transform":
            start = np.array([[[0, 0], [8, 0], [0, 7], [8, 7]]] * 2, "float32")
            yield "image.perspective_transform", image.perspective_transform, [x, start, start + f(2, 4, 2, low=0, high=1)]
        elif name == "gaussian_blur":
            yield "image.gaussian_blur", lambda v: image.gaussian_blur(v, (3, 3), (1.0, 1.2)), [x]
        elif name == "elastic_transform":
            yield "image.elastic_transform", lambda v: image.elastic_transform(v, seed=3), [x]
        elif name == "scale_and_translate":
            yield "image.scale_and_translate", lambda v: image.scale_and_translate(
                v, (2, 6, 7, 3), np.array([0.7, 0.8], "float32"), np.array([0.1, 0.2], "float32"), (1, 2), "linear"), [x]
        else:
            yield "image." + name, function, [x]


def _randoms():
    random = keras.random
    yield "random.normal", lambda: random.normal((2, 3), seed=1), []
    yield "random.normal.half", lambda: random.normal((2, 3), 1.0, 2.0, dtype="float16", seed=1), []
    yield "random.uniform", lambda: random.uniform((2, 3), seed=1), []
    yield "random.truncated_normal", lambda: random.truncated_normal((2, 3), seed=1), []
    yield "random.randint", lambda: random.randint((5,), 0, 10, seed=1), []
    yield "random.randint.uint8", lambda: random.randint((5,), 0, 10, dtype="uint8", seed=1), []
    yield "random.gamma", lambda: random.gamma((4,), 2.0, seed=1), []
    yield "random.beta", lambda: random.beta((4,), 2.0, 3.0, seed=1), []
    yield "random.binomial", lambda: random.binomial((4,), 10.0, 0.4, seed=1), []
    yield "random.categorical", lambda x: random.categorical(x, 5, seed=1), [f(2, 4)]
    yield "random.dropout", lambda x: random.dropout(x, 0.5, seed=1), [f(3, 4)]
    yield "random.shuffle", lambda x: random.shuffle(x, seed=1), [f(5, 2)]
    yield "random.shuffle.axis", lambda x: random.shuffle(x, axis=1, seed=1), [f(2, 5)]
    yield "random.generator", lambda: [random.uniform((2,), seed=g) for g in [random.SeedGenerator(5)] * 3], []


def _leaves(value):
    return [v for v in keras.tree.flatten(value)]


def _statics(value):
    return [(t.shape.as_list() if t.shape.rank is not None else None, t.dtype.name) if hasattr(t, "shape") and
            hasattr(t.shape, "rank") else str(type(t).__name__) for t in _leaves(value)]


def _symbolic(function, arrays):
    inputs = [keras.KerasTensor((None,) + a.shape[1:] if a.ndim else (), dtype=str(a.dtype)) for a in arrays]
    return function(*inputs)


def _in_function(function, arrays):
    signature = [tf.TensorSpec([None] * a.ndim, a.dtype) for a in arrays]
    traced = tf.function(function, input_signature=signature, autograph=False)
    concrete = traced.get_concrete_function()
    return [_statics(concrete.structured_outputs), traced(*[tf.constant(a) for a in arrays])]


def _static_function(function, arrays):
    signature = [tf.TensorSpec([None] + list(a.shape[1:]) if a.ndim else [], a.dtype) for a in arrays]
    traced = tf.function(function, input_signature=signature, autograph=False)
    return _statics(traced.get_concrete_function().structured_outputs)


def _gradient(function, arrays):
    inputs = [tf.constant(a) for a in arrays]
    floats = [t for t in inputs if t.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(floats)
        parts = [tf.reduce_sum(tf.cast(t, tf.float32) * 1.5) for t in _leaves(function(*inputs))
                 if hasattr(t, "dtype") and getattr(t.dtype, "is_floating", False) and not isinstance(t, tf.SparseTensor)]
        total = tf.add_n(parts) if parts else None
    return None if total is None else tape.gradient(total, floats)


def cases():
    numbers = {}
    for label, function, arrays in _listed():
        numbers[label] = number = numbers.get(label, -1) + 1
        name = f"ops.{label}#{number}"
        yield name + ".eager", lambda g=function, a=arrays: g(*[tf.constant(v) for v in a])
        if arrays:
            yield name + ".symbolic", lambda g=function, a=arrays: _symbolic(g, a)
            yield name + ".function", lambda g=function, a=arrays: _in_function(g, a)
            yield name + ".static", lambda g=function, a=arrays: _static_function(g, a)
            if any(a.dtype.kind == "f" for a in arrays):
                yield name + ".gradient", lambda g=function, a=arrays: _gradient(g, a)
