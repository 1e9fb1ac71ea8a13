"""Random calls of public functions: `cases(rng)` yields (name, arguments, keywords) for one round.

Arguments are numpy arrays, Python values and strings naming types; arrays become tensors in half of the rounds. Some
calls are wrong on purpose: both sides must refuse them with the same class of error.
"""

import numpy as np

UNARY = ("abs acos acosh angle asin asinh atan atanh ceil conj cos cosh digamma erf erfc erfinv exp expm1 floor imag "
         "is_finite is_inf is_nan lgamma log log1p log_sigmoid ndtri negative real reciprocal reciprocal_no_nan rint "
         "round rsqrt sigmoid sign sin sinh softplus softsign sqrt square tan tanh bessel_i0 bessel_i0e bessel_i1 "
         "bessel_i1e erfcinv").split()
BINARY = ("add subtract multiply divide divide_no_nan floordiv floormod maximum minimum pow squared_difference truediv "
          "atan2 xdivy xlogy xlog1py multiply_no_nan").split()
COMPARE = "equal not_equal less less_equal greater greater_equal".split()
REDUCE = ("reduce_sum reduce_mean reduce_prod reduce_max reduce_min reduce_variance reduce_std reduce_logsumexp "
          "reduce_euclidean_norm count_nonzero").split()
ACTIVATIONS = ("relu relu6 elu selu gelu silu leaky_relu softmax log_softmax crelu tanh sigmoid softplus "
               "softsign").split()


class Maker:
    """Random arguments."""

    def __init__(self, rng):
        self.rng = rng

    def shape(self, low=0, high=3):
        return tuple(self.rng.integers(1, 4, size=self.rng.integers(low, high + 1)))

    def f(self, *shape, kind=None):
        kind = kind or self.rng.choice(["float32", "float32", "float64"])
        return self.rng.normal(size=shape).astype(kind)

    def unit(self, *shape, kind="float32"):
        return self.rng.uniform(0.05, 0.95, size=shape).astype(kind)

    def i(self, *shape, low=0, high=5, kind="int32"):
        return self.rng.integers(low, high, size=shape).astype(kind)

    def b(self, *shape):
        return self.rng.integers(0, 2, size=shape).astype(bool)

    def s(self, *shape):
        words = np.array(["", "a", "Hello", "weir und Wehr", "tensor flow", "x-1", "3.5", "été", "日本"], dtype=object)
        return words[self.rng.integers(0, len(words), size=shape)]

    def pick(self, *values):
        return values[self.rng.integers(len(values))]

    def number(self):
        return self.pick(1, 2.5, -3, 0.0)


def cases(rng):  # pylint: disable=too-many-statements
    """One round of calls."""
    m = Maker(rng)
    shape = m.shape()
    for name in UNARY:
        value = m.pick(m.f(*shape), m.f(*shape), m.unit(*shape), m.i(*shape), m.number())
        if name in ("angle", "real", "imag", "conj", "abs", "sign") and rng.random() < 0.3:
            value = (m.f(*shape) + 1j * m.f(*shape)).astype("complex64")
        yield "math." + name, [value], {}
    for name in BINARY + COMPARE:
        kind = m.pick("float32", "float64", "int32")
        left = m.f(*shape, kind=kind) if kind != "int32" else m.i(*shape, low=1)
        right_shape = m.pick(shape, shape[1:], (1,) * len(shape), (5,))
        right = m.f(*right_shape, kind=kind) if kind != "int32" else m.i(*right_shape, low=1)
        yield "math." + name, [left, m.pick(right, right, right, m.number())], {}
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield "math." + name, [m.b(2, 3), m.b(3)], {}
    yield "math.logical_not", [m.b(2, 3)], {}
    for name in REDUCE:
        full = m.shape(1, 3)
        axis = m.pick(None, 0, -1, [0], (0, -1) if len(full) > 1 else 0, 7)
        yield "math." + name, [m.pick(m.f(*full), m.f(*full), m.i(*full))], dict(axis=axis, keepdims=m.pick(True, False))
    for name in ("reduce_all", "reduce_any"):
        yield "math." + name, [m.b(2, 3)], dict(axis=m.pick(None, 0, 1, [0, 1]), keepdims=m.pick(True, False))
    for name in ACTIVATIONS:
        yield "nn." + name, [m.f(*m.shape(1, 3))], {}
    yield "nn.softmax", [m.f(2, 3, 4)], dict(axis=m.pick(0, 1, 2, -2, 5))
    yield "nn.gelu", [m.f(2, 3)], dict(approximate=True)
    yield from _array(m, rng)
    yield from _math(m)
    yield from _nn(m)
    yield from _linalg(m)
    yield from _strings(m)
    yield from _random(m)
    yield from _more(m)


