"""Functions whose arguments have other names or orders in TensorFlow 1: reduce_sum(keep_dims), nn.max_pool(value), ..."""

from weir.framework import as_dtype, convert_to_tensor, dtypes, raw_ops
from weir.framework.dispatch import scoped
from weir.framework.graph import name_scope
from weir.ops import array, control_flow, conv, math, nn, random, sparse, strings

def _reduction(name):
    inner = getattr(math, name)

    def reduce(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
        axis = reduction_indices if axis is None else axis
        keepdims = keep_dims if keepdims is None else keepdims
        return inner(input_tensor, axis=axis, keepdims=bool(keepdims), name=name)
    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = inner.__doc__
    return reduce


reduce_sum = _reduction("reduce_sum")
reduce_mean = _reduction("reduce_mean")
reduce_prod = _reduction("reduce_prod")
reduce_max = _reduction("reduce_max")
reduce_min = _reduction("reduce_min")
reduce_all = _reduction("reduce_all")
reduce_any = _reduction("reduce_any")
reduce_logsumexp = _reduction("reduce_logsumexp")


def count_nonzero(input_tensor=None, axis=None, keepdims=None, dtype=dtypes.int64, name=None, reduction_indices=None,
                  keep_dims=None, input=None):  # pylint: disable=redefined-builtin
    return math.count_nonzero(input if input_tensor is None else input_tensor,
                              axis=reduction_indices if axis is None else axis,
                              keepdims=bool(keep_dims if keepdims is None else keepdims), dtype=dtype, name=name)


def argmax(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):  # pylint: disable=redefined-builtin
    axis = dimension if axis is None else axis
    return raw_ops.ArgMax(input=input, dimension=0 if axis is None else axis, output_type=as_dtype(output_type), name=name)


def argmin(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):  # pylint: disable=redefined-builtin
    axis = dimension if axis is None else axis
    return raw_ops.ArgMin(input=input, dimension=0 if axis is None else axis, output_type=as_dtype(output_type), name=name)


def expand_dims(input, axis=None, name=None, dim=None):  # pylint: disable=redefined-builtin
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return array.expand_dims(input, axis, name=name)


def squeeze(input, axis=None, name=None, squeeze_dims=None):  # pylint: disable=redefined-builtin
    return array.squeeze(input, squeeze_dims if axis is None else axis, name=name)


def where(condition, x=None, y=None, name=None):
    """compat.v1.where: the condition may also be a vector that chooses whole rows."""
    if x is None and y is None:
        return raw_ops.Where(condition=convert_to_tensor(condition, dtypes.bool), name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    x = convert_to_tensor(x)
    return raw_ops.Select(condition=condition, x=x, y=convert_to_tensor(y, x.dtype), name=name)


def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
    return array.gather(params, indices, axis=axis, batch_dims=batch_dims, name=name)


def gather_nd(params, indices, name=None, batch_dims=0, bad_indices_policy=""):
    return array.gather_nd(params, indices, batch_dims=batch_dims, name=name)


def boolean_mask(tensor, mask, name="boolean_mask", axis=None):
    return array.boolean_mask(tensor, mask, axis=axis, name=name)


def transpose(a, perm=None, name="transpose", conjugate=False):
    return array.transpose(a, perm, conjugate, name)


def zeros_like(tensor, dtype=None, name=None, optimize=True):
    return array.zeros_like(tensor, dtype=dtype, name=name)


def ones_like(tensor, dtype=None, name=None, optimize=True):
    return array.ones_like(tensor, dtype=dtype, name=name)


def shape(input, name=None, out_type=None):  # pylint: disable=redefined-builtin
    return array.shape(input, out_type=out_type or dtypes.int32, name=name)


def size(input, name=None, out_type=dtypes.int32):  # pylint: disable=redefined-builtin
    return array.size(input, out_type=out_type, name=name)


def pad(tensor, paddings, mode="CONSTANT", name=None, constant_values=0):
    return array.pad(tensor, paddings, mode, constant_values, name)


def concat(values, axis, name="concat"):
    return array.concat(values, axis, name=name)


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):  # pylint: disable=redefined-builtin
    from weir.ops import linalg
    return linalg.norm(tensor, ord, axis, bool(keep_dims if keepdims is None else keepdims), name)


def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None,  # pylint: disable=redefined-builtin
                     batch_dim=None):
    return array.reverse_sequence(input, seq_lengths, seq_dim if seq_axis is None else seq_axis,
                                  batch_dim if batch_axis is None else batch_axis or 0, name)


