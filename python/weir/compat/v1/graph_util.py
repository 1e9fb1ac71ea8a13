"""Graphs cut and frozen: convert_variables_to_constants, extract_sub_graph, remove_training_nodes."""

from weir.framework import protos
from weir.framework.tensor_proto import make_tensor_proto

__all__ = ["convert_variables_to_constants", "extract_sub_graph", "must_run_on_cpu", "remove_training_nodes",
           "tensor_shape_from_node_def_name"]


def _node_of(name):
    name = name[1:] if name.startswith("^") else name
    return name.split(":")[0]


def extract_sub_graph(graph_def, dest_nodes):
    """The nodes that these depend on."""
    if isinstance(dest_nodes, str):
        raise TypeError(f"Argument `dest_nodes` must be an iterable of strings. Received: {dest_nodes}")
    by_name = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        if name not in by_name:
            raise AssertionError(f"{name} is not in graph")
    seen, todo = set(), list(dest_nodes)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo.extend(_node_of(i) for i in by_name[name].input)
    out = protos.message("GraphDef")()
    out.node.extend(node for node in graph_def.node if node.name in seen)
    out.library.CopyFrom(graph_def.library)
    out.versions.CopyFrom(graph_def.versions)
    return out


_VARIABLES = ("VariableV2", "Variable", "VarHandleOp")
_THROUGH = ("Identity", "Enter", "Switch", "Merge")


def convert_variables_to_constants(sess, input_graph_def, output_node_names, variable_names_whitelist=None,
                                   variable_names_blacklist=None):
    """The graph up to the output nodes, with the values that variables have in the session as constants."""
    part = extract_sub_graph(input_graph_def, output_node_names)
    by_name = {node.name: node for node in part.node}
    names = []
    for node in part.node:
        if node.op in _VARIABLES:
            if variable_names_whitelist is not None and node.name not in variable_names_whitelist:
                continue
            if variable_names_blacklist is not None and node.name in variable_names_blacklist:
                continue
            names.append(node.name)
    return freeze(part, {name: sess.run(_value_name(sess.graph, by_name[name])) for name in names})


def _value_name(graph, node):
    if node.op != "VarHandleOp":
        return node.name + ":0"
    reader = node.name + "/Read/ReadVariableOp:0"
    try:
        graph.get_tensor_by_name(reader)
        return reader
    except KeyError:
        from weir.framework import raw_ops
        with graph.as_default():
            handle = graph.get_tensor_by_name(node.name + ":0")
            return raw_ops.ReadVariableOp(resource=handle, dtype=handle.op.get_attr("dtype")).name


def freeze(graph_def, values):
    """The graph with constants instead of the variables in `values` (numpy arrays by node name)."""
    out = protos.message("GraphDef")()
    out.library.CopyFrom(graph_def.library)
    out.versions.CopyFrom(graph_def.versions)
    by_name = {node.name: node for node in graph_def.node}

    def variable_of(name):
        node = by_name.get(_node_of(name))
        while node is not None and node.op in _THROUGH and node.input:
            node = by_name.get(_node_of(node.input[0]))
        return node.name if node is not None and node.name in values else None
    for node in graph_def.node:
        if node.name in values:
            made = out.node.add(name=node.name, op="Const")
            array = values[node.name]
            proto = make_tensor_proto(array)
            made.attr["dtype"].type = proto.dtype
            made.attr["value"].tensor.CopyFrom(proto)
            continue
        made = out.node.add()
        made.CopyFrom(node)
        if node.op == "ReadVariableOp" and variable_of(node.input[0]):
            made.op = "Identity"
            kind = node.attr["dtype"].type
            made.attr.clear()
            made.attr["T"].type = kind
        elif node.op in ("ResourceGather",) and variable_of(node.input[0]):
            made.op = "GatherV2"
            kind, indices = node.attr["dtype"].type, node.attr["Tindices"].type
            axis = out.node.add(name=node.name + "/axis", op="Const")
            axis.attr["dtype"].type = 3
            axis.attr["value"].tensor.CopyFrom(make_tensor_proto(0, shape=[]))
            axis.attr["value"].tensor.dtype = 3
            made.attr.clear()
            made.attr["Tparams"].type, made.attr["Tindices"].type, made.attr["Taxis"].type = kind, indices, 3
            controls = [i for i in node.input if i.startswith("^")]
            del made.input[:]
            made.input.extend([i for i in node.input if not i.startswith("^")] + [node.name + "/axis"] + controls)
        elif node.op in _THROUGH and variable_of(node.name):
            source = by_name[variable_of(node.name)]
            if "T" in made.attr and made.attr["T"].type == 20:
                made.attr["T"].type = source.attr["dtype"].type
    return out


def remove_training_nodes(input_graph, protected_nodes=None):
    """The graph without CheckNumerics and plain Identity nodes."""
    protected = set(protected_nodes or [])
    by_name = {node.name: node for node in input_graph.node}
    split_outputs = {_node_of(i) for node in input_graph.node for i in node.input if i.startswith("^")}
    drop = {}
    for node in input_graph.node:
        if node.name in protected or node.name in split_outputs:
            continue
        if node.op == "CheckNumerics" or (node.op == "Identity" and not any(i.startswith("^") for i in node.input)):
            source = by_name.get(_node_of(node.input[0]))
            if source is not None and source.op not in ("Merge", "Switch"):
                drop[node.name] = node.input[0]

    def final(name):
        while name.split(":")[0] in drop and not name.startswith("^"):
            name = drop[name.split(":")[0]]
        return name
    out = protos.message("GraphDef")()
    for node in input_graph.node:
        if node.name in drop:
            continue
        made = out.node.add()
        made.CopyFrom(node)
        for i, name in enumerate(made.input):
            made.input[i] = final(name)
    out.library.CopyFrom(input_graph.library)
    out.versions.CopyFrom(input_graph.versions)
    return out


def must_run_on_cpu(node, pin_variables_on_cpu=False):
    """Whether a node has no kernel elsewhere: strings and, if asked, variables."""
    definition = getattr(node, "node_def", node)
    if pin_variables_on_cpu and definition.op in _VARIABLES:
        return True
    return definition.op == "Const" and definition.attr["dtype"].type == 7


def tensor_shape_from_node_def_name(graph, input_name):
    """The shape of a tensor by name."""
    return graph.get_tensor_by_name(input_name if ":" in input_name else input_name + ":0").shape