def _array(m, rng):
    x = m.f(2, 3, 4)
    yield "reshape", [x, m.pick([6, 4], [-1], [3, -1], [5, 5], 24)], {}
    yield "transpose", [x], m.pick({}, dict(perm=[2, 0, 1]), dict(perm=[0, 1]))
    yield "concat", [[m.f(2, 3, kind="float32"), m.f(2, 3, kind="float32")]], dict(axis=m.pick(0, 1, -1, 2))
    yield "concat", [[m.f(2, 3)]], dict(axis=0)
    yield "stack", [[m.f(3, kind="float32"), m.f(3, kind="float32")]], dict(axis=m.pick(0, 1, -1, 3))
    yield "stack", [[1, 2.5, 3]], {}
    yield "unstack", [x], dict(axis=m.pick(0, 1, -1, 3))
    yield "split", [m.f(6, 4)], dict(num_or_size_splits=m.pick(2, 3, [1, 2, 3], [1, -1, 2], 4), axis=m.pick(0, 1))
    yield "expand_dims", [x], dict(axis=m.pick(0, 1, -1, 3, 9))
    yield "squeeze", [m.f(1, 3, 1)], m.pick({}, dict(axis=0), dict(axis=[0, 2]), dict(axis=1), dict(axis=-1))
    yield "gather", [m.f(4, 3, 2), m.i(2, 2, high=3)], m.pick({}, dict(axis=1), dict(axis=0), dict(axis=-2))
    yield "gather", [m.f(2, 3, 2), m.i(2, 2, high=3)], dict(batch_dims=1, axis=1)
    yield "gather", [m.f(4, 3), m.pick(1, [0, 2], [9])], {}
    yield "gather_nd", [m.f(3, 3, 2), m.i(4, 2, high=3)], {}
    yield "gather_nd", [m.f(2, 3, 2), m.i(2, 4, 1, high=3)], dict(batch_dims=1)
    yield "boolean_mask", [m.f(2, 3), m.pick(m.b(2), m.b(2, 3), m.b(5), True)], {}
    yield "boolean_mask", [m.f(2, 3), m.b(3)], dict(axis=1)
    yield "where", [m.b(2, 3), m.f(2, 3, kind="float32"), m.pick(m.f(3, kind="float32"), 0.0)], {}
    yield "where", [m.b(2, 3)], {}
    yield "where", [m.b(2), 1.0], {}
    for name in ("zeros", "ones"):
        yield name, [m.pick([2, 3], 4, [], (1, 2), [-1])], m.pick({}, dict(dtype="int32"), dict(dtype="bool"))
    yield "zeros", [[2]], dict(dtype="string")
    for name in ("zeros_like", "ones_like"):
        yield name, [m.pick(x, m.i(3), [1, 2], 2.5, m.b(2))], m.pick({}, dict(dtype="float64"))
    yield "zeros_like", [m.s(3)], {}
    yield "fill", [m.pick([2, 3], [0]), m.pick(1, 2.5, "a")], {}
    yield "range", [m.pick(5, 3.5, np.float64(2), 0)], {}
    yield "range", [m.pick(1, 10), m.pick(4, 7.5), m.pick(2, -3, 0.5)], m.pick({}, dict(dtype="float32"))
    yield "linspace", [m.pick(0.0, 1, m.f(3, kind="float32")), m.pick(2.0, 9, 5.0), m.pick(1, 4, 5, 0)], {}
    yield "linspace", [m.f(2, 3, kind="float64"), m.f(2, 3, kind="float64"), 4], dict(axis=m.pick(0, 1, -1))
    yield "tile", [m.f(2, 3), m.pick([2, 1], [0, 2], [1])], {}
    yield "broadcast_to", [m.f(3), m.pick([2, 3], [3], [4])], {}
    yield "pad", [m.f(2, 3), [[1, 0], [2, 1]]], m.pick({}, dict(mode="REFLECT"), dict(mode="SYMMETRIC"),
                                                       dict(constant_values=2.5), dict(mode="X"))
    yield "repeat", [m.f(3, 2), m.pick(2, [1, 0, 3], [2], [1, 2])], m.pick({}, dict(axis=0), dict(axis=1), dict(axis=-2))
    yield "repeat", [m.i(3), m.pick([1, 2, 3], 2)], m.pick({}, dict(axis=0))
    yield "meshgrid", [m.f(3), m.f(2)], m.pick({}, dict(indexing="ij"), dict(indexing="zz"))
    yield "one_hot", [m.i(2, 2), 4], m.pick({}, dict(axis=0), dict(dtype="int32"), dict(on_value=5, off_value=1),
                                            dict(on_value=2.0, dtype="int32"), dict(on_value=True, off_value=False))
    yield "slice", [x, [0, 1, 0], m.pick([1, 2, -1], [2, 3, 4], [1, 1, 1])], {}
    yield "strided_slice", [x, [0, 0, 1], [2, 3, 4]], m.pick({}, dict(strides=[1, 2, 1]), dict(begin_mask=1))
    yield "reverse", [x, m.pick([0], [1, 2], [-1], [5])], {}
    yield "reverse_sequence", [m.f(3, 4), m.i(3, high=4)], dict(seq_axis=1, batch_axis=0)
    yield "unique", [m.i(6)], {}
    yield "unique_with_counts", [m.i(6)], dict(out_idx=m.pick("int32", "int64"))
    yield "searchsorted", [np.sort(m.f(2, 5, kind="float32")), m.f(2, 3, kind="float32")], dict(side=m.pick("left", "right"))
    yield "searchsorted", [np.sort(m.i(5)), m.i(4)], dict(out_type="int64")
    yield "sequence_mask", [m.pick(m.i(3), m.i(2, 2), 2)], m.pick({}, dict(maxlen=4), dict(dtype="float32"))
    for name in ("sort", "argsort"):
        value = m.pick(m.f(2, 5), m.i(2, 5, low=-3), m.i(5, kind="uint8"), m.f(3, 2, 2))
        yield name, [value], dict(axis=m.pick(-1, 0), direction=m.pick("ASCENDING", "DESCENDING"))
    yield "roll", [m.f(3, 4)], dict(shift=m.pick(1, -2), axis=m.pick(0, 1))
    yield "roll", [m.f(3, 4)], dict(shift=[1, 2], axis=[0, 1])
    yield "eye", [3], m.pick({}, dict(num_columns=2), dict(batch_shape=[2]), dict(dtype="int32", num_columns=5))
    yield "broadcast_dynamic_shape", [m.pick([2, 3], [3], [1, 4]), m.pick([1, 3], [2, 1, 3])], {}
    yield "shape", [x], m.pick({}, dict(out_type="int64"))
    yield "size", [x], {}
    yield "rank", [x], {}
    yield "cast", [m.pick(x, m.i(3), m.b(2), 2.7), m.pick("int32", "float64", "bool", "complex64", "uint8")], {}
    yield "saturate_cast", [m.pick(x * 1000, m.i(4, low=-500, high=500)), m.pick("uint8", "int8", "int32", "float16")], {}
    yield "bitcast", [m.f(2, 4, kind="float32")], dict(type=m.pick("int32", "uint8", "float64"))
    yield "complex", [m.f(3, kind="float32"), m.f(3, kind="float32")], {}
    yield "ensure_shape", [m.f(2, 3), m.pick([2, 3], [None, 3], [3, 3], None)], {}
    yield "scatter_nd", [m.i(3, 1), m.f(3, 2), [5, 2]], {}
    for name in ("update", "add", "sub", "max", "min"):
        yield "tensor_scatter_nd_" + name, [m.f(5, kind="float32"), np.array([[0], [2], [4]]), m.f(3, kind="float32")], {}
    yield "space_to_batch", [m.f(1, 4, 4, 1), [2, 2], [[0, 0], [0, 0]]], {}
    yield "batch_to_space", [m.f(4, 2, 2, 1), [2, 2], [[0, 0], [0, 1]]], {}
    yield "required_space_to_batch_paddings", [[5, 7], [2, 3]], {}
    yield "dynamic_partition", [m.f(4, 2), m.i(4, high=2), 2], {}
    yield "dynamic_stitch", [[np.array([0, 2], "int32"), np.array([1], "int32")], [m.f(2, 2, kind="float32"), m.f(1, 2, kind="float32")]], {}
    yield "unravel_index", [m.i(3, high=11), [3, 4]], {}
    yield "identity", [m.pick(x, 3, [1.0, 2.0])], {}
    yield "fingerprint", [m.i(2, 3)], {}
    yield "edit_distance" if False else "size", [[1, 2, 3]], {}
    del rng


