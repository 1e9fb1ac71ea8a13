"""Arithmetic: elementwise functions with rules of their own, reductions, products of matrices, segments, clipping.

Functions that are exactly one op (`tf.math.sin`) are in `weir.ops.generated`.
"""

import builtins
import contextlib

import numpy as np

from weir import _core
from weir.framework import (EagerTensor, as_dtype, convert_to_tensor, dispatch, executing_eagerly, get_static_value,
                            is_tensor, raw_ops)
from weir.framework.dispatch import scoped
from weir.ops import array, dtypes
from weir.ops.dtypes import cast


def _named_unary(op_name, doc):
    """A function of one tensor `x` that is one op and may be given sparse or ragged tensors."""

    def function(x, name=None):
        return getattr(raw_ops, op_name)(x=x, name=name)

    function.__doc__ = doc
    return function


def _binary(op_name, public_name, doc):
    def function(x, y, name=None):
        return getattr(raw_ops, op_name)(x=x, y=y, name=name)

    function.__name__ = function.__qualname__ = public_name
    function.__doc__ = doc
    return dispatch(function)


def _unary(op_name, public_name, doc):
    function = _named_unary(op_name, doc)
    function.__name__ = function.__qualname__ = public_name
    return dispatch(function)


acos = _unary("Acos", "acos", "The angle whose cosine is `x`, element by element.")
bessel_i0 = _unary("BesselI0", "bessel_i0", "The modified Bessel function of the first kind, order 0.")
bessel_i0e = _unary("BesselI0e", "bessel_i0e", "`bessel_i0(x) * exp(-|x|)`.")
bessel_i1 = _unary("BesselI1", "bessel_i1", "The modified Bessel function of the first kind, order 1.")
bessel_i1e = _unary("BesselI1e", "bessel_i1e", "`bessel_i1(x) * exp(-|x|)`.")
bessel_j0 = _unary("BesselJ0", "bessel_j0", "The Bessel function of the first kind, order 0.")
bessel_j1 = _unary("BesselJ1", "bessel_j1", "The Bessel function of the first kind, order 1.")
bessel_k0 = _unary("BesselK0", "bessel_k0", "The modified Bessel function of the second kind, order 0.")
bessel_k0e = _unary("BesselK0e", "bessel_k0e", "`bessel_k0(x) * exp(x)`.")
bessel_k1 = _unary("BesselK1", "bessel_k1", "The modified Bessel function of the second kind, order 1.")
bessel_k1e = _unary("BesselK1e", "bessel_k1e", "`bessel_k1(x) * exp(x)`.")
bessel_y0 = _unary("BesselY0", "bessel_y0", "The Bessel function of the second kind, order 0.")
bessel_y1 = _unary("BesselY1", "bessel_y1", "The Bessel function of the second kind, order 1.")
ceil = _unary("Ceil", "ceil", "The smallest whole number that is not less than `x`.")
dawsn = _unary("Dawsn", "dawsn", "Dawson's integral.")
erfinv = _unary("Erfinv", "erfinv", "The inverse of the error function.")
exp = _unary("Exp", "exp", "e to the power of `x`.")
expint = _unary("Expint", "expint", "The exponential integral Ei.")
floor = _unary("Floor", "floor", "The largest whole number that is not greater than `x`.")
fresnel_cos = _unary("FresnelCos", "fresnel_cos", "Fresnel's cosine integral.")
fresnel_sin = _unary("FresnelSin", "fresnel_sin", "Fresnel's sine integral.")
ndtri = _unary("Ndtri", "ndtri", "The quantile function of the standard normal distribution.")
rsqrt = _unary("Rsqrt", "rsqrt", "`1 / sqrt(x)`.")
sigmoid = _unary("Sigmoid", "sigmoid", "The logistic function `1 / (1 + exp(-x))`.")
spence = _unary("Spence", "spence", "Spence's integral, the dilogarithm of `1 - x`.")
sqrt = _unary("Sqrt", "sqrt", "The square root of `x`.")

floordiv = _binary("FloorDiv", "floordiv", "The quotient rounded toward minus infinity.")
multiply_no_nan = _binary("MulNoNan", "multiply_no_nan", "`x * y`, and 0 where `y` is 0 even if `x` is infinite or NaN.")
xdivy = _binary("Xdivy", "xdivy", "`x / y`, and 0 where `x` is 0.")
xlog1py = _binary("Xlog1py", "xlog1py", "`x * log1p(y)`, and 0 where `x` is 0.")
xlogy = _binary("Xlogy", "xlogy", "`x * log(y)`, and 0 where `x` is 0.")
multiply = _binary("Mul", "multiply", "`x * y`, element by element.")
subtract = _binary("Sub", "subtract", "`x - y`, element by element.")
pow = _binary("Pow", "pow", "`x` to the power of `y`, element by element.")  # pylint: disable=redefined-builtin


@dispatch
def add(x, y, name=None):
    """`x + y`, element by element; strings are joined."""
    if type(x) is EagerTensor and type(y) is EagerTensor:
        return x + y
    graph = _core.current_graph()
    if graph is not None:
        with graph.name_scope(name or "Add") as scope:
            return _add(x, y, scope)
    return _add(x, y, name)


def _add(x, y, name):
    x = convert_to_tensor(x, name="x")
    y = convert_to_tensor(y, dtype_hint=x.dtype.base_dtype, name="y")
    return (raw_ops.Add if x.dtype is dtypes.string else raw_ops.AddV2)(x=x, y=y, name=name)


@dispatch
def equal(x, y, name=None):
    """True where `x` and `y` are equal."""
    return raw_ops.Equal(x=x, y=y, incompatible_shape_error=True, name=name)


