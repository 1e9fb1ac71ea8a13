"""Switches between behaviours of TensorFlow 1 and 2. Shapes, eager execution and the structure that
loops return follow them; resources and equality have one behaviour here, and their switches remember their state."""

from weir.framework import graph, shapes
from weir.framework.graph import name_scope
from weir.ops import random

_state = {"resource_variables": True, "tensorshape": True}


def disable_v2_behavior():
    """Graphs, and shapes whose sizes are Dimensions, as in TensorFlow 1."""
    graph.disable_eager_execution()
    disable_v2_tensorshape()
    disable_resource_variables()
    disable_control_flow_v2()


def enable_v2_behavior():
    """The opposite of `disable_v2_behavior`."""
    graph.enable_eager_execution()
    enable_v2_tensorshape()
    enable_resource_variables()
    enable_control_flow_v2()


def enable_control_flow_v2():
    graph.set_control_flow_v2(True)


def disable_control_flow_v2():
    graph.set_control_flow_v2(False)


def control_flow_v2_enabled():
    return graph.control_flow_v2_enabled()


def enable_resource_variables():
    _state["resource_variables"] = True
    graph.set_names_mean_values(False)


def disable_resource_variables():
    _state["resource_variables"] = False
    graph.set_names_mean_values(True)


def resource_variables_enabled():
    return _state["resource_variables"]


def enable_v2_tensorshape():
    _state["tensorshape"] = True
    shapes.set_v2_behavior(True)


def disable_v2_tensorshape():
    _state["tensorshape"] = False
    shapes.set_v2_behavior(False)


def enable_tensor_equality():
    pass


def disable_tensor_equality():
    raise NotImplementedError("tensors are compared element by element; disable_tensor_equality is not supported")


def dimension_value(dimension):
    """A dimension as an int or None."""
    return getattr(dimension, "value", dimension)


def dimension_at_index(shape, index):
    from weir.framework.shapes import Dimension
    return Dimension(None if shape.rank is None else shape.as_list()[index])


def get_seed(op_seed):
    """The seeds of the graph and of an operation."""
    return random.get_seed(op_seed)


def op_scope(values, name, default_name=None):
    return name_scope(name, default_name, values)


def executing_eagerly_outside_functions():
    """Whether operations run at once, or will once the functions being traced are called."""
    from weir import _core
    current = _core.current_graph()
    return graph.executing_eagerly_outside_functions() and (current is None or isinstance(current, graph.FuncGraph))
