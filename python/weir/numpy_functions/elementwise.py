"""Functions of tf.experimental.numpy that work element by element."""

import builtins

import numpy as np

from weir.framework import raw_ops
from weir.numpy_functions.types import array, common_type, floating, promoted, promote_types, result_type, type_of
from weir.ops import array as array_ops
from weir.ops import math as math_ops
from weir.ops.dtypes import cast

__all__ = []


def _public(function, *names):
    for name in names or (function.__name__,):
        globals()[name] = function
        __all__.append(name)
    return function


def _is_kind(x, kinds):
    return np.dtype(x.dtype.as_numpy_dtype).kind in kinds


def _unary(name, op, to_float=False, doc=""):
    def function(x):
        x = array(x)
        if to_float:
            x = array(x, floating(np.dtype(x.dtype.as_numpy_dtype)))
        return op(x)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc or f"`{name}` of each element."
    _public(function)


for _name, _op in {"exp": "Exp", "expm1": "Expm1", "log": "Log", "log1p": "Log1p", "sin": "Sin", "cos": "Cos",
                   "tan": "Tan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "arcsin": "Asin", "arccos": "Acos",
                   "arctan": "Atan", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh", "sqrt": "Sqrt",
                   "ceil": "Ceil", "floor": "Floor"}.items():
    _unary(_name, lambda x, op=_op: getattr(raw_ops, op)(x=x), to_float=True)
_unary("log2", lambda x: raw_ops.Log(x=x) / array(np.log(2.0), type_of(x)), to_float=True)
_unary("log10", lambda x: raw_ops.Log(x=x) / array(np.log(10.0), type_of(x)), to_float=True)
_unary("exp2", lambda x: math_ops.pow(array(2.0, type_of(x)), x), to_float=True)
_unary("deg2rad", lambda x: x * array(np.pi / 180, type_of(x)), to_float=True)
_unary("rad2deg", lambda x: x * array(180 / np.pi, type_of(x)), to_float=True)
_unary("cbrt", lambda x: math_ops.sign(x) * math_ops.pow(math_ops.abs(x), array(1.0 / 3, type_of(x))), to_float=True)
_unary("sinc", lambda x: array_ops.where(x == 0, array_ops.ones_like(x), raw_ops.Sin(x=np.pi * x) / (np.pi * x)),
       to_float=True)