@dispatch
def not_equal(x, y, name=None):
    """True where `x` and `y` differ."""
    return raw_ops.NotEqual(x=x, y=y, incompatible_shape_error=True, name=name)


@dispatch
def abs(x, name=None):  # pylint: disable=redefined-builtin
    """The absolute value; of complex numbers a real one."""
    x = convert_to_tensor(x, name="x")
    if x.dtype.is_complex:
        return raw_ops.ComplexAbs(x=x, Tout=x.dtype.real_dtype, name=name)
    return raw_ops.Abs(x=x, name=name)


@dispatch
def sign(x, name=None):
    """-1, 0 or 1 by the sign of `x`; complex numbers are divided by their absolute value."""
    return raw_ops.Sign(x=x, name=name)


@dispatch
def round(x, name=None):  # pylint: disable=redefined-builtin
    """The nearest whole number, halves to the even one. Integers are returned as they are."""
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else raw_ops.Round(x=x, name=name)


def divide(x, y, name=None):
    """`x / y` as Python's operator does it: integers give floats."""
    if not is_tensor(x) and not is_tensor(y) and not _is_composite(x) and not _is_composite(y):
        x = convert_to_tensor(x)
    result = x / y
    return result if name is None or not is_tensor(result) else raw_ops.Identity(input=result, name=name)


def _is_composite(value):
    from weir.framework import CompositeTensor
    return isinstance(value, CompositeTensor)


_DIVISION_TYPES = {"int8": "float32", "uint8": "float32", "int16": "float32", "uint16": "float32", "int32": "float64",
                   "uint32": "float64", "int64": "float64", "uint64": "float64", "bfloat16": None, "float16": None,
                   "float32": None, "float64": None, "complex64": None, "complex128": None, "int4": "bfloat16",
                   "uint4": "bfloat16"}


@dispatch
@scoped("truediv")
def truediv(x, y, name=None):
    """`x / y` in floating point; small integers become float32, others float64."""
    x = convert_to_tensor(x, dtype_hint=y.dtype.base_dtype if is_tensor(y) else None, name="x")
    y = convert_to_tensor(y, dtype_hint=x.dtype.base_dtype, name="y")
    x_type, y_type = x.dtype.base_dtype, y.dtype.base_dtype
    if x_type != y_type:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x_type!r} != {y_type!r}.")
    if x_type.name not in _DIVISION_TYPES:
        known = ", ".join(_DIVISION_TYPES)
        raise TypeError(f"Invalid dtype {x_type!r} in __truediv__. Expected one of {{{known}}}.")
    target = _DIVISION_TYPES[x_type.name]
    if target is not None:
        x, y = cast(x, target), cast(y, target)
    return raw_ops.RealDiv(x=x, y=y, name=name)


@dispatch
def divide_no_nan(x, y, name=None):
    """`x / y`, and 0 where `y` is 0; integers are divided as by `truediv`."""
    x = convert_to_tensor(x, dtype_hint=y.dtype.base_dtype if is_tensor(y) else None, name="x")
    y = convert_to_tensor(y, dtype_hint=x.dtype.base_dtype, name="y")
    x_type, y_type = x.dtype.base_dtype, y.dtype.base_dtype
    if x_type != y_type:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x_type!r} != {y_type!r}.")
    if x_type.name not in _DIVISION_TYPES:
        raise TypeError(f"Invalid dtype {x_type!r} in divide_no_nan. Expected one of {{{', '.join(_DIVISION_TYPES)}}}.")
    target = _DIVISION_TYPES[x_type.name]
    if target is not None:
        x, y = cast(x, target), cast(y, target)
    return raw_ops.DivNoNan(x=x, y=y, name=name)


@dispatch
def logical_xor(x, y, name="LogicalXor"):
    """True where exactly one of `x` and `y` is."""
    return raw_ops.LogicalAnd(x=raw_ops.LogicalOr(x=x, y=y), y=raw_ops.LogicalNot(x=raw_ops.LogicalAnd(x=x, y=y)),
                              name=name)


@dispatch
def real(input, name=None):  # pylint: disable=redefined-builtin
    """The real part; a real tensor is its own."""
    input = convert_to_tensor(input, name="input")
    if not input.dtype.is_complex:
        if not input.dtype.is_numeric:
            raise TypeError(f"input must be a numeric tensor, but got tensor with dtype {input.dtype}")
        return input
    return raw_ops.Real(input=input, Tout=input.dtype.real_dtype, name=name)


@dispatch
def imag(input, name=None):  # pylint: disable=redefined-builtin
    """The imaginary part; zeros for a real tensor."""
    input = convert_to_tensor(input, name="input")
    if input.dtype.is_complex:
        return raw_ops.Imag(input=input, Tout=input.dtype.real_dtype, name=name)
    return array.zeros_like(input)


@dispatch
def angle(input, name=None):  # pylint: disable=redefined-builtin
    """The argument of complex numbers; of real ones 0, or pi where they are negative."""
    input = convert_to_tensor(input, name="input")
    if input.dtype.is_complex:
        return raw_ops.Angle(input=input, Tout=input.dtype.real_dtype, name=name)
    return array.where(raw_ops.Less(x=input, y=array.zeros_like(input)), np.pi * array.ones_like(input),
                       array.zeros_like(input))


@dispatch
def conj(x, name=None):
    """The complex conjugate; numbers that are not complex are returned as they are."""
    x = convert_to_tensor(x, name="x")
    if x.dtype.is_complex or x.dtype == dtypes.variant:
        return raw_ops.Conj(input=x, name=name)
    if x.dtype.is_floating or x.dtype.is_integer:
        return x
    raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}.")


