"""tensorflow.python.ops.control_flow_util: what is asked of ops of loops and branches, and which kind is made."""

from weir.framework import graph as graphs

__all__ = ["EnableControlFlowV2", "InXlaContext", "IsInXLAContext", "IsLoopEnter", "IsLoopExit", "IsMerge", "IsSwitch"]


def __getattr__(name):
    if name == "ENABLE_CONTROL_FLOW_V2":
        return graphs.control_flow_v2_enabled()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def enable_control_flow_v2():
    graphs.set_control_flow_v2(True)


def EnableControlFlowV2(graph):  # pylint: disable=invalid-name
    return graphs.control_flow_v2_enabled() or isinstance(graph, graphs.FuncGraph)


def IsInXLAContext(op):  # pylint: disable=invalid-name
    del op
    return False


InXlaContext = GraphOrParentsInXlaContext = IsInXLAContext


def get_enclosing_xla_context():
    return None


def IsSwitch(op):  # pylint: disable=invalid-name
    return op.type in ("Switch", "RefSwitch")


def IsMerge(op):  # pylint: disable=invalid-name
    return op.type in ("Merge", "RefMerge")


def IsLoopEnter(op):  # pylint: disable=invalid-name
    return op.type in ("Enter", "RefEnter")


def IsLoopExit(op):  # pylint: disable=invalid-name
    return op.type in ("Exit", "RefExit")


def in_defun():
    return isinstance(graphs.get_default_graph(), graphs.FuncGraph)


def output_all_intermediates():
    return False


def set_output_all_intermediates(state):
    del state


def switch(data, pred, dtype=None, name=None):
    """`data` at the first output if `pred` is false, at the second if it is true."""
    from weir.framework import convert_to_tensor, raw_ops
    return raw_ops.Switch(data=convert_to_tensor(data, dtype=dtype, name="data"), pred=pred, name=name)


def merge(inputs, name=None):
    """The one of the tensors that is there, and its number."""
    from weir.framework import convert_to_tensor, raw_ops
    if any(value is None for value in inputs):
        raise ValueError("At least one of the merge inputs is None: %s" % inputs)
    return raw_ops.Merge(inputs=[convert_to_tensor(value) for value in inputs], name=name)
