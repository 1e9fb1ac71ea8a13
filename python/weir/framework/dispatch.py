"""How public functions treat values that are no tensors: ragged, sparse, and classes of users.

`@dispatch` marks a public function. Dense calls pay one try block: only when the function raises TypeError or ValueError
are its arguments searched for types that have a handler.
"""

import functools

from weir import _core

__all__ = ["dispatch", "scoped", "dispatch_for_types", "dispatch_for_api", "add_fallback"]

_FALLBACKS = []  # functions (target, args, kwargs) -> result or NotImplemented, for any target


class _Missing:
    pass


def _handled(target, args, kwargs):
    for types, handler in target._weir_handlers:
        if any(isinstance(value, types) for value in _values(args, kwargs)):
            result = handler(*args, **kwargs)
            if result is not NotImplemented:
                return result
    for fallback in _FALLBACKS:
        result = fallback(target, args, kwargs)
        if result is not NotImplemented:
            return result
    for value in _values(args, kwargs):
        handler = getattr(type(value), "__tf_dispatch__", None)
        if handler is not None:
            result = handler(value, target, args, kwargs)
            if result is not NotImplemented:
                return result
    return _Missing


def _values(args, kwargs):
    for value in list(args) + list(kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def _has_composite(args, kwargs):
    from weir.framework.type_spec import CompositeTensor
    return any(isinstance(value, CompositeTensor) or hasattr(type(value), "__tf_dispatch__")
               for value in _values(args, kwargs))


def dispatch(function=None, *, first=False):
    """Decorator for public functions. With `first` handlers are asked before the function itself: for functions that
    would take a composite tensor without an error but do the wrong thing."""
    if function is None:
        return functools.partial(dispatch, first=first)

    @functools.wraps(function)
    def call(*args, **kwargs):
        if first and _has_composite(args, kwargs):
            result = _handled(call, args, kwargs)
            if result is not _Missing:
                return result
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError):
            if first or not (_has_composite(args, kwargs) or call._weir_handlers):
                raise
            result = _handled(call, args, kwargs)
            if result is _Missing:
                raise
            return result

    call._weir_handlers = []
    call._weir_function = function
    return call


def scoped(default, names_result=True):
    """Decorator of public functions of several ops: in graphs their nodes are in a name scope, `name` or `default`.

    The last op takes the name of the scope itself (`names_result`), or is inside of it as the others are.
    """
    def decorate(function):
        place = function.__code__.co_varnames.index("name")

        @functools.wraps(function)
        def call(*args, **kwargs):
            graph = _core.current_graph()
            if graph is None:
                return function(*args, **kwargs)
            if len(args) > place:
                given, args = args[place], args[:place] + (None,) + args[place + 1:]
            else:
                given = kwargs.pop("name", None)
            with graph.name_scope(given or default) as scope:
                result_name = scope if names_result else None
                if len(args) > place:
                    args = args[:place] + (result_name,) + args[place + 1:]
                else:
                    kwargs["name"] = result_name
                return function(*args, **kwargs)
        return call
    return decorate


def dispatch_for_types(target, *types):
    """Registers the decorated function as what `target` does with arguments of these types."""
    def register(handler):
        target._weir_handlers.append((types, handler))
        return handler
    return register


def dispatch_for_api(api, *signatures):
    """tf.experimental.dispatch_for_api: handlers by annotations or by a signature {argument: type}."""
    def register(handler):
        for signature in signatures or [dict(getattr(handler, "__annotations__", {}))]:
            types = tuple(t for name, t in signature.items() if name != "return" and isinstance(t, type))
            if types:
                api._weir_handlers.append((types, handler))
        return handler
    return register


def add_fallback(handler):
    """`handler(target, args, kwargs)` is asked for every public function; it gives NotImplemented to pass."""
    _FALLBACKS.append(handler)
    return handler


def register_dispatch(target, types, handler):
    """`handler` is what the public function `target` does with arguments of these types."""
    target._weir_handlers.append((types if isinstance(types, tuple) else (types,), handler))