_unary("fabs", lambda x: math_ops.abs(x))
_unary("fix", lambda x: array_ops.where(x > 0, raw_ops.Floor(x=x), raw_ops.Ceil(x=x)), to_float=True)
_unary("square", lambda x: raw_ops.Square(x=x))
_unary("negative", lambda x: raw_ops.Neg(x=x))
_unary("positive", lambda x: array_ops.identity(x))
_unary("bitwise_not", lambda x: raw_ops.LogicalNot(x=x) if _is_kind(x, "b") else raw_ops.Invert(x=x))
_unary("reciprocal", lambda x: array(1, type_of(x)) / x if _is_kind(x, "fc") else array(1, type_of(x)) // x)
_unary("sign", lambda x: math_ops.sign(x))
_unary("real", lambda x: math_ops.real(x) if _is_kind(x, "c") else x)
_unary("imag", lambda x: math_ops.imag(x) if _is_kind(x, "c") else array_ops.zeros_like(x))
_unary("isreal", lambda x: math_ops.imag(x) == 0 if _is_kind(x, "c") else array_ops.ones_like(x, dtype="bool"))
_unary("iscomplex", lambda x: math_ops.imag(x) != 0 if _is_kind(x, "c") else array_ops.zeros_like(x, dtype="bool"))
_unary("signbit", lambda x: x < 0 if _is_kind(x, "iu") else
       array_ops.zeros_like(x, dtype="bool") if _is_kind(x, "b") else
       raw_ops.Less(x=array_ops.where(x == 0, 1 / x, x), y=array_ops.zeros_like(x)))
_unary("logical_not", lambda x: raw_ops.LogicalNot(x=cast(x, "bool")))


def _parts(op):
    """A test of floats that holds for a complex number if it does for both parts."""
    def function(x, join):
        if _is_kind(x, "c"):
            return join(op(math_ops.real(x)), op(math_ops.imag(x)))
        return op(x)
    return function


def _test(name, op, join):
    test = _parts(lambda x: getattr(raw_ops, op)(x=x))
    _unary(name, lambda x: test(x, join), to_float=True)


_test("isfinite", "IsFinite", lambda a, b: raw_ops.LogicalAnd(x=a, y=b))
_test("isinf", "IsInf", lambda a, b: raw_ops.LogicalOr(x=a, y=b))
_test("isnan", "IsNan", lambda a, b: raw_ops.LogicalOr(x=a, y=b))
_unary("isposinf", lambda x: x == array(np.inf, type_of(x)), to_float=True)
_unary("isneginf", lambda x: x == array(-np.inf, type_of(x)), to_float=True)


def _absolute(x):
    """The absolute value of each element."""
    x = array(x)
    return x if _is_kind(x, "bu") else math_ops.abs(x)


def _conjugate(x):
    """The complex conjugate of each element."""
    x = array(x)
    return math_ops.conj(x) if _is_kind(x, "c") else x


_public(_absolute, "abs", "absolute")
_public(_conjugate, "conj", "conjugate")


@_public
def angle(z, deg=False):
    """The argument of complex numbers, in radians or degrees."""
    z = array(z)
    z = array(z, floating(np.dtype(z.dtype.as_numpy_dtype)))
    if _is_kind(z, "c"):
        out = raw_ops.Atan2(y=math_ops.imag(z), x=math_ops.real(z))
    else:
        out = array_ops.where(z < 0, array_ops.fill(array_ops.shape(z), array(np.pi, type_of(z))),
                              array_ops.zeros_like(z))
    return out * array(180 / np.pi, type_of(out)) if deg else out


def _binary(name, op, to=None, doc=""):
    def function(x1, x2):
        return op(*promoted(x1, x2, to=to))
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc or f"`{name}` of pairs of elements, broadcast against each other."
    return _public(function)


def _small_bool(dtype):
    return np.dtype(np.int8) if dtype.kind == "b" else dtype


def _by_kind(bool_op, op):
    return lambda a, b: getattr(raw_ops, bool_op)(x=a, y=b) if _is_kind(a, "b") else getattr(raw_ops, op)(x=a, y=b)


_binary("add", _by_kind("LogicalOr", "AddV2"))
_binary("subtract", lambda a, b: raw_ops.Sub(x=a, y=b))
_binary("multiply", _by_kind("LogicalAnd", "Mul"))
_public(_binary("true_divide", lambda a, b: raw_ops.RealDiv(x=a, y=b), to=floating), "divide")
_binary("floor_divide", lambda a, b: raw_ops.FloorDiv(x=a, y=b), to=_small_bool)
_public(_binary("mod", lambda a, b: raw_ops.FloorMod(x=a, y=b), to=_small_bool), "remainder")
_binary("power", lambda a, b: raw_ops.Pow(x=a, y=b), to=_small_bool)
_binary("float_power", lambda a, b: raw_ops.Pow(x=a, y=b),
        to=floating)
_binary("maximum", _by_kind("LogicalOr", "Maximum"))
_binary("minimum", _by_kind("LogicalAnd", "Minimum"))
_binary("arctan2", lambda a, b: raw_ops.Atan2(y=a, x=b), to=floating)
_binary("hypot", lambda a, b: raw_ops.Sqrt(x=a * a + b * b), to=floating)
_binary("nextafter", lambda a, b: raw_ops.NextAfter(x1=a, x2=b), to=floating)
_binary("logaddexp", lambda a, b: _log_sum(a, b, 1.0), to=floating)
_binary("logaddexp2", lambda a, b: _log_sum(a, b, np.log(2.0)), to=floating)
_binary("heaviside", lambda a, b: array_ops.where(
    raw_ops.IsNan(x=a), a, array_ops.where(a > 0, array_ops.ones_like(a), array_ops.where(
        a < 0, array_ops.zeros_like(a), b))), to=floating)
for _name, _op in {"bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor"}.items():
    _binary(_name, lambda a, b, op=_op: cast(getattr(raw_ops, op)(x=cast(a, "int8"), y=cast(b, "int8")), "bool")
            if _is_kind(a, "b") else getattr(raw_ops, op)(x=a, y=b))
for _name, _op in {"equal": "Equal", "not_equal": "NotEqual", "less": "Less", "less_equal": "LessEqual",
                   "greater": "Greater", "greater_equal": "GreaterEqual"}.items():
    _binary(_name, lambda a, b, op=_op: getattr(raw_ops, op)(x=a, y=b),
            to=None if _op in ("Equal", "NotEqual") else _small_bool)
for _name, _op in {"logical_and": "LogicalAnd", "logical_or": "LogicalOr"}.items():
    _binary(_name, lambda a, b, op=_op: getattr(raw_ops, op)(x=cast(a, "bool"), y=cast(b, "bool")))
_binary("logical_xor", lambda a, b: raw_ops.NotEqual(x=cast(a, "bool"), y=cast(b, "bool")))


def _log_sum(a, b, scale):
    scale = array(scale, type_of(a))
    high, low = raw_ops.Maximum(x=a, y=b), raw_ops.Minimum(x=a, y=b)
    difference = array_ops.where(raw_ops.IsInf(x=high), array_ops.zeros_like(high), low - high)
    total = high + raw_ops.Log1p(x=raw_ops.Exp(x=difference * scale)) / scale
    return array_ops.where(raw_ops.IsInf(x=high), high, total)


@_public
def divmod(x1, x2):  # pylint: disable=redefined-builtin
    """(x1 // x2, x1 % x2)"""
    return globals()["floor_divide"](x1, x2), globals()["mod"](x1, x2)


def _euclid(a, b):
    """The greatest common divisor, by one loop for all elements."""
    from weir.ops.control_flow import while_loop
    a, b = math_ops.abs(a), math_ops.abs(b)
    shape = raw_ops.BroadcastArgs(s0=array_ops.shape(a), s1=array_ops.shape(b))
    a, b = array_ops.broadcast_to(a, shape), array_ops.broadcast_to(b, shape)

    def body(x, y):
        done = y == 0
        safe = array_ops.where(done, array_ops.ones_like(y), y)
        return array_ops.where(done, x, y), array_ops.where(done, y, raw_ops.FloorMod(x=x, y=safe))

    return while_loop(lambda x, y: math_ops.reduce_any(y != 0), body, (a, b))[0]


@_public
def gcd(x1, x2):
    """The greatest common divisor of pairs of integers."""
    a, b = promoted(x1, x2)
    if not _is_kind(a, "iu"):
        raise ValueError("Arguments to gcd must be integers.")
    return _euclid(a, b)


@_public
def lcm(x1, x2):
    """The least common multiple of pairs of integers."""
    a, b = promoted(x1, x2)
    if not _is_kind(a, "iu"):
        raise ValueError("Arguments to lcm must be integers.")
    divisor = _euclid(a, b)
    safe = array_ops.where(divisor == 0, array_ops.ones_like(divisor), divisor)
    return math_ops.abs(a // safe * b)


@_public
def clip(a, a_min, a_max):
    """Elements below `a_min` become that, and those above `a_max` that."""
    if a_min is None and a_max is None:
        raise ValueError("Not more than one of `a_min` and `a_max` may be `None`.")
    parts = [v for v in (a, a_min, a_max) if v is not None]
    dtype = common_type(*parts)
    out = array(a, dtype)
    if a_min is not None:
        out = raw_ops.Maximum(x=out, y=array(a_min, dtype))
    if a_max is not None:
        out = raw_ops.Minimum(x=out, y=array(a_max, dtype))
    return out


def _round(a, decimals=0):
    """Rounded to `decimals` places; halves go to the even neighbour."""
    a = array(a)
    dtype = a.dtype
    if decimals < 0 or not _is_kind(a, "iub"):
        factor = 10.0 ** decimals
        a = array(a, floating(np.dtype(dtype.as_numpy_dtype)))
        factor = array(factor, type_of(a))
        a = raw_ops.Rint(x=a * factor) / factor if not _is_kind(a, "c") else a
    return cast(a, dtype)


_public(_round, "round", "around")


@_public
def where(condition, x=None, y=None):
    """`x` where the condition holds and `y` elsewhere, or the indices where it holds."""
    if x is None and y is None:
        from weir.numpy_functions.arrays import nonzero
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("Both x and y must be ndarrays, or both must be None.")
    x, y = promoted(x, y)
    return array_ops.where(cast(array(condition), "bool"), x, y)


@_public
def select(condlist, choicelist, default=0):
    """For each element the choice of the first condition that holds."""
    if len(condlist) != len(choicelist):
        raise ValueError(f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})")
    if not condlist:
        raise ValueError("condlist must be nonempty")
    choices = promoted(default, *choicelist)
    out = choices[0]
    for condition, choice in builtins.reversed(list(zip(condlist, choices[1:]))):
        out = array_ops.where(cast(array(condition), "bool"), choice, out)
    return out


@_public
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether pairs of elements are equal to a tolerance."""
    a, b = promoted(a, b)
    if _is_kind(a, "f"):
        tolerance = array(atol, type_of(a)) + array(rtol, type_of(a)) * math_ops.abs(b)
        near = raw_ops.LogicalAnd(x=math_ops.abs(a - b) <= tolerance, y=raw_ops.IsFinite(x=b))
        near = raw_ops.LogicalOr(x=near, y=a == b)
        if equal_nan:
            near = raw_ops.LogicalOr(x=near, y=raw_ops.LogicalAnd(x=raw_ops.IsNan(x=a), y=raw_ops.IsNan(x=b)))
        return near
    return a == b


@_public
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all pairs of elements are equal to a tolerance."""
    return math_ops.reduce_all(isclose(a, b, rtol, atol, equal_nan))


@_public
def array_equal(a1, a2):
    """Whether shapes and elements are equal."""
    a, b = promoted(a1, a2)
    if a.shape.rank != b.shape.rank or not a.shape.is_compatible_with(b.shape):
        return array(False)
    return math_ops.reduce_all(a == b)


@_public
def iscomplexobj(x):
    """Whether the type is complex."""
    return _is_kind(array(x), "c")


@_public
def isrealobj(x):
    """Whether the type is not complex."""
    return not iscomplexobj(x)


@_public
def isscalar(num):
    """Whether it is a number rather than an array."""
    if isinstance(num, (int, float, complex, str, bytes, np.generic)):
        return True
    return hasattr(num, "shape") and len(num.shape) == 0


@_public
def polyval(p, x):
    """The polynomial with the coefficients `p`, highest power first, at `x`."""
    p, x = promoted(p, x)
    out = array_ops.zeros_like(x)
    for i in range(p.shape[0]):
        out = out * x + p[i]
    return out


__all__ += ["result_type", "promote_types"]
