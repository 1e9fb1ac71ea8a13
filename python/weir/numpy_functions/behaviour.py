"""experimental_enable_numpy_behavior: NumPy's methods and operators for tensors."""

from weir.framework import Tensor, as_dtype
from weir.numpy_functions import arrays, elementwise, reductions, types


def enable(prefer_float32, dtype_conversion_mode):
    """Gives the class of tensors NumPy's methods, and operators that promote types."""
    if dtype_conversion_mode not in ("legacy", "all", "safe", "off"):
        raise ValueError(f"dtype_conversion_mode should be one of 'off', 'legacy', 'safe', 'all', got "
                         f"{dtype_conversion_mode!r}.")
    types.prefer_float32(prefer_float32)
    methods = {
        "reshape": lambda x, *shape, **kw: arrays.reshape(x, shape[0] if len(shape) == 1 else shape, **kw),
        "transpose": lambda x, *axes: arrays.transpose(x, (axes[0] if len(axes) == 1 else axes) or None),
        "flatten": arrays.flatten, "ravel": arrays.ravel, "clip": elementwise.clip, "max": reductions.amax,
        "min": reductions.amin, "mean": reductions.mean,
        "astype": lambda x, dtype: types.array(x, as_dtype(dtype)),
        "tolist": lambda x: x.numpy().tolist(),
    }
    for name, method in methods.items():
        setattr(Tensor, name, method)
    Tensor.T = property(arrays.transpose)
    Tensor.ndim = property(arrays.ndim)
    Tensor.size = property(arrays.size)
    Tensor.data = property(lambda x: x)
    _promote_operators()


def _promote_operators():
    from weir.framework import operators
    table = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide",
             "floordiv": "floor_divide", "mod": "mod", "pow": "power", "lt": "less", "le": "less_equal",
             "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"}
    for name, numpy_name in table.items():
        setattr(operators, name, getattr(elementwise, numpy_name))
    operators.matmul = reductions.matmul
