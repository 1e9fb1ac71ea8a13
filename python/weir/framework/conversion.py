"""tf.constant and tf.convert_to_tensor: Python values as tensors, with TensorFlow's rules for types."""

import contextlib

import numpy as np

from weir import _core
from weir.framework import dtypes
from weir.framework.python_values import leaves, to_array
from weir.framework.shapes import Dimension, TensorShape, as_shape
from weir.framework.tensor import EagerTensor, SymbolicTensor, Tensor, types_Tensor

__all__ = ["constant", "convert_to_tensor", "convert_n_to_tensor", "get_static_value", "is_tensor",
           "register_tensor_conversion_function", "static_shape_value"]

_CONVERTERS = []  # (priority, types, function)
_EXACT = frozenset([bool, int, float, complex, str, bytes, list, tuple, range, np.ndarray])


def is_tensor(x):
    """Whether `x` is a tensor, a variable, or one of ragged and sparse tensors and IndexedSlices."""
    return isinstance(x, types_Tensor) or getattr(x, "is_tensor_like", False) is True


is_tf_type = is_tensor


def is_symbolic(x):
    """Whether `x` is a tensor of a graph: it has no value yet."""
    return isinstance(x, SymbolicTensor)


def register_tensor_conversion_function(base_type, conversion_func, priority=100):
    """`conversion_func(value, dtype, name, as_ref)` converts instances of `base_type`; lower priorities come first."""
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    _CONVERTERS.append((priority, types, conversion_func))
    _CONVERTERS.sort(key=lambda row: row[0])


def _name_of(value):
    return value.__class__.__name__


def _has_tensors(value):
    if isinstance(value, (list, tuple)):
        return any(_has_tensors(v) for v in value)
    return isinstance(value, types_Tensor) or hasattr(value, "__tf_tensor__")


def _pack(value, dtype, name=None):
    """A nest of lists with tensors in it, as one tensor. The first tensor gives the type, if none is asked for, and the
    others must have it."""
    found = _nested_dtype(value)
    casts = dtype is not None and dtype != found
    return _packed(value, found if dtype is None else dtype, name if name not in (None, "Const") else "packed", casts)


def _packed(value, dtype, name, casts):
    from weir.framework.graph import name_scope
    from weir.framework.raw_ops import raw_ops
    graph = _core.current_graph()
    if graph is None and not casts and all(isinstance(v, types_Tensor) for v in value):
        return raw_ops.Pack(values=list(value), name=name)
    with name_scope(name) if graph is not None else contextlib.nullcontext(name) as scope:
        items = []
        for i, item in enumerate(value):
            if isinstance(item, (list, tuple)):
                if _has_tensors(item):
                    item = _packed(item, dtype, str(i), casts)
                elif graph is not None:
                    graph.unique_name(str(i))  # taken, as if something had been packed
            elif _has_tensors(item):
                if not casts and dtypes.as_dtype(item.dtype).base_dtype != dtype:
                    raise TypeError(f"Cannot convert a list containing a tensor of dtype {item.dtype} to {dtype} "
                                    f"(Tensor is: {item!r})")
                item = convert_to_tensor(item)
                if item.dtype.base_dtype != dtype:
                    item = raw_ops.Cast(x=item, DstT=dtype)
            items.append(item)
        items = [item if isinstance(item, types_Tensor) else constant(item, dtype, name=str(i))
                 for i, item in enumerate(items)]
        return raw_ops.Pack(values=items, name=scope)


def _nested_dtype(value):
    """The type of the first tensor in a nest of lists."""
    for v in value:
        if isinstance(v, (list, tuple)):
            found = _nested_dtype(v)
        else:
            found = v.dtype if _has_tensors(v) else None
        if found is not None:
            return dtypes.as_dtype(found).base_dtype
    return None


