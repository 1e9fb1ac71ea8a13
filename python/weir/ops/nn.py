"""Neural networks: activations, losses, normalisation, embeddings. Convolutions and pools are in `weir.ops.conv`."""

import numbers

import numpy as np

from weir.framework import as_dtype, convert_to_tensor, dispatch, get_static_value, is_tensor, raw_ops
from weir.framework.dispatch import scoped
from weir.ops import array, dtypes, math
from weir.ops.dtypes import cast


@dispatch
def relu6(features, name=None):
    """`min(max(x, 0), 6)`."""
    return raw_ops.Relu6(features=features, name=name)


@dispatch
def leaky_relu(features, alpha=0.2, name=None):
    """`x` where it is positive, else `alpha * x`."""
    features = convert_to_tensor(features, name="features")
    if features.dtype.is_integer:
        features = cast(features, dtypes.float32)
    if isinstance(alpha, np.ndarray):
        alpha = alpha.item()
    return raw_ops.LeakyRelu(features=features, alpha=0.2 if alpha is None else float(alpha), name=name)


@dispatch
def gelu(features, approximate=False, name=None):
    """`x` times the normal distribution function of `x`, or its approximation by a hyperbolic tangent."""
    features = convert_to_tensor(features, name="features")
    if not features.dtype.is_floating:
        raise ValueError(f"`features.dtype` must be a floating point tensor.Received:features.dtype={features.dtype}")
    if approximate:
        coefficient = cast(0.044715, features.dtype)
        return array.identity(0.5 * features * (1.0 + raw_ops.Tanh(
            x=0.7978845608028654 * (features + coefficient * math.pow(features, 3)))), name=name)
    return array.identity(0.5 * features * raw_ops.Erfc(x=-features * cast(0.7071067811865476, features.dtype)),
                          name=name)


@dispatch
def silu(features, beta=1.0, name=None):
    """`x * sigmoid(beta * x)`, also called swish."""
    features = convert_to_tensor(features, name="features")
    beta = convert_to_tensor(beta, name="beta")
    beta = cast(beta, features.dtype)
    return raw_ops.Mul(x=features, y=raw_ops.Sigmoid(x=beta * features), name=name)


swish = silu


@dispatch
def crelu(features, axis=-1, name=None):
    """`relu(x)` and `relu(-x)` joined along `axis`."""
    features = convert_to_tensor(features, name="features")
    return raw_ops.Relu(features=array.concat([features, -features], axis), name=name)


def _along_last(op, logits, axis, name):
    """Applies an op that works on the last dimension of its input along another one."""
    logits = convert_to_tensor(logits)
    axis = -1 if axis is None else axis
    known = logits.shape.rank
    if known is not None and known != 0 and not -known <= axis < known:
        from weir.framework import errors
        raise errors.InvalidArgumentError(None, None, f"`axis` must be in the range [{-known}, {known}) where {known} "
                                          f"is the number of dimensions in the input. Received: axis={axis}")
    if axis == -1 or (known is not None and axis == known - 1):
        return op(logits=logits, name=name)
    if known is None:
        total = array.rank(logits)
        position = axis if axis >= 0 else total + axis
        order = array.concat([array.range(position), [total - 1], array.range(position + 1, total - 1), [position]], 0)
    else:
        order = list(range(known))
        order[axis], order[-1] = order[-1], order[axis]
    moved = op(logits=array.transpose(logits, order))
    return array.transpose(moved, order, name=name or "transpose")


@dispatch
def softmax(logits, axis=None, name=None):
    """`exp(x) / sum(exp(x))` along `axis`, by default the last."""
    return _along_last(raw_ops.Softmax, logits, axis, name)


@dispatch
def log_softmax(logits, axis=None, name=None):
    """`log(softmax(x))` along `axis`, by default the last."""
    return _along_last(raw_ops.LogSoftmax, logits, axis, name)


