"""tf.custom_gradient, tf.recompute_grad and tf.grad_pass_through."""

import functools

from weir import _core
from weir.eager import tape as tapes
from weir.eager import traced_gradient
from weir.framework import gradient_registry
from weir.framework.conversion import convert_to_tensor
from weir.framework.raw_ops import raw_ops
from weir.framework.tensor import Tensor

__all__ = ["custom_gradient", "recompute_grad", "grad_pass_through"]


class Bind:
    """A decorator that works on functions and methods alike."""

    @classmethod
    def decorate(cls, decorator):
        return lambda function: functools.wraps(function)(cls(function, decorator))

    def __init__(self, function, decorator):
        self._function = function
        self._decorator = decorator

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return Bind(self._function.__get__(instance, owner), self._decorator)

    def __call__(self, *args, **kwargs):
        return self._decorator(self._function, args, kwargs)


def custom_gradient(f=None):
    """Decorator: `f` returns its result and a function that maps the result's gradient to the arguments'."""
    if f is None:
        return custom_gradient
    return Bind.decorate(lambda wrapped, args, kwargs: _call(wrapped, args, kwargs))(f)


def _call(f, args, kwargs, bind=True):
    """`bind` says whether the body of a function notes the gradient: it need not if its own gradient is the same."""
    from weir import nest
    flat = nest.flatten(args, expand_composites=True)
    is_variable = lambda x: hasattr(x, "handle") and not isinstance(x, Tensor)  # noqa: E731
    given = [x if isinstance(x, Tensor) or is_variable(x) else convert_to_tensor(x) for x in flat]
    inputs = [x for x in given if not is_variable(x)]
    with tapes.GradientTape(persistent=True) as inner:
        inner.watch([x for x in inputs if x.dtype.is_floating or x.dtype.is_complex])
        # One record for the whole replaces those of the operations inside.
        around = tapes.detach(but=inner)
        try:
            result, gradient_function = f(*args, **kwargs)
            flat_result = nest.flatten(result, expand_composites=True)
            # Results that are arguments or variables need a place of their own on the tape, which only this record leads
            # to.
            with tapes.stop_recording():
                outputs = [raw_ops.Identity(input=convert_to_tensor(r)) for r in flat_result]
        finally:
            tapes.attach(around)
    variables = [v for v in inner.watched_variables() if not any(v is a for a in flat)]

    def backward(*output_gradients):
        grads = nest.pack_sequence_as(result, list(output_gradients)) if nest.is_nested(result) else output_gradients[0]
        arguments = nest.flatten(grads) if nest.is_nested(result) else [grads]
        if variables:
            import inspect
            names = inspect.signature(gradient_function).parameters
            if "variables" not in names and not any(p.kind == p.VAR_KEYWORD for p in names.values()):
                raise TypeError("If using @custom_gradient with a function that uses variables, then grad_fn must "
                                "accept a 'variables' keyword argument.")
            input_grads, variable_grads = gradient_function(*arguments, variables=variables)
        else:
            input_grads, variable_grads = gradient_function(*arguments), []
        flat_grads = nest.flatten(input_grads) if isinstance(input_grads, (list, tuple)) else [input_grads]
        if len(flat_grads) != len(given):
            raise ValueError(f"custom_gradient function expected to return {len(given)} gradients, but returned "
                             f"{len(flat_grads)} instead.")
        return list(flat_grads) + list(variable_grads or [])

    handles = []
    graph = _core.current_graph()
    if graph is not None and graph.building_function and bind:
        with tapes.stop_recording():
            values = [convert_to_tensor(x) for x in given + variables]
        outputs = traced_gradient.bind(graph, outputs, [graph.capture(x) for x in values], backward)
    elif graph is not None and not graph.building_function:
        outputs = gradient_registry.bind(graph, outputs, [x.handle if is_variable(x) else x for x in given] +
                                         [v.handle for v in variables], backward)
    for variable in [x for x in given if is_variable(x)]:
        tapes.variable_accessed(variable)
    for variable in variables:
        tapes.variable_accessed(variable)  # the tapes around did not see it being read
        handles.append(variable.handle if graph is None else graph.capture(variable.handle))
    tensors = [x.handle if is_variable(x) else x for x in given]
    sources = [x if graph is None or getattr(x, "_graph", None) is graph else graph.capture(x) for x in tensors]
    _core.record(outputs, sources + handles, backward)
    if not nest.is_nested(result):
        return outputs[0]
    return nest.pack_sequence_as(result, outputs, expand_composites=True)


def recompute_grad(f):
    """`f` with less memory: its gradient runs it again instead of keeping what it computed."""
    def inner(*args, **kwargs):
        with tapes.stop_recording():
            result = f(*args, **kwargs)

        def gradient(*output_gradients, variables=None):
            from weir import nest
            flat = [a if not isinstance(a, Tensor) else raw_ops.Identity(input=a) for a in nest.flatten(args)]
            with tapes.GradientTape() as tape:
                tape.watch([a for a in flat if isinstance(a, Tensor)])
                again = f(*nest.pack_sequence_as(args, flat), **kwargs)
            own = [i for i, a in enumerate(flat) if isinstance(a, Tensor) or hasattr(a, "handle")]
            sources = [flat[i] for i in own] + list(variables or [])
            grads = tape.gradient(again, sources, nest.pack_sequence_as(again, list(output_gradients))
                                  if nest.is_nested(again) else output_gradients[0])
            of_arguments = [None] * len(flat)
            for i, gradient_of_one in zip(own, grads):
                of_arguments[i] = gradient_of_one
            if variables is None:
                return of_arguments
            return of_arguments, grads[len(own):]
        return result, gradient

    @functools.wraps(f)
    def call(*args, **kwargs):
        return _call(inner, args, kwargs, bind=False)
    return call


def grad_pass_through(f):
    """`f` forward, the identity backward."""
    @custom_gradient
    def inner(*args, **kwargs):
        def gradient(*grads, variables=None):
            return (grads, [None] * len(variables)) if variables is not None else grads
        return f(*args, **kwargs), gradient
    return inner
