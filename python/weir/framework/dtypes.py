"""DType: the type of a tensor's elements. One object per type, so `is` and `==` agree for DTypes.

A DType compares equal to what names the same type elsewhere: "float32", numpy.float32, numpy.dtype("float32"). Numbers
are TensorFlow's DataType enum; a reference type is its base type plus 100.
"""

import builtins

import numpy as np

__all__ = ["DType", "as_dtype"]

# number, name, size, kind: f float, i integer, u unsigned, c complex, b bool, q quantized, o other
_TABLE = [
    (1, "float32", 4, "f"), (2, "float64", 8, "f"), (3, "int32", 4, "i"), (4, "uint8", 1, "u"), (5, "int16", 2, "i"),
    (6, "int8", 1, "i"), (7, "string", 1, "o"), (8, "complex64", 8, "c"), (9, "int64", 8, "i"), (10, "bool", 1, "b"),
    (11, "qint8", 1, "q"), (12, "quint8", 1, "q"), (13, "qint32", 4, "q"), (14, "bfloat16", 2, "f"),
    (15, "qint16", 2, "q"), (16, "quint16", 2, "q"), (17, "uint16", 2, "u"), (18, "complex128", 16, "c"),
    (19, "float16", 2, "f"), (20, "resource", 1, "o"), (21, "variant", 1, "o"), (22, "uint32", 4, "u"),
    (23, "uint64", 8, "u"), (24, "float8_e5m2", 1, "f"), (25, "float8_e4m3fn", 1, "f"),
    (26, "float8_e4m3fnuz", 1, "f"), (27, "float8_e4m3b11fnuz", 1, "f"), (28, "float8_e5m2fnuz", 1, "f"),
    (29, "int4", 1, "i"), (30, "uint4", 1, "u"), (31, "int2", 1, "i"), (32, "uint2", 1, "u"),
    (33, "float4_e2m1fn", 1, "f"),
]
_ML_DTYPES = frozenset([14, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33])
_QUANTIZED = {11: np.int8, 12: np.uint8, 13: np.int32, 15: np.int16, 16: np.uint16}


class DType:
    """The type of the elements in a tensor."""
    __slots__ = ("_number", "name", "size", "_kind", "_numpy", "__weakref__")

    def __init__(self, number, name, size, kind):
        self._number = number
        self.name = name
        self.size = size
        self._kind = kind
        self._numpy = None

    @property
    def as_datatype_enum(self):
        return self._number

    _type_enum = as_datatype_enum

    @property
    def _is_ref_dtype(self):
        return self._number > 100

    @property
    def base_dtype(self):
        return _BY_NUMBER[self._number - 100] if self._number > 100 else self

    @property
    def _as_ref(self):
        return self if self._number > 100 else _BY_NUMBER[self._number + 100]

    @property
    def real_dtype(self):
        base = self.base_dtype
        if base._number == 8:
            return _BY_NUMBER[1]
        return _BY_NUMBER[2] if base._number == 18 else self

    @property
    def is_bool(self):
        return self._kind == "b"

    @property
    def is_integer(self):
        return self._kind in "iu"

    @property
    def is_floating(self):
        return self._kind == "f"

    @property
    def is_complex(self):
        return self._kind == "c"

    @property
    def is_quantized(self):
        return self._kind == "q"

    @property
    def is_numeric(self):
        return self.is_floating or self.is_complex or self.is_integer or self.is_quantized

    @property
    def is_unsigned(self):
        return self._kind == "u"

    @property
    def is_numpy_compatible(self):
        return self.base_dtype._number not in (20, 21)

    @property
    def as_numpy_dtype(self):
        if self._numpy is None:
            self._numpy = _numpy_type(self.base_dtype)
        return self._numpy

    def _limit(self, which):
        if self._kind == "b":
            return which == "max"
        if self._kind in "iuq":
            if self.base_dtype._number in (29, 30, 31, 32):
                bits = {29: 4, 30: 4, 31: 2, 32: 2}[self.base_dtype._number]
                signed = self._kind == "i"
                low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
                return low if which == "min" else high
            info = np.iinfo(_QUANTIZED.get(self.base_dtype._number, self.as_numpy_dtype))
            return getattr(info, which)
        if self._kind == "f":
            if self.base_dtype._number in _ML_DTYPES:
                import ml_dtypes
                return getattr(ml_dtypes.finfo(self.as_numpy_dtype), which)
            return getattr(np.finfo(self.as_numpy_dtype), which)
        raise TypeError(f"Cannot find {'minimum' if which == 'min' else 'maximum'} value of {self}.")

    @property
    def min(self):
        """The smallest value that can be represented."""
        return self._limit("min")

    @property
    def max(self):
        """The largest value that can be represented."""
        return self._limit("max")

    @property
    def limits(self, clip_negative=True):
        low, high = self.min, self.max
        return (0 if self._kind == "i" else low, high)

    def is_compatible_with(self, other):
        other = as_dtype(other)
        return self._number in (other._number, other.base_dtype._number)

    def is_subtype_of(self, other):
        return self is other

    def most_specific_common_supertype(self, types):
        return self if all(self is t for t in types) else None

    def placeholder_value(self, placeholder_context=None):
        raise TypeError("A DType has no placeholder")

    def __eq__(self, other):
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return self._number

    def __int__(self):
        return self._number

    def __repr__(self):
        return "tf." + self.name

    def __str__(self):
        return f"<dtype: {self.name!r}>"

    def __reduce__(self):
        return as_dtype, (self.name,)

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self


