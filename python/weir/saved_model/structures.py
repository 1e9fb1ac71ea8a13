"""Nested structures of specs and plain values as StructuredValue messages, and back."""

import collections
import inspect

from weir.framework import as_dtype, protos
from weir.framework.dtypes import DType
from weir.framework.shapes import TensorShape, as_shape
from weir.framework.tensor import Tensor
from weir.framework.type_spec import CompositeTensor, TensorSpec, TypeSpec

# The numbers of TypeSpecProto.TypeSpecClass.
_CLASSES = {"SparseTensorSpec": 1, "IndexedSlicesSpec": 2, "RaggedTensorSpec": 3, "TensorArraySpec": 4,
            "DatasetSpec": 5, "IteratorSpec": 6, "OptionalSpec": 7, "PerReplicaSpec": 8, "VariableSpec": 9}


def shape_proto(shape):
    """A TensorShapeProto."""
    made = protos.message("TensorShapeProto")()
    shape = as_shape(shape)
    if shape.rank is None:
        made.unknown_rank = True
    else:
        for size in shape.as_list():
            made.dim.add(size=-1 if size is None else size)
    return made


def from_shape_proto(proto):
    if proto.unknown_rank:
        return TensorShape(None)
    return TensorShape([None if d.size < 0 else d.size for d in proto.dim])


def encode(value):
    """A StructuredValue of a structure; TypeError for what has no form there."""
    out = protos.message("StructuredValue")()
    if value is None:
        out.none_value.SetInParent()
    elif isinstance(value, bool):
        out.bool_value = value
    elif isinstance(value, int):
        out.int64_value = value
    elif isinstance(value, float):
        out.float64_value = value
    elif isinstance(value, str):
        out.string_value = value
    elif isinstance(value, bytes):
        raise TypeError("bytes have no form in a SavedModel's structures")
    elif isinstance(value, TensorShape):
        out.tensor_shape_value.CopyFrom(shape_proto(value))
    elif isinstance(value, DType):
        out.tensor_dtype_value = value.as_datatype_enum
    elif isinstance(value, TensorSpec):
        spec = out.tensor_spec_value
        spec.name = value.name or ""
        spec.shape.CopyFrom(shape_proto(value.shape))
        spec.dtype = value.dtype.as_datatype_enum
    elif isinstance(value, TypeSpec):
        name = type(value).__name__
        if name not in _CLASSES:
            raise TypeError(f"{name} has no form in a SavedModel's structures")
        spec = out.type_spec_value
        spec.type_spec_class = _CLASSES[name]
        spec.type_spec_class_name = name
        spec.num_flat_components = len(value._flat_tensor_specs)
        spec.type_state.CopyFrom(encode(tuple(value._serialize())))
    elif isinstance(value, Tensor):
        return encode(TensorSpec(value.shape, value.dtype))
    elif isinstance(value, CompositeTensor):
        return encode(value._type_spec)
    elif isinstance(value, dict):
        out.dict_value.SetInParent()
        for key, part in value.items():
            out.dict_value.fields[key].CopyFrom(encode(part))
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        out.named_tuple_value.name = type(value).__name__
        for key in value._fields:
            out.named_tuple_value.values.add(key=key).value.CopyFrom(encode(getattr(value, key)))
    elif isinstance(value, (list, tuple)):
        part = out.list_value if isinstance(value, list) else out.tuple_value
        part.SetInParent()
        part.values.extend(encode(v) for v in value)
    else:
        raise TypeError(f"{type(value).__name__} has no form in a SavedModel's structures")
    return out


def decode(proto):
    """The structure of a StructuredValue."""
    kind = proto.WhichOneof("kind")
    if kind in (None, "none_value"):
        return None
    value = getattr(proto, kind)
    if kind in ("bool_value", "int64_value", "float64_value", "string_value"):
        return value
    if kind == "tensor_shape_value":
        return from_shape_proto(value)
    if kind == "tensor_dtype_value":
        return as_dtype(value)
    if kind in ("tensor_spec_value", "bounded_tensor_spec_value"):
        return TensorSpec(from_shape_proto(value.shape), as_dtype(value.dtype), value.name or None)
    if kind == "list_value":
        return [decode(v) for v in value.values]
    if kind == "tuple_value":
        return tuple(decode(v) for v in value.values)
    if kind == "dict_value":
        return {key: decode(value.fields[key]) for key in sorted(value.fields)}
    if kind == "named_tuple_value":
        made = collections.namedtuple(value.name, [p.key for p in value.values])
        return made(*[decode(p.value) for p in value.values])
    if kind == "type_spec_value":
        return _type_spec(value)
    raise NotImplementedError(f"a {kind} in a SavedModel's structures")


def _type_spec(value):
    from weir.ops.indexed_slices import IndexedSlicesSpec
    from weir.ops.ragged import RaggedTensorSpec
    from weir.ops.sparse import SparseTensorSpec
    classes = {1: SparseTensorSpec, 2: IndexedSlicesSpec, 3: RaggedTensorSpec}
    found = classes.get(value.type_spec_class)
    if found is None:
        raise NotImplementedError(f"a {value.type_spec_class_name or value.type_spec_class} in a SavedModel's structures")
    return found._deserialize(decode(value.type_state)) if hasattr(found, "_deserialize") else found(
        *decode(value.type_state))


FullArgSpec = collections.namedtuple("FullArgSpec", ["args", "varargs", "varkw", "defaults", "kwonlyargs",
                                                     "kwonlydefaults", "annotations"])


def argument_spec(function):
    """The parameters of a Python function, as SavedModels keep them."""
    parameters = inspect.signature(function).parameters.values()
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    defaults = tuple(_plain(p.default) for p in by_position if p.default is not p.empty)
    only = [p for p in parameters if p.kind == p.KEYWORD_ONLY]
    kwdefaults = {p.name: _plain(p.default) for p in only if p.default is not p.empty}
    return FullArgSpec([p.name for p in by_position],
                       next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), None),
                       next((p.name for p in parameters if p.kind == p.VAR_KEYWORD), None), defaults or None,
                       [p.name for p in only], kwdefaults or None, {})


def _plain(value):
    try:
        encode(value)
    except TypeError:
        return None
    return value


def python_signature(spec):
    """An inspect.Signature of what argument_spec gave."""
    kinds = inspect.Parameter
    made = []
    defaults = list(spec.defaults or [])
    first = len(spec.args) - len(defaults)
    for i, name in enumerate(spec.args):
        default = kinds.empty if i < first else defaults[i - first]
        made.append(kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=default))
    if spec.varargs:
        made.append(kinds(spec.varargs, kinds.VAR_POSITIONAL))
    for name in spec.kwonlyargs or []:
        made.append(kinds(name, kinds.KEYWORD_ONLY, default=(spec.kwonlydefaults or {}).get(name, kinds.empty)))
    if spec.varkw:
        made.append(kinds(spec.varkw, kinds.VAR_KEYWORD))
    return inspect.Signature(made)