def tensor_to(dtype):
    def cast(x, name=None):
        return math.cast(x, dtype, name=name)
    return cast


to_float = tensor_to(dtypes.float32)
to_double = tensor_to(dtypes.float64)
to_int32 = tensor_to(dtypes.int32)
to_int64 = tensor_to(dtypes.int64)
to_bfloat16 = tensor_to(dtypes.bfloat16)
to_complex64 = tensor_to(dtypes.complex64)
to_complex128 = tensor_to(dtypes.complex128)


def div(x, y, name=None):
    """Division as Python 2 had it: whole for integers."""
    x = convert_to_tensor(x)
    y = convert_to_tensor(y, x.dtype)
    return raw_ops.FloorDiv(x=x, y=y, name=name) if x.dtype.is_integer else raw_ops.RealDiv(x=x, y=y, name=name)


def lin_space(start, stop, num, name=None):
    return raw_ops.LinSpace(start=convert_to_tensor(start), stop=stop, num=num, name=name)


def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):  # pylint: disable=redefined-outer-name
    return math.add_n(list(inputs), name=name)


def random_uniform(shape, minval=0, maxval=None, dtype=dtypes.float32, seed=None, name=None):  # pylint: disable=redefined-outer-name
    return random.uniform(shape, minval, maxval, dtype, seed, name)


def multinomial(logits, num_samples, seed=None, name=None, output_dtype=None):
    return random.categorical(logits, num_samples, output_dtype, seed, name)


def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
    """compat.v1.cond"""
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    if true_fn is None:
        raise TypeError("cond(): 'true_fn' argument required")
    if false_fn is None:
        raise TypeError("cond(): 'false_fn' argument required")
    if not callable(true_fn):
        raise TypeError("'true_fn' must be callable.")
    if not callable(false_fn):
        raise TypeError("'false_fn' must be callable.")
    return control_flow.cond(pred, true_fn, false_fn, name=name)


def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False,  # pylint: disable=redefined-outer-name
               name=None, maximum_iterations=None, return_same_structure=False):
    """compat.v1.while_loop: one loop variable comes back without a list."""
    result = control_flow.while_loop(cond, body, loop_vars, shape_invariants=shape_invariants,
                                     parallel_iterations=parallel_iterations, maximum_iterations=maximum_iterations,
                                     name=name)
    if isinstance(result, (list, tuple)) and len(result) == 1 and not return_same_structure:
        return result[0]
    return result


def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True, name=None,
           fn_output_signature=None):
    return control_flow.map_fn(fn, elems, fn_output_signature=dtype if fn_output_signature is None else
                               fn_output_signature, name=name)


def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    return control_flow.foldl(fn, elems, initializer=initializer, name=name)


def foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    return control_flow.foldr(fn, elems, initializer=initializer, name=name)


def scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True,
         reverse=False, name=None):
    return control_flow.scan(fn, elems, initializer=initializer, reverse=reverse, name=name)


def substr(input, pos, len, name=None, unit="BYTE"):  # pylint: disable=redefined-builtin
    return strings.substr(input, pos, len, unit, name)


def string_split(source=None, sep=None, skip_empty=True, delimiter=" ", result_type="SparseTensor", name=None, input=None):  # pylint: disable=redefined-builtin
    """Words of strings, a SparseTensor."""
    source = convert_to_tensor(input if source is None else source, dtypes.string)
    made = raw_ops.StringSplit(input=source, delimiter=convert_to_tensor(delimiter if sep is None else sep),
                               skip_empty=skip_empty, name=name)
    result = sparse.SparseTensor(made[0], made[1], made[2])
    if result_type == "RaggedTensor":
        from weir.ops.ragged import RaggedTensor
        return RaggedTensor.from_value_rowids(result.values, result.indices[:, 0], result.dense_shape[0])
    return result


