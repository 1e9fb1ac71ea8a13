"""tf.Tensor: what the extension's types lack that need not be fast. See python/src/tensor.h for the types themselves."""

import numpy as np

from weir import _core
from weir.framework import dtypes, errors, shapes

__all__ = ["Tensor", "EagerTensor", "SymbolicTensor", "types_Tensor"]

types_Tensor = _core.TensorBase
Tensor = _core.Tensor
EagerTensor = _core.EagerTensor
SymbolicTensor = _core.SymbolicTensor

types_Tensor.__module__, types_Tensor.__name__ = "tensorflow.python.types.core", "Tensor"
Tensor.__module__ = "tensorflow.python.framework.tensor"
EagerTensor.__module__ = "tensorflow.python.framework.ops"
SymbolicTensor.__module__ = "tensorflow.python.framework.ops"

_core.set_hook("make_error", errors._make_error)
_core.set_hook("as_dtype", dtypes.as_dtype)
_core.set_hook("DType", dtypes.DType)
_core.set_hook("make_shape", shapes.TensorShape._of)
_core.set_hook("shape_dims", lambda value: shapes.as_shape(value)._dims)
_core.set_hook("np_array", np.array)
_core.set_hook("ndarray", np.ndarray)
_core.set_hook("np_generic", np.generic)


def _numpy_of_others(tensor):
    """The array of a tensor whose type has no buffer format."""
    if tensor.dtype == dtypes.string:
        strings = tensor._flat_strings()
        if tensor.shape.rank == 0:
            return strings[0]
        array = np.empty(len(strings), dtype=object)
        array[:] = strings
        return array.reshape(tensor.shape.as_list())
    if not tensor.dtype.is_numpy_compatible:
        raise errors.InvalidArgumentError(None, None, f"Cannot convert a Tensor of dtype {tensor.dtype.name} to a NumPy "
                                          "array.")
    flat = np.frombuffer(tensor._raw_bytes(), dtype=tensor.dtype.as_numpy_dtype)
    array = flat.reshape(tensor.shape.as_list()).copy()
    return array if tensor.shape.rank else array[()]


_core.set_hook("numpy_of_others", _numpy_of_others)


def _tensor_bool(tensor):
    if isinstance(tensor, SymbolicTensor):
        raise errors.OperatorNotAllowedInGraphError(
            "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed. You can attempt the following resolutions "
            "to the problem: If you are running in Graph mode, use Eager execution mode or decorate this function with "
            "@tf.function. If you are using AutoGraph, you can try decorating this function with @tf.function. If that "
            "does not work, then you may be using an unsupported feature or your source code may not be visible to "
            "AutoGraph. See https://github.com/tensorflow/tensorflow/blob/master/tensorflow/python/autograph/g3doc/"
            "reference/limitations.md#access-to-source-code for more information.")
    return bool(tensor.numpy())


_core.set_hook("tensor_bool", _tensor_bool)


def _no_iteration(tensor):
    raise errors.OperatorNotAllowedInGraphError(
        "Iterating over a symbolic `tf.Tensor` is not allowed. You can attempt the following resolutions to the problem: "
        "If you are running in Graph mode, use Eager execution mode or decorate this function with @tf.function. If you "
        "are using AutoGraph, you can try decorating this function with @tf.function. If that does not work, then you "
        "may be using an unsupported feature or your source code may not be visible to AutoGraph. See "
        "https://github.com/tensorflow/tensorflow/blob/master/tensorflow/python/autograph/g3doc/reference/"
        "limitations.md#access-to-source-code for more information.")


def _method(cls, name=None):
    def add(function):
        if isinstance(function, property):
            setattr(cls, name or function.fget.__name__, function)
        else:
            function.__qualname__ = f"{cls.__name__}.{function.__name__}"
            setattr(cls, name or function.__name__, function)
        return function
    return add


Tensor.__array_priority__ = 100
Tensor.OVERLOADABLE_OPERATORS = frozenset([
    "__abs__", "__add__", "__and__", "__div__", "__eq__", "__floordiv__", "__ge__", "__getitem__", "__gt__",
    "__invert__", "__le__", "__lt__", "__matmul__", "__mod__", "__mul__", "__ne__", "__neg__", "__or__", "__pow__",
    "__radd__", "__rand__", "__rdiv__", "__rfloordiv__", "__rmatmul__", "__rmod__", "__rmul__", "__ror__", "__rpow__",
    "__rsub__", "__rtruediv__", "__rxor__", "__sub__", "__truediv__", "__xor__"])


