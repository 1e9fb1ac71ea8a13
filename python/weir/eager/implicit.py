"""Gradients as functions of functions: tensorflow.python.eager.backprop's gradients_function and its kin."""

from weir.eager.tape import GradientTape
from weir.framework import convert_to_tensor

__all__ = ["gradients_function", "val_and_grad_function", "implicit_grad", "implicit_val_and_grad", "make_vjp"]


def _chosen(args, params):
    if params is None:
        return list(range(len(args)))
    return [p if isinstance(p, int) else _fail(p) for p in params]


def _fail(param):
    raise ValueError(f"params must be positions of arguments; got {param!r}")


def make_vjp(f, params=None, persistent=True):
    """decorated(*args): the value, and a function that maps its gradient to those of the arguments."""
    def decorated(*args):
        args = [convert_to_tensor(a) for a in args]
        sources = [args[i] for i in _chosen(args, params)]
        with GradientTape(persistent=persistent) as tape:
            tape.watch(sources)
            result = f(*args)
            if result is None:
                raise ValueError("Cannot differentiate a function that returns None; did you forget to return a value "
                                 f"from {getattr(f, '__name__', f)}?")

        def vjp(dy=None):
            return tape.gradient(result, sources, output_gradients=dy)
        return result, vjp
    return decorated


def val_and_grad_function(f, params=None):
    """decorated(*args): the value and the gradients by the arguments."""
    def decorated(*args, **kwargs):
        dy = kwargs.pop("dy", None)
        if kwargs:
            raise ValueError(f"Functions to be differentiated cannot receive keyword arguments. Received: {kwargs}")
        value, vjp = make_vjp(f, params, persistent=False)(*args)
        return value, vjp(dy=dy)
    return decorated


def gradients_function(f, params=None):
    """decorated(*args): the gradients of `f` by the arguments."""
    def decorated(*args, **kwargs):
        return val_and_grad_function(f, params)(*args, **kwargs)[1]
    return decorated


def implicit_val_and_grad(f):
    """decorated(*args): the value of `f`, and (gradient, variable) for each trainable variable that it reads."""
    def decorated(*args, **kwargs):
        with GradientTape() as tape:
            value = f(*args, **kwargs)
            if value is None:
                raise ValueError("Cannot differentiate a function that returns None; did you forget to return a value "
                                 f"from {getattr(f, '__name__', f)}?")
        variables = list(tape.watched_variables())
        if not variables:
            raise ValueError("No trainable variables were accessed while the function was being computed.")
        return value, list(zip(tape.gradient(value, variables), variables))
    return decorated


def implicit_grad(f):
    """decorated(*args): (gradient, variable) for each trainable variable that `f` reads."""
    def decorated(*args, **kwargs):
        return implicit_val_and_grad(f)(*args, **kwargs)[1]
    return decorated
