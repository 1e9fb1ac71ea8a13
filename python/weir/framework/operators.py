"""What `+`, `-`, `<` and their kin do with tensors when the extension's short way does not apply.

The other operand is converted to the tensor's type. An operand that cannot be converted is left to its own class, as
Python's operators do.
"""

import sys

import numpy as np

from weir import _core
from weir.framework import dtypes
from weir.framework.conversion import convert_to_tensor
from weir.framework.raw_ops import raw_ops
from weir.framework.tensor import SymbolicTensor, Tensor
from weir.framework.type_spec import CompositeTensor


_OWN = (int, float, complex, str, bytes, list, tuple, np.ndarray, np.generic)


def _is_foreign(value):
    return isinstance(value, CompositeTensor) and not value._is_a_dense_tensor or hasattr(type(value), "__tf_dispatch__")


def _operands(x, y, hinted):
    """Both, ready for an op, or None if the other class shall try.

    On the right of a tensor, a value is left to the op, which converts it to the tensor's type (`hinted`: to that type
    if it fits); on the left of one, it is converted to the tensor's type in any case.
    """
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        return x, y
    if _is_foreign(x) or _is_foreign(y):
        return None
    if isinstance(x, Tensor):
        if isinstance(y, _OWN) and not hinted:
            return x, y
        try:
            return x, convert_to_tensor(y, dtype_hint=x.dtype.base_dtype, name="y")
        except (TypeError, ValueError):
            if hasattr(type(y), "__radd__") and not isinstance(y, _OWN):
                return None
            raise
    if hasattr(x, "dtype") and not hasattr(x, "__array_interface__"):
        return convert_to_tensor(x, name="x"), y
    return convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x"), y


def _binary(op, name=None, hinted=False):
    """An operator; in graphs its node is called `name`, and a converted operand is "name/x" or "name/y"."""
    def function(x, y):
        graph = _core.current_graph()
        if graph is None or name is None:
            pair = _operands(x, y, hinted)
            return NotImplemented if pair is None else op(pair[0], pair[1])
        if _is_foreign(x) or _is_foreign(y):
            return NotImplemented
        with graph.name_scope(name) as scope:
            pair = _operands(x, y, hinted)
            return NotImplemented if pair is None else op(pair[0], pair[1], scope)
    return function


def _sum(x, y, name=None):
    return raw_ops.Add(x, y, name) if x.dtype is dtypes.string else raw_ops.AddV2(x, y, name)


add = _binary(_sum, "add", hinted=True)
sub = _binary(lambda x, y, name=None: raw_ops.Sub(x, y, name), "sub")
_mul = _binary(lambda x, y, name=None: raw_ops.Mul(x, y, name), "mul")


def _conjunction(x, y, name=None):
    x, y = (v if v.dtype is dtypes.bool else raw_ops.Cast(v, dtypes.bool) for v in (x, y))
    return raw_ops.LogicalAnd(x, y, name)


_conjunction = _binary(_conjunction, "mul")


def mul(x, y):
    """The product; of truth values, and of a truth value and something else, whether both are true."""
    if isinstance(x, Tensor) and x.dtype is dtypes.bool and not _is_foreign(y):
        return _conjunction(x, convert_to_tensor(y, dtype_hint=dtypes.bool))
    if isinstance(y, Tensor) and y.dtype is dtypes.bool and isinstance(x, Tensor):
        return _conjunction(x, y)
    return _mul(x, y)


floordiv = _binary(lambda x, y, name=None: raw_ops.FloorDiv(x, y, name), "floordiv")
mod = _binary(lambda x, y, name=None: raw_ops.FloorMod(x, y, name), "mod")
pow = _binary(lambda x, y, name=None: raw_ops.Pow(x, y, name), "pow")
lt = _binary(lambda x, y: raw_ops.Less(x, y))
le = _binary(lambda x, y: raw_ops.LessEqual(x, y))
gt = _binary(lambda x, y: raw_ops.Greater(x, y))
ge = _binary(lambda x, y: raw_ops.GreaterEqual(x, y))

