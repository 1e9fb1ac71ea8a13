"""Gradient functions written in Python, for graphs: tf.RegisterGradient, tf.no_gradient and custom gradients.

A node whose attribute _gradient_op_type names one of these is differentiated by it (Graph.gradient_override_map).
"""

from weir import _core

__all__ = ["RegisterGradient", "no_gradient", "bind", "get_gradient_function"]

_BOUND = "_PythonGradient"  # the gradient of this node alone, kept by its graph
_functions = {}


class RegisterGradient:
    """Decorator: the gradient of ops of this type, `function(op, *output_gradients)`."""

    __slots__ = ["_op_type"]

    def __init__(self, op_type):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f):
        _add(self._op_type, f)
        return f


RegisterGradient.__module__ = "tensorflow.python.framework.ops"


def _add(op_type, function):
    if op_type in _functions:
        raise KeyError(f"Registering two gradient with name '{op_type}'! (Previous registration was in _add "
                       f"{__file__})")
    _functions[op_type] = function
    _core.register_gradient(op_type)


def any_registered():
    return bool(_functions)


def is_registered(op):
    """Whether a Python function gives the gradient of an operation."""
    if op.type in _functions:
        return _functions[op.type] is not None
    try:
        op_type = op.get_attr("_gradient_op_type")
    except ValueError:
        return False
    return (op_type.decode() if isinstance(op_type, bytes) else op_type) in _functions


def no_gradient(op_type):
    """Says that ops of this type have no gradient."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _add(op_type, None)


def get_gradient_function(op):
    """The gradient function of an operation that was registered in Python."""
    if not op.inputs:
        return None
    try:
        op_type = op.get_attr("_gradient_op_type")
    except ValueError:
        op_type = op.type
    op_type = op_type.decode() if isinstance(op_type, bytes) else op_type
    if op_type == _BOUND:
        return op.graph._store[_BOUND][op.name]
    if op_type not in _functions:
        raise LookupError(f"gradient registry has no entry for: {op_type}")
    return _functions[op_type]


def bind(graph, outputs, inputs, backward):
    """`outputs` as nodes of the graph whose gradients by `inputs` are those that backward(*gradients) gives."""
    from weir.framework.raw_ops import raw_ops
    with graph._attr_scope_of({"_gradient_op_type": ("string", _BOUND)}):
        made = raw_ops.IdentityN(input=[*outputs, *inputs])
    count = len(outputs)

    def gradient(_op, *grads):
        return [None] * count + list(backward(*grads[:count]))
    graph._store.setdefault(_BOUND, {})[made[0].op.name] = gradient
    return list(made[:count])


def _python_gradient(graph, outputs, grads):
    from weir.framework.conversion import convert_to_tensor
    from weir.ops.indexed_slices import IndexedSlices
    op = outputs[0].op
    function = get_gradient_function(op)
    if function is None:
        return []
    with graph.as_default():
        filled = [_zeros(output) if grad is None else grad for output, grad in zip(outputs, grads)]
        found = function(op, *filled)
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        if len(found) != len(op.inputs):
            raise ValueError(f"Num gradients {len(found)} generated for op {op.node_def} do not match num inputs "
                             f"{len(op.inputs)}")
        return [g if g is None or isinstance(g, IndexedSlices) else convert_to_tensor(g) for g in found]


def _zeros(tensor):
    from weir.framework.raw_ops import raw_ops
    return raw_ops.ZerosLike(x=tensor) if tensor.dtype.is_floating or tensor.dtype.is_complex else None


_core.set_hook("python_gradient", _python_gradient)
_core.register_gradient(_BOUND)