@dispatch
def reciprocal_no_nan(x, name=None):
    """`1 / x`, and 0 where `x` is 0."""
    x = convert_to_tensor(x, name="x")
    return raw_ops.DivNoNan(x=array.constant(1, dtype=x.dtype.base_dtype), y=x, name=name)


@dispatch
def erfcinv(x, name=None):
    """The inverse of the complementary error function."""
    x = convert_to_tensor(x, name="x")
    return raw_ops.Mul(x=raw_ops.Neg(x=raw_ops.Ndtri(x=0.5 * x)), y=array.constant(np.sqrt(0.5), dtype=x.dtype),
                       name=name)


@dispatch
def log_sigmoid(x, name=None):
    """`log(sigmoid(x))`, without underflow."""
    x = convert_to_tensor(x, name="x")
    return raw_ops.Neg(x=raw_ops.Softplus(features=raw_ops.Neg(x=x)), name=name)


def scalar_mul(scalar, x, name=None):
    """`scalar * x`; the slices of an IndexedSlices are scaled."""
    from weir.ops.indexed_slices import IndexedSlices
    if not isinstance(x, IndexedSlices):
        x = convert_to_tensor(x)
    base = x.dtype.base_dtype
    scalar = convert_to_tensor(scalar, dtype=base, name="scalar")
    if scalar.shape.rank != 0:
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {scalar.shape}.")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(raw_ops.Mul(x=scalar, y=x.values, name=name), x.indices, x.dense_shape)
    return raw_ops.Mul(x=scalar, y=x, name=name)


# Reductions.


def reduction_axes(x, axis):
    """`axis` as an op takes it; None means all dimensions."""
    if axis is not None:
        if isinstance(axis, (builtins.list, builtins.tuple, builtins.range)):
            return array.shape_argument(builtins.list(axis))
        return axis
    known = x.shape.rank
    return (array.constant(np.arange(known, dtype=np.int32)) if known is not None else array.range(array.rank(x)))


def _reduction(op_name, public_name, doc):
    def function(input_tensor, axis=None, keepdims=False, name=None):
        input_tensor = convert_to_tensor(input_tensor, dtype=None if is_tensor(input_tensor) else wanted, name="input_tensor")
        return getattr(raw_ops, op_name)(input=input_tensor, axis=reduction_axes(input_tensor, axis),
                                         keep_dims=builtins.bool(keepdims), name=name)

    wanted = dtypes.bool if op_name in ("All", "Any") else None  # of what is no tensor yet
    function.__name__ = function.__qualname__ = public_name
    function.__doc__ = doc + " along the dimensions in `axis`, by default all; `keepdims` keeps them with size 1."
    return dispatch(function)


reduce_sum = _reduction("Sum", "reduce_sum", "The sum")
reduce_mean = _reduction("Mean", "reduce_mean", "The mean")
reduce_prod = _reduction("Prod", "reduce_prod", "The product")
reduce_max = _reduction("Max", "reduce_max", "The largest element")
reduce_min = _reduction("Min", "reduce_min", "The smallest element")
reduce_all = _reduction("All", "reduce_all", "Whether all elements are true")
reduce_any = _reduction("Any", "reduce_any", "Whether any element is true")
reduce_euclidean_norm = _reduction("EuclideanNorm", "reduce_euclidean_norm", "The Euclidean norm")


@dispatch
@scoped("reduce_variance", names_result=False)
def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    """The variance along the dimensions in `axis`: the mean squared distance from the mean."""
    input_tensor = convert_to_tensor(input_tensor)
    means = reduce_mean(input_tensor, axis=axis, keepdims=True)
    if means.dtype.is_integer:
        raise TypeError(f"Input must be either real or complex. Received integer type {means.dtype}.")
    distance = input_tensor - means
    if distance.dtype.is_complex:
        squared = real(distance * conj(distance))
    else:
        squared = raw_ops.Square(x=distance)
    return reduce_mean(squared, axis=axis, keepdims=keepdims, name=name)


@dispatch
@scoped("reduce_std", names_result=False)
def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    """The standard deviation along the dimensions in `axis`."""
    return sqrt(reduce_variance(input_tensor, axis=axis, keepdims=keepdims), name=name)


@dispatch
@scoped("ReduceLogSumExp")
def reduce_logsumexp(input_tensor, axis=None, keepdims=False, name=None):
    """`log(sum(exp(x)))` along the dimensions in `axis`, without overflow."""
    input_tensor = convert_to_tensor(input_tensor)
    largest = reduce_max(input_tensor, axis=axis, keepdims=True)
    finite = array.stop_gradient(array.where(raw_ops.IsFinite(x=largest), largest, array.zeros_like(largest)))
    result = raw_ops.Log(x=reduce_sum(exp(input_tensor - finite), axis=axis, keepdims=keepdims))
    if not keepdims:
        finite = array.reshape(finite, array.shape(result))
    return raw_ops.AddV2(x=result, y=finite, name=name)


@dispatch
def count_nonzero(input, axis=None, keepdims=None, dtype=dtypes.int64, name=None):  # pylint: disable=redefined-builtin
    """How many elements are not zero (not False, not the empty string)."""
    input = convert_to_tensor(input, name="input")
    zero = array.zeros([], dtype=input.dtype)
    found = cast(not_equal(input, zero), dtypes.int64)
    return cast(reduce_sum(found, axis=axis, keepdims=builtins.bool(keepdims)), dtype, name=name)