def _math(m):
    kind = m.pick("float32", "float64")
    yield "matmul", [m.f(2, 3, kind=kind), m.f(3, 4, kind=kind)], {}
    yield "matmul", [m.f(2, 3, kind=kind), m.f(m.pick(2, 3), 4, kind=kind)], dict(transpose_a=True)
    yield "matmul", [m.f(2, 2, 3, kind=kind), m.f(m.pick(2, 1), 4, 3, kind=kind)], dict(transpose_b=True)
    yield "matmul", [m.i(2, 3), m.i(3, 2)], {}
    yield "matmul", [m.f(2, 3), m.f(2, 3)], dict(transpose_a=True, adjoint_a=True)
    yield "linalg.matvec", [m.f(2, 3, kind=kind), m.f(3, kind=kind)], {}
    yield "tensordot", [m.f(2, 3, 4, kind=kind), m.f(3, 4, 2, kind=kind)], dict(axes=m.pick([[1, 2], [0, 1]], [[0], [2]], [2, 1], 0))
    yield "einsum", [m.pick("ij,jk->ik", "ij,jk", "ij,kj->"), m.f(2, 3, kind=kind), m.f(3, 3, kind=kind)], {}
    yield "einsum", ["bij,bjk,kl->bil", m.f(2, 2, 3, kind=kind), m.f(2, 3, 2, kind=kind), m.f(2, 4, kind=kind)], {}
    yield "einsum", ["...ij,...jk->...ik", m.f(2, 2, 3, kind=kind), m.f(2, 3, 2, kind=kind)], {}
    for name in ("cumsum", "math.cumprod", "math.cumulative_logsumexp"):
        yield name, [m.f(3, 4)], dict(axis=m.pick(0, 1, -1), exclusive=m.pick(True, False), reverse=m.pick(True, False))
    yield "argmax", [m.f(3, 4)], m.pick({}, dict(axis=1), dict(axis=-1, output_type="int32"))
    yield "argmin", [m.f(3, 4)], dict(axis=m.pick(0, 1))
    yield "add_n", [[m.f(3, kind="float32"), m.f(3, kind="float32"), m.f(3, kind="float32")]], {}
    yield "clip_by_value", [m.f(3, 4, kind="float32"), -0.5, m.pick(0.5, m.f(4, kind="float32"))], {}
    yield "clip_by_norm", [m.f(3, 4, kind="float32"), m.pick(0.5, 100.0)], m.pick({}, dict(axes=[0]))
    yield "clip_by_global_norm", [[m.f(3, kind="float32"), m.f(2, 2, kind="float32")], m.pick(0.5, 50.0)], {}
    yield "linalg.global_norm", [[m.f(3, kind="float32"), m.f(2, 2, kind="float32")]], {}
    yield "math.l2_normalize", [m.f(3, 4)], dict(axis=m.pick(0, 1, None))
    yield "math.top_k", [m.f(3, 5)], dict(k=m.pick(1, 3, 9))
    yield "math.in_top_k", [m.i(3, high=4), m.f(3, 4, kind="float32")], dict(k=2)
    yield "math.bincount", [m.i(6)], m.pick({}, dict(minlength=8), dict(maxlength=3), dict(weights=m.f(6, kind="float32")),
                                            dict(binary_output=True))
    yield "math.bincount", [m.i(2, 4)], dict(axis=-1)
    yield "math.confusion_matrix", [m.i(5, high=3), m.i(5, high=3)], m.pick({}, dict(num_classes=4), dict(num_classes=2))
    yield "math.zero_fraction", [m.i(6, high=2)], {}
    yield "math.polyval", [[1.0, 2.0, 3.0], m.f(4, kind="float32")], {}
    yield "math.lbeta", [m.unit(3, 2)], {}
    yield "math.accumulate_n", [[m.f(2, kind="float32"), m.f(2, kind="float32")]], {}
    yield "math.scalar_mul", [2.5, m.f(3, kind="float32")], {}
    for name in ("segment_sum", "segment_mean", "segment_max", "segment_min", "segment_prod"):
        yield "math." + name, [m.f(5, 2), np.array([0, 0, 1, 3, 3], "int32")], {}
    for name in ("sum", "mean", "max", "min", "prod", "sqrt_n"):
        yield "math.unsorted_segment_" + name, [m.f(5, 2, kind="float32"), m.i(5, high=3), 4], {}
    yield "math.is_non_decreasing", [m.pick(np.sort(m.f(4)), m.f(4))], {}
    yield "math.is_strictly_increasing", [m.pick(np.sort(m.f(4)), m.f(4))], {}
    yield "histogram_fixed_width", [m.f(10, kind="float32"), [-1.0, 1.0]], dict(nbins=5)
    yield "histogram_fixed_width_bins", [m.f(10, kind="float32"), [-1.0, 1.0]], dict(nbins=5)
    yield "math.betainc", [m.unit(3), m.unit(3), m.unit(3)], {}
    yield "math.igamma", [m.unit(3), m.unit(3)], {}
    yield "math.zeta", [1 + m.unit(3), m.unit(3)], {}
    yield "math.polygamma", [np.float32(1), m.unit(3)], {}
    yield "math.nextafter", [m.f(3), m.f(3)], {}
    yield "math.invert_permutation", [np.array([2, 0, 1], "int32")], {}
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"):
        yield "bitwise." + name, [m.i(3), m.i(3)], {}
    yield "bitwise.invert", [m.i(3)], {}


