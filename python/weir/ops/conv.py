"""Convolutions and pools of one, two and three dimensions, plain, dilated, depthwise, separable and transposed."""

import numpy as np

from weir.framework import TensorShape, as_dtype, convert_to_tensor, name_scope, raw_ops
from weir.framework.dispatch import scoped
from weir.ops import array, dtypes


def per_dimension(value, count, channel_index, what):
    """A list of `count + 2` numbers from one number, `count` numbers or the full list; 1 for batch and channels."""
    if value is None:
        value = [1]
    if isinstance(value, (int, np.integer)):
        value = [value]
    value = [int(v) for v in value]
    if len(value) not in (1, count, count + 2):
        raise ValueError(f"{what} should be of length 1, {count} or {count + 2}. Received: {what}={value} of length "
                         f"{len(value)}")
    if len(value) == count + 2:
        return value
    if len(value) == 1:
        value = value * count
    return [1] + value + [1] if channel_index != 1 else [1, 1] + value


def _padding(padding, count):
    """The op's `padding` and `explicit_paddings` of a name or a list of pairs."""
    if isinstance(padding, str):
        return padding, []
    flat = [int(v) for pair in padding for v in pair]
    if len(flat) != 2 * (count + 2):
        raise ValueError(f"`padding` must be a list of {count + 2} pairs. Received: {padding}")
    return "EXPLICIT", flat


def _channel_index(data_format, count):
    return 1 if data_format is not None and data_format.startswith("NC") else count + 1


def _channels_last(values):
    """A list per dimension with its second entry, the channels, moved to the end."""
    return [values[0]] + list(values[2:]) + [values[1]]


def _transposed(operation, input, spatial):  # pylint: disable=redefined-builtin
    """Runs an operation for channels-last layouts on a tensor whose channels come second."""
    last = array.transpose(input, [0] + list(range(2, spatial + 2)) + [1])
    return array.transpose(operation(last), [0, spatial + 1] + list(range(1, spatial + 1)))


def conv2d(input, filters, strides, padding, data_format="NHWC", dilations=None, name=None):  # pylint: disable=redefined-builtin
    """A convolution of images with filters [height, width, in, out]."""
    padding, explicit = _padding(padding, 2)
    data_format = data_format or "NHWC"
    channel = _channel_index(data_format, 2)
    strides = per_dimension(strides, 2, channel, "strides")
    dilations = per_dimension(dilations, 2, channel, "dilations")
    input = convert_to_tensor(input, name="input")
    filters = convert_to_tensor(filters, dtype=None if hasattr(filters, "dtype") else input.dtype, name="filters")
    rank = input.shape.rank
    if data_format == "NCHW" and rank == 4:  # the CPU's kernel is for channels last
        sides = [explicit[i] for i in (0, 1, 4, 5, 6, 7, 2, 3)] if explicit else explicit
        return _transposed(lambda last: raw_ops.Conv2D(
            input=last, filter=filters, strides=_channels_last(strides), padding=padding, explicit_paddings=sides,
            dilations=_channels_last(dilations), name=name), input, 2)
    if rank is None or rank == 4:
        return raw_ops.Conv2D(input=input, filter=filters, strides=strides, padding=padding,
                              explicit_paddings=explicit, data_format=data_format, dilations=dilations, name=name)
    flat, batch = _merge_batch(input, 3)
    result = raw_ops.Conv2D(input=flat, filter=filters, strides=strides, padding=padding, explicit_paddings=explicit,
                            data_format=data_format, dilations=dilations, name=name)
    return _split_batch(result, batch, 3)


def _merge_batch(input, inner):
    """All dimensions before the last `inner` become one; the result and the dimensions that were merged."""
    shape = array.shape(input)
    rank = input.shape.rank
    if rank < inner + 1:
        raise ValueError(f"`input` must have at least {inner + 1} dimensions. Received shape {input.shape}")
    batch = shape[:rank - inner]
    return array.reshape(input, array.concat([[-1], shape[rank - inner:]], 0)), batch


def _split_batch(output, batch, inner):
    del inner
    return array.reshape(output, array.concat([batch, array.shape(output)[1:]], 0))


