"""Cases for compare_keras.py: functions of keras.ops with every type and every pair of types, eagerly and symbolically,
and with empty arrays, scalars and Python numbers."""

import keras
import numpy as np
import tensorflow as tf
from keras import ops

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
         "float64", "complex64", "complex128"]
PAIRED = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "float64"]

_BASE = np.array([[1, 3, 2], [4, 0, 1], [2, 2, 5]])


def _array(dtype, shape=(3, 3)):
    return tf.cast(tf.constant(np.resize(_BASE, shape), "int32"), dtype)


UNARY = {name: getattr(ops, name) for name in """abs all amax amin angle any arccos arccosh arcsin arcsinh arctan arctanh argmax
argmin argsort average bartlett bitwise_invert bitwise_not blackman cbrt ceil celu conj copy corrcoef cos cosh count_nonzero
cumprod cumsum deg2rad det diag diagflat diagonal diff elu empty_like erf erfc erfinv exp exp2 expm1 fabs flip fliplr flipud
floor gelu glu hamming hanning hard_shrink hard_sigmoid hard_silu hard_tanh i0 imag inv isfinite isinf isnan isneginf isposinf
isreal leaky_relu log log10 log1p log2 log_sigmoid log_softmax logical_not logsumexp max mean median min nan_to_num nanargmax
nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar ndim negative nonzero norm normalize
ones_like prod ptp rad2deg ravel real reciprocal relu relu6 round rsqrt selu sigmoid sign signbit silu sin sinc sinh size
soft_shrink softmax softplus softsign sort sparse_plus sparse_sigmoid sparsemax sqrt square squareplus squeeze std sum tan tanh
tanh_shrink trace transpose trapezoid tril triu trunc unique var view zeros_like cholesky eigh eig lu_factor pinv matrix_rank
qr svd slogdet logdet rms_normalization layer_normalization stop_gradient vander unstack shape""".split()}
UNARY.update({
    "argpartition": lambda x: ops.sort(ops.argpartition(x, 1)[..., :2]),
    "array_split": lambda x: ops.array_split(x, 2), "bincount": lambda x: ops.bincount(ops.reshape(x, (-1,)), minlength=7),
    "clip": lambda x: ops.clip(x, 1, 2), "clip.float": lambda x: ops.clip(x, 0.5, 2.5),
    "digitize": lambda x: ops.digitize(x, [1, 3]), "expand_dims": lambda x: ops.expand_dims(x, 1),
    "full_like": lambda x: ops.full_like(x, 2), "get_item": lambda x: x[1:, 0], "hstack": lambda x: ops.hstack([x, x]),
    "kaiser": lambda x: ops.kaiser(x, 2.0), "max.initial": lambda x: ops.max(x, axis=0, initial=3),
    "min.initial": lambda x: ops.min(x, axis=0, initial=1), "moments": lambda x: ops.moments(x, (0,)),
    "moveaxis": lambda x: ops.moveaxis(x, 0, 1), "multi_hot": lambda x: ops.multi_hot(x, 6),
    "one_hot": lambda x: ops.one_hot(x, 6), "pad": lambda x: ops.pad(x, ((1, 0), (0, 2))),
    "pad.reflect": lambda x: ops.pad(x, 1, mode="reflect"), "pad.symmetric": lambda x: ops.pad(x, 1, mode="symmetric"),
    "pad.value": lambda x: ops.pad(x, 1, constant_values=7), "quantile": lambda x: ops.quantile(x, 0.4),
    "quantile.lower": lambda x: ops.quantile(x, [0.1, 0.6], axis=0, method="lower"),
    "percentile": lambda x: ops.percentile(x, 40.0, axis=1), "nanquantile": lambda x: ops.nanquantile(x, 0.4, axis=0),
    "repeat": lambda x: ops.repeat(x, 2, axis=1), "reshape": lambda x: ops.reshape(x, (-1, 1)),
    "roll": lambda x: ops.roll(x, 1, axis=1), "rot90": lambda x: ops.rot90(x), "round.1": lambda x: ops.round(x, 1),
    "round.-1": lambda x: ops.round(x, -1), "saturate_cast": lambda x: ops.saturate_cast(x, "uint8"),
    "cast.int8": lambda x: ops.cast(x, "int8"), "cast.bool": lambda x: ops.cast(x, "bool"),
    "cast.bfloat16": lambda x: ops.cast(x, "bfloat16"), "cast.float8": lambda x: ops.cast(ops.cast(x, "float8_e4m3fn"), "float32"),
    "scatter_update": lambda x: ops.scatter_update(x, [[0, 1], [2, 2]], ops.cast([1, 0], x.dtype)),
    "scatter_update.add": lambda x: ops.scatter_update(x, [[0, 1], [2, 2]], ops.cast([1, 0], x.dtype), reduction="add"),
    "scatter_update.max": lambda x: ops.scatter_update(x, [[0, 1], [2, 2]], ops.cast([1, 0], x.dtype), reduction="max"),
    "scatter_update.mul": lambda x: ops.scatter_update(x, [[0, 1], [2, 2]], ops.cast([1, 0], x.dtype), reduction="mul"),
    "searchsorted": lambda x: ops.searchsorted(ops.sort(ops.reshape(x, (-1,))), x[0]),
    "segment_sum": lambda x: ops.segment_sum(x, [0, 0, 1], 3), "segment_max": lambda x: ops.segment_max(x, [0, 0, 1], 3),
    "segment_prod": lambda x: ops.segment_prod(x, [0, 0, 1], 3), "segment_min": lambda x: ops.segment_min(x, [0, 2, 1]),
    "slice": lambda x: ops.slice(x, [1, 0], [2, 2]), "slice_update": lambda x: ops.slice_update(x, [1, 1], x[:2, :2]),
    "split": lambda x: ops.split(x, [1], axis=1), "stack": lambda x: ops.stack([x, x], axis=1),
    "sum.axis": lambda x: ops.sum(x, axis=(0, 1), keepdims=True), "take": lambda x: ops.take(x, [0, 2], axis=1),
    "take_along_axis": lambda x: ops.take_along_axis(x, ops.cast([[0], [1], [2]], "int32"), axis=1),
    "threshold": lambda x: ops.threshold(x, 1, 0), "tile": lambda x: ops.tile(x, (2, 1)), "top_k": lambda x: ops.top_k(x, 2),
    "unravel_index": lambda x: ops.unravel_index(x, (2, 4)), "var.axis": lambda x: ops.var(x, axis=1, keepdims=True),
    "view.int32": lambda x: ops.view(x, "int32"), "view.uint8": lambda x: ops.view(x, "uint8"),
    "vstack": lambda x: ops.vstack([x, x]), "where": lambda x: ops.where(x > ops.cast(1, x.dtype), x, 0),
    "argmax.axis": lambda x: ops.argmax(x, axis=1, keepdims=True), "average.weights": lambda x: ops.average(x, axis=0, weights=x),
    "histogram": lambda x: ops.histogram(x, bins=4), "isin": lambda x: ops.isin(x, x[0]), "nonzero.sum": lambda x: ops.sum(ops.nonzero(x)[0]),
    "norm.1": lambda x: ops.norm(x, ord=1), "norm.fro": lambda x: ops.norm(x, ord="fro"), "norm.axis": lambda x: ops.norm(x, ord=3, axis=1),
    "unique.all": lambda x: ops.unique(x, return_index=True, return_inverse=True, return_counts=True),
    "broadcast_to": lambda x: ops.broadcast_to(x, (2, 3, 3)), "associative_scan": lambda x: ops.associative_scan(lambda a, b: a + b, x),
    "cumsum.dtype": lambda x: ops.cumsum(x, axis=0, dtype="float32"), "prod.dtype": lambda x: ops.prod(x, dtype="int64"),
    "mean.axis": lambda x: ops.mean(x, axis=-1), "einsum": lambda x: ops.einsum("ij->ji", x), "rearrange": lambda x: ops.rearrange(x, "a b -> b a"),
    "space_to_depth": lambda x: ops.space_to_depth(ops.reshape(ops.tile(x, (4, 1)), (1, 6, 6, 1)), 2),
    "scalar": lambda x: x * 2, "scalar.float": lambda x: x * 2.5, "sub.scalar": lambda x: 5 - x, "pow.scalar": lambda x: x ** 2,
    "fmax.scalar": lambda x: ops.fmax(x, 1.5), "mod.scalar": lambda x: x % 2, "floordiv.scalar": lambda x: x // 2,
    "div.scalar": lambda x: x / 2, "neg": lambda x: -x, "invert": lambda x: ~x, "abs.operator": abs, "compare": lambda x: x < 2,
    "maxpool": lambda x: ops.max_pool(ops.reshape(x, (1, 3, 3, 1)), 2), "avgpool": lambda x: ops.average_pool(ops.reshape(x, (1, 3, 3, 1)), 2),
    "conv": lambda x: ops.conv(ops.reshape(x, (1, 3, 3, 1)), ops.reshape(x, (3, 3, 1, 1))),
    "in_top_k": lambda x: ops.in_top_k(ops.cast([0, 1, 2], "int32"), x, 1),
    "image.resize": lambda x: ops.image.resize(ops.reshape(x, (3, 3, 1)), (5, 2)), "image.nearest": lambda x: ops.image.resize(
        ops.reshape(x, (1, 3, 3, 1)), (5, 2), interpolation="nearest"), "image.hsv": lambda x: ops.image.rgb_to_hsv(x),
    "image.gray": lambda x: ops.image.rgb_to_grayscale(ops.reshape(x, (1, 1, 3, 3))),
})
BINARY = {name: getattr(ops, name) for name in """add subtract multiply divide divide_no_nan floor_divide maximum minimum fmax fmin
fmod mod power arctan2 equal not_equal greater less logical_and logical_or logical_xor logaddexp logaddexp2 hypot heaviside
nextafter isclose allclose gcd lcm ldexp bitwise_and bitwise_or bitwise_xor left_shift right_shift matmul dot inner outer kron vdot
tensordot cross append correlate isin solve where_ digitize_ searchsorted_ cdist concatenate_ stack_ trapezoid_ einsum_ hstack_
segment_ take_ polar linspace_ full_like_ average_ clip_ repeat_""".split() if hasattr(ops, name)}
BINARY.update({
    "where": lambda x, y: ops.where(ops.cast(_BASE > 1, "bool"), x, y), "concatenate": lambda x, y: ops.concatenate([x, y], 1),
    "correlate": lambda x, y: ops.correlate(x[0], y[0][:2], mode="full"), "vdot": lambda x, y: ops.vdot(x, y),
    "stack": lambda x, y: ops.stack([x, y]), "einsum": lambda x, y: ops.einsum("ij,jk->ik", x, y),
    "hstack": lambda x, y: ops.hstack([x, y]), "trapezoid": lambda x, y: ops.trapezoid(x, y),
    "average": lambda x, y: ops.average(x, axis=1, weights=y), "clip": lambda x, y: ops.clip(x, y, y + y),
    "searchsorted": lambda x, y: ops.searchsorted(ops.sort(x[0]), y[0]), "digitize": lambda x, y: ops.digitize(x, ops.sort(y[0])),
    "select": lambda x, y: ops.select([ops.cast(_BASE > 1, "bool")], [x], y), "full_like": lambda x, y: ops.full_like(x, y[0, 0]),
    "scatter_update": lambda x, y: ops.scatter_update(x, [[0, 1]], y[0, :1]), "multiply.row": lambda x, y: x * y[0],
    "linspace": lambda x, y: ops.linspace(x[0], y[1], num=4), "logspace": lambda x, y: ops.logspace(x[0], y[1], num=3),
    "arange": lambda x, y: ops.arange(x[1, 1], y[2, 2]), "meshgrid": lambda x, y: ops.meshgrid(x[0], y[1]),
    "maximum.row": lambda x, y: ops.maximum(x[:1], y[:, :1]), "bincount": lambda x, y: ops.bincount(x[0], weights=y[0]),
    "take": lambda x, y: ops.take(x, y[1], axis=0), "repeat": lambda x, y: ops.repeat(x[0], y[1]),
})