def _nn(m):
    image, filters = m.f(2, 5, 6, 3, kind="float32"), m.f(3, 2, 3, 4, kind="float32")
    padding = m.pick("SAME", "VALID")
    yield "nn.conv2d", [image, filters], dict(strides=m.pick(1, 2, [1, 2]), padding=padding)
    yield "nn.conv2d", [image, filters], dict(strides=1, padding=[[0, 0], [1, 0], [0, 1], [0, 0]])
    yield "nn.conv2d", [image, filters], dict(strides=1, padding=padding, dilations=2)
    yield "nn.convolution", [image, filters], m.pick({}, dict(padding="SAME", strides=2))
    yield "nn.conv1d", [m.f(2, 7, 3, kind="float32"), m.f(3, 3, 4, kind="float32")], dict(stride=m.pick(1, 2), padding=padding)
    yield "nn.conv3d", [m.f(1, 4, 4, 4, 2, kind="float32"), m.f(2, 2, 2, 2, 3, kind="float32")], dict(strides=[1, 1, 1, 1, 1], padding=padding)
    yield "nn.depthwise_conv2d", [image, m.f(3, 2, 3, 2, kind="float32")], dict(strides=[1, 1, 1, 1], padding=padding)
    yield "nn.separable_conv2d", [image, m.f(3, 2, 3, 2, kind="float32"), m.f(1, 1, 6, 2, kind="float32")], dict(strides=[1, 1, 1, 1], padding=padding)
    yield "nn.conv2d_transpose", [m.f(2, 3, 3, 4, kind="float32"), m.f(3, 3, 2, 4, kind="float32")], dict(output_shape=[2, 6, 6, 2], strides=2)
    yield "nn.conv1d_transpose", [m.f(2, 3, 4, kind="float32"), m.f(3, 2, 4, kind="float32")], dict(output_shape=[2, 6, 2], strides=2)
    yield "nn.conv_transpose", [m.f(2, 3, 3, 4, kind="float32"), m.f(3, 3, 2, 4, kind="float32")], dict(output_shape=[2, 6, 6, 2], strides=2)
    yield "nn.atrous_conv2d", [image, filters], dict(rate=2, padding=padding)
    for name in ("max_pool", "avg_pool", "max_pool2d", "avg_pool2d"):
        yield "nn." + name, [image], dict(ksize=m.pick(2, [2, 3]), strides=m.pick(1, 2), padding=padding)
    for name in ("max_pool1d", "avg_pool1d"):
        yield "nn." + name, [m.f(2, 6, 3, kind="float32")], dict(ksize=2, strides=2, padding=padding)
    for name in ("max_pool3d", "avg_pool3d"):
        yield "nn." + name, [m.f(1, 4, 4, 4, 2, kind="float32")], dict(ksize=2, strides=2, padding=padding)
    yield "nn.pool", [image], dict(window_shape=[2, 2], pooling_type=m.pick("MAX", "AVG"), padding="VALID", dilations=m.pick(None, [2, 2]))
    yield "nn.max_pool_with_argmax", [image], dict(ksize=2, strides=2, padding=padding)
    yield "nn.bias_add", [image, m.f(m.pick(3, 3, 4), kind="float32")], {}
    yield "nn.moments", [m.f(3, 4, kind="float32")], dict(axes=m.pick([0], [0, 1]), keepdims=m.pick(True, False))
    yield "nn.weighted_moments", [m.f(3, 4, kind="float32"), [0], m.unit(3, 4)], {}
    yield "nn.batch_normalization", [m.f(3, 4, kind="float32"), m.f(4, kind="float32"), m.unit(4), m.pick(None, m.f(4, kind="float32")), m.pick(None, m.f(4, kind="float32")), 0.001], {}
    yield "nn.sigmoid_cross_entropy_with_logits", [], dict(labels=m.unit(3, 4), logits=m.f(m.pick(3, 2), 4, kind="float32"))
    yield "nn.weighted_cross_entropy_with_logits", [], dict(labels=m.unit(3), logits=m.f(3, kind="float32"), pos_weight=2.0)
    yield "nn.softmax_cross_entropy_with_logits", [], dict(labels=m.unit(3, 4), logits=m.f(3, 4, kind="float32"), axis=m.pick(-1, 0))
    yield "nn.sparse_softmax_cross_entropy_with_logits", [], dict(labels=m.i(m.pick(3, 2), high=4), logits=m.f(3, 4, kind="float32"))
    yield "nn.log_poisson_loss", [m.unit(3), m.f(3, kind="float32")], dict(compute_full_loss=m.pick(True, False))
    yield "nn.l2_loss", [m.f(3, 4)], {}
    yield "nn.local_response_normalization", [m.f(1, 2, 2, 4, kind="float32")], {}
    yield "nn.embedding_lookup", [m.f(5, 3, kind="float32"), m.i(2, 2)], m.pick({}, dict(max_norm=1.0))
    yield "nn.depth_to_space", [m.f(1, 2, 2, 4)], dict(block_size=2)
    yield "nn.space_to_depth", [m.f(1, 4, 4, 1)], dict(block_size=2)
    yield "nn.dilation2d", [image, m.f(2, 2, 3, kind="float32")], dict(strides=[1, 1, 1, 1], padding=padding, data_format="NHWC", dilations=[1, 1, 1, 1])
    yield "nn.erosion2d", [image, m.f(2, 2, 3, kind="float32")], dict(strides=[1, 1, 1, 1], padding=padding, data_format="NHWC", dilations=[1, 1, 1, 1])
    yield "nn.dropout", [m.f(3, kind="float32"), m.pick(0, 1.5)], {}
    yield "nn.experimental.stateless_dropout", [m.f(3, 4, kind="float32"), 0.5], dict(seed=[1, int(m.i(low=0, high=9))])
    yield "nn.compute_average_loss", [m.unit(4)], m.pick({}, dict(global_batch_size=8))
    yield "nn.isotonic_regression", [m.f(2, 5, kind="float32")], m.pick({}, dict(decreasing=False))