@dispatch
def zero_fraction(value, name=None):
    """The fraction of elements that are zero, float32."""
    value = convert_to_tensor(value)
    total = array.size(value, out_type=dtypes.int64)
    nonzero = count_nonzero(value)
    return array.identity(cast(total - nonzero, dtypes.float32) / cast(total, dtypes.float32), name=name)


def argmax(input, axis=None, output_type=dtypes.int64, name=None):  # pylint: disable=redefined-builtin
    """The index of the largest element along `axis`, by default the first dimension."""
    return raw_ops.ArgMax(input=input, dimension=0 if axis is None else axis, output_type=output_type, name=name)


def argmin(input, axis=None, output_type=dtypes.int64, name=None):  # pylint: disable=redefined-builtin
    """The index of the smallest element along `axis`, by default the first dimension."""
    return raw_ops.ArgMin(input=input, dimension=0 if axis is None else axis, output_type=output_type, name=name)


@dispatch
def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    """Running sums along `axis`."""
    return raw_ops.Cumsum(x=convert_to_tensor(x, name="x"), axis=axis, exclusive=exclusive, reverse=reverse, name=name)


def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
    """Running products along `axis`."""
    return raw_ops.Cumprod(x=convert_to_tensor(x, name="x"), axis=axis, exclusive=exclusive, reverse=reverse,
                           name=name)


def cumulative_logsumexp(x, axis=0, exclusive=False, reverse=False, name=None):
    """The logarithm of running sums of `exp(x)` along `axis`."""
    return raw_ops.CumulativeLogsumexp(x=convert_to_tensor(x, name="x"), axis=axis, exclusive=exclusive,
                                       reverse=reverse, name=name)


def _as_dense(value):
    return convert_to_tensor(value)


@dispatch
def add_n(inputs, name=None):
    """The sum of a list of tensors of equal shape and type."""
    if isinstance(inputs, np.ndarray) or (is_tensor(inputs) and inputs.shape.rank):
        inputs = array.unstack(inputs)
    if isinstance(inputs, (builtins.int, builtins.float)):
        raise TypeError(f"'{type(inputs).__name__}' object is not iterable")
    if not isinstance(inputs, (builtins.list, builtins.tuple)) or not inputs:
        raise ValueError("Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and "
                         "shape.")
    values = [_as_dense(v) for v in inputs]
    if len(values) == 1:
        return array.identity(values[0], name=name) if name else values[0]
    return raw_ops.AddN(inputs=values, name=name)


def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """The sum of a list of tensors; `shape` and `tensor_dtype`, if given, are checked."""
    if not inputs or not isinstance(inputs, (builtins.list, builtins.tuple)):
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    values = [convert_to_tensor(v) for v in inputs]
    if any(v.dtype != values[0].dtype for v in values):
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    if tensor_dtype is not None and as_dtype(tensor_dtype) != values[0].dtype:
        raise TypeError(f"The `tensor_dtype` argument is {tensor_dtype}, but `input` is of type {values[0].dtype}. "
                        "These must be equal. Try casting the input to the desired type.")
    if shape is not None:
        for value in values:
            value.shape.assert_is_compatible_with(shape)
    return add_n(values, name=name)


# Products.


def _conjugate_for_batch(x, transpose, adjoint):
    """BatchMatMul knows adjoints only: a transposed complex operand is conjugated beforehand."""
    if not transpose:
        return x, adjoint
    return conj(x), True


@dispatch
def matmul(a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False, a_is_sparse=False,
           b_is_sparse=False, output_type=None, grad_a=False, grad_b=False, name=None):
    """The product of matrices, or of batches of matrices whose leading dimensions broadcast."""
    if transpose_a and adjoint_a:
        raise ValueError("Only one of `transpose_a` and `adjoint_a` can be True. Received `transpose_a`="
                         f"{transpose_a}, `adjoint_a`={adjoint_a}.")
    if transpose_b and adjoint_b:
        raise ValueError("Only one of `transpose_b` and `adjoint_b` can be True. Received `transpose_b`="
                         f"{transpose_b}, `adjoint_b`={adjoint_b}.")
    if not is_tensor(a) and is_tensor(b):
        a = convert_to_tensor(a, dtype_hint=b.dtype.base_dtype, name="a")
    else:
        a = convert_to_tensor(a, name="a")
    b = convert_to_tensor(b, dtype_hint=a.dtype.base_dtype, name="b")
    if output_type is not None and as_dtype(output_type) == a.dtype == b.dtype:
        output_type = None
    rank_a, rank_b = a.shape.rank, b.shape.rank
    sparse = a_is_sparse or b_is_sparse
    batched = rank_a is None or rank_a > 2 or rank_b is None or rank_b > 2
    if (batched and not sparse) or output_type is not None:
        if name is None and not executing_eagerly():
            name = "MatMul"
        a, adjoint_a = _conjugate_for_batch(a, transpose_a, adjoint_a)
        b, adjoint_b = _conjugate_for_batch(b, transpose_b, adjoint_b)
        if output_type is not None:
            return raw_ops.BatchMatMulV3(x=a, y=b, adj_x=adjoint_a, adj_y=adjoint_b, Tout=output_type, name=name)
        return raw_ops.BatchMatMulV2(x=a, y=b, adj_x=adjoint_a, adj_y=adjoint_b, name=name)
    if adjoint_a:
        a, transpose_a = conj(a), True
    if adjoint_b:
        b, transpose_b = conj(b), True
    if sparse and a.dtype in (dtypes.bfloat16, dtypes.float32) and b.dtype in (dtypes.bfloat16, dtypes.float32):
        result = raw_ops.SparseMatMul(a=a, b=b, transpose_a=transpose_a, transpose_b=transpose_b,
                                      a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse, name=name)
        if a.dtype == dtypes.bfloat16 and b.dtype == dtypes.bfloat16:
            result = cast(result, dtypes.bfloat16)
        return result
    del grad_a, grad_b
    return raw_ops.MatMul(a=a, b=b, transpose_a=transpose_a, transpose_b=transpose_b, name=name)