@dispatch
def bias_add(value, bias, data_format=None, name=None):
    """Adds a bias to each channel."""
    if data_format is not None:
        if data_format.startswith("NC"):
            data_format = "NCHW"
        elif data_format.startswith("N") and data_format.endswith("C"):
            data_format = "NHWC"
        else:
            raise ValueError(f"`data_format` must be of the form `N...C` or `NC...`. Received: {data_format}")
    value = convert_to_tensor(value, name="input")
    bias = convert_to_tensor(bias, dtype=value.dtype, name="bias")
    return raw_ops.BiasAdd(value=value, bias=bias, data_format=data_format or "NHWC", name=name)


# Losses.


@scoped("logistic_loss")
def sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None):
    """The cross entropy between probabilities `labels` and `sigmoid(logits)`, element by element."""
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")
    logits = convert_to_tensor(logits, name="logits")
    labels = convert_to_tensor(labels, dtype=None if is_tensor(labels) else logits.dtype, name="labels")
    try:
        labels.shape.assert_is_compatible_with(logits.shape)
    except ValueError as error:
        raise ValueError(f"`logits` and `labels` must have the same shape, received ({logits.shape} vs "
                         f"{labels.shape}).") from error
    zeros = array.zeros_like(logits)
    positive = logits >= zeros
    relu_logits = array.where(positive, logits, zeros)
    negative_magnitude = array.where(positive, -logits, logits)
    return raw_ops.AddV2(x=relu_logits - logits * labels,
                         y=raw_ops.Log1p(x=raw_ops.Exp(x=negative_magnitude)), name=name)


def weighted_cross_entropy_with_logits(labels, logits, pos_weight, name=None):
    """As `sigmoid_cross_entropy_with_logits`, with positive labels weighted by `pos_weight`."""
    logits = convert_to_tensor(logits, name="logits")
    labels = convert_to_tensor(labels, dtype=logits.dtype, name="labels")
    try:
        labels.shape.assert_is_compatible_with(logits.shape)
    except ValueError as error:
        raise ValueError(f"`logits` and `labels` must have the same shape, received ({logits.shape} vs "
                         f"{labels.shape}).") from error
    log_weight = 1 + (pos_weight - 1) * labels
    return raw_ops.AddV2(
        x=(1 - labels) * logits,
        y=log_weight * (raw_ops.Log1p(x=raw_ops.Exp(x=-math.abs(logits))) + raw_ops.Relu(features=-logits)), name=name)


def _flatten_outer(x):
    """`x` as a matrix: all dimensions but the last become one."""
    last = x.shape[-1] if x.shape.rank is not None else None
    return array.reshape(x, [-1, last if last is not None else array.shape(x)[-1]])


@scoped("softmax_cross_entropy_with_logits", names_result=False)
def softmax_cross_entropy_with_logits(labels, logits, axis=-1, name=None):
    """The cross entropy between distributions `labels` and `softmax(logits)` along `axis`. Both get gradients."""
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")
    logits = convert_to_tensor(logits, name="logits")
    labels = convert_to_tensor(labels, dtype=None if is_tensor(labels) else logits.dtype, name="labels")
    half = logits.dtype in (dtypes.float16, dtypes.bfloat16)
    precise = cast(logits, dtypes.float32) if half else logits
    labels = cast(labels, precise.dtype)
    rank = precise.shape.rank
    if axis != -1 and axis != (None if rank is None else rank - 1):
        position = axis if axis >= 0 else rank + axis
        order = [i for i in range(rank) if i != position] + [position]
        precise, labels = array.transpose(precise, order), array.transpose(labels, order)
    sizes = array.shape(precise)
    loss, _ = raw_ops.SoftmaxCrossEntropyWithLogits(features=_flatten_outer(precise), labels=_flatten_outer(labels),
                                                    name=name)
    loss = array.reshape(loss, sizes[:-1])
    return cast(loss, logits.dtype) if half else loss