def _linalg(m):
    kind = m.pick("float32", "float64")
    a = m.f(3, 3, kind=kind)
    spd = a @ a.T + 3 * np.eye(3, dtype=kind)
    for name in ("det", "inv", "cholesky", "logdet", "trace", "adjoint", "matrix_transpose", "eigvalsh", "slogdet",
                 "matrix_rank", "expm", "sqrtm", "diag_part"):
        yield "linalg." + name, [spd], {}
    yield "linalg.pinv", [m.f(3, 2, kind=kind)], {}
    yield "linalg.svd", [m.f(3, 2, kind=kind)], dict(compute_uv=False)
    yield "linalg.norm", [m.f(3, 4, kind=kind)], m.pick({}, dict(ord=1), dict(ord=np.inf, axis=0), dict(axis=[0, 1], ord=2),
                                                       dict(axis=[0, 1], ord="fro"), dict(ord=3), dict(ord="bad"),
                                                       dict(axis=(0, 1), ord=1, keepdims=True))
    yield "linalg.normalize", [m.f(3, 4, kind=kind)], dict(axis=m.pick(0, 1))
    yield "linalg.diag", [m.f(3)], m.pick({}, dict(k=1), dict(num_rows=4, padding_value=2.0))
    yield "linalg.set_diag", [m.f(3, 3, kind=kind), m.f(3, kind=kind)], {}
    yield "linalg.band_part", [a, 1, m.pick(0, -1)], {}
    yield "linalg.solve", [spd, m.f(3, 2, kind=kind)], {}
    yield "linalg.triangular_solve", [np.tril(spd), m.f(3, 2, kind=kind)], {}
    yield "linalg.cholesky_solve", [np.linalg.cholesky(spd), m.f(3, 2, kind=kind)], {}
    yield "linalg.lstsq", [m.f(4, 2, kind=kind), m.f(4, 1, kind=kind)], m.pick({}, dict(l2_regularizer=0.1))
    yield "linalg.cross", [m.f(2, 3, kind=kind), m.f(2, 3, kind=kind)], {}
    yield "linalg.lu", [spd], {}
    yield "linalg.lu_matrix_inverse", [spd, np.array([0, 1, 2], "int32")], {}
    yield "linalg.lu_reconstruct", [spd, np.array([2, 0, 1], "int32")], {}
    yield "linalg.lu_solve", [spd, np.array([2, 0, 1], "int32"), m.f(3, 2, kind=kind)], {}
    yield "linalg.tensor_diag", [m.f(3)], {}
    yield "linalg.tensor_diag_part", [a], {}
    yield "linalg.tridiagonal_solve", [np.stack([m.f(3, kind=kind), m.f(3, kind=kind) + 5, m.f(3, kind=kind)]), m.f(3, 2, kind=kind)], {}
    yield "linalg.tridiagonal_matmul", [m.f(3, 3, kind=kind), m.f(3, 2, kind=kind)], {}