@dispatch
def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None):
    """The product of a matrix (or a batch of matrices) and a vector (or a batch of vectors)."""
    product = matmul(a, array.expand_dims(b, -1), transpose_a=transpose_a, adjoint_a=adjoint_a,
                     a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse)
    return array.squeeze(product, axis=-1, name=name)


def _tensordot_axes(a, axes):
    if isinstance(axes, (int, np.integer)):
        if axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}.")
        known = a.shape.rank
        if known is not None:
            if axes > known:
                raise ValueError(f"`axes` must not be larger than the number of dimensions of tensor {a}.  Received "
                                 f"{axes}, vs tensor dimensions {known}.")
            return builtins.list(builtins.range(known - axes, known)), builtins.list(builtins.range(axes))
        total = array.rank(a)
        return array.range(total - axes, total), array.range(axes)
    if isinstance(axes, (builtins.list, builtins.tuple)):
        if len(axes) != 2:
            raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}.")
        first, second = axes
        first = [first] if isinstance(first, (int, np.integer)) else first
        second = [second] if isinstance(second, (int, np.integer)) else second
        if not is_tensor(first) and not is_tensor(second) and len(first) != len(second):
            raise ValueError(f"Different number of contraction axes `a` and `b`, {len(first)} != {len(second)}.")
        return first, second
    axes = convert_to_tensor(axes, name="axes", dtype=dtypes.int32)
    value = get_static_value(axes)
    if value is not None:
        return [int(i) for i in value[0]], [int(i) for i in value[1]]
    return axes[0], axes[1]


def _matrix_for_tensordot(a, axes, contracted_last):
    """`a` as a matrix whose contracted dimensions are its columns (last) or rows, and its free dimensions."""
    known = a.shape.rank
    if known is not None and not is_tensor(axes):
        axes = [i if i >= 0 else i + known for i in axes]
        free = [i for i in builtins.range(known) if i not in axes]
        order = free + axes if contracted_last else axes + free
        if a.shape.is_fully_defined():
            sizes = a.shape.as_list()
            product = int(np.prod([sizes[i] for i in axes], dtype=np.int64))
            free_sizes = [sizes[i] for i in free]
            free_product = int(np.prod(free_sizes, dtype=np.int64))
            matrix_shape = [free_product, product] if contracted_last else [product, free_product]
            moved = a if order == builtins.list(builtins.range(known)) else array.transpose(a, order)
            return array.reshape(moved, matrix_shape), free_sizes
        free = array.constant(np.array(free, np.int32))
        axes = array.constant(np.array(axes, np.int32))
    else:
        total = array.rank(a)
        axes = cast(axes, dtypes.int32)
        axes = array.where(axes >= 0, axes, axes + total)
        free = raw_ops.ListDiff(x=array.range(total), y=axes)[0]
    sizes = array.shape(a)
    free_sizes = array.gather(sizes, free)
    product = raw_ops.Prod(input=array.gather(sizes, axes), axis=[0])
    free_product = raw_ops.Prod(input=free_sizes, axis=[0])
    order = array.concat([free, axes] if contracted_last else [axes, free], 0)
    matrix_shape = array.stack([free_product, product] if contracted_last else [product, free_product])
    return array.reshape(array.transpose(a, order), matrix_shape), free_sizes


@dispatch
@scoped("Tensordot")
def tensordot(a, b, axes, name=None):
    """The contraction of two tensors over the dimensions in `axes`: a number, or a list for each tensor."""
    a = convert_to_tensor(a, name="a")
    b = convert_to_tensor(b, dtype_hint=a.dtype, name="b")
    a_axes, b_axes = _tensordot_axes(a, axes)
    a_matrix, a_free = _matrix_for_tensordot(a, a_axes, True)
    b_matrix, b_free = _matrix_for_tensordot(b, b_axes, False)
    product = matmul(a_matrix, b_matrix)
    if isinstance(a_free, builtins.list) and isinstance(b_free, builtins.list):
        return array.reshape(product, a_free + b_free, name=name)
    result = array.reshape(product, array.concat([array.shape_tensor(a_free), array.shape_tensor(b_free)], 0),
                           name=name)
    return result


def _parse_einsum(equation, count):
    text = equation.replace(" ", "")
    if "->" in text:
        left, output = text.split("->")
    else:
        left, output = text, None
    inputs = left.split(",")
    if len(inputs) != count:
        raise ValueError(f"Got {count} arguments for equation \"{equation}\", expecting {len(inputs)}.")
    if output is None:
        labels = [c for c in left.replace("...", "").replace(",", "")]
        output = "".join(builtins.sorted({c for c in labels if labels.count(c) == 1}))
        if "..." in left:
            output = "..." + output
    for part in inputs + [output]:
        bare = part.replace("...", "")
        if not all(c.isalpha() for c in bare) or part.count("...") > 1:
            raise ValueError(f"Subscripts '{part}' of equation \"{equation}\" have an unexpected character.")
    return inputs, output


