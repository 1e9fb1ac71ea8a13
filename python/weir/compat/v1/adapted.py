"""Functions of tf.compat.v1 whose work differs from TensorFlow 2's in more than the names of parameters."""

import math

from weir.framework import convert_to_tensor as _convert
from weir.framework import dtypes, executing_eagerly
from weir.framework.conversion import constant as _constant
from weir.framework.raw_ops import raw_ops

__all__ = ["constant", "convert_to_tensor", "space_to_batch", "batch_to_space", "erosion2d", "fractional_max_pool",
           "fractional_avg_pool", "ctc_loss", "ctc_beam_search_decoder", "split", "hessians"]


def constant(value, dtype=None, shape=None, name="Const", verify_shape=False):
    """A constant; with `verify_shape` its value must have exactly this shape."""
    if shape is not None:
        import numpy as np
        found = np.shape(value)
        if verify_shape and tuple(shape) != tuple(found):
            raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {tuple(found)}.")
        if not executing_eagerly() and found and math.prod(found) != math.prod(shape):
            value, shape = _filled(_convert(value, dtype), [int(d) for d in shape]), None
    return _constant(value, dtype, shape, name)


def _filled(tensor, shape):
    """The array of a constant in a graph, whose last value is repeated until it has a shape."""
    import numpy as np
    from weir.framework import get_static_value
    flat = np.ravel(get_static_value(tensor))
    missing = math.prod(shape) - flat.size
    if missing < 0:
        raise ValueError(f"Too many elements provided. Takes at most {math.prod(shape)}, but got {flat.size}.")
    last = flat[-1:] if flat.size else np.zeros(1, flat.dtype)
    return np.concatenate([flat, np.repeat(last, missing)]).reshape(shape)


def convert_to_tensor(value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None):
    """`value` as a tensor; `preferred_dtype` is taken where it fits."""
    return _convert(value, dtype=dtype, dtype_hint=preferred_dtype if dtype_hint is None else dtype_hint, name=name)


def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):  # pylint: disable=redefined-builtin
    """Moves blocks of the spatial dimensions into the batch dimension, after zero-padding."""
    blocks = block_size if block_shape is None else block_shape
    if isinstance(blocks, int):
        blocks = [blocks, blocks]
    return raw_ops.SpaceToBatchND(input=input, block_shape=blocks, paddings=paddings, name=name)


def batch_to_space(input, crops, block_size, name=None, block_shape=None):  # pylint: disable=redefined-builtin
    """The inverse of `space_to_batch`."""
    blocks = block_size if block_shape is None else block_shape
    if isinstance(blocks, int):
        blocks = [blocks, blocks]
    return raw_ops.BatchToSpaceND(input=input, block_shape=blocks, crops=crops, name=name)


def dilation2d(input, filter=None, strides=None, rates=None, padding=None, name=None):  # pylint: disable=redefined-builtin
    """Grayscale dilation: the maximum of sums of pixels and filter values."""
    return raw_ops.Dilation2D(input=input, filter=filter, strides=list(strides), rates=list(rates), padding=padding, name=name)


def erosion2d(value, kernel, strides, rates, padding, name=None):
    """Grayscale erosion: the minimum of differences of pixels and filter values."""
    from weir.ops import conv
    return conv.erosion2d(value, kernel, strides, padding, "NHWC", rates, name=name)


def fractional_max_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False, seed=0, seed2=0,
                        name=None):
    """Maxima of regions whose sizes vary."""
    return raw_ops.FractionalMaxPool(value=value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random,
                                     overlapping=overlapping, name=name, deterministic=deterministic,
                                     seed=seed, seed2=seed2)


def fractional_avg_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False, seed=0, seed2=0,
                        name=None):
    """Means of regions whose sizes vary."""
    return raw_ops.FractionalAvgPool(value=value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random,
                                     overlapping=overlapping, name=name, deterministic=deterministic,
                                     seed=seed, seed2=seed2)


def ctc_loss(labels, inputs=None, sequence_length=None, preprocess_collapse_repeated=False, ctc_merge_repeated=True,
             ignore_longer_outputs_than_inputs=False, time_major=True, logits=None):
    """The loss of label sequences whose places in time are not known; the blank is the last class."""
    from weir.ops.sparse import SparseTensor
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected argument `labels` to be a SparseTensor. Received labels="
                        f"{labels} of type: {type(labels).__name__}")
    inputs = _convert(logits if inputs is None else inputs)
    if not time_major:
        inputs = raw_ops.Transpose(x=inputs, perm=[1, 0, 2])
    original = inputs.dtype
    if original in (dtypes.float16, dtypes.bfloat16):
        inputs = raw_ops.Cast(x=inputs, DstT=dtypes.float32)
    loss = raw_ops.CTCLoss(inputs=inputs, labels_indices=labels.indices, labels_values=labels.values,
                           sequence_length=sequence_length, preprocess_collapse_repeated=preprocess_collapse_repeated,
                           ctc_merge_repeated=ctc_merge_repeated,
                           ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs)[0]
    return raw_ops.Cast(x=loss, DstT=original) if loss.dtype != original else loss


def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True):
    """The most likely label sequences; with `merge_repeated` equal neighbours of the result are one."""
    from weir.ops.sparse import SparseTensor
    found = raw_ops.CTCBeamSearchDecoder(inputs=inputs, sequence_length=sequence_length, beam_width=beam_width,
                                         top_paths=top_paths, merge_repeated=merge_repeated)
    decoded = [SparseTensor(*parts) for parts in zip(found[0], found[1], found[2])]
    return decoded, found[3]


def split(input=None, sep=None, maxsplit=-1, result_type="SparseTensor", source=None, name=None):  # pylint: disable=redefined-builtin
    """The parts of each string, as a SparseTensor or a RaggedTensor."""
    from weir.ops import strings
    given = source if input is None else input
    found = strings.split(given, sep=sep, maxsplit=maxsplit, name=name)
    if result_type == "RaggedTensor":
        return found
    if result_type == "SparseTensor":
        return found.to_sparse()
    raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")


def hessians(ys, xs, name="hessians", colocate_gradients_with_ops=False, gate_gradients=False, aggregation_method=None):
    """The matrix of second derivatives of sum(ys) by each x."""
    from weir.eager import tape
    del colocate_gradients_with_ops
    return tape.hessians(ys, xs, gate_gradients=gate_gradients, aggregation_method=aggregation_method, name=name)
