"""Placeholders, collections and initializers of graphs."""

import contextlib

from weir import _core
from weir.compat.v1.ref_variable import is_reference
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
    if is_reference(ref):
        return _reference_op(raw_ops.Assign, ref, value, name, use_locking, validate_shape=validate_shape is not False)
    return ref.assign(value, name=name)


def assign_add(ref, value, use_locking=None, name=None):
    return _reference_op(raw_ops.AssignAdd, ref, value, name, use_locking) if is_reference(ref) else ref.assign_add(
        value, name=name)


def assign_sub(ref, value, use_locking=None, name=None):
    return _reference_op(raw_ops.AssignSub, ref, value, name, use_locking) if is_reference(ref) else ref.assign_sub(
        value, name=name)


def _reference_op(op, ref, value, name, use_locking, **options):
    tensor = getattr(ref, "_variable", ref)
    return op(ref=tensor, value=convert_to_tensor(value, tensor.dtype.base_dtype), name=name,
              use_locking=op is raw_ops.Assign if use_locking is None else use_locking, **options)


@contextlib.contextmanager
def colocate_with(op, ignore_existing=False):
    with get_default_graph().colocate_with(op, ignore_existing):
        yield


def import_graph_def(graph_def, input_map=None, return_elements=None, name=None, op_dict=None, producer_op_list=None,
                     validate_colocation_constraints=True):
    """Adds the nodes of a GraphDef to the default graph below the scope `name`; gives `return_elements`.

    `input_map` replaces tensors of the GraphDef by tensors of the graph.
    """
    graph = get_default_graph()
    if not hasattr(graph_def, "node"):
        raise TypeError(f"Argument `graph_def` must be a GraphDef proto. Received: {graph_def!r}")
    prefix = "import" if name is None else name
    scope = ""
    if prefix:
        scope = prefix if prefix.endswith("/") else graph.unique_name(prefix) + "/"
    elif graph.get_name_scope():
        scope = graph.get_name_scope() + "/"
    if scope or input_map:
        graph_def = _moved(graph_def, scope, input_map or {}, graph)
    graph._import_graph_def(graph_def.SerializeToString())
    if return_elements is None:
        return None
    return [graph.as_graph_element(scope + (e.decode() if isinstance(e, bytes) else e)) for e in return_elements]


def _moved(graph_def, scope, input_map, graph):
    """The GraphDef with its nodes below a scope, and some inputs taken from the graph."""
    moved = type(graph_def)()
    moved.CopyFrom(graph_def)
    own = {node.name for node in moved.node}
    given = {}
    for key, value in input_map.items():
        key = key.decode() if isinstance(key, bytes) else key
        target = graph.as_graph_element(convert_to_tensor(value) if not isinstance(value, (str, Operation)) else value)
        text = target.name if not isinstance(target, Operation) else "^" + target.name
        given[key if ":" in key or key.startswith("^") else key + ":0"] = text[:-2] if text.endswith(":0") else text
    used = set()
    for node in moved.node:
        node.name = scope + node.name
        for i, source in enumerate(node.input):
            full = source if ":" in source or source.startswith("^") else source + ":0"
            if full in given:
                used.add(full)
                node.input[i] = given[full]
            elif source.startswith("^"):
                node.input[i] = "^" + scope + source[1:]
            else:
                node.input[i] = scope + source
        if "_class" in node.attr:
            classes = node.attr["_class"].list.s
            for i, text in enumerate(classes):
                if text.startswith(b"loc:@") and text[5:].decode() in own:
                    classes[i] = b"loc:@" + scope.encode() + text[5:]
    unused = [key for key in given if key not in used]
    if unused:
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(unused)}]")
    return moved


def add_to_collections(names, value):
    get_default_graph().add_to_collections(names, value)


def tuple(tensors, name=None, control_inputs=None):  # pylint: disable=redefined-builtin
    """The tensors, none of which is there before all are."""
    from weir.framework.graph import name_scope
    from weir.ops.indexed_slices import IndexedSlices
    if _core.current_graph() is None:
        return list(tensors)
    with name_scope(name or "tuple"):
        gates = [t.values.op if isinstance(t, IndexedSlices) else getattr(t, "op", t) for t in tensors if t is not None]
        gates += [getattr(c, "op", c) for c in control_inputs or []]
        if not gates:
            raise ValueError("`tensors` must have at least one Tensor. Received: {}.".format(tensors))
        gate = group(*gates)
        out = []
        with get_default_graph().control_dependencies([gate]):
            for tensor in tensors:
                if tensor is None:
                    out.append(None)
                elif isinstance(tensor, IndexedSlices):
                    out.append(IndexedSlices(raw_ops.Identity(input=tensor.values), tensor.indices, tensor.dense_shape))
                elif isinstance(tensor, Operation):
                    out.append(tensor)
                else:
                    out.append(raw_ops.Identity(input=tensor))
        return out