DType.__module__ = "tensorflow.python.framework.dtypes"


def _numpy_type(dtype):
    number = dtype._number
    if number in (7, 20, 21):
        return object
    if number in _ML_DTYPES:
        import ml_dtypes
        return getattr(ml_dtypes, dtype.name)
    if number in _QUANTIZED:
        return np.dtype([(dtype.name, _QUANTIZED[number])])
    return {"bool": np.bool_}.get(dtype.name) or getattr(np, dtype.name)


_BY_NUMBER = {}
_BY_NAME = {}
for _row in _TABLE:
    _dtype = DType(*_row)
    _BY_NUMBER[_row[0]] = _dtype
    _BY_NAME[_row[1]] = _dtype
    globals()[_row[1]] = _dtype
for _row in _TABLE:
    _dtype = DType(_row[0] + 100, _row[1] + "_ref", _row[2], _row[3])
    _BY_NUMBER[_row[0] + 100] = _dtype
    _BY_NAME[_dtype.name] = _dtype
_BY_NAME.update({"half": _BY_NAME["float16"], "float": _BY_NAME["float32"], "double": _BY_NAME["float64"]})
half, double = _BY_NAME["float16"], _BY_NAME["float64"]
float_ = _BY_NAME["float32"]

# What as_dtype has been asked already, by the object that was given.
_KNOWN = {float: _BY_NAME["float32"], int: _BY_NAME["int64"], builtins.bool: _BY_NAME["bool"], complex: _BY_NAME["complex128"],
          str: _BY_NAME["string"], bytes: _BY_NAME["string"], object: _BY_NAME["string"]}
_BY_NUMPY_NAME = {np.dtype(getattr(np, n)).str: _BY_NAME[n]
                  for n in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
                            "uint32", "uint64", "complex64", "complex128")}
_BY_NUMPY_NAME[np.dtype(np.bool_).str] = _BY_NAME["bool"]


def _from_numpy_dtype(dtype):
    if dtype.names and len(dtype.names) == 1 and dtype.names[0] in _BY_NAME:
        return _BY_NAME[dtype.names[0]]
    if dtype.kind in "SUO":
        return _BY_NAME["string"]
    found = _BY_NUMPY_NAME.get(dtype.str)
    if found is None and dtype.kind == "V" or found is None and dtype.name in _BY_NAME:
        found = _BY_NAME.get(dtype.name)
    return found


def as_dtype(type_value):
    """Converts a name, a number of TensorFlow's DataType, a numpy or a Python type to a `DType`."""
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, np.dtype):
        found = _from_numpy_dtype(type_value)
        if found is None:
            raise TypeError(f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType.")
        return found
    try:
        found = _KNOWN.get(type_value)
        if found is None and not isinstance(type_value, type):
            found = _BY_NUMBER.get(type_value) or _BY_NAME.get(type_value)
        if found is not None:
            return found
    except TypeError:
        pass
    if hasattr(type_value, "dtype") and not isinstance(type_value, type):
        return as_dtype(type_value.dtype)
    if isinstance(type_value, type):
        try:
            found = _from_numpy_dtype(np.dtype(type_value))
        except TypeError:
            found = None
        if found is not None and (found.name != "string" or issubclass(type_value, (np.generic, str, bytes))):
            _KNOWN[type_value] = found
            return found
    raise TypeError(f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType.")


QUANTIZED_DTYPES = frozenset(d for d in _BY_NUMBER.values() if d.is_quantized)