def _strings(m):
    s = m.s(2, 3)
    yield "strings.length", [s], m.pick({}, dict(unit="UTF8_CHAR"))
    for name in ("lower", "upper", "strip"):
        yield "strings." + name, [s], {}
    yield "strings.substr", [m.s(3), 0, m.pick(1, 3)], {}
    yield "strings.join", [[m.s(3), m.s(3)]], m.pick({}, dict(separator="-"))
    yield "strings.reduce_join", [s], m.pick({}, dict(axis=0), dict(axis=-1, separator=","), dict(keepdims=True))
    yield "strings.regex_full_match", [s, m.pick("[a-z]+", ".*", "(")], {}
    yield "strings.regex_replace", [s, "[aeiou]", m.pick("_", r"<\0>")], m.pick({}, dict(replace_global=False))
    yield "strings.to_number", [np.array(["1.5", "2"], object)], m.pick({}, dict(out_type="float64"), dict(out_type="int32"))
    yield "strings.to_hash_bucket", [s, 7], {}
    yield "strings.to_hash_bucket_fast", [s, 7], {}
    yield "strings.to_hash_bucket_strong", [s, 7, [1, 2]], {}
    yield "strings.as_string", [m.pick(m.f(3), m.i(3), m.b(2))], {}
    yield "strings.split", [m.pick(m.s(3), s, "a b  c")], m.pick({}, dict(sep=" "), dict(maxsplit=1))
    yield "strings.bytes_split", [m.s(3)], {}
    yield "strings.unicode_decode", [m.pick(m.s(3), s, "abc"), "UTF-8"], {}
    yield "strings.unicode_split", [m.s(3), "UTF-8"], {}
    yield "strings.unicode_decode_with_offsets", [m.s(3), "UTF-8"], {}
    yield "strings.unicode_transcode", [m.s(3), "UTF-8", "UTF-16-BE"], {}
    yield "strings.unicode_script", [m.i(3, low=60, high=900)], {}
    yield "strings.ngrams", [s], dict(ngram_width=m.pick(1, 2, [1, 2]), separator="|")
    yield "strings.format", ["{} and {}", [m.i(3), m.f(2, kind="float32")]], {}
    yield "strings.unsorted_segment_join", [m.s(4), m.i(4, high=2), 3], {}