def model_variables(scope=None):
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope=None):
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def tables_initializer(name="init_all_tables"):
    """An operation that fills the tables of the graph."""
    if _core.current_graph() is None:
        return group(name=name)
    return group(*get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


def is_variable_initialized(variable):
    if is_reference(variable):
        return raw_ops.IsVariableInitialized(ref=getattr(variable, "_variable", variable))
    return variable.is_initialized()


def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    """The names of variables that have no value yet, a vector of strings."""
    if var_list is None:
        var_list = global_variables() + local_variables()
    from weir.framework.graph import name_scope
    with name_scope(name):
        if not var_list:
            return convert_to_tensor([], dtypes.string)
        missing = raw_ops.LogicalNot(x=raw_ops.Pack(values=[v.is_initialized() for v in var_list]))
        names = convert_to_tensor([v.op.name.encode() for v in var_list], dtypes.string)
        places = raw_ops.Squeeze(input=raw_ops.Where(condition=missing), axis=[1])
        return raw_ops.GatherV2(params=names, indices=places, axis=0)


def assert_variables_initialized(var_list=None):
    if var_list is None:
        var_list = global_variables() + local_variables()
    return group(*[v.read_value() for v in var_list])


def sparse_placeholder(dtype, shape=None, name=None):
    """A sparse tensor whose value is fed."""
    from weir.ops.sparse import SparseTensor
    rank = as_shape(shape).rank if shape is not None else None
    values_name, indices_name, shape_name = (f"{name}/{part}" if name else None for part in ("values", "indices", "shape"))
    if shape is not None and as_shape(shape).is_fully_defined():
        dense_shape = convert_to_tensor(as_shape(shape).as_list(), dtypes.int64)
    else:
        dense_shape = placeholder(dtypes.int64, [rank], shape_name)
    values = placeholder(dtype, [None], values_name)
    indices = placeholder(dtypes.int64, [None, rank], indices_name)
    return SparseTensor(indices, values, dense_shape)


def container(container_name):
    return get_default_graph().container(container_name)


def control_dependencies(control_inputs):
    return get_default_graph().control_dependencies(control_inputs)


def scatter_function(method):
    def scatter(ref, indices, updates, use_locking=True, name=None):
        from weir.ops.indexed_slices import IndexedSlices
        if is_reference(ref):
            tensor = getattr(ref, "_variable", ref)
            op = getattr(raw_ops, "".join(word.capitalize() for word in method.split("_")))
            return op(ref=tensor, indices=indices, updates=convert_to_tensor(updates, tensor.dtype.base_dtype),
                      use_locking=use_locking, name=name)
        return getattr(ref, method)(IndexedSlices(convert_to_tensor(updates, ref.dtype), convert_to_tensor(indices)),
                                    name=name)
    scatter.__name__ = method
    return scatter


scatter_add = scatter_function("scatter_add")
scatter_sub = scatter_function("scatter_sub")
scatter_update = scatter_function("scatter_update")
scatter_max = scatter_function("scatter_max")
scatter_min = scatter_function("scatter_min")
scatter_mul = scatter_function("scatter_mul")
scatter_div = scatter_function("scatter_div")


def scatter_nd_add(ref, indices, updates, use_locking=False, name=None):
    return _scatter_nd(raw_ops.ScatterNdAdd, ref, indices, updates, name) if is_reference(ref) else ref.scatter_nd_add(
        indices, updates, name)


def scatter_nd_sub(ref, indices, updates, use_locking=False, name=None):
    return _scatter_nd(raw_ops.ScatterNdSub, ref, indices, updates, name) if is_reference(ref) else ref.scatter_nd_sub(
        indices, updates, name)


def scatter_nd_update(ref, indices, updates, use_locking=True, name=None):
    return _scatter_nd(raw_ops.ScatterNdUpdate, ref, indices, updates, name) if is_reference(
        ref) else ref.scatter_nd_update(indices, updates, name)


def _scatter_nd(op, ref, indices, updates, name):
    tensor = getattr(ref, "_variable", ref)
    return op(ref=tensor, indices=indices, updates=convert_to_tensor(updates, tensor.dtype.base_dtype), name=name)


def count_up_to(ref, limit, name=None):
    if is_reference(ref):
        return raw_ops.CountUpTo(ref=getattr(ref, "_variable", ref), limit=limit, name=name)
    return ref.count_up_to(limit)


def Print(input_, data, message=None, first_n=None, summarize=None, name=None):
    """The tensor; when it is computed, `data` is printed."""
    data = list(data)
    return raw_ops.Print(input=input_, data=data, message=message or "", first_n=-1 if first_n is None else first_n,
                         summarize=3 if summarize is None else summarize, name=name)