_QUOTIENTS = {d: dtypes.float32 for d in (dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16)}
_QUOTIENTS.update({d: dtypes.float64 for d in (dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64)})


def _true_quotient(x, y, name=None):
    if x.dtype.base_dtype is not y.dtype.base_dtype:
        raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}.")
    dtype = _QUOTIENTS.get(x.dtype.base_dtype)
    if x.dtype.base_dtype in (dtypes.string, dtypes.bool):
        raise TypeError(f"Invalid dtype {x.dtype.base_dtype!r} in __truediv__. Expected one of {{tf.uint8, tf.int8, "
                        "tf.uint16, tf.int16, tf.uint32, tf.int32, tf.uint64, tf.int64, tf.bfloat16, tf.float16, "
                        "tf.float32, tf.float64, tf.complex64, tf.complex128}.")
    if dtype is not None:
        x, y = raw_ops.Cast(x, dtype), raw_ops.Cast(y, dtype)
    return raw_ops.RealDiv(x, y, name)


def _product(x, y, name=None):
    batched = any(rank is None or rank > 2 for rank in (x.shape.rank, y.shape.rank))
    if not batched and x.dtype not in (dtypes.int8, dtypes.uint8):
        return raw_ops.MatMul(x, y, name=name)
    return raw_ops.BatchMatMulV3(x, y, Tout=x.dtype, name=name) if x.dtype in (dtypes.int8, dtypes.uint8) else \
        raw_ops.BatchMatMulV2(x, y, name=name)


truediv = _binary(_true_quotient, "truediv", hinted=True)
matmul = _binary(_product, "matmul", hinted=True)


def _logical(name, logical_op, bitwise_op):
    def op(x, y, name=None):
        return getattr(raw_ops, logical_op if x.dtype is dtypes.bool else bitwise_op)(x, y, name)
    return _binary(op, name)


and_ = _logical("and", "LogicalAnd", "BitwiseAnd")
or_ = _logical("or", "LogicalOr", "BitwiseOr")


def _exclusive(x, y, name=None):
    if x.dtype is dtypes.bool:
        return raw_ops.LogicalAnd(raw_ops.LogicalOr(x, y), raw_ops.LogicalNot(raw_ops.LogicalAnd(x, y)), name)
    return raw_ops.BitwiseXor(x, y, name)


xor = _binary(_exclusive, "xor")


def abs(x):
    return raw_ops.ComplexAbs(x, Tout=x.dtype.real_dtype) if x.dtype.is_complex else raw_ops.Abs(x)


def invert(x):
    return raw_ops.LogicalNot(x) if x.dtype is dtypes.bool else raw_ops.Invert(x)


def _equality(op):
    def function(x, y):
        if x is None or y is None:
            return op is not _equal
        if isinstance(x, SymbolicTensor) and not x._graph.building_function:
            return (isinstance(y, SymbolicTensor) and x._id == y._id) == (op is _equal)
        pair = _operands(x, y, hinted=False)
        if pair is None:
            return NotImplemented
        if isinstance(pair[1], Tensor) and pair[0].dtype.base_dtype is not pair[1].dtype.base_dtype:
            raise _mismatch(op, *pair)
        return op(*pair)
    return function


def _mismatch(op, x, y):
    from weir.framework import errors
    name = "Equal" if op is _equal else "NotEqual"
    return errors.InvalidArgumentError(
        None, None, f"cannot compute {name} as input #1(zero-based) was expected to be a {kind_name(x.dtype)} tensor but is a "
        f"{kind_name(y.dtype)} tensor [Op:{name}] name: ")


def kind_name(dtype):
    """A type's name in errors of ops."""
    return {"float32": "float", "float64": "double", "float16": "half"}.get(dtype.name, dtype.name)


def _equal(x, y):
    return raw_ops.Equal(x, y, incompatible_shape_error=False)


def _not_equal(x, y):
    return raw_ops.NotEqual(x, y, incompatible_shape_error=False)


eq = _equality(_equal)
ne = _equality(_not_equal)

_core.set_hook("operators", sys.modules[__name__])