def reduce_join(inputs, axis=None, keep_dims=None, separator="", name=None, reduction_indices=None, keepdims=None):
    return strings.reduce_join(inputs, axis=reduction_indices if axis is None else axis,
                               keepdims=bool(keep_dims if keepdims is None else keepdims), separator=separator, name=name)


def string_to_number(string_tensor=None, out_type=dtypes.float32, name=None, input=None):  # pylint: disable=redefined-builtin
    return raw_ops.StringToNumber(string_tensor=input if string_tensor is None else string_tensor,
                                  out_type=as_dtype(out_type), name=name)


def string_to_hash_bucket(string_tensor=None, num_buckets=None, name=None, input=None):  # pylint: disable=redefined-builtin
    return raw_ops.StringToHashBucket(string_tensor=input if string_tensor is None else string_tensor,
                                      num_buckets=num_buckets, name=name)


def decode_raw(input_bytes=None, out_type=None, little_endian=True, name=None, bytes=None):  # pylint: disable=redefined-builtin
    return raw_ops.DecodeRaw(bytes=bytes if input_bytes is None else input_bytes, out_type=as_dtype(out_type),
                             little_endian=little_endian, name=name)


# nn

def softmax(logits, axis=None, name=None, dim=None):
    return nn.softmax(logits, dim if axis is None else axis, name)


def log_softmax(logits, axis=None, name=None, dim=None):
    return nn.log_softmax(logits, dim if axis is None else axis, name)


def _named(function, sentinel, labels, logits):
    if sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., ...). Received unnamed "
                         f"argument: {sentinel}")
    if labels is None or logits is None:
        raise ValueError(f"Both of `labels` and `logits` must be provided. Received: labels={labels} and logits={logits}")


@scoped("softmax_cross_entropy_with_logits_sg")
def softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, dim=-1, name=None, axis=None):
    _named("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    return nn.softmax_cross_entropy_with_logits(labels=raw_ops.StopGradient(input=convert_to_tensor(labels)),
                                                logits=logits, axis=dim if axis is None else axis, name=name)


def softmax_cross_entropy_with_logits_v2(labels, logits, axis=None, name=None, dim=None):
    axis = dim if axis is None else axis
    return nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, axis=-1 if axis is None else axis, name=name)