@scoped("conv1d", names_result=False)
def conv1d(input, filters, stride, padding, data_format="NWC", dilations=None, name=None):  # pylint: disable=redefined-builtin
    """A convolution of sequences with filters [width, in, out], run as one of images of height 1."""
    data_format = data_format or "NWC"
    if data_format in ("NWC", "NHWC"):
        two_d, axis, channel = "NHWC", -3, 2
    elif data_format in ("NCW", "NCHW"):
        two_d, axis, channel = "NCHW", -2, 1
    else:
        raise ValueError(f"`data_format` must be 'NWC' or 'NCW'. Received: data_format={data_format}")
    stride = per_dimension(stride, 1, channel, "stride")
    dilations = per_dimension(dilations, 1, channel, "dilations")
    place = 1 if two_d == "NHWC" else 2
    strides = stride[:place] + [1] + stride[place:]
    dilations = dilations[:place] + [1] + dilations[place:]
    if not isinstance(padding, str):
        padding = list(padding)
        padding = padding[:place] + [[0, 0]] + padding[place:]
    input = convert_to_tensor(input, name="input")
    filters = array.expand_dims(filters, 0)
    if input.shape.rank is not None and input.shape.rank > 3 and two_d == "NCHW":
        raise ValueError("conv1d with several batch dimensions needs data_format='NWC'")
    result = conv2d(array.expand_dims(input, axis), filters, strides, padding, two_d, dilations, name=name)
    return array.squeeze(result, [axis])


def conv3d(input, filters, strides, padding, data_format="NDHWC", dilations=None, name=None):  # pylint: disable=redefined-builtin
    """A convolution of volumes with filters [depth, height, width, in, out]."""
    channel = _channel_index(data_format, 3)
    strides = per_dimension(strides, 3, channel, "strides")
    dilations = per_dimension(dilations, 3, channel, "dilations")
    if data_format == "NCDHW":
        return _transposed(lambda last: raw_ops.Conv3D(
            input=last, filter=filters, strides=_channels_last(strides), padding=padding,
            dilations=_channels_last(dilations), name=name), convert_to_tensor(input, name="input"), 3)
    return raw_ops.Conv3D(input=input, filter=filters, strides=strides, padding=padding,
                          data_format=data_format or "NDHWC", dilations=dilations, name=name)


def _spatial_dims(input, filters):
    if filters.shape.rank is not None:
        return filters.shape.rank - 2
    if input.shape.rank is not None:
        return input.shape.rank - 2
    raise ValueError("The rank of the input or of the filters must be known")


def _split_format(data_format, count):
    names = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
    if count not in names:
        raise ValueError(f"`num_spatial_dims` must be 1, 2, or 3. Received: num_spatial_dims={count}.")
    if data_format is None:
        return names[count][0]
    if data_format not in names[count]:
        raise ValueError(f"`data_format` must be one of {names[count]}. Received: data_format={data_format}")
    return data_format


@scoped("convolution")
def convolution(input, filters, strides=None, padding="VALID", data_format=None, dilations=None, name=None):  # pylint: disable=redefined-builtin
    """A convolution of as many spatial dimensions as the filters have (one, two or three)."""
    input = convert_to_tensor(input, name="input")
    filters = convert_to_tensor(filters, name="filters")
    count = _spatial_dims(input, filters)
    if input.shape.rank is not None and filters.shape.rank is not None and input.shape.rank < filters.shape.rank:
        raise ValueError("`num_spatial_dims` and the rank of the input do not fit: input has shape "
                         f"{input.shape}, filters {filters.shape}")
    channels_first = data_format is not None and data_format.startswith("NC")
    channel = 1 if channels_first else count + 1
    strides = per_dimension(strides, count, channel, "strides")
    dilations = per_dimension(dilations, count, channel, "dilations")
    data_format = _split_format(data_format, count)
    if any(s > 1 for s in strides) and any(d > 1 for d in dilations) and count == 0:
        raise ValueError("strides > 1 not supported in conjunction with dilations > 1")
    if count == 1:
        return conv1d(input, filters, strides, padding, data_format, dilations, name)
    if count == 2:
        return conv2d(input, filters, strides, padding, data_format, dilations, name)
    if input.shape.rank is not None and input.shape.rank > 5:
        flat, batch = _merge_batch(input, 4)
        return _split_batch(conv3d(flat, filters, strides, padding, data_format, dilations, name), batch, 4)
    return conv3d(input, filters, strides, padding, data_format, dilations, name)