@dispatch
def einsum(equation, *inputs, **kwargs):
    """Sums of products of tensors by an equation such as "bij,bjk->bik"; more than two go pair by pair."""
    name = kwargs.pop("name", None)
    kwargs.pop("optimize", None)
    if kwargs:
        raise TypeError(f"Invalid keyword arguments for einsum: {', '.join(kwargs)}. Valid arguments: name, optimize")
    operands = [convert_to_tensor(x) for x in inputs]
    terms, output = _parse_einsum(equation, len(operands))
    for term, operand in zip(terms, operands):
        known = operand.shape.rank
        labels = len(term.replace("...", ""))
        if known is not None and (known < labels or (known != labels and "..." not in term)):
            raise ValueError(f"Unexpected number of dimensions: expected {labels} for subscripts '{term}', got "
                             f"{known} for shape {operand.shape}.")
    operands, terms = builtins.list(operands), builtins.list(terms)
    while len(operands) > 2:
        later = set("".join(terms[2:]) + output)
        merged = "".join(dict.fromkeys(c for c in (terms[0] + terms[1]).replace("...", "") if c in later))
        if "..." in terms[0] or "..." in terms[1]:
            merged = "..." + merged
        product = raw_ops.Einsum(inputs=operands[:2], equation=f"{terms[0]},{terms[1]}->{merged}")
        operands, terms = [product] + operands[2:], [merged] + terms[2:]
    graph = _core.current_graph()
    with graph.name_scope(name or "einsum") if graph is not None else contextlib.nullcontext():
        return raw_ops.Einsum(inputs=operands, equation=",".join(terms) + "->" + output)


# Norms and clipping.


def _map_values(t, function):
    """Applies a function to a tensor, or to the values of an IndexedSlices."""
    from weir.ops.indexed_slices import IndexedSlices
    if isinstance(t, IndexedSlices):
        return IndexedSlices(function(t.values), t.indices, t.dense_shape)
    return function(convert_to_tensor(t, name="t"))


@dispatch
@scoped("clip_by_value")
def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    """`t` with smaller values raised to the minimum and larger ones lowered to the maximum."""

    def clip(values):
        low = raw_ops.Minimum(x=values, y=clip_value_max)
        values.shape.assert_is_compatible_with(low.shape)
        high = raw_ops.Maximum(x=low, y=clip_value_min, name=name)
        values.shape.assert_is_compatible_with(high.shape)
        return high

    return _map_values(t, clip)


@scoped("clip_by_norm")
def clip_by_norm(t, clip_norm, axes=None, name=None):
    """`t` scaled down, if need be, to an L2 norm of `clip_norm` along `axes`."""

    def clip(values):
        squares = reduce_sum(values * values, axes, keepdims=True)
        positive = squares > 0
        safe = array.where(positive, squares, array.ones_like(squares))
        norm = array.where(positive, sqrt(safe), squares)
        scaled = values * clip_norm
        values.shape.assert_is_compatible_with(scaled.shape)
        return array.identity(scaled / raw_ops.Maximum(x=norm, y=clip_norm), name=name)

    return _map_values(t, clip)


def global_norm(t_list, name=None):
    """The L2 norm of all tensors of a list together; None entries are left out."""
    if isinstance(t_list, (str, bytes)) or not hasattr(t_list, "__iter__"):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    from weir.ops.indexed_slices import IndexedSlices
    values = [v.values if isinstance(v, IndexedSlices) else convert_to_tensor(v) for v in t_list if v is not None]
    graph = _core.current_graph()
    with graph.name_scope(name or "global_norm") if graph is not None else contextlib.nullcontext():
        halves = raw_ops.Pack(values=[raw_ops.L2Loss(t=v) for v in values], axis=0)
        total = reduce_sum(halves)
        return sqrt(total * array.constant(2.0, dtype=total.dtype), name="global_norm")


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """The tensors of a list scaled down together to a global norm of `clip_norm`, and that norm before scaling."""
    if isinstance(t_list, (str, bytes)) or not hasattr(t_list, "__iter__") or is_tensor(t_list):
        raise TypeError(f"`t_list` should be a sequence of tensors. Received {type(t_list)}.")
    t_list = builtins.list(t_list)
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    return _scaled_to_norm(t_list, clip_norm, use_norm, name), use_norm


@scoped("clip_by_global_norm")
def _scaled_to_norm(t_list, clip_norm, use_norm, name=None):
    one = array.constant(1.0, dtype=use_norm.dtype)
    scale_finite = clip_norm * raw_ops.Minimum(x=1.0 / use_norm, y=one / clip_norm)
    # A norm that is infinite or NaN makes everything NaN, so that the trouble is seen.
    scale = scale_finite + (use_norm - use_norm)
    from weir.ops.indexed_slices import IndexedSlices
    results = []
    for i, t in enumerate(t_list):
        if t is None:
            results.append(None)
            continue
        sparse = isinstance(t, IndexedSlices)
        values = t.values if sparse else convert_to_tensor(t)
        scaled = array.identity(values * cast(scale, values.dtype), name=f"{name}_{i}" if name else None)
        results.append(IndexedSlices(scaled, t.indices, t.dense_shape) if sparse else scaled)
    return results


@dispatch
@scoped("l2_normalize")
def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """`x` divided by its L2 norm along `axis`; norms below `sqrt(epsilon)` count as that."""
    axis = dim if axis is None else axis
    x = convert_to_tensor(x, name="x")
    if x.dtype.is_complex:
        squares = reduce_sum(raw_ops.Square(x=real(x)) + raw_ops.Square(x=imag(x)), axis, keepdims=True)
        scale = rsqrt(raw_ops.Maximum(x=squares, y=epsilon))
        return dtypes.complex(real(x) * scale, imag(x) * scale, name=name)
    squares = reduce_sum(raw_ops.Square(x=x), axis, keepdims=True)
    return raw_ops.Mul(x=x, y=rsqrt(raw_ops.Maximum(x=squares, y=epsilon)), name=name)