def sparse_softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    _named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    return nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def sigmoid_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    _named("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """Each element is kept with probability `keep_prob` (or 1 - rate) and then scaled up."""
    if rate is None:
        if keep_prob is None:
            raise ValueError("You must provide a rate to dropout.")
        rate = 1 - keep_prob
    return nn.dropout(x, rate, noise_shape, seed, name)


def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
    return nn.moments(x, axes, keepdims=bool(keep_dims if keepdims is None else keepdims), name=name)


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    return math.l2_normalize(x, dim if axis is None else axis, epsilon, name)


def _pool(op):
    def pool(value=None, ksize=None, strides=None, padding=None, data_format="NHWC", name=None, input=None):  # pylint: disable=redefined-builtin
        value = convert_to_tensor(input if value is None else value)
        sizes = lambda given: _four(given, data_format)  # noqa: E731
        return op(value, ksize=sizes(ksize), strides=sizes(strides), padding=padding, data_format=data_format, name=name)
    return pool


def _four(given, data_format):
    given = [given] if isinstance(given, int) else list(given)
    if len(given) == 4:
        return given
    pair = given * 2 if len(given) == 1 else given
    return [1] + pair + [1] if data_format == "NHWC" else [1, 1] + pair


max_pool = _pool(lambda value, **kw: raw_ops.MaxPool(input=value, **kw))
avg_pool = _pool(lambda value, **kw: raw_ops.AvgPool(value=value, **kw))


def conv1d(value=None, filters=None, stride=None, padding=None, use_cudnn_on_gpu=None, data_format=None, name=None,
           input=None, dilations=None):  # pylint: disable=redefined-builtin
    return conv.conv1d(input if value is None else value, filters, stride, padding, data_format=data_format or "NWC",
                       dilations=dilations, name=name)


def conv2d(input, filter=None, strides=None, padding=None, use_cudnn_on_gpu=True, data_format="NHWC",  # pylint: disable=redefined-builtin
           dilations=(1, 1, 1, 1), name=None, filters=None):
    return conv.conv2d(input, filter if filters is None else filters, strides=1 if strides is None else strides,
                       padding=padding, data_format=data_format, dilations=list(dilations) if not isinstance(
                           dilations, int) else dilations, name=name)


def conv2d_transpose(value=None, filter=None, output_shape=None, strides=None, padding="SAME", data_format="NHWC",  # pylint: disable=redefined-builtin
                     name=None, input=None, filters=None, dilations=None):
    return conv.conv2d_transpose(input if value is None else value, filter if filters is None else filters, output_shape,
                                 strides, padding=padding, data_format=data_format, dilations=dilations, name=name)


def conv3d(input, filter=None, strides=None, padding=None, data_format="NDHWC", dilations=(1, 1, 1, 1, 1), name=None,  # pylint: disable=redefined-builtin
           filters=None):
    return raw_ops.Conv3D(input=input, filter=filter if filters is None else filters, strides=strides, padding=padding,
                          data_format=data_format, dilations=list(dilations), name=name)


def depthwise_conv2d(input, filter, strides, padding, rate=None, name=None, data_format=None, dilations=None):  # pylint: disable=redefined-builtin
    return conv.depthwise_conv2d(input, filter, strides, padding, data_format=data_format,
                                 dilations=rate if dilations is None else dilations, name=name)


def depthwise_conv2d_native(input, filter, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), name=None):  # pylint: disable=redefined-builtin
    return raw_ops.DepthwiseConv2dNative(input=input, filter=filter, strides=strides, padding=padding,
                                         data_format=data_format, dilations=list(dilations), name=name)


def convolution(input, filter, padding, strides=None, dilation_rate=None, name=None, data_format=None, filters=None,  # pylint: disable=redefined-builtin
                dilations=None):
    return conv.convolution(input, filter if filters is None else filters, strides=strides, padding=padding,
                            data_format=data_format, dilations=dilation_rate if dilations is None else dilations,
                            name=name)


def xw_plus_b(x, weights, biases, name=None):
    with name_scope(name or "xw_plus_b") as scope:
        return raw_ops.BiasAdd(value=math.matmul(x, weights), bias=biases, name=scope or None)


def relu_layer(x, weights, biases, name=None):
    with name_scope(name or "relu_layer") as scope:
        return raw_ops.Relu(features=raw_ops.BiasAdd(value=math.matmul(x, weights), bias=biases), name=scope or None)


def fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC", is_training=True,
                     name=None, exponential_avg_factor=1.0):
    empty = convert_to_tensor([], dtypes.float32)
    made = raw_ops.FusedBatchNormV3(x=x, scale=scale, offset=offset, mean=empty if mean is None else mean,
                                    variance=empty if variance is None else variance, epsilon=epsilon,
                                    exponential_avg_factor=exponential_avg_factor, data_format=data_format,
                                    is_training=is_training, name=name)
    return made[0], made[1], made[2]


def embedding_lookup(params, ids, partition_strategy="mod", name=None, validate_indices=True, max_norm=None):
    """Rows of a matrix, which may be in several parts."""
    from weir.compat.v1.scopes import PartitionedVariable
    if isinstance(params, PartitionedVariable):
        params = params._get_variable_list()
    if not isinstance(params, (list, tuple)):
        params = [params]
    if len(params) == 1:
        return nn.embedding_lookup(params[0], ids, max_norm=max_norm, name=name)
    ids = convert_to_tensor(ids)
    with name_scope(name or "embedding_lookup"):
        flat = array.reshape(ids, [-1])
        count = len(params)
        if partition_strategy == "mod":
            parts, own = math.cast(flat % count, dtypes.int32), flat // count
        elif partition_strategy == "div":
            rows = sum(p.shape.as_list()[0] for p in params)
            per, extra = rows // count, rows % count
            bound = extra * (per + 1)
            parts = raw_ops.Maximum(x=flat // (per + 1), y=(flat - extra) // per)
            own = array.where(flat < bound, flat % (per + 1), (flat - extra) % per)
            parts = math.cast(parts, dtypes.int32)
        else:
            raise ValueError(f"Unrecognized partition strategy: {partition_strategy}.Must be one of either `mod` or `div`.")
        places = raw_ops.DynamicPartition(data=array.range(array.size(flat)), partitions=parts, num_partitions=count)
        chosen = raw_ops.DynamicPartition(data=own, partitions=parts, num_partitions=count)
        found = [array.gather(p, i) for p, i in zip(params, chosen)]
        joined = raw_ops.ParallelDynamicStitch(indices=list(places), data=found)
        result = array.reshape(joined, array.concat([array.shape(ids), array.shape(params[0])[1:]], 0))
        result.set_shape(ids.shape.concatenate(params[0].shape[1:]))
        return result if max_norm is None else _clipped(result, ids, max_norm)


def _clipped(result, ids, max_norm):
    axes = list(range(ids.shape.rank, result.shape.rank))
    return math.clip_by_norm(result, max_norm, axes=axes)


def space_to_depth(input, block_size, name=None, data_format="NHWC"):  # pylint: disable=redefined-builtin
    return raw_ops.SpaceToDepth(input=input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(input, block_size, name=None, data_format="NHWC"):  # pylint: disable=redefined-builtin
    return raw_ops.DepthToSpace(input=input, block_size=block_size, data_format=data_format, name=name)


def confusion_matrix(labels, predictions, num_classes=None, dtype=dtypes.int32, name=None, weights=None):
    return math.confusion_matrix(labels, predictions, num_classes, weights, dtype, name)


def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0, validate_indices=True, name=None):
    return raw_ops.SparseToDense(sparse_indices=sparse_indices, output_shape=output_shape, sparse_values=sparse_values,
                                 default_value=convert_to_tensor(default_value, convert_to_tensor(sparse_values).dtype),
                                 validate_indices=validate_indices, name=name)


def sparse_matmul(a, b, transpose_a=False, transpose_b=False, a_is_sparse=False, b_is_sparse=False, name=None):
    return math.matmul(a, b, transpose_a, transpose_b, name=name)


def sparse_concat(axis=None, sp_inputs=None, name=None, expand_nonconcat_dim=False, concat_dim=None,
                  expand_nonconcat_dims=None):
    return sparse.concat(concat_dim if axis is None else axis, sp_inputs,
                         bool(expand_nonconcat_dims or expand_nonconcat_dim), name)


def sparse_add(a, b, threshold=None, thresh=None):
    value = thresh if threshold is None else threshold
    return sparse.add(a, b, 0 if value is None else value)


def sparse_reduce_sum(sp_input=None, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    return sparse.reduce_sum(sp_input, reduction_axes if axis is None else axis,
                             bool(keep_dims if keepdims is None else keepdims))


def sparse_reduce_max(sp_input=None, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    return sparse.reduce_max(sp_input, reduction_axes if axis is None else axis,
                             bool(keep_dims if keepdims is None else keepdims))


def clip_by_average_norm(t, clip_norm, name=None):
    value = convert_to_tensor(t)
    count = math.cast(array.size(value), dtypes.float32)
    inverse = raw_ops.Rsqrt(x=math.reduce_sum(value * value))
    return array.identity(value * clip_norm * raw_ops.Minimum(x=inverse * count, y=1.0 / clip_norm), name=name)


def verify_tensor_all_finite(t=None, msg=None, name=None, x=None, message=None):
    return raw_ops.CheckNumerics(tensor=x if t is None else t, message=message if msg is None else msg, name=name)


@scoped("resize", names_result=False)
def resize_images(images, size, method=0, align_corners=False, preserve_aspect_ratio=False, name=None):  # pylint: disable=redefined-outer-name
    """compat.v1.image.resize: pixels stand for points, not for areas."""
    names = {0: "bilinear", 1: "nearest", 2: "bicubic", 3: "area", "bilinear": "bilinear", "nearest": "nearest",
             "bicubic": "bicubic", "area": "area"}
    images = convert_to_tensor(images)
    single = images.shape.rank == 3
    value = array.expand_dims(images, 0) if single else images
    if preserve_aspect_ratio:
        from weir.ops import image
        return image.resize(images, size, names[method], preserve_aspect_ratio=True)
    sizes = convert_to_tensor(size, dtypes.int32)
    kind = names[getattr(method, "value", method)]
    if kind == "nearest":
        out = raw_ops.ResizeNearestNeighbor(images=value, size=sizes, align_corners=align_corners)
    elif kind == "area":
        out = raw_ops.ResizeArea(images=value, size=sizes, align_corners=align_corners)
    elif kind == "bicubic":
        out = raw_ops.ResizeBicubic(images=value, size=sizes, align_corners=align_corners)
    else:
        out = raw_ops.ResizeBilinear(images=value, size=sizes, align_corners=align_corners)
    return array.squeeze(out, [0]) if single else out


def conv2d_backprop_input(input_sizes, filter=None, out_backprop=None, strides=None, padding=None, use_cudnn_on_gpu=True,  # pylint: disable=redefined-builtin
                          data_format="NHWC", dilations=(1, 1, 1, 1), name=None, filters=None):
    return raw_ops.Conv2DBackpropInput(input_sizes=input_sizes, filter=filter if filters is None else filters,
                                       out_backprop=out_backprop, strides=strides, padding=padding,
                                       data_format=data_format, dilations=list(dilations), name=name)


def conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, use_cudnn_on_gpu=True, data_format="NHWC",  # pylint: disable=redefined-builtin
                           dilations=(1, 1, 1, 1), name=None):
    return raw_ops.Conv2DBackpropFilter(input=input, filter_sizes=filter_sizes, out_backprop=out_backprop, strides=strides,
                                        padding=padding, data_format=data_format, dilations=list(dilations), name=name)


def _resize(kind):
    def resize(images, size, align_corners=False, name=None, half_pixel_centers=False):  # pylint: disable=redefined-outer-name
        arguments = {} if kind == "ResizeArea" else {"half_pixel_centers": half_pixel_centers}
        return getattr(raw_ops, kind)(images=images, size=convert_to_tensor(size, dtypes.int32),
                                      align_corners=align_corners, name=name, **arguments)
    return resize


resize_bilinear = _resize("ResizeBilinear")
resize_nearest_neighbor = _resize("ResizeNearestNeighbor")
resize_bicubic = _resize("ResizeBicubic")
resize_area = _resize("ResizeArea")


def setdiff1d(x, y, index_dtype=dtypes.int32, name=None):
    """What is in x and not in y, and where."""
    return raw_ops.ListDiff(x=x, y=y, out_idx=as_dtype(index_dtype), name=name)


def sparse_reduce_sum_sparse(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    return sparse.reduce_sum(sp_input, reduction_axes if axis is None else axis,
                             bool(keep_dims if keepdims is None else keepdims), output_is_sparse=True)


def sparse_reduce_max_sparse(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    return sparse.reduce_max(sp_input, reduction_axes if axis is None else axis,
                             bool(keep_dims if keepdims is None else keepdims), output_is_sparse=True)


def batch_gather(params, indices, name=None):
    indices = convert_to_tensor(indices)
    return array.gather(params, indices, axis=-1, batch_dims=indices.shape.rank - 1, name=name)