def atrous_conv2d(value, filters, rate, padding, name=None):
    """A convolution with filters whose taps are `rate` pixels apart."""
    return convolution(value, filters, padding=padding, dilations=[rate, rate], name=name)


@scoped("depthwise")
def depthwise_conv2d(input, filter, strides, padding, data_format=None, dilations=None, name=None):  # pylint: disable=redefined-builtin
    """Each channel convolved with filters of its own [height, width, channels, multiplier]."""
    filter = convert_to_tensor(filter, name="filter")
    input = convert_to_tensor(input, name="tensor_in")
    data_format = data_format or "NHWC"
    channel = _channel_index(data_format, 2)
    strides = [int(s) for s in strides]
    if len(strides) != 4:
        raise ValueError(f"`strides` must be a list of 4 numbers. Received: {strides}")
    dilations = per_dimension(dilations, 2, channel, "dilations")
    padding, explicit = _padding(padding, 2)
    return raw_ops.DepthwiseConv2dNative(input=input, filter=filter, strides=strides, padding=padding,
                                         explicit_paddings=explicit, data_format=data_format, dilations=dilations,
                                         name=name)


@scoped("separable_conv2d")
def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, data_format=None, dilations=None,  # pylint: disable=redefined-builtin
                     name=None):
    """A depthwise convolution, then one with 1x1 filters that mixes the channels."""
    pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
    shape = pointwise_filter.shape
    if shape.rank is not None and shape.rank != 4:
        raise ValueError(f"Shape {shape} must have rank 4")
    if shape.rank == 4 and shape[0] not in (1, None) or shape.rank == 4 and shape[1] not in (1, None):
        raise ValueError("`pointwise_filter` must have dimensions 1 x 1")
    depthwise = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return conv2d(depthwise, pointwise_filter, [1, 1, 1, 1], "VALID", data_format or "NHWC", name=name)


# Transposed convolutions: the gradient of a convolution with respect to its input.


@scoped("conv2d_transpose")
def conv2d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NHWC", dilations=None,  # pylint: disable=redefined-builtin
                     name=None):
    """The transpose of `conv2d`; filters are [height, width, out, in]."""
    data_format = data_format or "NHWC"
    channel = _channel_index(data_format, 2)
    padding, explicit = _padding(padding, 2)
    return raw_ops.Conv2DBackpropInput(
        input_sizes=array.shape_tensor(output_shape), filter=filters, out_backprop=input,
        strides=per_dimension(strides, 2, channel, "strides"), padding=padding, explicit_paddings=explicit,
        data_format=data_format, dilations=per_dimension(dilations, 2, channel, "dilations"), name=name)


def conv1d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NWC", dilations=None,  # pylint: disable=redefined-builtin
                     name=None):
    """The transpose of `conv1d`; filters are [width, out, in]."""
    channels_first = data_format is not None and data_format.startswith("NC")
    two_d, axis, channel = ("NCHW", 2, 1) if channels_first else ("NHWC", 1, 2)
    strides = per_dimension(strides, 1, channel, "strides")
    dilations = per_dimension(dilations, 1, channel, "dilations")
    strides = strides[:axis] + [1] + strides[axis:]
    dilations = dilations[:axis] + [1] + dilations[axis:]
    sizes = array.shape_tensor(output_shape)
    sizes = array.concat([sizes[:axis], [1], sizes[axis:]], 0)
    result = conv2d_transpose(array.expand_dims(input, axis), array.expand_dims(filters, 0), sizes, strides, padding,
                              two_d, dilations, name=name)
    return array.squeeze(result, [axis])


def conv3d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NDHWC", dilations=None,  # pylint: disable=redefined-builtin
                     name=None):
    """The transpose of `conv3d`; filters are [depth, height, width, out, in]."""
    data_format = data_format or "NDHWC"
    channel = _channel_index(data_format, 3)
    return raw_ops.Conv3DBackpropInputV2(
        input_sizes=array.shape_tensor(output_shape), filter=filters, out_backprop=input,
        strides=per_dimension(strides, 3, channel, "strides"), padding=padding, data_format=data_format,
        dilations=per_dimension(dilations, 3, channel, "dilations"), name=name)


