"""convert_variables_to_constants_v2: a function whose variables have become constants."""

from weir.compat.v1.graph_util import freeze
from weir.eager.function import ConcreteFunction, _names
from weir.framework import protos
from weir.framework.graph import FuncGraph, eager_mode
from weir.framework.tensor import EagerTensor

__all__ = ["convert_variables_to_constants_v2"]


def convert_variables_to_constants_v2(func, lower_control_flow=True, aggressive_inlining=False):
    """The concrete function with the present values of its variables. Variables that it hands on to other functions or
    to control flow cannot be frozen."""
    source = func.graph
    if source is None:
        raise NotImplementedError("a function of a loaded SavedModel cannot be frozen")
    variables = {v.handle._id: v for v in func.variables}
    values = {}
    for outer, inner in source.captures:
        variable = variables.get(outer._id)
        with eager_mode():
            if variable is not None:
                values[inner.op.name] = variable.numpy()
            elif isinstance(outer, EagerTensor) and outer.dtype._number not in (20, 21):
                values[inner.op.name] = outer.numpy()
            else:
                raise NotImplementedError(f"the function captures {outer!r}, which is no variable")
    definition = protos.message("GraphDef").FromString(source._to_graph_def())
    for node in definition.node:
        if node.name in values:
            node.attr["dtype"].type = node.attr["T"].type
    frozen = freeze(definition, values)
    handles = {inner.op.name for outer, inner in source.captures if outer._id in variables}
    for node in frozen.node:
        used = [i for i in node.input if i.split(":")[0] in handles]
        if used and node.op not in ("Identity", "GatherV2"):
            raise NotImplementedError(f"the node {node.name}, a {node.op}, uses the variable {used[0]} itself")
    arguments = [tensor.op.name for tensor in source.inputs]
    graph = FuncGraph(f"frozen_{source.name}")
    for tensor, name in zip(source.inputs, arguments):
        graph.add_argument(tensor.dtype, tensor.shape, name)
    body = protos.message("GraphDef")()
    body.versions.CopyFrom(frozen.versions)
    body.node.extend(node for node in frozen.node if node.name not in arguments)
    graph._import_graph_def(body.SerializeToString())
    graph.outputs = [graph.get_tensor_by_name(t.name) for t in source.outputs]
    graph._output_places = list(graph.outputs)
    graph.structured_outputs = graph._result = list(graph.outputs)
    made = ConcreteFunction(graph, f"frozen_{next(_names)}")
    made._arg_keywords = func._arg_keywords
    made._signature = func.structured_input_signature
    return made