def _from_array(array, dtype):
    """A numpy array whose elements have, or are cast to, `dtype`."""
    if array.dtype.kind in "SUO":
        flat = array.reshape(-1).tolist()
        if dtype is not None and dtype != dtypes.string:
            raise ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported object type "
                             f"{_name_of(flat[0]) if flat else 'object'}).")
        for item in flat:
            if not isinstance(item, (str, bytes)):
                raise ValueError(f"Failed to convert a NumPy array to a Tensor (Unsupported object type "
                                 f"{_name_of(item)}).")
        return _core.from_bytes(flat, dtypes.string, list(array.shape))
    own = dtypes.as_dtype(array.dtype)
    if dtype is not None and own is not dtype:
        array = array.astype(dtype.as_numpy_dtype)
        own = dtype
    if own.is_quantized:
        return _core.from_bytes(np.ascontiguousarray(array).tobytes(), own, list(array.shape))
    if own._number in (14, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33) or not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("=")) if not array.dtype.isnative else array
        return _core.from_bytes(np.ascontiguousarray(array).tobytes(), own, list(array.shape))
    tensor = _core.constant(array)
    if tensor is NotImplemented:
        tensor = _core.from_bytes(np.ascontiguousarray(array).tobytes(), own, list(array.shape))
    return tensor


def _eager_constant(value, dtype, name=None):
    """An EagerTensor with the value."""
    if isinstance(value, EagerTensor):
        if dtype is not None and value.dtype is not dtype:
            from weir.framework.raw_ops import raw_ops
            if dtype is dtypes.bool or value.dtype is dtypes.bool or not dtype.is_numpy_compatible:
                raise TypeError(f"Cannot convert {value!r} to EagerTensor of dtype {dtype.name}")
            return raw_ops.Cast(x=value, DstT=dtype)
        return value
    tensor = _core.constant(value, dtype)
    if tensor is not NotImplemented:
        return tensor
    if value is None:
        raise ValueError("Attempt to convert a value (None) with an unsupported type (<class 'NoneType'>) to a Tensor.")
    if isinstance(value, np.ndarray):
        return _from_array(value, dtype)
    if isinstance(value, np.generic):
        return _from_array(np.asarray(value), dtype)
    if isinstance(value, (list, tuple)):
        if _has_tensors(value):
            return _pack(value, dtype, name)
        return _from_array(*to_array(value, dtype))
    if isinstance(value, (bool, int, float, complex, str, bytes, Dimension)):
        return _from_array(*to_array(value, dtype))
    if hasattr(value, "__array__"):
        return _from_array(np.asarray(value), dtype)
    if isinstance(value, (TensorShape,)):
        return _from_shape(value, dtype)
    if hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, dict):
        return _eager_constant(list(value), dtype)
    if isinstance(value, range):
        return _eager_constant(list(value), dtype)
    raise ValueError(f"Attempt to convert a value ({value!r}) with an unsupported type ({type(value)}) to a Tensor.")


def _from_shape(shape, dtype):
    if not shape.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape {shape} to a Tensor.")
    sizes = shape.as_list()
    if dtype is None:
        dtype = dtypes.int64 if any(d >= 2**31 for d in sizes) else dtypes.int32
    if dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype: {dtype.name}")
    return _core.from_bytes(np.asarray(sizes, dtype.as_numpy_dtype).tobytes(), dtype, [len(sizes)])


def _add_constant(tensor, name=None):
    """A Const node of the current graph with the value of an eager tensor."""
    return _core.execute("Const", [], {"value": tensor, "dtype": tensor.dtype}, name)[0]


def constant(value, dtype=None, shape=None, name="Const"):
    """A tensor with the value of a Python object or numpy array, of type `dtype` and shape `shape` if given."""
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    if isinstance(value, SymbolicTensor):
        return value if shape is None else _reshape(value, shape)
    graph = _core.current_graph()
    if graph is None:
        tensor = _eager_constant(value, dtype, name)
        return tensor if shape is None else _fill_shape(tensor, shape)
    if isinstance(value, (list, tuple)) and _has_tensors(value):
        return _pack(value, dtype, name)
    if isinstance(value, (list, tuple)) and any(v is None for v in leaves(value)):
        raise TypeError(f"Failed to convert elements of {value} to Tensor. Consider casting elements to a supported type. "
                        "See https://www.tensorflow.org/api_docs/python/tf/dtypes for supported TF dtypes.")
    _core.push_graph(None)
    try:
        tensor = _eager_constant(value, dtype)
        if shape is not None:
            tensor = _fill_shape(tensor, shape)
    finally:
        _core.pop_graph()
    return _add_constant(tensor, name)