@scoped("SparseSoftmaxCrossEntropyWithLogits", names_result=False)
def sparse_softmax_cross_entropy_with_logits(labels, logits, name=None):
    """The cross entropy between class numbers `labels` and `softmax(logits)` along the last dimension."""
    labels = convert_to_tensor(labels)
    logits = convert_to_tensor(logits)
    half = logits.dtype in (dtypes.float16, dtypes.bfloat16)
    precise = cast(logits, dtypes.float32) if half else logits
    if logits.shape.rank == 0:
        raise ValueError(f"`logits` cannot be a scalar. Received logits={logits}`")
    if logits.shape.rank is not None and labels.shape.rank is not None and labels.shape.rank != logits.shape.rank - 1:
        raise ValueError("`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: "
                         f"labels.shape={labels.shape} of rank {labels.shape.rank} and logits.shape={logits.shape} of "
                         f"rank {logits.shape.rank}")
    if logits.shape.rank is not None and not logits.shape[:-1].is_compatible_with(labels.shape):
        raise ValueError("`labels.shape` must equal `logits.shape` except for the last dimension. Received: "
                         f"labels.shape={labels.shape} and logits.shape={logits.shape}")
    if logits.shape.rank == 2:
        loss, _ = raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=precise, labels=labels, name=name)
    else:
        loss, _ = raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=_flatten_outer(precise),
                                                              labels=array.reshape(labels, [-1]), name=name)
        loss = array.reshape(loss, array.shape(labels))
    return cast(loss, logits.dtype) if half else loss


def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """The negative log likelihood of counts under a Poisson distribution, without its constant unless asked."""
    log_input = convert_to_tensor(log_input, name="log_input")
    targets = convert_to_tensor(targets, name="targets")
    try:
        targets.shape.assert_is_compatible_with(log_input.shape)
    except ValueError as error:
        raise ValueError("`log_input` and `targets` must have the same shape, received "
                         f"({log_input.shape} vs {targets.shape}).") from error
    result = math.exp(log_input) - log_input * targets
    if compute_full_loss:
        point_five, two_pi = array.constant(0.5, targets.dtype), array.constant(2 * np.pi, targets.dtype)
        log = raw_ops.Log
        stirling = targets * log(x=targets) - targets + point_five * log(x=two_pi * targets)
        zeros, ones = array.zeros_like(targets), array.ones_like(targets)
        small = raw_ops.LogicalAnd(x=targets >= zeros, y=targets <= ones)
        result = result + array.where(small, zeros, stirling)
    return result if name is None else array.identity(result, name=name)


def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """The sum of (weighted) losses of a replica divided by the batch size of all replicas."""
    per_example_loss = convert_to_tensor(per_example_loss)
    dtype = per_example_loss.dtype
    if sample_weight is not None:
        per_example_loss = per_example_loss * cast(sample_weight, dtype)
    if global_batch_size is None:
        if per_example_loss.shape.rank == 0:
            raise ValueError("Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1.")
        global_batch_size = array.shape(per_example_loss, out_type=dtypes.int64)[0] * _replicas()
    size = cast(global_batch_size, dtype)
    return math.divide_no_nan(math.reduce_sum(per_example_loss), size)


def _replicas():
    try:
        from weir import distribute
        return distribute.get_strategy().num_replicas_in_sync
    except (ImportError, AttributeError):
        return 1


def scale_regularization_loss(regularization_loss):
    """The sum of regularization losses divided by the number of replicas."""
    return math.reduce_sum(regularization_loss) / cast(_replicas(), convert_to_tensor(regularization_loss).dtype)


# Moments and normalisation.


@scoped("moments", names_result=False)
def moments(x, axes, shift=None, keepdims=False, name=None):
    """The mean and the variance along `axes`; half precision is summed in float32."""
    del shift
    x = convert_to_tensor(x)
    precise = cast(x, dtypes.float32) if x.dtype in (dtypes.float16, dtypes.bfloat16) else x
    mean = math.reduce_mean(precise, axes, keepdims=True)
    variance = math.reduce_mean(raw_ops.SquaredDifference(x=precise, y=array.stop_gradient(mean)), axes, keepdims=True)
    if not keepdims:
        mean, variance = _drop(mean, axes), _drop(variance, axes)
    if precise.dtype != x.dtype:
        mean, variance = cast(mean, x.dtype), cast(variance, x.dtype)
    return mean, (variance if name is None else array.identity(variance, name=name))


def _drop(x, axes):
    if is_tensor(axes):
        axes = [int(i) for i in get_static_value(axes).reshape(-1)]
    return array.squeeze(x, [axes] if isinstance(axes, numbers.Integral) else list(axes))


