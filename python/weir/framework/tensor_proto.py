"""Tensors as TensorProtos: tf.make_tensor_proto, tf.make_ndarray."""

import numpy as np

from weir.framework import dtypes, protos
from weir.framework.tensor import EagerTensor, Tensor

__all__ = ["make_tensor_proto", "make_ndarray"]

# The field that holds values of a type, where it is not tensor_content.
_FIELDS = {"float32": "float_val", "float64": "double_val", "int32": "int_val", "uint8": "int_val", "int16": "int_val",
           "int8": "int_val", "uint16": "int_val", "quint8": "int_val", "qint8": "int_val", "qint16": "int_val",
           "quint16": "int_val", "qint32": "int_val", "int4": "int_val", "uint4": "int_val", "int64": "int64_val",
           "bool": "bool_val", "uint32": "uint32_val", "uint64": "uint64_val", "float16": "half_val",
           "bfloat16": "half_val", "complex64": "scomplex_val", "complex128": "dcomplex_val", "string": "string_val"}


def make_tensor_proto(values, dtype=None, shape=None, verify_shape=False, allow_broadcast=False):
    """A TensorProto of `values`, which have the given type and, where they are fewer, fill the given shape."""
    proto = protos.message("TensorProto")
    if isinstance(values, proto):
        return values
    if isinstance(values, Tensor) and not isinstance(values, EagerTensor):
        raise TypeError(f"Expected binary or unicode string, got {values!r}")
    from weir.framework.conversion import convert_to_tensor
    from weir.framework.graph import eager_mode
    with eager_mode():
        tensor = convert_to_tensor(values, None if dtype is None else dtypes.as_dtype(dtype))
        array = np.asarray(tensor.numpy())
    kind = tensor.dtype
    if shape is not None:
        wanted = [int(d) for d in shape]
        size, given = int(np.prod(wanted, dtype=np.int64)), array.size
        if verify_shape and list(array.shape) != wanted:
            raise TypeError(f"Expected Tensor's shape: {tuple(wanted)}, but got {array.shape}.")
        if given > size:
            raise ValueError(f"Too many elements provided. Takes at most {size:d}, but got {given:d}")
    else:
        wanted, size, given = list(array.shape), array.size, array.size
    out = proto(dtype=kind.as_datatype_enum)
    out.tensor_shape.SetInParent()
    for dim in wanted:
        out.tensor_shape.dim.add(size=dim)
    name = kind.name
    if name == "string":
        flat = [v if isinstance(v, bytes) else str(v).encode() for v in array.astype(object).reshape(-1)]
        if size > 1 and given == size and len(set(flat)) == 1 and shape is not None:
            flat = flat[:1]
        out.string_val.extend(flat)
        return out
    if given == size and size > 1 and name != "bool":
        out.tensor_content = np.ascontiguousarray(array).tobytes()
        return out
    flat = array.reshape(-1)
    if name in ("float16", "bfloat16"):
        out.half_val.extend(int(v) for v in flat.view(np.uint16))
    elif name.startswith("float8"):
        out.float8_val = flat.tobytes()
    elif name.startswith("complex"):
        getattr(out, _FIELDS[name]).extend(v for number in flat for v in (number.real, number.imag))
    else:
        getattr(out, _FIELDS[name]).extend(flat.tolist())
    return out


def make_ndarray(tensor):
    """The numpy array of a TensorProto."""
    kind = dtypes.as_dtype(tensor.dtype)
    name = kind.name
    shape = [d.size for d in tensor.tensor_shape.dim]
    size = int(np.prod(shape, dtype=np.int64))
    if name == "string":
        values = list(tensor.string_val)
        if not values:
            values = [b""]
        return np.asarray((values + values[-1:] * (size - len(values)))[:size], dtype=object).reshape(shape)
    numpy_type = kind.as_numpy_dtype
    if tensor.tensor_content:
        return np.frombuffer(tensor.tensor_content, dtype=numpy_type).copy().reshape(shape)
    if name in ("float16", "bfloat16"):
        values = np.asarray(list(tensor.half_val), np.uint16).view(numpy_type)
    elif name.startswith("float8"):
        values = np.frombuffer(tensor.float8_val, dtype=numpy_type)
    elif name.startswith("complex"):
        parts = list(getattr(tensor, _FIELDS[name]))
        values = np.asarray([complex(a, b) for a, b in zip(parts[::2], parts[1::2])], numpy_type)
    elif name in _FIELDS:
        values = np.asarray(list(getattr(tensor, _FIELDS[name])), numpy_type)
    else:
        raise TypeError(f"Unsupported tensor type: {tensor.dtype}. See "
                        "https://www.tensorflow.org/api_docs/python/tf/dtypes for supported TF dtypes.")
    if values.size == 0:
        return np.zeros(shape, numpy_type)
    if values.size < size:
        values = np.concatenate([values, np.full([size - values.size], values[-1], numpy_type)])
    return values.reshape(shape)