@_method(Tensor)
def get_shape(self):
    return self.shape


@_method(Tensor, "ndim")
@property
def ndim(self):
    rank = self._ndim
    if rank is None:
        raise ValueError("Tensor has an unknown rank.")
    return rank


@_method(Tensor, "rank")
@property
def _rank(self):
    return self._ndim


@_method(Tensor)
def ref(self):
    """A hashable reference; `ref().deref()` is the tensor."""
    return Reference(self)


@_method(Tensor, "experimental_ref")
def _experimental_ref(self):
    return Reference(self)


class Reference:
    """A tensor or variable by identity, for sets and dictionaries."""
    __slots__ = ("_referenced", "_key")

    def __init__(self, referenced):
        self._referenced = referenced
        self._key = referenced._id if isinstance(referenced, Tensor) else id(referenced)

    def deref(self):
        return self._referenced

    def __eq__(self, other):
        return isinstance(other, Reference) and self._key == other._key

    def __hash__(self):
        return hash(self._key)

    def __repr__(self):
        return f"<Reference wrapping {self._referenced!r}>"


@_method(Tensor)
def __len__(self):
    shape = self.shape
    if isinstance(self, SymbolicTensor):
        raise TypeError(f"len is not well defined for a symbolic Tensor ({self.name}). Please call `x.shape` rather "
                        "than `len(x)` for shape information.")
    if shape.rank == 0:
        raise TypeError("Scalar tensor has no `len()`")
    return shape[0]


@_method(Tensor)
def __iter__(self):
    if isinstance(self, SymbolicTensor):
        _no_iteration(self)
    if self.shape.rank == 0:
        raise TypeError("Cannot iterate over a scalar tensor.")
    return (self[i] for i in range(self.shape[0]))


@_method(Tensor)
def __getitem__(self, key):
    from weir.framework import slicing
    return slicing.slice_tensor(self, key)


@_method(Tensor)
def __array__(self, dtype=None, copy=None):
    if isinstance(self, SymbolicTensor):
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. This error may indicate that you're "
            "trying to pass a Tensor to a NumPy call, which is not supported.")
    value = self.numpy()
    return np.asarray(value, dtype=dtype) if dtype is not None else np.asarray(value)


def _number(self, kind):
    if isinstance(self, SymbolicTensor):
        raise TypeError(f"{kind}() argument must be a string, a bytes-like object or a number, not a symbolic "
                        "`tf.Tensor`")
    return self.numpy()


@_method(Tensor)
def __float__(self):
    return float(_number(self, "float"))


@_method(Tensor)
def __int__(self):
    return int(_number(self, "int"))


@_method(Tensor)
def __complex__(self):
    return complex(_number(self, "complex"))


@_method(Tensor)
def __index__(self):
    if isinstance(self, SymbolicTensor):
        raise TypeError("'SymbolicTensor' object cannot be interpreted as an integer")
    return self.numpy().__index__()


@_method(EagerTensor)
def __format__(self, spec):
    return self.numpy().__format__(spec) if spec or self.shape.rank == 0 else str(self)


@_method(Tensor)
def set_shape(self, shape):
    """Merges what is known of the shape with `shape`."""
    if isinstance(self, EagerTensor):
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"Tensor's shape {self.shape} is not compatible with supplied shape {shapes.as_shape(shape)}.")
        return
    self._graph._set_shape(self._node, self._index, shape)


@_method(Tensor, "_shape_tuple")
def _shape_tuple(self):
    shape = self.shape
    return None if shape.rank is None else tuple(shape)


@_method(Tensor, "_rank")
def __rank(self):
    return self._ndim


@_method(Tensor)
def consumers(self):
    if isinstance(self, EagerTensor):
        raise NotImplementedError("Tensor.consumers is undefined when eager execution is enabled.")
    return self._graph._consumers(self)


def _eager_only(name):
    def get(self):
        raise AttributeError(f"Tensor.{name} is undefined when eager execution is enabled.")
    return property(get)


EagerTensor.name = _eager_only("name")
EagerTensor.op = _eager_only("op")
EagerTensor.graph = _eager_only("graph")
EagerTensor.value_index = _eager_only("value_index")

