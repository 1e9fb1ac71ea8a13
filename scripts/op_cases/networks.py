"""Convolutions, pools, normalisations, activations, recurrent cells, losses."""

import numpy as np

from .draw import TOLERANCES, cases, skip


def extent(size, window, stride, dilation, padding, sides=(0, 0)):
    reach = (window - 1) * dilation + 1
    if padding == "SAME":
        return -(-size // stride)
    return (size + sum(sides) - reach) // stride + 1


def convolution(d, rank, explicit=True, dilate=True):
    """Sizes and attributes of a convolution."""
    sizes = [d.int(3, 8) for _ in range(rank)]
    window = [d.int(1, 3) for _ in range(rank)]
    strides = [d.int(1, 2) for _ in range(rank)]
    dilations = [1] * rank
    if dilate and d.chance(0.25):
        strides, dilations = [1] * rank, [d.int(1, 2) for _ in range(rank)]
    padding = d.choice(["SAME", "VALID"] + (["EXPLICIT"] if explicit else []))
    sides = [(d.int(0, 2), d.int(0, 2)) for _ in range(rank)] if padding == "EXPLICIT" else [(0, 0)] * rank
    out = [extent(*x, padding, s) for *x, s in zip(sizes, window, strides, dilations, sides)]
    if min(out) < 1:
        window, dilations = [1] * rank, [1] * rank
        out = [extent(*x, padding, s) for *x, s in zip(sizes, window, strides, dilations, sides)]
    attrs = dict(strides=[1, *strides, 1], padding=padding, dilations=[1, *dilations, 1])
    if padding == "EXPLICIT":
        attrs["explicit_paddings"] = [0, 0] + [x for s in sides for x in s] + [0, 0]
    return sizes, window, out, attrs


@cases("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")
def conv2d(d):
    sizes, window, out, attrs = convolution(d, 2, dilate=d.op == "Conv2D")
    batch, depth, filters = d.int(1, 2), d.int(1, 4), d.int(1, 4)
    groups = d.int(1, 2) if d.chance(0.2) and d.op == "Conv2D" else 1
    depth, filters = depth * groups, filters * groups
    image, kernel, result = (batch, *sizes, depth), (*window, depth // groups, filters), (batch, *out, filters)
    attrs["data_format"] = "NHWC"
    if d.op == "Conv2D":
        return dict(input=d.T(image, -3, 3), filter=d.T(kernel, -3, 3), **attrs)
    if d.op == "Conv2DBackpropInput":
        return dict(input_sizes=d.i32(image), filter=d.T(kernel, -3, 3), out_backprop=d.T(result, -3, 3), **attrs)
    return dict(input=d.T(image, -3, 3), filter_sizes=d.i32(kernel), out_backprop=d.T(result, -3, 3), **attrs)


@cases("Conv")
def conv(d):
    rank = d.int(2, 3)
    sizes, window, _, attrs = convolution(d, rank)
    attrs["strides"], attrs["dilations"] = attrs["strides"], attrs["dilations"]
    batch = d.shape(1, 2, 2, zero=0)
    depth, filters = d.int(1, 3), d.int(1, 3)
    return dict(input=d.T((*batch, *sizes, depth), -3, 3), filter=d.T((*window, depth, filters), -3, 3), data_format="CHANNELS_LAST", batch_dims=len(batch), groups=1, **attrs)


@cases("Conv3D", "Conv3DBackpropInput", "Conv3DBackpropFilter", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2")
def conv3d(d):
    sizes, window, out, attrs = convolution(d, 3, explicit=False, dilate=False)
    batch, depth, filters = d.int(1, 2), d.int(1, 3), d.int(1, 3)
    image, kernel, result = (batch, *sizes, depth), (*window, depth, filters), (batch, *out, filters)
    if not d.op[-1] == "V2"[-1] and d.op != "Conv3D":
        attrs.pop("dilations")
    if d.op == "Conv3D":
        return dict(input=d.T(image, -3, 3), filter=d.T(kernel, -3, 3), data_format="NDHWC", **attrs)
    given = dict(filter=d.T(kernel, -3, 3), input=d.T(image, -3, 3), out_backprop=d.T(result, -3, 3), **attrs)
    if d.op == "Conv3DBackpropInputV2":
        given.pop("input")
        given.update(input_sizes=d.index(image, "Tshape"), data_format="NDHWC")
    if d.op == "Conv3DBackpropFilterV2":
        given.pop("filter")
        given.update(filter_sizes=d.i32(kernel), data_format="NDHWC")
    return given


@cases("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter")
def depthwise(d):
    sizes, window, out, attrs = convolution(d, 2, dilate=False)
    if attrs["strides"][1] != attrs["strides"][2]:
        attrs["strides"] = [1, 1, 1, 1]
        sides = np.reshape(attrs.get("explicit_paddings", [0] * 8), (4, 2))[1:3]
        out = [extent(n, w, 1, 1, attrs["padding"], s) for n, w, s in zip(sizes, window, sides)]
    batch, depth, multiple = d.int(1, 2), d.int(1, 4), d.int(1, 3)
    image, kernel, result = (batch, *sizes, depth), (*window, depth, multiple), (batch, *out, depth * multiple)
    attrs["data_format"] = "NHWC"
    if d.op == "DepthwiseConv2dNative":
        return dict(input=d.T(image, -3, 3), filter=d.T(kernel, -3, 3), **attrs)
    if d.op == "DepthwiseConv2dNativeBackpropInput":
        return dict(input_sizes=d.i32(image), filter=d.T(kernel, -3, 3), out_backprop=d.T(result, -3, 3), **attrs)
    return dict(input=d.T(image, -3, 3), filter_sizes=d.i32(kernel), out_backprop=d.T(result, -3, 3), **attrs)


@cases("Dilation2D", "Dilation2DBackpropInput", "Dilation2DBackpropFilter")
def dilation(d):
    sizes, window, out, attrs = convolution(d, 2, explicit=False)
    attrs["rates"] = attrs.pop("dilations")
    batch, depth = d.int(1, 2), d.int(1, 3)
    given = dict(input=d.T((batch, *sizes, depth), -3, 3), filter=d.T((*window, depth), -3, 3), **attrs)
    if d.op != "Dilation2D":
        given["out_backprop"] = d.T((batch, *out, depth), -3, 3)
    return given


def pool(d, rank, explicit=False):
    sizes, window, out, attrs = convolution(d, rank, explicit=explicit, dilate=False)
    attrs.pop("dilations")
    attrs["ksize"] = [1, *window, 1]
    batch, depth = d.int(1, 2), d.int(1, 3)
    return (batch, *sizes, depth), (batch, *out, depth), attrs


@cases("AvgPool", "MaxPool", "AvgPool3D", "MaxPool3D", "MaxPoolWithArgmax", "MaxPoolV2")
def pools(d):
    image, _, attrs = pool(d, 3 if "3D" in d.op else 2, explicit=d.op == "MaxPool")
    if d.op == "MaxPoolV2":
        attrs["ksize"], attrs["strides"] = d.i32(attrs["ksize"]), d.i32(attrs["strides"])
    if d.op != "MaxPoolWithArgmax":
        attrs["data_format"] = "NDHWC" if "3D" in d.op else "NHWC"
    return {d.op_def.input_arg[0].name: d.T(image), **attrs}


@cases("AvgPoolGrad", "AvgPool3DGrad")
def avg_pool_grad(d):
    image, result, attrs = pool(d, 3 if "3D" in d.op else 2)
    attrs["data_format"] = "NDHWC" if "3D" in d.op else "NHWC"
    return dict(orig_input_shape=d.i32(image), grad=d.T(result, -3, 3), **attrs)


def pooled(d, x, attrs, shape):
    """The greatest of each window, so that the gradient has something to find."""
    window, strides = attrs["ksize"][1:-1], attrs["strides"][1:-1]
    out = np.empty(shape, x.dtype)
    for at in np.ndindex(*shape[1:-1]):
        cut = [slice(None)]
        for i, n, w, s, m in zip(at, x.shape[1:-1], window, strides, shape[1:-1]):
            before = max((m - 1) * s + w - n, 0) // 2 if attrs["padding"] == "SAME" else 0
            cut.append(slice(max(i * s - before, 0), max(min(i * s - before + w, n), 0)))
        out[(slice(None), *at)] = x[tuple(cut)].max(axis=tuple(range(1, 1 + len(at))))
    return out


@cases("MaxPoolGrad", "MaxPoolGradGrad", "MaxPool3DGrad", "MaxPool3DGradGrad", "MaxPoolGradV2", "MaxPoolGradGradV2")
def max_pool_grad(d):
    image, result, attrs = pool(d, 3 if "3D" in d.op else 2)
    attrs["data_format"] = "NDHWC" if "3D" in d.op else "NHWC"
    x = d.T(image, -9, 9, attr="TInput" if d.op == "MaxPool3DGrad" else "T")
    given = dict(orig_input=x, orig_output=pooled(d, x, attrs, result), grad=d.T(image if "GradGrad" in d.op else result, -3, 3), **attrs)
    if d.op.endswith("V2"):
        given["ksize"], given["strides"] = d.i32(attrs["ksize"]), d.i32(attrs["strides"])
    return given


@cases("MaxPoolGradWithArgmax", "MaxPoolGradGradWithArgmax")
def max_pool_argmax(d):
    image, result, attrs = pool(d, 2)
    most = int(np.prod(image[1:]))
    attrs["include_batch_in_index"] = False
    return dict(input=d.T(image, -9, 9), grad=d.T(image if "GradGrad" in d.op else result, -3, 3), argmax=d.index(d.random.randint(0, most, result), "Targmax"), **attrs)


@cases("FractionalAvgPool", "FractionalMaxPool")
def fractional(d):
    return dict(value=d.T((d.int(1, 2), d.int(3, 8), d.int(3, 8), d.int(1, 2))), pooling_ratio=[1.0, d.float(1, 2), d.float(1, 2), 1.0], deterministic=True, seed=d.int(1, 9), seed2=d.int(1, 9))


def cuts(d, n):
    inner = sorted(int(x) for x in d.random.permutation(np.arange(1, n))[: n // 2])
    return np.asarray([0, *inner, n])


@cases("FractionalAvgPoolGrad")
def fractional_avg_grad(d):
    shape = [d.int(1, 2), d.int(3, 6), d.int(3, 6), d.int(1, 2)]
    rows, columns = cuts(d, shape[1]), cuts(d, shape[2])
    return dict(orig_input_tensor_shape=d.i64(shape), out_backprop=d.T((shape[0], len(rows) - 1, len(columns) - 1, shape[3])), row_pooling_sequence=d.i64(rows), col_pooling_sequence=d.i64(columns), overlapping=False)


@cases("FractionalMaxPoolGrad")
def fractional_max_grad(d):
    shape = [d.int(1, 2), d.int(3, 6), d.int(3, 6), d.int(1, 2)]
    rows, columns = cuts(d, shape[1]), cuts(d, shape[2])
    x = d.T(shape, -9, 9)
    out = np.empty((shape[0], len(rows) - 1, len(columns) - 1, shape[3]), x.dtype)
    for i, j in np.ndindex(len(rows) - 1, len(columns) - 1):
        out[:, i, j] = x[:, rows[i]:rows[i + 1], columns[j]:columns[j + 1]].max((1, 2))
    return dict(orig_input=x, orig_output=out, out_backprop=d.T(out.shape, -3, 3), row_pooling_sequence=d.i64(rows), col_pooling_sequence=d.i64(columns), overlapping=False)


@cases("BiasAdd", "BiasAddV1")
def bias_add(d):
    shape = d.shape(2, 5)
    channels_first = d.op == "BiasAdd" and d.chance(0.3)
    given = dict(value=d.T(shape), bias=d.T((shape[1 if channels_first else -1],)))
    return dict(given, data_format="NCHW" if channels_first else "NHWC") if d.op == "BiasAdd" else given


@cases("BiasAddGrad")
def bias_add_grad(d):
    return dict(out_backprop=d.T(d.shape(2, 5)))


@cases("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", tolerance=1e-4)
def batch_norm(d):
    shape = (d.int(1, 3), d.int(1, 4), d.int(1, 4), d.int(1, 3))
    d.ignored = (3, 4, 5)
    training, u = d.chance(), "U" if d.op != "FusedBatchNorm" else "T"
    vector = lambda low, high, n=shape[-1]: d.T((n,), low, high, attr=u)
    stored = shape[-1] if not training else 0
    return dict(x=d.T(shape, -3, 3), scale=vector(-2, 2), offset=vector(-2, 2), mean=vector(-1, 1, stored), variance=vector(0.5, 2, stored),
                epsilon=d.choice([1e-4, 1e-2]), is_training=training, data_format="NHWC")


@cases("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3", tolerance=1e-4)
def batch_norm_grad(d):
    shape = (d.int(1, 3), d.int(1, 4), d.int(1, 4), d.int(1, 3))
    d.ignored = (3, 4)
    u = "U" if d.op != "FusedBatchNormGrad" else "T"
    vector = lambda low, high: d.T((shape[-1],), low, high, attr=u)
    given = dict(y_backprop=d.T(shape, -3, 3), x=d.T(shape, -3, 3), scale=d.of("float32", (shape[-1],), -2, 2), reserve_space_1=vector(-1, 1), reserve_space_2=vector(0.5, 2), epsilon=1e-3, data_format="NHWC")
    if d.op.endswith("V3"):
        given["reserve_space_3"] = vector(0, 1)
    return given


@cases("BatchNormWithGlobalNormalization", "BatchNormWithGlobalNormalizationGrad")
def old_batch_norm(d):
    c = d.int(1, 3)
    shape = (d.int(1, 3), d.int(1, 4), d.int(1, 4), c)
    given = dict(t=d.T(shape, -3, 3), m=d.T((c,), -1, 1), v=d.T((c,), 0.5, 2), gamma=d.T((c,), -2, 2), variance_epsilon=1e-3, scale_after_normalization=d.chance())
    return dict(given, backprop=d.T(shape, -2, 2)) if d.op.endswith("Grad") else dict(given, beta=d.T((c,), -2, 2))


@cases("LRN", "LRNGrad")
def lrn(d):
    shape = (d.int(1, 2), d.int(1, 3), d.int(1, 3), d.int(1, 7))
    attrs = dict(depth_radius=d.int(1, 5), bias=d.choice([1.0, 0.5]), alpha=d.choice([1.0, 0.1]), beta=d.choice([0.5, 0.75, 1.0]))
    if d.op == "LRN":
        return dict(input=d.T(shape, -2, 2), **attrs)
    return dict(input_grads=d.T(shape, -2, 2), input_image=d.T(shape, -2, 2), output_image=d.T(shape, -2, 2), **attrs)


@cases("Softmax", "LogSoftmax")
def softmax(d):
    return dict(logits=d.T(d.shape(1, 4, 5)))


@cases("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(d):
    shape = d.shape(2, 2)
    return dict(features=d.T(shape, -5, 5), labels=d.T(shape if d.chance(0.8) else (1, shape[1]), 0, 1))


@cases("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax(d):
    shape = d.shape(2, 2, zero=0)
    return dict(features=d.T(shape, -5, 5), labels=d.index(d.random.randint(0, shape[1], shape[0]), "Tlabels"))


@cases("TopK", "TopKV2")
def top_k(d):
    shape = d.shape(1, 3, 7, zero=0)
    k = d.int(0, shape[-1])
    x = d.T(shape, 0, 5) if d.chance() else d.T(shape)
    return dict(input=x, k=k, sorted=True) if d.op == "TopK" else dict(input=x, k=d.index(k, "Tk"), sorted=True)


@cases("NthElement")
def nth(d):
    shape = d.shape(1, 3, 7, zero=0)
    return dict(input=d.T(shape, 0, 50), n=d.i32(d.int(0, shape[-1] - 1)))


@cases("InTopK", "InTopKV2")
def in_top_k(d):
    b, c = d.int(0, 4), d.int(1, 5)
    return dict(predictions=d.of("float32", (b, c)), targets=d.T((b,), 0, c - 1), k=d.int(1, c) if d.op == "InTopK" else d.index(d.int(1, c), "T"))


@cases("ApproxTopK")
def approx_top_k(d):
    shape = d.shape(1, 3, 7, zero=0)
    return dict(input=d.T(shape), k=d.int(1, shape[-1]), reduction_dimension=-1, aggregate_to_topk=True)


@cases("L2Loss")
def l2_loss(d):
    return dict(t=d.T(d.shape(0, 3)))


@cases("LeakyRelu", "LeakyReluGrad")
def leaky(d):
    shape = d.shape()
    return dict(alpha=d.choice([0.2, 0.0, 1.5]), features=d.T(shape), **({"gradients": d.T(shape)} if d.op.endswith("Grad") else {}))


@cases("DataFormatDimMap")
def dim_map(d):
    source, target = d.choice([("NHWC", "NCHW"), ("NCHW", "NHWC"), ("NHWC", "HWNC"), ("NDHWC", "NCDHW")])
    return dict(x=d.T(d.shape(), -len(source), len(source) - 1), src_format=source, dst_format=target)


@cases("DataFormatVecPermute")
def vec_permute(d):
    source, target = d.choice([("NHWC", "NCHW"), ("NCHW", "NHWC"), ("NDHWC", "NCDHW")])
    n = d.choice([len(source), len(source) - 2])
    return dict(x=d.T((n, 2) if d.chance() else (n,)), src_format=source, dst_format=target)


def fake_range(d):
    return d.float(-6, 0), d.float(0.1, 6)


@cases("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxArgsGradient")
def fake_quant(d):
    low, high = fake_range(d)
    shape = d.shape()
    x = d.of("float32", shape)
    attrs = dict(min=low, max=high, num_bits=d.int(2, 16))
    return dict(inputs=x, **attrs) if not d.op.endswith("Gradient") else dict(gradients=d.of("float32", shape), inputs=x, **attrs)


@cases("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannel", "FakeQuantWithMinMaxVarsPerChannelGradient")
def fake_quant_vars(d):
    shape = d.shape(1, 4, zero=0)
    of = (shape[-1],) if "PerChannel" in d.op else ()
    given = dict(inputs=d.of("float32", shape), min=d.of("float32", of, -6, 0), max=d.of("float32", of, 0.1, 6), num_bits=d.int(2, 8))
    return dict(given, gradients=d.of("float32", shape)) if d.op.endswith("Gradient") else given


@cases("QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4", "QuantizeAndDequantizeV4Grad")
def quantize_dequantize(d):
    shape = d.shape(1, 3, zero=0)
    axis = d.int(0, len(shape) - 1) if d.chance(0.4) and d.op not in ("QuantizeAndDequantize", "QuantizeAndDequantizeV4Grad") else -1
    of = (shape[axis],) if axis >= 0 else ()
    low, high = d.T(of, -6, 0), d.T(of, 0.1, 6)
    if d.op == "QuantizeAndDequantize":
        return dict(input=d.T(shape), input_min=d.float(-6, 0), input_max=d.float(0.1, 6), num_bits=d.int(3, 10))
    given = dict(input=d.T(shape), input_min=low, input_max=high, axis=axis)
    if d.op == "QuantizeAndDequantizeV4Grad":
        return dict(given, gradients=d.T(shape))
    if d.op == "QuantizeAndDequantizeV3":
        return dict(given, num_bits=d.i32(d.int(3, 10)))
    return dict(given, num_bits=d.int(3, 10))


@cases("QuantizeV2", "Dequantize")
def quantize(d):
    d.among("dtype", "float32")
    shape = d.shape(1, 3, zero=0)
    axis = d.int(0, len(shape) - 1) if d.chance(0.3) else -1
    of = (shape[axis],) if axis >= 0 else ()
    given = dict(min_range=d.of("float32", of, -6, 0), max_range=d.of("float32", of, 0.1, 6), axis=axis, mode="SCALED" if axis >= 0 else d.choice(["MIN_COMBINED", "MIN_FIRST", "SCALED"]))
    if d.op == "Dequantize":
        return dict(given, input=d.T(shape))
    return dict(given, input=d.of("float32", shape), round_mode="HALF_AWAY_FROM_ZERO" if given["mode"] != "SCALED" else d.choice(["HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"]))


@cases("QuantizeDownAndShrinkRange")
def shrink(d):
    return dict(input=d.T(d.shape(), attr="Tinput"), input_min=d.of("float32", (), -6, 0), input_max=d.of("float32", (), 0.1, 6))


@cases("IsotonicRegression")
def isotonic(d):
    return dict(input=d.T((d.int(1, 3), d.int(1, 6)), -9, 9))


@cases("GRUBlockCell", "GRUBlockCellGrad")
def gru(d):
    b, n, c = d.int(1, 2), d.int(1, 3), d.int(1, 3)
    f = lambda *s: d.T(s, -1, 1)
    given = dict(x=f(b, n), h_prev=f(b, c), w_ru=f(n + c, 2 * c), w_c=f(n + c, c), b_ru=f(2 * c), b_c=f(c))
    return given if d.op == "GRUBlockCell" else dict(given, r=f(b, c), u=f(b, c), c=f(b, c), d_h=f(b, c))


@cases("LSTMBlockCell", "LSTMBlockCellGrad")
def lstm_cell(d):
    b, n, c = d.int(1, 2), d.int(1, 3), d.int(1, 3)
    f = lambda *s: d.T(s, -1, 1)
    given = dict(x=f(b, n), cs_prev=f(b, c), h_prev=f(b, c), w=f(n + c, 4 * c), wci=f(c), wcf=f(c), wco=f(c), b=f(4 * c))
    if d.op == "LSTMBlockCell":
        return dict(given, forget_bias=d.choice([0.0, 1.0]), cell_clip=d.choice([-1.0, 0.2, 3.0]))
    return dict(given, **{k: f(b, c) for k in ("i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad")})


@cases("BlockLSTM", "BlockLSTMV2", "BlockLSTMGrad", "BlockLSTMGradV2")
def block_lstm(d):
    t, b, n, c = d.int(1, 3), d.int(1, 2), d.int(1, 3), d.int(1, 3)
    f = lambda *s: d.T(s, -1, 1)
    given = dict(seq_len_max=d.i64(t), x=f(t, b, n), cs_prev=f(b, c), h_prev=f(b, c), w=f(n + c, 4 * c), wci=f(c), wcf=f(c), wco=f(c), b=f(4 * c))
    if "Grad" not in d.op:
        return dict(given, cell_clip=d.choice([-1.0, 0.2, 3.0, 0.0]))
    return dict(given, **{k: f(t, b, c) for k in ("i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad")})


@cases("CTCLoss", "CTCLossV2", tolerance=1e-4)
def ctc_loss(d):
    t, b, classes = d.int(4, 7), d.int(1, 3), d.int(3, 5)
    rows = [sorted(set(range(d.int(1, 2)))) for _ in range(b)]
    at = np.asarray([(i, j) for i, row in enumerate(rows) for j in row])
    given = dict(inputs=d.T((t, b, classes), -3, 3) if d.op == "CTCLoss" else d.of("float32", (t, b, classes), -3, 3), labels_indices=d.i64(at), labels_values=d.of("int32", (len(at),), 0 if d.op == "CTCLoss" else 1, classes - 2), sequence_length=d.of("int32", (b,), 3, t))
    return given


@cases("CTCGreedyDecoder", "CTCBeamSearchDecoder", tolerance=1e-4)
def ctc_decode(d):
    t, b, classes = d.int(1, 6), d.int(1, 3), d.int(2, 5)
    given = dict(inputs=d.T((t, b, classes), -3, 3), sequence_length=d.of("int32", (b,), 1, t))
    if d.op == "CTCBeamSearchDecoder":
        width = d.int(1, 5)
        return dict(given, beam_width=width, top_paths=d.int(1, width))
    return dict(given, blank_index=d.int(-classes, classes - 1))


@cases("FusedPadConv2D", "FusedResizeAndPadConv2D")
def fused_pad(d):
    depth, w = d.int(1, 3), d.int(1, 3)
    given = dict(input=d.T((1, d.int(3, 6), d.int(3, 6), depth), -3, 3), paddings=d.i32([[0, 0], [d.int(0, 2), d.int(0, 2)], [d.int(0, 2), d.int(0, 2)], [0, 0]]), filter=d.T((w, w, depth, d.int(1, 3)), -2, 2), mode="REFLECT" if d.chance() else "SYMMETRIC", strides=[1, d.int(1, 2), 1, 1])
    given["strides"][2] = given["strides"][1]
    return dict(given, size=d.i32([d.int(4, 8), d.int(4, 8)])) if "Resize" in d.op else given


TOLERANCES.update(dict.fromkeys(["Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "LRNGrad"], 1e-4))
skip("written by graph rewrites only", "_FusedConv2D", "_FusedConv3D", "_FusedDepthwiseConv2dNative", "_FusedMatMul", "_FusedBatchNormEx", "_FusedBatchNormGradEx")