def weighted_moments(x, axes, frequency_weights, keepdims=False, name=None):
    """The weighted mean and variance along `axes`."""
    x = convert_to_tensor(x)
    weights = convert_to_tensor(frequency_weights)
    half = x.dtype in (dtypes.float16, dtypes.bfloat16)
    if half:
        x, original = cast(x, dtypes.float32), x.dtype
    weights = cast(weights, x.dtype)
    full = array.broadcast_to(weights, array.broadcast_dynamic_shape(array.shape(x), array.shape(weights)))
    total = math.reduce_sum(full, axes, keepdims=True)
    mean = math.reduce_sum(weights * x, axes, keepdims=True) / total
    variance = math.reduce_sum(weights * raw_ops.SquaredDifference(x=x, y=array.stop_gradient(mean)), axes,
                               keepdims=True) / total
    if not keepdims:
        mean, variance = _drop(mean, axes), _drop(variance, axes)
    if half:
        mean, variance = cast(mean, original), cast(variance, original)
    return mean, (variance if name is None else array.identity(variance, name=name))


def sufficient_statistics(x, axes, shift=None, keepdims=False, name=None):
    """Count, sum and sum of squares along `axes`, of `x - shift` if a shift is given."""
    del name
    axes = [axes] if isinstance(axes, int) else list(dict.fromkeys(axes))
    x = convert_to_tensor(x)
    if x.shape.rank is not None and all(x.shape[d] is not None for d in axes):
        count = array.constant(int(np.prod([x.shape[d] for d in axes], dtype=np.int64)), dtype=x.dtype)
    else:
        count = math.reduce_prod(cast(array.gather(array.shape(x), axes), x.dtype))
    if shift is not None:
        shift = convert_to_tensor(shift, dtype=x.dtype)
        mean_ss, variance_ss = x - shift, raw_ops.SquaredDifference(x=x, y=shift)
    else:
        mean_ss, variance_ss = x, raw_ops.Square(x=x)
    return count, math.reduce_sum(mean_ss, axes, keepdims), math.reduce_sum(variance_ss, axes, keepdims), shift


def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """The mean and the variance of sufficient statistics."""
    del name
    divisor = raw_ops.Reciprocal(x=counts)
    if shift is not None:
        shifted = mean_ss * divisor
        mean = shifted + shift
    else:
        shifted = mean = mean_ss * divisor
    return mean, variance_ss * divisor - raw_ops.Square(x=shifted)


@scoped("batchnorm", names_result=False)
def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """`scale * (x - mean) / sqrt(variance + epsilon) + offset`; offset and scale may be None."""
    variance = convert_to_tensor(variance)
    inverse = math.rsqrt(variance + variance_epsilon)
    if scale is not None:
        inverse = inverse * scale
    x = convert_to_tensor(x)
    shift = offset - mean * inverse if offset is not None else -mean * inverse
    return raw_ops.AddV2(x=x * cast(inverse, x.dtype), y=cast(shift, x.dtype), name=name or "add")


def batch_norm_with_global_normalization(input, mean, variance, beta, gamma, variance_epsilon,  # pylint: disable=redefined-builtin
                                         scale_after_normalization, name=None):
    """`batch_normalization` with its arguments in another order."""
    return batch_normalization(input, mean, variance, beta, gamma if scale_after_normalization else None,
                               variance_epsilon, name)


def fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC", is_training=True,
                     name=None, exponential_avg_factor=1.0):
    """Batch normalisation of images as one op: the result and the (running) mean and variance."""
    x = convert_to_tensor(x, name="input")
    scale = convert_to_tensor(scale, name="scale")
    if is_training and exponential_avg_factor == 1.0 and (mean is not None or variance is not None):
        raise ValueError("Both `mean` and `variance` must be None when `is_training` is True and "
                         "`exponential_avg_factor` == 1.0.")
    empty = array.constant([], dtype=dtypes.float32)
    mean = empty if mean is None else mean
    variance = empty if variance is None else variance
    y, batch_mean, batch_variance, *_ = raw_ops.FusedBatchNormV3(
        x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=max(epsilon, 1.001e-5),
        exponential_avg_factor=exponential_avg_factor, data_format=data_format, is_training=is_training, name=name)
    return y, batch_mean, batch_variance