def conv_transpose(input, filters, output_shape, strides, padding="SAME", data_format=None, dilations=None,  # pylint: disable=redefined-builtin
                   name=None):
    """The transpose of a convolution of one, two or three dimensions, by the length of `output_shape`."""
    from weir.framework import is_tensor
    if is_tensor(output_shape):
        length = output_shape.shape[0]
    elif isinstance(output_shape, TensorShape):
        length = output_shape.rank
    else:
        length = len(output_shape)
    count = length - 2
    function = {1: conv1d_transpose, 2: conv2d_transpose, 3: conv3d_transpose}.get(count)
    if function is None:
        raise ValueError(f"`output_shape` must be of length 3, 4 or 5. Received: output_shape={output_shape} of length "
                         f"{length}.")
    return function(input, filters, output_shape, strides, padding=padding,
                    data_format=_split_format(data_format, count), dilations=dilations, name=name)


def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    """The transpose of `atrous_conv2d`."""
    return conv2d_transpose(value, filters, output_shape, [1, 1, 1, 1], padding, dilations=[rate, rate], name=name)


# Pools.


def _pool(kind, input, ksize, strides, padding, data_format, count, name):
    data_format = _split_format(data_format, count)
    channel = _channel_index(data_format, count)
    if isinstance(ksize, (list, tuple)) and any(int(k) <= 0 for k in ksize) or isinstance(ksize, int) and ksize <= 0:
        raise ValueError(f"ksize cannot be zero or negative. Received: ksize={ksize}")
    ksize = per_dimension(ksize, count, channel, "ksize")
    strides = per_dimension(strides, count, channel, "strides")
    explicit = []
    if not isinstance(padding, str):
        if kind != "Max" or count != 2:
            raise ValueError("`padding` must be 'SAME' or 'VALID' for this pool; explicit padding is for max_pool2d")
        padding, explicit = _padding(padding, 2)
    if count == 1:
        axis = 2 if channel == 1 else 1
        ksize, strides = ksize[:axis] + [1] + ksize[axis:], strides[:axis] + [1] + strides[axis:]
        flat = array.expand_dims(input, axis)
        result = _pool(kind, flat, ksize, strides, padding, "NCHW" if channel == 1 else "NHWC", 2, name)
        return array.squeeze(result, [axis])
    if count == 2 and kind == "Max":
        return raw_ops.MaxPool(input=input, ksize=ksize, strides=strides, padding=padding, explicit_paddings=explicit,
                               data_format=data_format, name=name)
    if count == 2:
        return raw_ops.AvgPool(value=input, ksize=ksize, strides=strides, padding=padding, data_format=data_format,
                               name=name)
    op = raw_ops.MaxPool3D if kind == "Max" else raw_ops.AvgPool3D
    return op(input=input, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=name)


def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):  # pylint: disable=redefined-builtin
    """The largest element of each window of a sequence."""
    with name_scope(name or "MaxPool1d"):
        return _pool("Max", input, ksize, strides, padding, data_format, 1, None)


def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):  # pylint: disable=redefined-builtin
    """The largest element of each window of an image."""
    return _pool("Max", input, ksize, strides, padding, data_format, 2, name or "MaxPool2d")


def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):  # pylint: disable=redefined-builtin
    """The largest element of each window of a volume."""
    return _pool("Max", input, ksize, strides, padding, data_format, 3, name)


def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):  # pylint: disable=redefined-builtin
    """The mean of each window of a sequence."""
    with name_scope(name or "AvgPool1D"):
        return _pool("Avg", input, ksize, strides, padding, data_format, 1, None)


def avg_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):  # pylint: disable=redefined-builtin
    """The mean of each window of an image."""
    return _pool("Avg", input, ksize, strides, padding, data_format, 2, name or "AvgPool2D")


def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):  # pylint: disable=redefined-builtin
    """The mean of each window of a volume."""
    return _pool("Avg", input, ksize, strides, padding, data_format, 3, name)


def _pool_of_rank(kind, input, ksize, strides, padding, data_format, name):
    input = convert_to_tensor(input, name="input")
    rank = input.shape.rank
    if rank is not None:
        count = rank - 2
    else:
        count = len(data_format) - 2 if data_format else None
    if count not in (1, 2, 3):
        raise ValueError(f"`input.shape.rank` must be 3, 4 or 5. Received: input.shape={input.shape} of rank {rank}.")
    if kind == "Max" and count == 2 and name is None:
        name = "MaxPool2d"
    return _pool(kind, input, ksize, strides, padding, data_format, count, name)