def _reshape(tensor, shape):
    from weir.framework.raw_ops import raw_ops
    return raw_ops.Reshape(tensor=tensor, shape=as_shape(shape).as_list())


def _fill_shape(tensor, shape):
    from weir.framework.raw_ops import raw_ops
    shape = as_shape(shape)
    if tensor.shape == shape:
        return tensor
    wanted, given = shape.num_elements(), tensor.shape.num_elements()
    dims = _core.from_bytes(np.asarray(shape.as_list(), np.int32).tobytes(), dtypes.int32, [shape.rank])
    if given == wanted:
        return raw_ops.Reshape(tensor=tensor, shape=dims)
    if given == 1:
        scalar = raw_ops.Reshape(tensor=tensor, shape=_core.from_bytes(b"", dtypes.int32, [0]))
        return raw_ops.Fill(dims=dims, value=scalar)
    raise TypeError(f"Eager execution of tf.constant with unsupported shape. Tensor {tensor} (converted from "
                    f"{tensor.numpy()!r}) has {given} elements, but got `shape` {shape} with {wanted} elements).")


def convert_to_tensor(value, dtype=None, dtype_hint=None, name=None, preferred_dtype=None, as_ref=False):
    """`value` as a tensor. `dtype` is the type that the result must have, `dtype_hint` one that is used if it fits."""
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    if isinstance(value, Tensor):
        if dtype is not None and not dtype.is_compatible_with(value.dtype):
            raise ValueError(f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
                             f"{value.dtype.name}: {value!r}")
        graph = _core.current_graph()
        if graph is None:
            if isinstance(value, SymbolicTensor):
                from weir.framework.graph import check_accessible
                check_accessible(value)
            return value
        if isinstance(value, EagerTensor) or value._graph is not graph:
            return graph.capture(value, name=name)
        return value
    return _convert(value, dtype, dtype_hint if dtype_hint is not None else preferred_dtype, name)


def _convert(value, dtype=None, hint=None, name=None):
    if type(value) in _EXACT or isinstance(value, np.generic):
        if hint is not None and dtype is None:
            try:
                return constant(value, hint, name=name or "Const")
            except (TypeError, ValueError):
                pass
        return constant(value, dtype, name=name or "Const")
    if isinstance(value, Tensor):
        return convert_to_tensor(value, dtype, hint, name)
    convert = getattr(value, "__tf_tensor__", None)
    if convert is not None and not isinstance(value, type):
        result = convert(dtype, name)
        if result is not NotImplemented:
            return result
    for _, types, function in _CONVERTERS:
        if isinstance(value, types):
            if hint is not None and dtype is None:
                try:
                    result = function(value, dtype=dtypes.as_dtype(hint), name=name, as_ref=False)
                except (TypeError, ValueError):
                    result = NotImplemented
                if result is not NotImplemented:
                    return result
            result = function(value, dtype=dtype, name=name, as_ref=False)
            if result is not NotImplemented:
                return result
    from weir.framework.type_spec import CompositeTensor
    if isinstance(value, CompositeTensor):
        raise TypeError(f"Failed to convert elements of {value} to Tensor. Consider casting elements to a supported "
                        "type. See https://www.tensorflow.org/api_docs/python/tf/dtypes for supported TF dtypes.")
    if isinstance(value, TensorShape):
        eager = _from_shape(value, dtype)
        return eager if _core.current_graph() is None else _add_constant(eager, name)
    if hasattr(value, "_should_act_as_resource_variable"):
        return value.value()
    if isinstance(value, Dimension):
        return constant(value, dtype, name=name or "shape_as_tensor")
    return constant(value, dtype, name=name or "Const")


def _convert_hook(value, dtype=None, hint=None, name=None):
    if dtype is not None and dtype._number == 20 and not isinstance(value, Tensor):
        handle = getattr(value, "handle", None)
        if handle is not None:
            return handle
        handle = getattr(value, "_handle", None) or getattr(value, "resource_handle", None)
        if handle is not None:
            return handle
    return _convert(value, dtype, hint, name)


