"""Element types by name, and functions that change the type of a tensor."""

from weir.framework import Tensor, as_dtype, convert_to_tensor, dispatch, raw_ops

__all__ = ["cast", "complex", "saturate_cast"]

bfloat16 = as_dtype("bfloat16")
bool = as_dtype("bool")  # pylint: disable=redefined-builtin
complex64 = as_dtype("complex64")
complex128 = as_dtype("complex128")
float16 = as_dtype("float16")
float32 = as_dtype("float32")
float64 = as_dtype("float64")
int8 = as_dtype("int8")
int16 = as_dtype("int16")
int32 = as_dtype("int32")
int64 = as_dtype("int64")
resource = as_dtype("resource")
string = as_dtype("string")
uint8 = as_dtype("uint8")
uint16 = as_dtype("uint16")
uint32 = as_dtype("uint32")
uint64 = as_dtype("uint64")
variant = as_dtype("variant")


@dispatch
def cast(x, dtype, name=None):
    """`x` with its elements converted to `dtype`; `x` itself if it has that type already."""
    dtype = as_dtype(dtype).base_dtype
    if not isinstance(x, Tensor):
        from weir.ops.indexed_slices import IndexedSlices
        if isinstance(x, IndexedSlices):
            return IndexedSlices(cast(x.values, dtype), x.indices, x.dense_shape)
        x = convert_to_tensor(x, name="x")
    if x.dtype.base_dtype == dtype:
        return x
    return raw_ops.Cast(x=x, DstT=dtype, Truncate=False, name=name)


@dispatch
def saturate_cast(value, dtype, name=None):
    """As `cast`, but values outside the range of `dtype` become its smallest or largest value."""
    value = convert_to_tensor(value, name="value")
    dtype = as_dtype(dtype).base_dtype
    if value.dtype.is_complex and not dtype.is_complex:
        # Casting a complex number keeps its real part.
        value = raw_ops.Real(input=value, Tout=value.dtype.real_dtype)
    if dtype.is_complex:
        if value.dtype.is_complex:
            real = saturate_cast(raw_ops.Real(input=value, Tout=value.dtype.real_dtype), dtype.real_dtype)
            imag = saturate_cast(raw_ops.Imag(input=value, Tout=value.dtype.real_dtype), dtype.real_dtype)
            return raw_ops.Complex(real=real, imag=imag, Tout=dtype, name=name)
        return cast(saturate_cast(value, dtype.real_dtype), dtype, name=name)
    source = value.dtype
    if source == bool or dtype == bool:
        return cast(value, dtype, name=name)
    low, high = max(source.min, dtype.min), min(source.max, dtype.max)
    if (low, high) != (source.min, source.max):
        value = raw_ops.ClipByValue(t=value, clip_value_min=_bound(low, source, up=True),
                                    clip_value_max=_bound(high, source, up=False))
    return cast(value, dtype, name=name)


def _bound(limit, dtype, up):
    """`limit` as a value of `dtype` that does not lie outside of it after rounding."""
    import numpy as np
    numpy_type = dtype.as_numpy_dtype
    bound = np.array(limit).astype(numpy_type)
    if not dtype.is_integer:
        exact = int(limit) if float(limit).is_integer() else limit
        if (up and float(bound) < exact) or (not up and float(bound) > exact):
            bound = np.nextafter(bound, np.array(0, dtype=numpy_type), dtype=numpy_type)
    return convert_to_tensor(bound, dtype=dtype)


@dispatch
def complex(real, imag, name=None):  # pylint: disable=redefined-builtin
    """A complex tensor of a real and an imaginary part, both float32 or both float64."""
    real = convert_to_tensor(real, name="real")
    imag = convert_to_tensor(imag, name="imag")
    kinds = (real.dtype, imag.dtype)
    if kinds == (float64, float64):
        result = complex128
    elif kinds == (float32, float32):
        result = complex64
    else:
        raise TypeError(f"The `real` and `imag` components have incorrect types: {real.dtype.name} {imag.dtype.name}. "
                        "They must be consistent, and one of [tf.float32, tf.float64]")
    return raw_ops.Complex(real=real, imag=imag, Tout=result, name=name)