def _random(m):
    seed = [int(v) for v in m.i(2, high=100)]
    shape = m.pick([3], [2, 4], [])
    yield "random.stateless_uniform", [shape, seed], m.pick({}, dict(minval=-1.0, maxval=3.0), dict(minval=0, maxval=9, dtype="int32"),
                                                           dict(minval=None, maxval=None, dtype="int64"), dict(dtype="float64"))
    yield "random.stateless_normal", [shape, seed], m.pick({}, dict(mean=2.0, stddev=0.5), dict(dtype="float64"))
    yield "random.stateless_truncated_normal", [shape, seed], {}
    yield "random.stateless_categorical", [m.f(2, 3, kind="float32"), 5, seed], {}
    yield "random.stateless_binomial", [[4], seed, 10.0, 0.5], {}
    yield "random.stateless_gamma", [[4, 2], seed, [1.0, 2.5]], m.pick({}, dict(beta=[0.5, 2.0]))
    yield "random.stateless_poisson", [[4, 2], seed, [1.0, 5.0]], {}
    yield "random.split", [seed], dict(num=m.pick(2, 3))
    yield "random.fold_in", [seed, 7], {}
    yield "random.experimental.stateless_shuffle", [m.i(5), seed], {}
    yield "random.experimental.index_shuffle", [m.i(5), seed, 9], {}
    yield "random.uniform", [[2]], dict(dtype="int32")