_core.set_hook("convert", _convert_hook)


def convert_n_to_tensor(values, dtype=None, name=None, preferred_dtype=None):
    return [convert_to_tensor(v, dtype, name=name, dtype_hint=preferred_dtype) for v in values]


def get_static_value(tensor, partial=False):
    """The value of a tensor as a numpy array if it is known without running anything, else None."""
    if isinstance(tensor, EagerTensor):
        try:
            return tensor.numpy()
        except Exception:  # a resource has no value to show
            return None
    if not isinstance(tensor, SymbolicTensor):
        if not is_tensor(tensor):
            return tensor if not isinstance(tensor, (list, tuple)) else np.asarray(tensor)
        return None
    value = tensor._graph._static_value(tensor._node, tensor._index)
    if value is not None and value.dtype.is_numpy_compatible:
        return value.numpy()
    shape = tensor._graph._shape_value(tensor._node, tensor._index)
    if shape is not None and shape.is_fully_defined():
        return np.asarray(shape.as_list(), tensor.dtype.as_numpy_dtype)
    if shape is not None and partial and shape.rank is not None:
        return np.array(shape.as_list(), dtype=object)
    return None


# The operations through which TensorFlow's tf.get_static_value looks. weir knows more values while it builds a graph, but
# programs take a known value for a sign that the tensor is no symbolic one.
_SEEN_THROUGH = frozenset(["Const", "Shape", "Size", "Rank", "Range", "Cast", "Concat", "ConcatV2", "Pack", "Unpack", "Split",
                           "Fill", "Equal", "NotEqual", "StopGradient", "Identity", "CheckNumericsV2", "ZerosLike",
                           "OnesLike"])


def public_static_value(tensor, partial=False):
    """tf.get_static_value."""
    if not isinstance(tensor, SymbolicTensor):
        return get_static_value(tensor, partial)
    graph = tensor._graph
    op = graph._node_op(tensor._node)
    if op not in _SEEN_THROUGH:
        return None
    value = get_static_value(tensor, partial)
    if value is None and op in ("Cast", "Fill"):
        inputs = [public_static_value(t) for t in graph._node_inputs(tensor._node)]
        if all(v is not None for v in inputs):
            kind = tensor.dtype.as_numpy_dtype
            return np.asarray(inputs[0]).astype(kind) if op == "Cast" else np.full(inputs[0], inputs[1], kind)
    return value


def static_shape_value(tensor):
    """What is known of the TensorShape that a vector of sizes holds."""
    if isinstance(tensor, SymbolicTensor):
        value = tensor._graph._static_value(tensor._node, tensor._index)
        if value is None:
            shape = tensor._graph._shape_value(tensor._node, tensor._index)
            if shape is not None:
                return shape
            length = tensor.shape[0] if tensor.shape.rank == 1 else None
            return TensorShape(None) if length is None else TensorShape([None] * length)
        tensor = value
    if isinstance(tensor, EagerTensor):
        sizes = tensor.numpy()
        if sizes.ndim == 0:
            if sizes == -1:
                return TensorShape(None)
            raise ValueError(f"Received a scalar with value '{sizes}' as shape; require a statically known scalar with "
                             "value '-1' to describe an unknown shape.")
        return TensorShape([None if d == -1 else int(d) for d in sizes])
    return TensorShape(tensor)


def register_conversion(base_type, function, priority=100):
    """`function(value, dtype=None, name=None, as_ref=False)` converts instances of `base_type` to tensors."""
    register_tensor_conversion_function(base_type, function, priority)


def identity(input, name=None):
    """A tensor with the same contents."""
    from weir.framework.raw_ops import raw_ops
    from weir.framework.type_spec import CompositeTensor
    if isinstance(input, CompositeTensor) and not hasattr(input, "handle"):
        from weir import nest
        return nest.map_structure(identity, input, expand_composites=True)
    if isinstance(input, EagerTensor) and _core.current_graph() is None:
        return raw_ops.Identity(input)
    return raw_ops.Identity(convert_to_tensor(input), name=name)