SymbolicTensor.graph = property(lambda self: self._graph)
SymbolicTensor.op = property(lambda self: self._graph._operation(self._node))
SymbolicTensor.value_index = property(lambda self: self._index)
SymbolicTensor.name = property(lambda self: f"{self._graph._node_name(self._node)}:{self._index}")
SymbolicTensor.device = property(lambda self: self._graph._node_device(self._node))
EagerTensor.device = property(_core.device_of)
EagerTensor.backing_device = property(_core.device_of)
EagerTensor.is_packed = False


@_method(SymbolicTensor)
def eval(self, feed_dict=None, session=None):
    """The value in a session of graph mode."""
    from weir.compat.v1 import session as sessions
    return sessions.eval_using_session(self, feed_dict, session)


def _on(tensor, device):
    from weir.framework import config, raw_ops
    if tensor.device.endswith(f"/device:{device}"):
        return tensor
    with config.device(f"/device:{device}"):
        return raw_ops.Identity(input=tensor)


@_method(EagerTensor, "cpu")
def _cpu(self):
    """A copy of this tensor in the host's memory; the tensor itself if it is there."""
    return _on(self, "CPU:0")


@_method(EagerTensor, "gpu")
def _gpu(self, gpu_index=0):
    """A copy of this tensor in the memory of a GPU; the tensor itself if it is there."""
    return _on(self, f"GPU:{gpu_index}")


@_method(EagerTensor)
def __copy__(self):
    return self


@_method(EagerTensor)
def __deepcopy__(self, memo):
    if not self.dtype.is_numpy_compatible:
        return self
    from weir.framework.conversion import constant
    copied = constant(self.numpy(), dtype=self.dtype)
    memo[id(self)] = copied
    return copied


@_method(EagerTensor)
def __reduce__(self):
    from weir.framework.conversion import convert_to_tensor
    return convert_to_tensor, (self.numpy(), self.dtype)


SymbolicTensor.__copy__ = lambda self: self


def _numpy_text(tensor, is_repr):
    if not tensor.dtype.is_numpy_compatible:
        return "<unprintable>"
    value = tensor.numpy()
    if is_repr:
        text = repr(value)
        if isinstance(value, np.generic) and not isinstance(value, (bytes, str)):
            return repr(value.item())
        return text
    return repr(value) if isinstance(value, bytes) else str(value)


@_method(EagerTensor)
def __repr__(self):
    text = _numpy_text(self, True)
    separator = "\n" if "\n" in text else ""
    prefix = "numpy=" if self.dtype.is_numpy_compatible else "value="
    return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, {prefix}{separator}{text}>"


@_method(EagerTensor)
def __str__(self):
    text = _numpy_text(self, False)
    separator = "\n" if "\n" in text else ""
    return f"tf.Tensor({separator}{text}, shape={self.shape}, dtype={self.dtype.name})"


@_method(SymbolicTensor, "__repr__")
def _symbolic_repr(self):
    return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


@_method(SymbolicTensor, "__str__")
def _symbolic_str(self):
    shape = self.shape
    text = "" if shape.rank is None else f", shape={shape}"
    device = f", device={self.device}" if self.device else ""
    return f'Tensor("{self.name}"{text}, dtype={self.dtype.name}{device})'


@_method(Tensor)
def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
    if isinstance(self, SymbolicTensor):
        raise BufferError("a symbolic tensor has no memory")
    return _core.to_dlpack(self)


@_method(Tensor)
def __dlpack_device__(self):
    return _core.dlpack_device(self) if isinstance(self, EagerTensor) else (1, 0)


def _raise_out_of_scope(tensor):
    raise TypeError(
        f"{tensor!r} is out of scope and cannot be used here. Use return values, explicit Python locals or TensorFlow "
        "collections to access it.\nPlease see https://www.tensorflow.org/guide/function#all_outputs_of_a_tffunction_"
        "must_be_return_values for more information.\n")


_core.set_hook("raise_out_of_scope", _raise_out_of_scope)


@_method(EagerTensor, "__hash__")
def _no_hash(self):
    raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")


@_method(SymbolicTensor, "__hash__")
def _symbolic_hash(self):
    # Tensors of TensorFlow 1's graphs are keys of dictionaries; `==` compares them by identity.
    if self._graph.building_function:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")
    return hash(self._id)