# Counting and ranking.


def top_k(input, k=1, sorted=True, index_type=dtypes.int32, name=None):  # pylint: disable=redefined-builtin
    """The `k` largest elements of each row and their indices."""
    extra = {} if as_dtype(index_type) == dtypes.int32 else {"index_type": as_dtype(index_type)}
    return raw_ops.TopKV2(input=input, k=k, sorted=sorted, name=name, **extra)


@scoped("in_top_k", names_result=False)
def in_top_k(targets, predictions, k, name=None):
    """Whether the target's prediction is among the `k` best of its row."""
    return raw_ops.InTopKV2(predictions=predictions, targets=targets, k=k, name=name)


def approx_max_k(operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1,
                 aggregate_to_topk=True, name=None):
    """About the `k` largest elements; here the exact ones."""
    del recall_target, reduction_input_size_override, aggregate_to_topk
    return _exact_top_k(convert_to_tensor(operand), k, reduction_dimension, name)


def _exact_top_k(operand, k, axis, name):
    last = operand.shape.rank - 1
    axis = axis + last + 1 if axis < 0 else axis
    order = [i for i in builtins.range(last + 1) if i != axis] + [axis]
    back = [order.index(i) for i in builtins.range(last + 1)]
    found = raw_ops.TopKV2(input=operand if axis == last else array.transpose(operand, order), k=k, name=name)
    values, indices = found.values, found.indices
    return (values, indices) if axis == last else (array.transpose(values, back), array.transpose(indices, back))


def approx_min_k(operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1,
                 aggregate_to_topk=True, name=None):
    """About the `k` smallest elements; here the exact ones."""
    del recall_target, reduction_input_size_override, aggregate_to_topk
    values, indices = _exact_top_k(-convert_to_tensor(operand), k, reduction_dimension, name)
    return -values, indices


@dispatch
def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32, name=None, axis=None,
             binary_output=False):
    """How often each non-negative integer occurs in `arr`, or the sum of its weights."""
    from weir.ops.ragged import RaggedTensor
    from weir.ops.sparse import SparseTensor
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    if weights is not None and binary_output:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one.")
    rows = None  # of a composite tensor, where each row is counted by itself
    if isinstance(arr, (RaggedTensor, SparseTensor)):
        rows = arr if axis == -1 else None
        if weights is not None:
            weights = weights.flat_values if isinstance(weights, RaggedTensor) else weights.values
        arr = arr.flat_values if isinstance(arr, RaggedTensor) else arr.values
    elif not is_tensor(arr) and not isinstance(arr, np.ndarray):
        arr = convert_to_tensor(arr, dtype_hint=dtypes.int32)
    arr = convert_to_tensor(arr, name="arr")
    if weights is not None:
        weights = convert_to_tensor(weights, name="weights")
        dtype = weights.dtype
    if arr.dtype not in (dtypes.int32, dtypes.int64):
        arr = cast(arr, dtypes.int32)
    dtype = as_dtype(dtype)
    if axis in (None, 0):
        arr = array.reshape(arr, [-1])
        if weights is not None:
            weights = array.reshape(weights, [-1])
    nonempty = array.size(arr) > 0
    largest = array.constant(-1, arr.dtype) if arr.shape.num_elements() == 0 else raw_ops.SelectV2(
        condition=nonempty, t=reduce_max(array.concat([array.reshape(arr, [-1]), array.constant([-1], arr.dtype)], 0)),
        e=array.constant(-1, arr.dtype))
    length = largest + array.constant(1, arr.dtype)
    if minlength is not None:
        length = raw_ops.Maximum(x=cast(minlength, arr.dtype), y=length)
    if maxlength is not None:
        length = raw_ops.Minimum(x=cast(maxlength, arr.dtype), y=length)
    if weights is None:
        weights = array.constant([], dtype=dtype)
    if isinstance(rows, RaggedTensor):
        return raw_ops.RaggedBincount(splits=cast(rows.row_splits, dtypes.int64), values=arr, size=length,
                                      weights=weights, binary_output=binary_output, name=name)
    if rows is not None:
        return raw_ops.SparseBincount(indices=rows.indices, values=arr, dense_shape=rows.dense_shape, size=length,
                                      weights=weights, binary_output=binary_output, name=name)
    return raw_ops.DenseBincount(input=arr, size=length, weights=weights, binary_output=binary_output, name=name)


def confusion_matrix(labels, predictions, num_classes=None, weights=None, dtype=dtypes.int32, name=None):
    """Counts (or weights) of pairs: rows are labels, columns predictions."""
    del name
    predictions, labels = remove_squeezable_dimensions(predictions, labels)
    predictions, labels = cast(predictions, dtypes.int64), cast(labels, dtypes.int64)
    import weir.debugging as debugging
    from weir.framework import control_dependencies
    checks = [debugging.assert_non_negative(labels, message="`labels` contains negative values"),
              debugging.assert_non_negative(predictions, message="`predictions` contains negative values")]
    with control_dependencies([c for c in checks if c is not None]):
        labels, predictions = array.identity(labels), array.identity(predictions)
    if num_classes is None:
        num_classes = raw_ops.Maximum(x=reduce_max(predictions), y=reduce_max(labels)) + 1
    else:
        num_classes = cast(num_classes, dtypes.int64)
        checks = [debugging.assert_less(labels, num_classes, message="`labels` out of bound"),
                  debugging.assert_less(predictions, num_classes, message="`predictions` out of bound")]
        with control_dependencies([c for c in checks if c is not None]):
            labels = array.identity(labels)
    if weights is not None:
        weights = convert_to_tensor(weights)
        predictions.shape.assert_is_compatible_with(weights.shape)
        weights = cast(weights, dtype)
    sizes = array.stack([num_classes, num_classes])
    values = array.ones_like(predictions, dtype) if weights is None else weights
    return raw_ops.ScatterNd(indices=array.stack([labels, predictions], axis=1), updates=values, shape=sizes)


