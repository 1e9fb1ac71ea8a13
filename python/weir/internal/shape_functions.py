"""Functions over shapes and axes of tensorflow.python.ops.array_ops, math_ops, framework.common_shapes and their kin."""

from weir.framework import TensorShape, convert_to_tensor, get_static_value
from weir.framework.shapes import as_shape
from weir.ops import array

__all__ = ["broadcast_shape", "convert_to_int_tensor", "get_positive_axis", "is_broadcast_compatible", "rank",
           "reduced_shape", "repeat_with_axis", "shape_internal", "size_internal", "shape_tensor"]


def shape_internal(input, name=None, optimize=True, out_type=None):  # pylint: disable=redefined-builtin
    del optimize
    return array.shape(input, name=name, **({} if out_type is None else {"out_type": out_type}))


def size_internal(input, name=None, optimize=True, out_type=None):  # pylint: disable=redefined-builtin
    del optimize
    return array.size(input, name=name, **({} if out_type is None else {"out_type": out_type}))


def rank_internal(input, name=None, optimize=True):  # pylint: disable=redefined-builtin
    del optimize
    return array.rank(input, name=name)


def get_positive_axis(axis, ndims, axis_name="axis", ndims_name="ndims"):
    """An axis, counted from the front."""
    if not isinstance(axis, int):
        raise TypeError(f"{axis_name} must be an int; got {type(axis).__name__}")
    if ndims is not None:
        if 0 <= axis < ndims:
            return axis
        if -ndims <= axis < 0:
            return axis + ndims
        raise ValueError(f"{axis_name}={axis} out of bounds: expected {-ndims}<={axis_name}<{ndims}")
    if axis < 0:
        raise ValueError(f"{axis_name}={axis} may only be negative if {ndims_name} is statically known.")
    return axis


def convert_to_int_tensor(tensor, name, dtype="int32"):
    import weir
    tensor = convert_to_tensor(tensor, name=name, preferred_dtype=dtype) if not hasattr(tensor, "dtype") else \
        convert_to_tensor(tensor, name=name)
    if not tensor.dtype.is_integer:
        raise TypeError(f"{name} must be an integer tensor; dtype={tensor.dtype}")
    return weir.cast(tensor, dtype)


def repeat_with_axis(data, repeats, axis, name=None):
    return array.repeat(data, repeats, axis=axis, name=name)


def reduced_shape(input_shape, axes):
    """The shape of a reduction over `axes` that keeps them as ones."""
    import weir
    input_shape = weir.cast(input_shape, "int32")
    known = get_static_value(input_shape)
    fixed = get_static_value(convert_to_tensor(axes, dtype="int32")) if known is not None else None
    if known is not None and fixed is not None:
        kept = list(known)
        for axis in fixed.reshape(-1):
            kept[axis] = 1
        return weir.constant(kept, dtype=input_shape.dtype)
    count = weir.size(input_shape)
    axes = weir.reshape((weir.cast(axes, "int32") + count) % count, [-1])
    return weir.tensor_scatter_nd_update(input_shape, axes[:, None], weir.ones_like(axes))


def _broadcast(shape_x, shape_y):
    shorter, longer = sorted(([d if isinstance(d, int) or d is None else d.value for d in s] for s in (shape_x, shape_y)),
                             key=len)
    out = []
    for x, y in zip([1] * (len(longer) - len(shorter)) + shorter, longer):
        if x is None or y is None:
            known = y if x is None else x
            out.append(known if known is not None and known > 1 else None)
        elif x == 1 or y == 1 or x == y:
            out.append(y if x == 1 else x)
        else:
            return None
    return out


def is_broadcast_compatible(shape_x, shape_y):
    shape_x, shape_y = as_shape(shape_x), as_shape(shape_y)
    return shape_x.rank is not None and shape_y.rank is not None and _broadcast(shape_x, shape_y) is not None


def broadcast_shape(shape_x, shape_y):
    """The shape that two shapes have together, as far as it is known; ValueError if they do not fit."""
    shape_x, shape_y = as_shape(shape_x), as_shape(shape_y)
    if shape_x.rank is None or shape_y.rank is None:
        return TensorShape(None)
    dims = _broadcast(shape_x, shape_y)
    if dims is None:
        raise ValueError("Incompatible shapes for broadcasting. Two shapes are compatible if for each dimension pair they "
                         f"are either equal or one of them is 1. Received: {shape_x} and {shape_y}.")
    return TensorShape(dims)


def rank(tensor):
    """The number of dimensions, as a number if it is known."""
    known = convert_to_tensor(tensor).shape.rank
    return array.rank(tensor) if known is None else known


def shape_tensor(shape):
    """A shape as a tensor of integers; a list may hold tensors."""
    import weir
    dtype = None
    if isinstance(shape, (tuple, list)):
        if not shape:
            dtype = "int32"
        elif all(hasattr(d, "value") or isinstance(d, int) for d in shape):
            shape = [d.value if hasattr(d, "value") else d for d in shape]
            dtype = "int32" if all(d < 2 ** 31 for d in shape) else "int64"
    return weir.convert_to_tensor(shape, dtype=dtype, name="shape")