# Dropout.


def _noise_shape(x, noise_shape):
    if noise_shape is None:
        return array.shape(x)
    if is_tensor(noise_shape):
        return noise_shape
    from weir.framework import TensorShape
    wanted = TensorShape(noise_shape)
    if x.shape.rank is not None and wanted.rank == x.shape.rank:
        filled = [x.shape[i] if d is None else d for i, d in enumerate(wanted.as_list())]
        if all(d is not None for d in filled):
            return array.shape_tensor(filled)
        dynamic = array.shape(x)
        return array.stack([dynamic[i] if d is None else d for i, d in enumerate(filled)])
    return array.shape_tensor(noise_shape)


def _dropout(x, rate, noise_shape, uniform, name):
    constant_rate = isinstance(rate, numbers.Real)
    if constant_rate and not 0 <= rate < 1:
        raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
    x = convert_to_tensor(x, name="x")
    if not x.dtype.is_floating and not x.dtype.is_complex:
        raise ValueError("`x.dtype` must be a floating point tensor as `x` will be scaled. Received: "
                         f"x_dtype={x.dtype}")
    if constant_rate and rate == 0:
        uniform([], x.dtype.real_dtype if x.dtype.is_complex else x.dtype)  # Keeps the sequence of random numbers.
        return x
    scalar_type = x.dtype.real_dtype if x.dtype.is_complex else x.dtype
    if constant_rate:
        scaled = x * cast(array.constant(1 / (1 - rate), dtype=scalar_type), x.dtype)
        rate = array.constant(rate, dtype=scalar_type)
    else:
        rate = cast(convert_to_tensor(rate, dtype_hint=scalar_type), scalar_type)
        rate.shape.with_rank(0)
        scaled = x / cast(1 - rate, x.dtype)
    keep = uniform(_noise_shape(x, noise_shape), scalar_type) >= rate
    zero = array.constant(0, dtype=x.dtype)
    return raw_ops.SelectV2(condition=keep, t=scaled, e=zero, name=name)


@dispatch
@scoped("dropout", names_result=False)
def dropout(x, rate, noise_shape=None, seed=None, name=None):
    """Sets a fraction `rate` of the elements to 0 and scales the others up by `1 / (1 - rate)`."""
    from weir.ops import random
    return _dropout(x, rate, noise_shape, lambda shape, dtype: random.uniform(shape, seed=seed, dtype=dtype), name)


@dispatch
def stateless_dropout(x, rate, seed, rng_alg=None, noise_shape=None, name=None):
    """As `dropout`, with random numbers that depend on nothing but `seed`."""
    from weir.ops import random
    algorithm = "auto_select" if rng_alg is None else rng_alg
    return _dropout(x, rate, noise_shape,
                    lambda shape, dtype: random.stateless_uniform(shape, seed=seed, dtype=dtype, alg=algorithm), name)


@dispatch
def general_dropout(x, rate, uniform_sampler, noise_shape=None, name=None):
    """As `dropout`, with random numbers from `uniform_sampler(shape=..., dtype=...)`."""
    return _dropout(x, rate, noise_shape, lambda shape, dtype: uniform_sampler(shape=shape, dtype=dtype), name)


# Embeddings.


def _clip_rows(rows, ids, max_norm):
    if max_norm is None:
        return rows
    ids_rank, rows_rank = ids.shape.rank, rows.shape.rank
    if ids_rank is not None and rows_rank is not None:
        axes = list(range(ids_rank, rows_rank))
    else:
        axes = array.range(array.rank(ids), array.rank(rows))
    return math.clip_by_norm(rows, max_norm, axes=axes)


