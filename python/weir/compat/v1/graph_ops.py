"""Placeholders, collections and initializers of graphs."""

import contextlib

from weir import _core
from weir.framework import dtypes
from weir.framework.conversion import convert_to_tensor
from weir.framework.graph import GraphKeys, Operation, get_default_graph
from weir.framework.raw_ops import raw_ops
from weir.framework.shapes import as_shape


def placeholder(dtype, shape=None, name=None):
    """A tensor whose value is fed."""
    if _core.current_graph() is None:
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    return raw_ops.Placeholder(dtype=dtypes.as_dtype(dtype), shape=as_shape(shape), name=name)


def placeholder_with_default(input, shape, name=None):
    return raw_ops.PlaceholderWithDefault(input=input, shape=as_shape(shape), name=name)


def get_collection(key, scope=None):
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key):
    return get_default_graph().get_collection_ref(key)


def add_to_collection(name, value):
    get_default_graph().add_to_collection(name, value)


def global_variables(scope=None):
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope=None):
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def trainable_variables(scope=None):
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def no_op(name=None):
    """Does nothing; other operations may depend on it."""
    return raw_ops.NoOp(name=name)


def group(*inputs, **kwargs):
    """An operation that is done when all of `inputs` are."""
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    if _core.current_graph() is None:
        return None
    from weir import nest
    operations = [op for op in nest.flatten(list(inputs), expand_composites=True) if op is not None]
    with get_default_graph().control_dependencies(operations):
        return raw_ops.NoOp(name=name or "group_deps")


def variables_initializer(var_list, name="init"):
    if var_list and _core.current_graph() is not None:
        return group(*[v.initializer for v in var_list], name=name)
    return group(name=name)


def global_variables_initializer():
    if _core.current_graph() is None:
        return None
    return variables_initializer(global_variables())


def local_variables_initializer():
    if _core.current_graph() is None:
        return None
    return variables_initializer(local_variables())


def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    return ref.assign(value, name=name)


def assign_add(ref, value, use_locking=None, name=None):
    return ref.assign_add(value, name=name)


def assign_sub(ref, value, use_locking=None, name=None):
    return ref.assign_sub(value, name=name)


@contextlib.contextmanager
def colocate_with(op, ignore_existing=False):
    with get_default_graph().colocate_with(op, ignore_existing):
        yield


def import_graph_def(graph_def, input_map=None, return_elements=None, name=None, op_dict=None, producer_op_list=None):
    """Adds the nodes of a GraphDef to the default graph under their own names; gives `return_elements`."""
    if input_map:
        raise NotImplementedError("import_graph_def with an input_map")
    if name:
        raise NotImplementedError("import_graph_def with a name other than ''")
    graph = get_default_graph()
    graph._import_graph_def(graph_def.SerializeToString())
    return None if return_elements is None else [graph.as_graph_element(e) for e in return_elements]
