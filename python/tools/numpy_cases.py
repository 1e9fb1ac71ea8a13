"""Calls of tf.experimental.numpy for compare_functions.py: (name, arguments, keyword arguments)."""

import numpy as np

UNARY = ("abs absolute angle arccos arccosh arcsin arcsinh arctan arctanh bitwise_not cbrt ceil conj conjugate cos cosh "
         "deg2rad exp exp2 expm1 fabs fix floor imag iscomplex iscomplexobj isfinite isinf isnan isneginf isposinf isreal "
         "isrealobj log log10 log1p log2 logical_not negative positive rad2deg real reciprocal sign signbit sin sinc sinh "
         "sqrt square tan tanh around round copy ravel flatten ndim size transpose squeeze nonzero atleast_1d atleast_2d "
         "atleast_3d ones_like zeros_like amax amin max min sum prod mean std var all any ptp cumsum cumprod nansum "
         "nanprod nanmean count_nonzero argmax argmin argsort sort average isscalar").split()
BINARY = ("add subtract multiply divide true_divide floor_divide mod remainder power float_power maximum minimum arctan2 "
          "hypot logaddexp logaddexp2 heaviside bitwise_and bitwise_or bitwise_xor equal not_equal less less_equal greater "
          "greater_equal logical_and logical_or logical_xor gcd lcm isclose allclose array_equal nextafter outer "
          "divmod").split()


class _Make:
    def __init__(self, rng):
        self.rng = rng

    def pick(self, *values):
        return values[self.rng.integers(len(values))]

    def array(self, *shape, kinds=("float32", "float64", "int32", "int64", "float16", "bool", "uint8", "complex64")):
        kind = self.pick(*kinds)
        if kind == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        if kind.startswith("c"):
            return (self.rng.normal(size=shape) + 1j * self.rng.normal(size=shape)).astype(kind)
        if kind.startswith("f"):
            return np.round(self.rng.normal(size=shape) * 3, 2).astype(kind)
        return self.rng.integers(0 if kind[0] == "u" else -5, 9, shape).astype(kind)

    def operand(self, *shape, **kw):
        return self.pick(self.array(*shape, **kw), self.array(*shape, **kw), self.array(*shape, **kw), 2, 1.5,
                         [1, 2, 3], [0.5, 1, 2])