def max_pool(input, ksize, strides, padding, data_format=None, name=None):  # pylint: disable=redefined-builtin
    """The largest element of each window, in one, two or three dimensions by the input's rank."""
    return _pool_of_rank("Max", input, ksize, strides, padding, data_format, name)


def avg_pool(input, ksize, strides, padding, data_format=None, name=None):  # pylint: disable=redefined-builtin
    """The mean of each window, in one, two or three dimensions by the input's rank."""
    return _pool_of_rank("Avg", input, ksize, strides, padding, data_format, name)


def pool(input, window_shape, pooling_type, strides=None, padding="VALID", data_format=None, dilations=None, name=None):  # pylint: disable=redefined-builtin
    """Pools of any dimension and dilation: `pooling_type` is "MAX" or "AVG"."""
    input = convert_to_tensor(input, name="input")
    count = len(window_shape)
    if count not in (1, 2, 3):
        raise ValueError("`len(window_shape)` must be 1, 2, or 3. Received: "
                         f"window_shape={window_shape} of length {count}")
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"`pooling_type` must be either 'MAX' or 'AVG'. Received {pooling_type}.")
    if input.shape.rank is not None and input.shape.rank != count + 2:
        raise ValueError(f"`input.shape.rank` must be {count + 2}. Received: input.shape={input.shape}")
    strides = [1] * count if strides is None else list(strides)
    dilations = [1] * count if dilations is None else list(dilations)
    if any(s > 1 for s in strides) and any(d > 1 for d in dilations):
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1. Received: "
                         f"strides={strides} and dilation_rate={dilations}")
    if padding == "SAME" and pooling_type == "AVG" and any(d > 1 for d in dilations):
        raise ValueError("pooling with 'SAME' padding is not implemented for dilated averages")
    kind = "Max" if pooling_type == "MAX" else "Avg"
    if all(d == 1 for d in dilations):
        return _pool(kind, input, list(window_shape), strides, padding, data_format, count, name)
    return with_space_to_batch(
        input, dilations, padding,
        lambda blocks, _, inner: _pool(kind, blocks, list(window_shape), strides, inner, data_format, count, name),
        filter_shape=list(window_shape), data_format=data_format)