def _both(function, *arrays):
    """The value, and what the function is said to give for KerasTensors of the same types."""
    try:
        symbolic = function(*[keras.KerasTensor(tuple(a.shape), dtype=keras.backend.standardize_dtype(a.dtype)) for a in arrays])
    except Exception as error:  # noqa: BLE001 the error is the result
        symbolic = ["error", type(error).__name__, str(error)[:300]]
    try:
        value = function(*arrays)
    except Exception as error:  # noqa: BLE001 the error is the result
        value = ["error", type(error).__name__, str(error)[:300]]
    return [value, symbolic]


def _empty(function, dtype):
    return function(tf.zeros((0, 3), dtype))


def cases():
    for name, function in UNARY.items():
        for dtype in TYPES:
            yield f"dtype.{name}.{dtype}", lambda g=function, d=dtype: _both(g, _array(d))
        yield f"dtype.{name}.vector", lambda g=function: g(_array("float32", (4,)))
        yield f"dtype.{name}.cube", lambda g=function: g(_array("float32", (2, 3, 3)))
        yield f"dtype.{name}.empty", lambda g=function: _empty(g, "float32")
        yield f"dtype.{name}.number", lambda g=function: g(3)
        yield f"dtype.{name}.list", lambda g=function: g([[1.5, 2], [3, 4]])
        yield f"dtype.{name}.numpy", lambda g=function: g(np.resize(_BASE, (3, 3)))
        yield f"dtype.{name}.variable", lambda g=function: g(keras.Variable(np.resize(_BASE, (3, 3)), dtype="float32"))
    for name, function in BINARY.items():
        for left in PAIRED:
            for right in PAIRED:
                yield f"dtype.{name}.{left}.{right}", \
                    lambda g=function, x=left, y=right: _both(g, _array(x), _array(y))
        for dtype in ("complex64", "complex128", "uint64"):
            yield f"dtype.{name}.{dtype}", lambda g=function, d=dtype: _both(g, _array(d), _array(d))
        yield f"dtype.{name}.list", lambda g=function: g([[1.5, 2], [3, 4]], [[1, 2], [3, 4]])
        yield f"dtype.{name}.numpy", lambda g=function: g(np.resize(_BASE, (3, 3)), np.resize(_BASE, (3, 3)) * 1.5)
        yield f"dtype.{name}.number", lambda g=function: g(_array("float32"), 2)
        yield f"dtype.{name}.empty", lambda g=function: g(tf.zeros((0, 3)), tf.zeros((0, 3)))
