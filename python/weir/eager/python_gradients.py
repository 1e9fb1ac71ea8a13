"""Calls of functions whose bodies have gradients written in Python (tf.RegisterGradient, gradient_override_map).

The engine differentiates a function by its body, where it cannot call Python. So such a body is copied into the graph
that calls it; an eager call records a gradient that does the same in a function of its own.
"""

from weir import _core
from weir.eager import tape as tapes
from weir.framework import dtypes, gradient_registry
from weir.framework.raw_ops import raw_ops

__all__ = ["call", "has_python_gradients"]


def has_python_gradients(graph):
    """Whether the gradient of an operation of this body is a Python function."""
    if not gradient_registry.any_registered():
        return False
    return any(gradient_registry.is_registered(op) for op in graph.get_operations())


def call(concrete, inputs):
    """The flat results of a ConcreteFunction."""
    graph = _core.current_graph()
    if graph is not None:
        inside = [graph.capture(t) for t in inputs] if graph.building_function else inputs
        with tapes.stop_recording():  # one tensor may be several arguments, each with a gradient of its own
            own = [t if t.dtype in (dtypes.resource, dtypes.variant) else raw_ops.Identity(input=t) for t in inside]
        results = _copy(concrete, own)
        _core.record(results, inside, lambda *grads: _symbolic(results, own, grads))
        return results
    with tapes.stop_recording():
        results = concrete._call.run(inputs)
    _core.record(results, inputs, lambda *grads: _gradients(concrete, inputs, grads))
    return results


def _copy(concrete, inputs):
    from weir.compat.v1.graph_ops import import_graph_def
    body = concrete.graph
    taken = dict(zip([t.name for t in concrete.inputs], inputs))
    return import_graph_def(body.as_graph_def(), input_map=taken, return_elements=[t.name for t in body.outputs],
                            name=concrete._name.strip("_"))


def _symbolic(results, sources, output_gradients):
    given = [(y, g) for y, g in zip(results, output_gradients) if g is not None]
    return tapes.gradients([y for y, _ in given], sources, grad_ys=[g for _, g in given])


def _gradients(concrete, inputs, output_gradients):
    from weir.eager.function import function
    if concrete._gradient_of_python is None:
        concrete._gradient_of_python = function(
            lambda sources, grads: _symbolic(_copy(concrete, sources), sources, grads), autograph=False)
    return concrete._gradient_of_python(list(inputs), list(output_gradients))
