"""tf.quantization: floats as small integers and back."""

from weir.framework import as_dtype, convert_to_tensor, dispatch, raw_ops

__all__ = ["quantize", "dequantize", "quantize_and_dequantize", "quantize_and_dequantize_v2"]


@dispatch
def quantize(input, min_range, max_range, T, mode="MIN_COMBINED",  # pylint: disable=redefined-builtin
             round_mode="HALF_AWAY_FROM_ZERO", name=None, narrow_range=False, axis=None, ensure_minimum_range=0.01):
    """`input` as integers of the type `T` that cover the range, and the range that was used."""
    return raw_ops.QuantizeV2(input=input, min_range=min_range, max_range=max_range, T=as_dtype(T), mode=mode,
                              round_mode=round_mode, narrow_range=narrow_range, axis=-1 if axis is None else axis,
                              ensure_minimum_range=ensure_minimum_range, name=name)


@dispatch
def dequantize(input, min_range, max_range, mode="MIN_COMBINED", name=None,  # pylint: disable=redefined-builtin
               axis=None, narrow_range=False, dtype="float32"):
    """The floats that quantised integers stand for."""
    return raw_ops.Dequantize(input=input, min_range=min_range, max_range=max_range, mode=mode,
                              narrow_range=narrow_range, axis=-1 if axis is None else axis, dtype=as_dtype(dtype),
                              name=name)


@dispatch
def quantize_and_dequantize_v2(input, input_min, input_max, signed_input=True,  # pylint: disable=redefined-builtin
                               num_bits=8, range_given=False, round_mode="HALF_TO_EVEN", name=None, narrow_range=False,
                               axis=None):
    """`input` rounded as if it were quantised; gradients pass where it lies in the range."""
    input = convert_to_tensor(input, name="input")
    axis = -1 if axis is None else axis
    if axis < -1:
        if input.shape.rank is None:
            raise ValueError("input should have known rank to use negative axis.")
        axis %= input.shape.rank
    return raw_ops.QuantizeAndDequantizeV4(
        input=input, input_min=input_min, input_max=input_max, signed_input=signed_input, num_bits=num_bits,
        range_given=range_given, round_mode=round_mode, narrow_range=narrow_range, axis=axis, name=name)


@dispatch
def quantize_and_dequantize(input, input_min, input_max, signed_input=True,  # pylint: disable=redefined-builtin
                            num_bits=8, range_given=False, round_mode="HALF_TO_EVEN", name=None, narrow_range=False,
                            axis=None):
    """As `quantize_and_dequantize_v2`, with gradients that pass everywhere."""
    return raw_ops.QuantizeAndDequantizeV2(
        input=input, input_min=input_min, input_max=input_max, signed_input=signed_input, num_bits=num_bits,
        range_given=range_given, round_mode=round_mode, narrow_range=narrow_range, axis=-1 if axis is None else axis,
        name=name)