def cases(rng):
    m = _Make(rng)
    real = dict(kinds=("float32", "float64", "int32", "int64"))
    name = lambda n: "experimental.numpy." + n  # noqa: E731
    for function in UNARY:
        yield name(function), [m.operand(2, 3)], {}
    for function in "sum prod mean amax amin max min all any ptp nansum nanprod nanmean std var".split():
        yield name(function), [m.array(2, 3, 2)], dict(axis=m.pick(0, 1, -1, None), keepdims=m.pick(True, False))
    for function in "cumsum cumprod argmax argmin argsort sort count_nonzero".split():
        yield name(function), [m.array(2, 3, **real)], dict(axis=m.pick(0, 1, -1))
    for function in BINARY:
        yield name(function), [m.operand(2, 3), m.operand(3)], {}
    yield name("where"), [m.array(3, kinds=("bool",)), m.operand(3), m.operand(3)], {}
    yield name("clip"), [m.array(4, **real), m.pick(0, -1.5), m.pick(3, None, 2.5)], {}
    yield name("select"), [[m.array(3, kinds=("bool",)), m.array(3, kinds=("bool",))], [m.array(3, **real), m.array(3, **real)]], {}
    yield name("array"), [m.operand(2, 3)], dict(ndmin=m.pick(0, 3))
    yield name("asarray"), [m.operand(2)], dict(dtype=m.pick(None, "float32", "int64"))
    for function in ("zeros", "ones", "empty"):
        yield name(function), [m.pick(3, [2, 3])], m.pick({}, dict(dtype="int32"))
    yield name("full"), [[2, 2], m.pick(3, 1.5, True)], {}
    yield name("full_like"), [m.array(2, 2), m.pick(3, 1.5)], {}
    yield name("eye"), [3], dict(M=m.pick(None, 4), k=m.pick(0, 1, -1))
    yield name("identity"), [3], {}
    yield name("arange"), list(m.pick((5,), (1, 6), (1, 6, 2), (0.5, 3.0, 0.5), (5, 1, -1))), {}
    yield name("linspace"), [m.pick(0, 1.0), m.pick(5, 2.5)], dict(num=m.pick(5, 1, 0), endpoint=m.pick(True, False))
    yield name("logspace"), [0, 2], dict(num=5)
    yield name("geomspace"), [m.pick(1, 2.0), 32], dict(num=5)
    yield name("tri"), [3], dict(M=m.pick(None, 4), k=m.pick(0, 1))
    for function in ("tril", "triu"):
        yield name(function), [m.array(2, 3, 3)], dict(k=m.pick(0, 1, -1))
    yield name("vander"), [m.array(3, **real)], dict(N=m.pick(None, 4), increasing=m.pick(True, False))
    yield name("diag"), [m.pick(m.array(3), m.array(3, 4))], dict(k=m.pick(0, 1, -1))
    yield name("diagflat"), [m.array(2, 2)], {}
    yield name("diagonal"), [m.array(2, 3, 4)], dict(offset=m.pick(0, 1), axis1=m.pick(0, 1), axis2=2)
    yield name("trace"), [m.array(3, 4, **real)], dict(offset=m.pick(0, 1))
    yield name("meshgrid"), [m.array(2), m.array(3)], dict(indexing=m.pick("xy", "ij"))
    yield name("ix_"), [np.array([0, 1]), np.array([1, 2, 0])], {}
    yield name("reshape"), [m.array(2, 6), m.pick([3, 4], -1, [4, -1])], dict(order=m.pick("C", "F"))
    yield name("transpose"), [m.array(2, 3, 4)], dict(axes=m.pick(None, [1, 0, 2]))
    yield name("swapaxes"), [m.array(2, 3, 4), 0, m.pick(1, 2, -1)], {}
    yield name("moveaxis"), [m.array(2, 3, 4), m.pick(0, 2), m.pick(1, -1)], {}
    yield name("expand_dims"), [m.array(2, 3), m.pick(0, 1, -1)], {}
    for function in ("concatenate", "hstack", "vstack", "dstack", "stack"):
        yield name(function), [[m.array(2, 3), m.array(2, 3)]], {}
    yield name("split"), [m.array(6, 2), m.pick(3, [1, 4])], {}
    yield name("hsplit"), [m.array(2, 4), 2], {}
    yield name("vsplit"), [m.array(4, 2), 2], {}
    yield name("append"), [m.array(2, 3), m.array(2, 3)], dict(axis=m.pick(None, 0, 1))
    yield name("tile"), [m.array(2, 2), m.pick(2, [2, 1], [2, 1, 2])], {}
    yield name("repeat"), [m.array(2, 3), m.pick(2, 3)], dict(axis=m.pick(None, 0, 1))
    yield name("roll"), [m.array(2, 3), m.pick(1, -1)], dict(axis=m.pick(None, 0, 1))
    yield name("rot90"), [m.array(2, 3)], dict(k=m.pick(0, 1, 2, 3))
    yield name("flip"), [m.array(2, 3)], dict(axis=m.pick(None, 0, 1))
    yield name("fliplr"), [m.array(2, 3)], {}
    yield name("flipud"), [m.array(2, 3)], {}
    yield name("pad"), [m.array(2, 3, **real), [[1, 0], [1, 1]], m.pick("constant", "reflect", "symmetric")], {}
    yield name("broadcast_to"), [m.array(3), [2, 3]], {}
    yield name("broadcast_arrays"), [m.array(3), m.array(2, 1)], {}
    yield name("take"), [m.array(4, 3), np.array([0, 2, 7])], dict(axis=m.pick(None, 0, 1), mode=m.pick("clip", "wrap"))
    yield name("take_along_axis"), [m.array(2, 3), np.array([[0, 2], [1, 1]]), 1], {}
    yield name("compress"), [np.array([True, False, True]), m.array(3, 2)], dict(axis=m.pick(None, 0))
    yield name("diff"), [m.array(2, 4, **real)], dict(n=m.pick(0, 1, 2), axis=m.pick(0, 1, -1) if True else 0)
    yield name("around"), [m.array(3, **real)], dict(decimals=m.pick(0, 1, -1))
    yield name("matmul"), [m.pick(m.array(3, **real), m.array(2, 3, **real)), m.pick(m.array(3, **real), m.array(3, 2, **real))], {}
    yield name("dot"), [m.pick(m.array(3, **real), m.array(2, 3, **real), 2), m.pick(m.array(3, **real), m.array(3, 2, **real))], {}
    yield name("inner"), [m.array(2, 3, **real), m.array(4, 3, **real)], {}
    yield name("vdot"), [m.array(2, 3, **real), m.array(2, 3, **real)], {}
    yield name("tensordot"), [m.array(2, 3, **real), m.array(3, 2, **real)], dict(axes=m.pick(1, 2, [[1], [0]]))
    yield name("einsum"), ["ij,jk->ik", m.array(2, 3, **real), m.array(3, 2, **real)], {}
    yield name("kron"), [m.array(2, 2, **real), m.array(2, 3, **real)], {}
    yield name("cross"), [m.array(2, 3, **real), m.array(2, 3, **real)], {}
    yield name("average"), [m.array(2, 3, **real)], dict(axis=m.pick(None, 1), weights=m.pick(None, m.array(2, 3, kinds=("float32",))))
    yield name("var"), [m.array(2, 3, **real)], dict(ddof=m.pick(0, 1))
    yield name("polyval"), [m.array(3, **real), m.array(2, **real)], {}
    yield name("result_type"), [m.array(2), m.operand(2)], {}
    yield name("promote_types"), [m.pick("float32", "int32"), m.pick("int64", "float16")], {}
