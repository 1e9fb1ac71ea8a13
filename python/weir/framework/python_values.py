"""Python numbers, strings and nests of lists as tensors, where the extension's short way does not apply.

The type is that of the most general leaf: bool, integer, float, complex. A requested type is either read directly, and
then a Python bool counts as an integer, or the natural tensor is cast to it if that loses nothing but precision.
"""

import numpy as np

from weir.framework import dtypes
from weir.framework.shapes import Dimension

_BOOL, _INTEGER, _FLOAT, _COMPLEX, _STRING = range(5)
# Types that are read without a cast, with the most general kind of leaf that they take.
_DIRECT = {dtypes.int32: _INTEGER, dtypes.int64: _INTEGER, dtypes.uint64: _INTEGER, dtypes.float16: _FLOAT,
           dtypes.float32: _FLOAT, dtypes.float64: _FLOAT, dtypes.complex128: _COMPLEX}


def leaves(value):
    """The leaves of a nest of lists and tuples, in order."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def _kind(leaf):
    """Which kind of value a leaf is, or None if no tensor can hold it."""
    if isinstance(leaf, (np.ndarray, np.generic)) or hasattr(leaf, "__array__"):
        array = np.asarray(leaf)
        kind = {"b": _BOOL, "i": _INTEGER, "u": _INTEGER, "f": _FLOAT, "c": _COMPLEX, "S": _STRING, "U": _STRING,
                "V": _FLOAT}.get(array.dtype.kind)
        if kind is None and array.dtype.kind == "O" and all(isinstance(v, (str, bytes)) for v in array.reshape(-1)):
            return _STRING
        return kind
    if isinstance(leaf, bool):
        return _BOOL
    for types, kind in ((int, _INTEGER), (float, _FLOAT), (complex, _COMPLEX), ((str, bytes), _STRING)):
        if isinstance(leaf, types):
            return kind
    return None


def _natural_type(kind, flat):
    if kind == _BOOL:
        return dtypes.bool
    if kind == _INTEGER:
        sizes = [(np.min(v), np.max(v)) for v in flat if np.size(v)]
        low, high = min((int(s[0]) for s in sizes), default=0), max((int(s[1]) for s in sizes), default=0)
        if low < -2**63 or high >= 2**63:
            raise ValueError("Can't convert Python sequence with out-of-range integer to Tensor.")
        return dtypes.int32 if -2**31 <= low and high < 2**31 else dtypes.int64
    if kind == _FLOAT:
        first = next(v for v in flat if _kind(v) == _FLOAT)
        if hasattr(first, "dtype"):
            return dtypes.as_dtype(first.dtype)
        if any(isinstance(v, float) and np.isfinite(v) and abs(v) > np.finfo(np.float32).max for v in flat):
            raise ValueError("Can't convert Python sequence with a value out of range for a double-precision float.")
        return dtypes.float32
    return dtypes.complex128 if kind == _COMPLEX else dtypes.string


def _may_cast(kind, dtype):
    if dtype.is_integer or dtype.is_quantized:
        return kind == _INTEGER
    if dtype.is_floating:
        return kind in (_INTEGER, _FLOAT)
    return dtype.is_complex and kind in (_INTEGER, _FLOAT, _COMPLEX)


def _refuse(value, dtype):
    return TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}")


def _with_sizes(value):
    """The value with Dimensions as ints."""
    if isinstance(value, (list, tuple)):
        return [_with_sizes(v) for v in value]
    if not isinstance(value, Dimension):
        return value
    if value.value is None:
        raise ValueError(f"Cannot convert an unknown Dimension {value} to a Tensor.")
    return value.value


def to_array(value, dtype=None):
    """(array, type): the values, as numpy holds them, and the type that the tensor shall have.

    Raises TypeError if the requested `dtype` cannot hold the values, ValueError if no tensor can.
    """
    flat = list(leaves(value))
    kinds = set()
    for leaf in flat:
        kind = _kind(leaf)
        if kind is None and isinstance(leaf, Dimension):
            return to_array(_with_sizes(value), dtype)
        if kind is None:
            raise ValueError(f"Attempt to convert a value ({leaf!r}) with an unsupported type ({type(leaf)}) to a "
                             "Tensor.")
        kinds.add(kind)
    if _STRING in kinds and len(kinds) > 1:
        raise ValueError("Can't convert Python sequence with mixed types to Tensor.")
    if not kinds:
        return _array(value, np.float32), dtype or dtypes.float32
    kind = max(kinds)
    if dtype is None:
        natural = _natural_type(kind, flat)
        return _array(value, _numpy_type(kind, natural)), natural
    if dtype in _DIRECT:
        fits = kind <= _DIRECT[dtype] and not any(isinstance(v, np.bool_) for v in flat)
    elif dtype.is_bool:
        fits = kind == _BOOL
    elif dtype is dtypes.string:
        fits = kind == _STRING
    else:
        fits = _may_cast(kind, dtype)
    if not fits:
        raise _refuse(value, dtype)
    if kind == _INTEGER and (dtype.is_integer or dtype.is_quantized):
        return _wrapped(value, flat, dtype), dtype
    return _array(value, _numpy_type(kind, dtype)), dtype


def _numpy_type(kind, dtype):
    """What numpy reads the leaves as; they are cast afterwards."""
    if kind == _STRING:
        return object
    if kind == _COMPLEX:
        return np.complex128
    if kind == _FLOAT:
        return np.float64
    if kind == _INTEGER and dtype.is_floating or dtype.is_complex:
        return np.float64
    return np.bool_ if dtype.is_bool else np.int64


def _wrapped(value, flat, dtype):
    """Integers modulo the size of an integer type."""
    if all(-2**63 <= v < 2**63 for v in flat if isinstance(v, int)):
        return _array(value, np.int64)
    array = _array(value, object)
    if not all(-2**63 <= v < 2**64 for v in array.reshape(-1)):
        raise ValueError("Can't convert Python sequence with out-of-range integer to Tensor.")
    return np.array([int(v) % 2**64 for v in array.reshape(-1)], np.uint64).reshape(array.shape)


def _array(value, numpy_type):
    try:
        array = np.array(value, dtype=numpy_type)
    except (ValueError, TypeError):
        raise ValueError("Can't convert non-rectangular Python sequence to Tensor.") from None
    if array.dtype == object and any(isinstance(v, (list, tuple)) for v in array.reshape(-1)):
        raise ValueError("Can't convert non-rectangular Python sequence to Tensor.")
    return array
