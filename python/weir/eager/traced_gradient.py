"""Custom gradients in the bodies of functions.

Whoever differentiates a function later (a tape around its call, tf.gradients, a loaded SavedModel, another process)
cannot call the Python function that computes the gradient. So it is traced into a function of the library when the
forward computation is, and a node names it: an IdentityN of the results, of what they were computed from, and of the
tensors that the gradient takes from the forward computation (Sweep::CallTracedGradient, weir/autodiff/sweep.h).
"""

import itertools
import threading

from weir import _core
from weir.eager import tape as tapes
from weir.eager.ownership import Ownership
from weir.framework.conversion import convert_to_tensor
from weir.framework.raw_ops import raw_ops

__all__ = ["bind", "failures", "functions_of", "is_tracing"]

_MOST_DERIVATIVES = 3  # gradients of gradients may have custom gradients without end: those of a sine and a cosine
_numbers = itertools.count()
failures = {}  # gradient type of a node -> the exception that tracing its gradient raised


class _Depth(threading.local):
    value = 0


_depth = _Depth()


def is_tracing():
    """Whether this thread traces a gradient, which may never be computed."""
    return _depth.value > 0


def _has_gradient(tensor):
    return tensor.dtype.is_floating or tensor.dtype.is_complex or tensor.dtype.is_integer or tensor.dtype.is_bool


def bind(graph, outputs, inputs, backward):
    """`outputs` as nodes of a function's body whose gradients by `inputs` are those that backward(*gradients) gives."""
    flowing = [i for i, t in enumerate(outputs) if _has_gradient(t)]
    if not flowing:
        return outputs
    sources = [i for i, t in enumerate(inputs) if _has_gradient(t)]
    around = [outputs[i] for i in flowing] + [inputs[i] for i in sources]
    number = next(_numbers)
    attributes, captures = {}, []
    if _depth.value >= _MOST_DERIVATIVES:
        attributes["_gradient_op_type"] = ("string", f"CustomGradient-{number}")
    else:
        try:
            name, places, captures = _trace(graph, around, len(outputs), flowing, sources, backward, number)
            attributes = {"_gradient_function": ("func", name), "_gradient_captures": ("int", len(captures)),
                          "_gradient_inputs": ("list(int)", places)}
        except Exception as error:  # noqa: BLE001 nobody may ever want this gradient
            attributes["_gradient_op_type"] = ("string", f"CustomGradient-{number}")
            failures[f"CustomGradient-{number}"] = error
    with tapes.stop_recording(), graph._attr_scope_of(attributes):
        made = raw_ops.IdentityN(input=around + captures)
    bound = list(outputs)
    for i, tensor in zip(flowing, made):
        bound[i] = tensor
    return bound


def functions_of(graph):
    """The owners of the gradient functions that the body of a function, and the bodies in it, name."""
    return graph._store.get("gradient_functions", ())


def _note(graph, name):
    """The graphs around own the function: it goes when they do, unless one has become a function without an owner."""
    owner = Ownership(name)
    while graph is not None and graph.building_function:
        graph._store.setdefault("gradient_functions", []).append(owner)
        graph = graph.outer_graph


def _trace(graph, around, num_outputs, flowing, sources, backward, number):
    """The name of the gradient function, the inputs of the node whose gradients it returns, and the tensors of `graph`
    that it takes beside the gradients of the node's outputs."""
    from weir.framework.graph import FuncGraph
    body = FuncGraph(f"internal_grad_fn_{number}")
    _core.push_graph(body)
    recording = tapes.detach()
    _depth.value += 1
    try:
        flows = [body.add_argument(t.dtype, t.shape, f"result_grads_{i}") for i, t in enumerate(around)]
        gradients = [None] * num_outputs
        for i, flow in zip(flowing, flows):
            gradients[i] = flow
        found = backward(*gradients)
        places, results = [], []
        for position, i in enumerate(sources):
            if i < len(found) and found[i] is not None:
                places.append(len(flowing) + position)
                results.append(body.capture(raw_ops.Identity(input=convert_to_tensor(found[i]))))
    finally:
        _depth.value -= 1
        tapes.attach(recording)
        _core.pop_graph()
    name, _ = body._to_function(f"__inference_internal_grad_fn_{number}", body.inputs + body.internal_captures, results)
    _note(graph, name)
    return name, places, [graph.capture(t) for t in body.external_captures]