@dispatch
@scoped("embedding_lookup", names_result=False)
def embedding_lookup(params, ids, max_norm=None, name=None, partition_strategy="div"):
    """Rows of `params` chosen by `ids`; a list of tensors is a table cut into shards."""
    if params is None:
        raise ValueError("params must be specified")
    if isinstance(params, (list, tuple)) and not params:
        raise ValueError(f"params should not be empty. Received params={params}")
    if getattr(params, "is_sharded_variable", False):
        params, partition_strategy = params.variables, "div"
    shards = list(params) if isinstance(params, (list, tuple)) else [params]
    ids = convert_to_tensor(ids, name="ids")
    if len(shards) == 1:
        rows = array.gather(shards[0], ids, name=name)
        return array.identity(_clip_rows(rows, ids, max_norm))
    flat = array.reshape(ids, [-1])
    count = len(shards)
    if partition_strategy == "mod":
        assignment = raw_ops.FloorMod(x=flat, y=array.constant(count, flat.dtype))
        local = raw_ops.FloorDiv(x=flat, y=array.constant(count, flat.dtype))
    else:
        sizes = [array.shape(p, out_type=flat.dtype)[0] for p in shards]
        total = math.add_n(sizes)
        per_shard, extras = total // count, total % count
        large = extras * (per_shard + 1)
        assignment = math.reduce_max(array.stack([flat // (per_shard + 1), (flat - extras) // per_shard]), axis=0)
        in_large = flat < large
        local = array.where(in_large, flat % (per_shard + 1), (flat - extras) % per_shard)
    assignment = cast(assignment, dtypes.int32)
    parts = raw_ops.DynamicPartition(data=local, partitions=assignment, num_partitions=count)
    places = raw_ops.DynamicPartition(data=array.range(array.size(flat)), partitions=assignment, num_partitions=count)
    gathered = [array.gather(p, part) for p, part in zip(shards, parts)]
    rows = raw_ops.ParallelDynamicStitch(indices=places, data=gathered)
    width = array.shape(shards[0])[1:]
    rows = array.reshape(rows, array.concat([array.shape(ids), width], 0), name=name)
    return _clip_rows(rows, ids, max_norm)


@dispatch
def embedding_lookup_sparse(params, sp_ids, sp_weights, combiner=None, max_norm=None, name=None,
                            allow_fast_lookup=False):
    """Embeddings of the ids of each row of a sparse tensor, combined by "mean", "sum" or "sqrtn"."""
    del allow_fast_lookup
    combiner = combiner or "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    if hasattr(sp_ids, "value_rowids"):
        segment_ids, ids = sp_ids.value_rowids(), sp_ids.flat_values
        weights = None if sp_weights is None else sp_weights.flat_values
    else:
        segment_ids, ids = sp_ids.indices[:, 0], sp_ids.values
        weights = None if sp_weights is None else sp_weights.values
    segment_ids = cast(segment_ids, dtypes.int32)
    unique_ids, places = raw_ops.Unique(x=ids, out_idx=dtypes.int32)
    embeddings = embedding_lookup(params, unique_ids, max_norm=max_norm)
    half = embeddings.dtype in (dtypes.float16, dtypes.bfloat16)
    original = embeddings.dtype
    if half:
        embeddings = cast(embeddings, dtypes.float32)
    if weights is None:
        op = {"sum": raw_ops.SparseSegmentSum, "mean": raw_ops.SparseSegmentMean,
              "sqrtn": raw_ops.SparseSegmentSqrtN}[combiner]
        result = op(data=embeddings, indices=places, segment_ids=segment_ids, name=name)
    else:
        weights = cast(weights, embeddings.dtype)
        rows = array.gather(embeddings, places)
        extra = rows.shape.rank - 1 if rows.shape.rank is not None else 1
        factors = array.reshape(weights, array.concat([array.shape(weights), [1] * extra], 0))
        result = raw_ops.SegmentSum(data=rows * factors, segment_ids=segment_ids)
        if combiner == "mean":
            result = result / raw_ops.SegmentSum(data=factors, segment_ids=segment_ids)
        elif combiner == "sqrtn":
            result = result / math.sqrt(raw_ops.SegmentSum(data=math.pow(factors, 2), segment_ids=segment_ids))
        result = result if name is None else array.identity(result, name=name)
    return cast(result, original) if half else result


def safe_embedding_lookup_sparse(embedding_weights, sparse_ids, sparse_weights=None, combiner="mean", default_id=None,
                                 max_norm=None, name=None, allow_fast_lookup=False):
    """As `embedding_lookup_sparse`; empty rows get the embedding of `default_id`, or zeros, and bad ids are dropped."""
    if embedding_weights is None or (isinstance(embedding_weights, (list, tuple)) and not embedding_weights):
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    from weir.ops import ragged, sparse
    if isinstance(sparse_ids, ragged.RaggedTensor):
        sparse_ids = sparse_ids.to_sparse()
        sparse_weights = None if sparse_weights is None else sparse_weights.to_sparse()
    shape = sparse_ids.dense_shape
    inner = array.shape(shape)[0] - 1
    flat_shape = array.stack([math.reduce_prod(shape[:-1]), shape[-1]])
    ids = sparse.reshape(sparse_ids, flat_shape)
    weights = None if sparse_weights is None else sparse.SparseTensor(ids.indices, sparse_weights.values,
                                                                      ids.dense_shape)
    valid = ids.values >= 0
    if weights is not None and combiner != "sum":
        valid = raw_ops.LogicalAnd(x=valid, y=weights.values > 0)
    ids = sparse.retain(ids, valid)
    weights = None if weights is None else sparse.retain(weights, valid)
    ids, empty = sparse.fill_empty_rows(ids, default_id or 0)
    if weights is not None:
        weights, _ = sparse.fill_empty_rows(weights, 1.0)
    result = embedding_lookup_sparse(embedding_weights, ids, weights, combiner=combiner, max_norm=max_norm,
                                     allow_fast_lookup=allow_fast_lookup)
    if default_id is None:
        extra = result.shape.rank - 1
        mask = array.reshape(empty, array.concat([array.shape(empty), [1] * extra], 0))
        result = array.where(mask, array.zeros_like(result), result)
    leading = cast(shape[:-1], dtypes.int32)
    del inner
    return array.reshape(result, array.concat([leading, array.shape(result)[1:]], 0), name=name)


# Candidate sampling.


def _seeds(seed):
    from weir.ops import random
    first, second = random.get_seed(seed)
    return 0 if first is None else first, 0 if second is None else second


def uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Samples classes uniformly: the sample, and expected counts of the true and of the sampled classes."""
    first, second = _seeds(seed)
    return raw_ops.UniformCandidateSampler(true_classes=true_classes, num_true=num_true, num_sampled=num_sampled,
                                           unique=unique, range_max=range_max, seed=first, seed2=second, name=name)


def log_uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Samples classes by Zipf's law."""
    first, second = _seeds(seed)
    return raw_ops.LogUniformCandidateSampler(true_classes=true_classes, num_true=num_true, num_sampled=num_sampled,
                                              unique=unique, range_max=range_max, seed=first, seed2=second, name=name)


def learned_unigram_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Samples classes by a distribution that is learned from what was seen."""
    first, second = _seeds(seed)
    return raw_ops.LearnedUnigramCandidateSampler(true_classes=true_classes, num_true=num_true,
                                                  num_sampled=num_sampled, unique=unique, range_max=range_max,
                                                  seed=first, seed2=second, name=name)


def fixed_unigram_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, vocab_file="",
                                    distortion=1.0, num_reserved_ids=0, num_shards=1, shard=0, unigrams=(), seed=None,
                                    name=None):
    """Samples classes by given frequencies, from a file or a list."""
    first, second = _seeds(seed)
    return raw_ops.FixedUnigramCandidateSampler(
        true_classes=true_classes, num_true=num_true, num_sampled=num_sampled, unique=unique, range_max=range_max,
        vocab_file=vocab_file, distortion=distortion, num_reserved_ids=num_reserved_ids, num_shards=num_shards,
        shard=shard, unigrams=list(unigrams), seed=first, seed2=second, name=name)


def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    """Returns all classes: for tests of sampled losses."""
    first, second = _seeds(seed)
    return raw_ops.AllCandidateSampler(true_classes=true_classes, num_true=num_true, num_sampled=num_sampled,
                                       unique=unique, seed=first, seed2=second, name=name)


def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
    """Where sampled classes are true ones: rows, ids and a very negative weight for each."""
    first, second = _seeds(seed)
    return raw_ops.ComputeAccidentalHits(true_classes=true_classes, sampled_candidates=sampled_candidates,
                                         num_true=num_true, seed=first, seed2=second, name=name)


def _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                    subtract_log_q, remove_accidental_hits, seed):
    weights = list(weights) if isinstance(weights, (list, tuple)) else [weights]
    labels = cast(convert_to_tensor(labels), dtypes.int64)
    flat_labels = array.reshape(labels, [-1])
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed)
    sampled, true_expected, sampled_expected = (array.stop_gradient(v) for v in sampled_values)
    sampled = cast(sampled, dtypes.int64)
    every_id = array.concat([flat_labels, sampled], 0)
    every_weight = embedding_lookup(weights, every_id)
    inputs = convert_to_tensor(inputs)
    every_weight = cast(every_weight, inputs.dtype)
    count = array.shape(flat_labels)[0]
    true_weights, sampled_weights = every_weight[:count], every_weight[count:]
    every_bias = cast(embedding_lookup(biases, every_id), inputs.dtype)
    true_bias, sampled_bias = every_bias[:count], every_bias[count:]
    width = array.shape(true_weights)[1]
    products = array.expand_dims(inputs, 1) * array.reshape(true_weights, array.stack([-1, num_true, width]))
    true_logits = math.reduce_sum(products, axis=2) + array.reshape(true_bias, [-1, num_true])
    sampled_logits = math.matmul(inputs, sampled_weights, transpose_b=True) + sampled_bias
    if remove_accidental_hits:
        rows, columns, penalty = compute_accidental_hits(labels, sampled, num_true=num_true)
        places = array.stack([cast(rows, dtypes.int64), columns], axis=1)
        # Hits are numbered by the position of the sampled class.
        sampled_logits = sampled_logits + raw_ops.ScatterNd(
            indices=places, updates=cast(penalty, sampled_logits.dtype),
            shape=array.shape(sampled_logits, out_type=dtypes.int64))
    if subtract_log_q:
        true_logits = true_logits - raw_ops.Log(x=true_expected)
        sampled_logits = sampled_logits - raw_ops.Log(x=sampled_expected)
    logits = array.concat([true_logits, sampled_logits], 1)
    targets = array.concat([array.ones_like(true_logits) / num_true, array.zeros_like(sampled_logits)], 1)
    return logits, targets


def nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
             remove_accidental_hits=False, name="nce_loss"):
    """Noise-contrastive estimation: the loss of telling the true class from sampled ones."""
    logits, targets = _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                                      sampled_values, True, remove_accidental_hits, None)
    losses = sigmoid_cross_entropy_with_logits(labels=targets, logits=logits)
    return math.reduce_sum(losses, axis=1, name=name)


def sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
                         remove_accidental_hits=True, seed=None, name="sampled_softmax_loss"):
    """The softmax cross entropy over the true classes and a sample of the others."""
    logits, targets = _sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true,
                                      sampled_values, True, remove_accidental_hits, seed)
    return array.identity(softmax_cross_entropy_with_logits(labels=array.stop_gradient(targets), logits=logits),
                          name=name)


def isotonic_regression(inputs, decreasing=True, axis=-1, name=None):
    """The nearest monotone sequence along `axis`, and the segments on which it is constant."""
    del name
    inputs = convert_to_tensor(inputs)
    rank = inputs.shape.rank
    order = None
    if rank is not None and axis not in (-1, rank - 1):
        order = list(range(rank))
        order[axis], order[-1] = order[-1], order[axis]
        inputs = array.transpose(inputs, order)
    if not decreasing:
        inputs = -inputs
    out_type = {"float16": "float16", "bfloat16": "bfloat16", "int8": "float16", "int16": "float32",
                "float64": "float64", "int32": "float64", "int64": "float64"}.get(inputs.dtype.name, "float32")
    flat = _flatten_outer(inputs) if rank != 0 else array.reshape(inputs, [1, 1])
    output, segments = raw_ops.IsotonicRegression(input=flat, output_dtype=as_dtype(out_type))
    shape = array.shape(inputs)
    output, segments = array.reshape(output, shape), array.reshape(segments, shape)
    if not decreasing:
        output = -output
    if order is not None:
        output, segments = array.transpose(output, order), array.transpose(segments, order)
    return output, segments
