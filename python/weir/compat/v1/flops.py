"""How many float operations an op takes, as tf.compat.v1.profiler counts them.

A statistic is a function of a graph and a NodeDef, as TensorFlow's programs register them; those below take an Operation.
"""

import math

__all__ = ["OpStats", "RegisterStatistics", "flops_of", "get_stats_for_node_def"]


class OpStats:
    """A number about an op; `value` None if it is not known."""

    def __init__(self, statistic_type, value=None):
        self.statistic_type = statistic_type
        self.value = value

    def __iadd__(self, other):
        if other.statistic_type != self.statistic_type:
            raise ValueError(f"Can't add an OpStat of type {self.statistic_type} to one of {other.statistic_type}.")
        if self.value is None:
            self.value = other.value
        elif other.value is not None:
            self.value += other.value
        return self


_registered = {}  # {(op, statistic): function of graph and NodeDef}


class RegisterStatistics:
    """Decorator: the function gives a statistic of an op from its graph and its NodeDef."""

    def __init__(self, op_type, statistic_type):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string.")
        if "," in op_type:
            raise TypeError("op_type must not contain a comma.")
        if not isinstance(statistic_type, str):
            raise TypeError("statistic_type must be a string.")
        if "," in statistic_type:
            raise TypeError("statistic_type must not contain a comma.")
        self._key = op_type, statistic_type

    def __call__(self, f):
        if self._key in _registered:
            raise KeyError(f"Registering two statistics with name '{','.join(self._key)}'!")
        _registered[self._key] = f
        return f


def get_stats_for_node_def(graph, node, statistic_type):
    """The statistic of a node, by its NodeDef."""
    function = _registered.get((node.op, statistic_type))
    if function is not None:
        return function(graph, node)
    if statistic_type == "flops" and node.op in _FLOPS:
        return OpStats("flops", _FLOPS[node.op](graph.get_operation_by_name(node.name)))
    return OpStats(statistic_type)


def flops_of(op):
    """The float operations of an Operation, or None; ValueError if its shapes are not known."""
    function = _registered.get((op.type, "flops"))
    if function is not None:
        return function(op.graph, op.node_def).value
    return _FLOPS[op.type](op) if op.type in _FLOPS else None


def _dims(tensor):
    tensor.shape.assert_is_fully_defined()
    return tensor.shape.as_list()


def _count(tensor):
    return math.prod(_dims(tensor))


def _of_input(factor):
    return lambda op: _count(op.inputs[0]) * factor


def _of_output(factor):
    return lambda op: _count(op.outputs[0]) * factor


def _reduction(finalize):
    return lambda op: _count(op.inputs[0]) + _count(op.outputs[0]) * (finalize - 1)


def _image_op(function):
    def count(op):
        if op.get_attr("data_format") != b"NHWC":
            raise ValueError("Only NHWC format is supported in flops computations")
        return function(op)
    return count


def _window(op):
    return math.prod(op.get_attr("ksize"))


def _filter_gradient(image, kernel, op):
    strides = op.get_attr("strides")
    return 2 * _count(image) * _count(kernel) / (_dims(image)[-1] * strides[1] * strides[2])


def _convolution(spatial, of_depth):
    def count(op):
        _dims(op.inputs[0])
        kernel = _dims(op.inputs[1])[:spatial + (1 if of_depth else 0)]
        return _count(op.outputs[0]) * math.prod(kernel) * 2
    return count


def _product(op):
    return 2 * _count(op.outputs[0]) * _dims(op.inputs[0])[-2 if op.get_attr("transpose_a") else -1]


def _batch_product(op):
    return 2 * _count(op.outputs[0]) * _dims(op.inputs[0])[-1]


_FLOPS = {
    **{op: _of_input(1) for op in "Reciprocal Square Log Neg AssignSub AssignAdd BiasAdd".split()},
    "Rsqrt": _of_input(2),
    "Softmax": _of_input(5),
    "L2Loss": lambda op: _count(op.inputs[0]) * 3 - 1,
    **{op: _of_output(1) for op in (
        "Add AddV2 Sub Mul RealDiv Maximum Minimum Pow GreaterEqual Greater LessEqual Less Equal NotEqual").split()},
    "RsqrtGrad": _of_output(4),
    "SquaredDifference": _of_output(2),
    "Mean": _reduction(1),
    **{op: _reduction(0) for op in "Sum ArgMax ArgMin BiasAddGrad".split()},
    **{op: _image_op(lambda op: _window(op) * _count(op.outputs[0])) for op in ("AvgPool", "MaxPool")},
    "AvgPoolGrad": _image_op(lambda op: _window(op) * _count(op.inputs[1]) * 2),
    "MaxPoolGrad": _image_op(lambda op: (_window(op) + 1) * _count(op.inputs[1])),
    "Conv2DBackpropInput": _image_op(lambda op: _filter_gradient(op.outputs[0], op.inputs[1], op)),
    "Conv2DBackpropFilter": _image_op(lambda op: _filter_gradient(op.inputs[0], op.outputs[0], op)),
    "Conv2D": _convolution(2, True),
    "Conv3D": _convolution(3, True),
    "DepthwiseConv2dNative": _convolution(2, False),
    "Dilation2D": _convolution(2, False),
    "AddN": lambda op: _count(op.inputs[0]) * (len(op.inputs) - 1),
    "MatMul": _product,
    **{op: _batch_product for op in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")},
}