def _more(m):
    """Functions of further modules; each is left out where its module is."""
    x = m.f(2, 32, kind="float32")
    yield "signal.frame", [x, 8, m.pick(4, 8, 3)], m.pick({}, dict(pad_end=True))
    yield "signal.stft", [x, 8, 4], m.pick({}, dict(fft_length=16), dict(pad_end=True))
    yield "signal.rfft", [x], m.pick({}, dict(fft_length=[16]), dict(fft_length=[40]))
    yield "signal.irfft", [(m.f(2, 9) + 1j * m.f(2, 9)).astype("complex64")], m.pick({}, dict(fft_length=[14]))
    yield "signal.dct", [x], dict(type=m.pick(1, 2, 3, 4), norm=None)
    yield "signal.dct", [x], dict(type=2, norm="ortho")
    yield "signal.idct", [x], dict(type=m.pick(2, 3))
    for name in ("hann_window", "hamming_window", "vorbis_window", "kaiser_window", "kaiser_bessel_derived_window"):
        yield "signal." + name, [m.pick(8, 10, 2)], {}
    yield "signal.overlap_and_add", [m.f(2, 4, 8, kind="float32"), m.pick(4, 8, 3)], {}
    yield "signal.fftshift", [m.f(4, 5)], m.pick({}, dict(axes=1))
    yield "signal.ifftshift", [m.f(4, 5)], m.pick({}, dict(axes=[0]))
    yield "signal.linear_to_mel_weight_matrix", [], dict(num_mel_bins=5, num_spectrogram_bins=17)
    yield "signal.mfccs_from_log_mel_spectrograms", [m.f(2, 3, 8, kind="float32")], {}
    yield "signal.inverse_stft", [(m.f(2, 5, 9) + 1j * m.f(2, 5, 9)).astype("complex64"), 16, 8], {}
    image = m.unit(2, 5, 6, 3)
    for method in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "gaussian"):
        yield "image.resize", [image, m.pick([3, 4], [8, 7])], dict(method=method, antialias=m.pick(True, False))
    yield "image.resize", [image, [4, 9]], dict(preserve_aspect_ratio=True)
    yield "image.resize_with_pad", [image, 7, 4], {}
    yield "image.resize_with_crop_or_pad", [image, m.pick(3, 9), m.pick(4, 8)], {}
    for name in ("flip_left_right", "flip_up_down", "transpose", "rgb_to_grayscale", "rgb_to_hsv", "hsv_to_rgb",
                 "rgb_to_yuv", "yuv_to_rgb", "rgb_to_yiq", "yiq_to_rgb", "per_image_standardization", "sobel_edges",
                 "total_variation", "image_gradients"):
        yield "image." + name, [image], {}
    yield "image.rot90", [image], dict(k=m.pick(0, 1, 2, 3, 5))
    yield "image.grayscale_to_rgb", [m.unit(2, 3, 3, 1)], {}
    yield "image.adjust_brightness", [image, 0.1], {}
    yield "image.adjust_contrast", [image, 1.5], {}
    yield "image.adjust_hue", [image, 0.2], {}
    yield "image.adjust_saturation", [image, 1.5], {}
    yield "image.adjust_gamma", [image], dict(gamma=2.0)
    yield "image.central_crop", [image, m.pick(0.5, 1.0, 0.3, 2.0)], {}
    yield "image.crop_to_bounding_box", [image, 1, 1, m.pick(2, 9), 3], {}
    yield "image.pad_to_bounding_box", [image, 1, 1, m.pick(8, 3), 9], {}
    yield "image.convert_image_dtype", [m.pick(image, m.i(2, 2, 3, high=255, kind="uint8")), m.pick("uint8", "float32", "float16", "int16")], {}
    yield "image.psnr", [image, m.unit(2, 5, 6, 3)], dict(max_val=1.0)
    yield "image.ssim", [m.unit(1, 16, 16, 1), m.unit(1, 16, 16, 1)], dict(max_val=1.0)
    yield "image.extract_patches", [image], dict(sizes=[1, 2, 2, 1], strides=[1, 2, 2, 1], rates=[1, 1, 1, 1], padding="VALID")
    yield "image.non_max_suppression", [np.array([[0, 0, 1, 1], [0, 0, 1, 0.9], [1, 1, 2, 2]], "float32"), m.unit(3), 2], {}
    yield "image.crop_and_resize", [image, np.array([[0, 0, 1, 1], [0.2, 0.2, 0.8, 0.8]], "float32"), np.array([0, 1], "int32"), [3, 3]], {}
    yield "image.draw_bounding_boxes", [image, np.array([[[0.1, 0.1, 0.8, 0.8]]] * 2, "float32"), np.array([[1.0, 0, 0]], "float32")], {}
    for name in ("stateless_random_brightness", "stateless_random_hue"):
        yield "image." + name, [image], dict(max_delta=0.3, seed=[1, 2])
    for name in ("stateless_random_contrast", "stateless_random_saturation"):
        yield "image." + name, [image], dict(lower=0.3, upper=0.9, seed=[1, 2])
    yield "image.stateless_random_flip_left_right", [image], dict(seed=[1, int(m.i(high=9))])
    yield "image.stateless_random_crop", [m.unit(5, 6, 3)], dict(size=[3, 3, 3], seed=[1, 2])
    for name in ("equal", "less", "greater", "near", "less_equal", "greater_equal"):
        pair = m.pick((m.f(3, kind="float32"), m.f(3, kind="float32")), (np.ones(2, "float32"), np.ones(2, "float32")))
        yield "debugging.assert_" + name, list(pair), {}
    for name in ("assert_positive", "assert_non_negative", "assert_negative", "assert_non_positive"):
        yield "debugging." + name, [m.f(2, kind="float32")], {}
    yield "debugging.assert_rank", [m.f(2, 3), m.pick(2, 3)], {}
    yield "debugging.assert_rank_at_least", [m.f(2, 3), m.pick(1, 3)], {}
    yield "debugging.assert_rank_in", [m.f(2, 3), [1, m.pick(2, 3)]], {}
    yield "debugging.assert_type", [m.f(2, kind="float32"), m.pick("float32", "int32")], {}
    yield "debugging.is_numeric_tensor", [m.f(2)], {}
    for name in ("intersection", "difference", "union"):
        yield "sets." + name, [m.i(2, 4), m.i(2, 3)], {}
    yield "sets.size" if False else "rank", [m.i(2)], {}