def remove_squeezable_dimensions(predictions, labels, expected_rank_diff=0):
    """Squeezes the last dimension of one of two tensors if their ranks then differ by what is expected."""
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    a, b = predictions.shape.rank, labels.shape.rank
    if a is not None and b is not None:
        if a - b == expected_rank_diff + 1 and predictions.shape[-1] in (None, 1):
            predictions = array.squeeze(predictions, [-1])
        elif a - b == expected_rank_diff - 1 and labels.shape[-1] in (None, 1):
            labels = array.squeeze(labels, [-1])
    return predictions, labels


# Segments.


def _segment_counts(data, segment_ids, num_segments):
    """How many rows each segment has, at least 1, shaped to divide the sums."""
    ones = array.ones_like(segment_ids, dtype=data.dtype)
    counts = raw_ops.UnsortedSegmentSum(data=ones, segment_ids=segment_ids, num_segments=num_segments)
    extra = array.shape(data)[array.rank(segment_ids):]
    sizes = array.concat([array.shape(counts), array.ones_like(extra)], 0)
    return raw_ops.Maximum(x=array.reshape(counts, sizes), y=array.constant(1, dtype=data.dtype))


@dispatch
def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    """The mean of the rows of each segment; 0 for an empty one."""
    data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    total = raw_ops.UnsortedSegmentSum(data=data, segment_ids=segment_ids, num_segments=num_segments)
    return raw_ops.RealDiv(x=total, y=_segment_counts(data, segment_ids, num_segments), name=name)


@dispatch
def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    """The sum of the rows of each segment divided by the square root of their number."""
    data, segment_ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
    total = raw_ops.UnsortedSegmentSum(data=data, segment_ids=segment_ids, num_segments=num_segments)
    return raw_ops.RealDiv(x=total, y=sqrt(_segment_counts(data, segment_ids, num_segments)), name=name)


# Further functions.


def polyval(coeffs, x, name=None):
    """The value of a polynomial at `x`, coefficients from the highest power down (Horner's rule)."""
    if not isinstance(coeffs, builtins.list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    x = convert_to_tensor(x, name="x")
    if not coeffs:
        return array.zeros_like(x, name=name)
    terms = [convert_to_tensor(c) for c in coeffs]
    result = terms[0]
    for term in terms[1:]:
        result = term + result * x
    return result if name is None else array.identity(result, name=name)


def lbeta(x, name=None):
    """The logarithm of the Beta function along the last dimension."""
    x = convert_to_tensor(x, name="x")
    if x.shape.rank == 0:
        x = array.reshape(x, [1])
    over = reduce_sum(raw_ops.Lgamma(x=x), axis=[-1])
    return raw_ops.Sub(x=over, y=raw_ops.Lgamma(x=reduce_sum(x, axis=[-1])), name=name)


def sobol_sample(dim, num_results, skip=0, dtype=dtypes.float32, name=None):
    """Points of a Sobol sequence in [0, 1)^dim."""
    return raw_ops.SobolSample(dim=dim, num_results=num_results, skip=skip, dtype=dtype, name=name)


def _numeric(x):
    x = convert_to_tensor(x, name="x")
    if x.dtype.name in ("bool", "string", "resource", "variant"):
        raise TypeError(f"Expected x to be numeric, instead found: {x!s}")
    return x


def is_non_decreasing(x, name=None):
    """Whether no element of `x`, read row by row, is less than the one before."""
    del name
    x = _numeric(x)
    return reduce_all(raw_ops.LessEqual(x=array.zeros([], dtype=convert_to_tensor(x).dtype), y=_steps(x)))


def is_strictly_increasing(x, name=None):
    """Whether every element of `x`, read row by row, is greater than the one before."""
    del name
    x = _numeric(x)
    return reduce_all(raw_ops.Less(x=array.zeros([], dtype=convert_to_tensor(x).dtype), y=_steps(x)))


def _steps(x):
    flat = array.reshape(convert_to_tensor(x), [-1])
    return flat[1:] - flat[:-1]


def histogram_fixed_width(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """A histogram of `values` in `nbins` bins of equal width; what lies outside counts in the outer bins."""
    return raw_ops.HistogramFixedWidth(values=values, value_range=value_range, nbins=nbins, dtype=as_dtype(dtype),
                                       name=name or "histogram_fixed_width")


def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """The index of the bin of each value."""
    values = convert_to_tensor(values, name="values")
    shape = array.shape(values)
    flat = array.reshape(values, [-1])
    value_range = convert_to_tensor(value_range, name="value_range")
    bins = cast(nbins, dtypes.int32)
    scaled = truediv(flat - value_range[0], value_range[1] - value_range[0])
    indices = floor(cast(bins, scaled.dtype) * scaled)
    limited = clip_by_value(cast(indices, dtypes.int32), 0, bins - 1)
    return cast(array.reshape(limited, shape), dtype, name=name)


def softplus(features, name=None):
    """`log(exp(x) + 1)`."""
    return raw_ops.Softplus(features=features, name=name)
