"""Which type an operation of tf.experimental.numpy computes in."""

import numpy as np

from weir.framework import Tensor, as_dtype, convert_to_tensor, is_tensor
from weir.ops.dtypes import cast

_SCALARS = (bool, int, float, complex)
_settings = {"prefer_float32": False}


def prefer_float32(value):
    """Whether Python's floats, and integers where a float is needed, become float32."""
    _settings["prefer_float32"] = value


def default_float():
    return np.dtype(np.float32 if _settings["prefer_float32"] else np.float64)


def _canonical(dtype):
    if not _settings["prefer_float32"]:
        return dtype
    return {np.dtype(np.float64): np.dtype(np.float32), np.dtype(np.int64): np.dtype(np.int32),
            np.dtype(np.complex128): np.dtype(np.complex64)}.get(dtype, dtype)


def type_of(value):
    """The numpy type of a tensor or array, or the Python scalar itself, whose type gives way to an array's."""
    if isinstance(value, _SCALARS):
        return value
    if is_tensor(value):
        return np.dtype(value.dtype.as_numpy_dtype)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype
    if isinstance(value, (list, tuple)):
        kinds = [type_of(v) for v in value]
        if not kinds:
            return 0.0
        if all(isinstance(k, _SCALARS) for k in kinds):  # as weak as a scalar
            return max(kinds, key=lambda k: [bool, int, float, complex].index(type(k)))
        return np.result_type(*kinds)
    if value in (bool, int, float, complex):
        return np.dtype(value)
    if isinstance(value, (type, np.dtype, str)) or hasattr(value, "as_numpy_dtype"):
        return np.dtype(as_dtype(value).as_numpy_dtype)
    return np.asarray(value).dtype


def common_type(*arrays_and_dtypes):
    """numpy's name of the type that all of them can be converted to."""
    return _canonical(np.result_type(*[type_of(v) for v in arrays_and_dtypes]))


def result_type(*arrays_and_dtypes):
    """The type that all of them can be converted to."""
    return as_dtype(common_type(*arrays_and_dtypes))


def promote_types(type1, type2):
    """The smallest type to which both can be cast."""
    return _canonical(np.promote_types(type_of(type1), type_of(type2)))


def array(value, dtype=None):
    """`value` as a tensor of numpy's type for it, or of `dtype`."""
    if isinstance(value, Tensor) or is_tensor(value):
        value = convert_to_tensor(value)
        return value if dtype is None else cast(value, as_dtype(dtype))
    if isinstance(value, (list, tuple)) and _has_tensors(value):
        from weir.ops.array import stack
        items = [array(v) for v in value]
        common = np.dtype(as_dtype(dtype).as_numpy_dtype) if dtype is not None else common_type(*items)
        return stack([array(v, common) for v in items])
    out = np.asarray(value)
    if dtype is not None:
        out = out.astype(as_dtype(dtype).as_numpy_dtype)
    elif not isinstance(value, (np.ndarray, np.generic)):
        out = out.astype(_canonical(out.dtype))
    return convert_to_tensor(out)


def _has_tensors(value):
    return any(_has_tensors(v) if isinstance(v, (list, tuple)) else is_tensor(v) for v in value)


def promoted(*values, to=None):
    """All as tensors of one type: that of their promotion, or of `to(type)`."""
    dtype = common_type(*values)
    if to is not None:
        dtype = to(dtype)
    return [array(v, dtype) for v in values]


def floating(dtype):
    """`dtype`, or the default float if it is an integer or bool."""
    return dtype if dtype.kind in "fcV" else default_float()


def finfo(dtype):
    """The limits of a floating-point type."""
    kind = np.dtype(as_dtype(dtype).as_numpy_dtype)
    if kind.kind not in "fc":  # bfloat16 and its kin
        import ml_dtypes
        return ml_dtypes.finfo(kind)
    return np.finfo(kind)


def iinfo(dtype):
    """The limits of an integer type."""
    return np.iinfo(as_dtype(dtype).as_numpy_dtype)