def with_space_to_batch(input, dilation_rate, padding, op, filter_shape=None, spatial_dims=None, data_format=None):  # pylint: disable=redefined-builtin
    """Runs `op(input, num_spatial_dims, padding)` on interleaved sub-images, which makes it a dilated operation."""
    input = convert_to_tensor(input, name="input")
    rates = [int(r) for r in (dilation_rate if not hasattr(dilation_rate, "numpy") else dilation_rate.numpy())]
    count = len(rates)
    first = 2 if data_format is not None and data_format.startswith("NC") else 1
    spatial = list(spatial_dims) if spatial_dims is not None else list(range(first, first + count))
    if all(r == 1 for r in rates):
        return op(input, count, padding)
    base = np.zeros((count, 2), np.int32)
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError("`filter_shape` must be specified for `padding='SAME'`")
        extent = [(int(filter_shape[i]) - 1) * rates[i] for i in range(count)]
        base = np.array([[e // 2, e - e // 2] for e in extent], np.int32)
    elif padding != "VALID":
        raise ValueError(f"`padding` must be one of 'VALID' or 'SAME'. Received: padding={padding}")
    spatial_shape = array.gather(array.shape(input), spatial)
    pads, crops = array.required_space_to_batch_paddings(spatial_shape, np.array(rates, np.int32), base)
    last = max(spatial)
    blocks = [1] * last
    for place, rate in zip(spatial, rates):
        blocks[place - 1] = rate
    full_pads = [array.constant([0, 0]) for _ in range(last)]
    full_crops = [array.constant([0, 0]) for _ in range(last)]
    for i, place in enumerate(spatial):
        full_pads[place - 1], full_crops[place - 1] = pads[i], crops[i]
    blocked = array.space_to_batch(input, blocks, array.stack(full_pads))
    result = op(blocked, count, "VALID")
    return array.batch_to_space(result, np.array(blocks, np.int32), array.stack(full_crops))


def max_pool_with_argmax(input, ksize, strides, padding, data_format="NHWC", output_dtype=dtypes.int64,  # pylint: disable=redefined-builtin
                         include_batch_in_index=False, name=None):
    """The largest element of each window and its flat index in the image (or in the batch)."""
    if data_format != "NHWC":
        raise ValueError(f"`data_format` values other  than 'NHWC' are not supported. Received: {data_format}")
    return raw_ops.MaxPoolWithArgmax(input=input, ksize=per_dimension(ksize, 2, 3, "ksize"),
                                     strides=per_dimension(strides, 2, 3, "strides"), padding=padding,
                                     Targmax=as_dtype(output_dtype), include_batch_in_index=include_batch_in_index,
                                     name=name)


def _fractional(op, value, pooling_ratio, pseudo_random, overlapping, seed, name):
    if isinstance(pooling_ratio, (int, float)):
        if pooling_ratio < 1.0:
            raise ValueError(f"`pooling_ratio` should be >= 1.0. Received: pooling_ratio={pooling_ratio}")
        ratio = [1.0, float(pooling_ratio), float(pooling_ratio), 1.0]
    elif len(pooling_ratio) == 1:
        ratio = [1.0, float(pooling_ratio[0]), float(pooling_ratio[0]), 1.0]
    elif len(pooling_ratio) == 2:
        ratio = [1.0, float(pooling_ratio[0]), float(pooling_ratio[1]), 1.0]
    else:
        ratio = [float(r) for r in pooling_ratio]
    if seed == 0:
        return op(value=value, pooling_ratio=ratio, pseudo_random=pseudo_random, overlapping=overlapping,
                  deterministic=False, seed=0, seed2=0, name=name)
    from weir.ops import random
    first, second = random.get_seed(seed)
    return op(value=value, pooling_ratio=ratio, pseudo_random=pseudo_random, overlapping=overlapping,
              deterministic=True, seed=first, seed2=second, name=name)


def fractional_max_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, seed=0, name=None):
    """A max pool whose output is smaller by a factor that need not be whole; windows are drawn at random."""
    return _fractional(raw_ops.FractionalMaxPool, value, pooling_ratio, pseudo_random, overlapping, seed, name)


def fractional_avg_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, seed=0, name=None):
    """An average pool whose output is smaller by a factor that need not be whole."""
    return _fractional(raw_ops.FractionalAvgPool, value, pooling_ratio, pseudo_random, overlapping, seed, name)


def dilation2d(input, filters, strides, padding, data_format, dilations, name=None):  # pylint: disable=redefined-builtin
    """Grayscale dilation: the maximum of sums of pixels and filter values."""
    if data_format != "NHWC":
        raise ValueError(f"`data_format` values other  than 'NHWC' are not supported. Received: {data_format}")
    return raw_ops.Dilation2D(input=input, filter=filters, strides=list(strides), rates=list(dilations),
                              padding=padding, name=name)


def erosion2d(value, filters, strides, padding, data_format, dilations, name=None):
    """Grayscale erosion: the minimum of differences of pixels and filter values."""
    if data_format != "NHWC":
        raise ValueError(f"`data_format` values other  than 'NHWC' are not supported. Received: {data_format}")
    value, filters = convert_to_tensor(value), convert_to_tensor(filters)
    result = raw_ops.Dilation2D(input=-value, filter=array.reverse(filters, [0, 1]), strides=list(strides),
                                rates=list(dilations), padding=padding)
    return raw_ops.Neg(x=result, name=name)


def depthwise_conv2d_backprop_input(input_sizes, filter, out_backprop, strides, padding, data_format="NHWC",  # pylint: disable=redefined-builtin
                                    dilations=(1, 1, 1, 1), name=None):
    """The gradient of `depthwise_conv2d` with respect to its input."""
    padding, explicit = _padding(padding, 2)
    return raw_ops.DepthwiseConv2dNativeBackpropInput(
        input_sizes=input_sizes, filter=filter, out_backprop=out_backprop, strides=list(strides), padding=padding,
        explicit_paddings=explicit, data_format=data_format, dilations=list(dilations), name=name)


def depthwise_conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, data_format="NHWC",  # pylint: disable=redefined-builtin
                                     dilations=(1, 1, 1, 1), name=None):
    """The gradient of `depthwise_conv2d` with respect to its filters."""
    padding, explicit = _padding(padding, 2)
    return raw_ops.DepthwiseConv2dNativeBackpropFilter(
        input=input, filter_sizes=filter_sizes, out_backprop=out_backprop, strides=list(strides), padding=padding,
        explicit_paddings=explicit, data_format=data_format, dilations=list(dilations), name=name)


