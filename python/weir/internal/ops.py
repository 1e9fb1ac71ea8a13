"""tensorflow.python.framework.ops: what tests ask of graphs and tensors beside the public names."""

import itertools

from weir import _core
from weir.framework import CompositeTensor, Tensor, convert_to_tensor
from weir.framework.graph import get_default_graph
from weir.framework.tensor import SymbolicTensor

__all__ = ["SymbolicTensor", "convert_n_to_tensor_or_composite", "convert_to_tensor_or_composite", "get_all_collection_keys",
           "get_name_scope", "has_default_graph", "internal_convert_to_tensor_or_composite", "is_dense_tensor_like",
           "name_from_scope_name", "numpy_text", "prepend_name_scope", "strip_name_scope", "tensor_id", "to_raw_op", "uid",
           "value_text"]

_uids = itertools.count(1)


def uid():
    """A number that is given once."""
    return next(_uids)


def tensor_id(tensor):
    return tensor._id


def is_dense_tensor_like(value):
    return isinstance(value, Tensor)


def has_default_graph():
    return _core.current_graph() is not None


def get_name_scope():
    """The names of the scopes around, joined by slashes."""
    graph = _core.current_graph()
    if graph is None:
        from weir.framework.graph import name_scope
        with name_scope("x") as scope:
            return scope[:-2].rstrip("/")
    return graph.get_name_scope() if hasattr(graph, "get_name_scope") else ""


def get_all_collection_keys():
    return get_default_graph().get_all_collection_keys()


def name_from_scope_name(name):
    return name[:-1] if name and name[-1] == "/" else name


def strip_name_scope(name, export_scope):
    """A name without the scope `export_scope` in front."""
    if not export_scope:
        return name
    export_scope = name_from_scope_name(export_scope)
    for mark in ("^", "loc:@", ""):
        if name.startswith(mark + export_scope + "/"):
            return mark + name[len(mark + export_scope) + 1:]
    return name


def prepend_name_scope(name, import_scope):
    """A name with the scope `import_scope` in front."""
    if not import_scope:
        return name
    import_scope = name_from_scope_name(import_scope)
    for mark in ("^", "loc:@"):
        if name.startswith(mark):
            return f"{mark}{import_scope}/{name[len(mark):]}"
    return f"{import_scope}/{name}"


def convert_to_tensor_or_composite(value, dtype=None, name=None):
    """A tensor; composite tensors stay as they are."""
    if isinstance(value, CompositeTensor):
        if dtype is not None and value.dtype.base_dtype != dtype:
            raise ValueError(f"Tensor conversion dtype mismatch. Requested dtype is {dtype}, got {value.dtype}")
        return value
    return convert_to_tensor(value, dtype=dtype, name=name)


internal_convert_to_tensor_or_composite = convert_to_tensor_or_composite


def convert_n_to_tensor_or_composite(values, dtype=None, name=None):
    return [None if v is None else convert_to_tensor_or_composite(v, dtype, name) for v in values]


def numpy_text(tensor, is_repr=False):
    """The value of a tensor as it is printed."""
    value = tensor.numpy()
    text = repr(value) if is_repr else str(value)
    return "\n" + text if "\n" in text else text


def value_text(tensor, is_repr=False):
    return ("numpy=" if is_repr else "") + numpy_text(tensor, is_repr)


def to_raw_op(f):
    """A function over an op that takes keyword arguments only."""
    def raw(**kwargs):
        return f(**kwargs)
    raw.__name__ = getattr(f, "__name__", "raw")
    return raw
