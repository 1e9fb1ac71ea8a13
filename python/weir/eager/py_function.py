"""tf.py_function and tf.numpy_function: Python functions as operations of graphs."""

import functools
import itertools

import numpy as np

from weir import _core
from weir.framework import dtypes
from weir.framework.conversion import convert_to_tensor

__all__ = ["py_function", "numpy_function", "py_func"]

_functions = {}  # token -> (function, graph that needs it)
_tokens = itertools.count()


def _call(token, inputs, types, wants_arrays):
    """What the kernel calls, in any thread."""
    function = _functions[token]
    _core.push_graph(None)
    try:
        result = function(*[t.numpy() if wants_arrays else t for t in inputs])
        results = list(result) if isinstance(result, (list, tuple)) else ([] if result is None else [result])
        if len(types) == 1 and len(results) != 1 and result is not None:
            results = [result]
        if len(results) != len(types):
            raise ValueError(f"the function gave {len(results)} results, but Tout has {len(types)}")
        return [_result(r, d, wants_arrays) for r, d in zip(results, types)]
    finally:
        _core.pop_graph()


def _result(value, dtype, is_array):
    if is_array and not hasattr(value, "__tf_tensor__"):
        value = np.asarray(value, order="C")
        if dtype is not dtypes.string and value.dtype != dtype.as_numpy_dtype:
            raise TypeError(f"the function gave {value.dtype.name}, but Tout is {dtype.name}")
    return convert_to_tensor(value, dtype)


_core.set_hook("call_py_function", _call)


def _add(op, func, inp, Tout, name):
    is_single = not isinstance(Tout, (list, tuple))
    types = [dtypes.as_dtype(t) for t in ([Tout] if is_single else Tout)]
    token = f"pyfunc_{next(_tokens)}"
    _functions[token] = func
    tensors = [convert_to_tensor(t) for t in inp]
    graph = _core.current_graph()
    outputs = _core.execute(op, tensors, {"token": token, "Tin": [t.dtype for t in tensors], "Tout": types}, name)
    if graph is None:
        del _functions[token]
    if not outputs:
        return graph._operation(graph._last_effect()) if graph is not None else None
    return outputs[0] if is_single else outputs


def _decorator(call, **options):
    """`@tf.numpy_function(Tout=...)`: a function whose calls are such operations."""
    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args):
            return call(function, args, **options)
        return wrapped
    return decorate


def py_function(func=None, inp=None, Tout=None, name=None):
    """Runs `func` on eager tensors when the graph runs; eagerly it is a plain call, recorded by tapes. Without `func` it
    is a decorator."""
    if func is None:
        return _decorator(py_function, Tout=Tout, name=name)
    if _core.current_graph() is None:
        result = func(*[convert_to_tensor(t) for t in inp])
        if not isinstance(Tout, (list, tuple)):
            return convert_to_tensor(result, Tout) if result is not None else None
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        return [convert_to_tensor(r, t) for r, t in zip(results, Tout)]
    return _add("EagerPyFunc", func, inp, Tout, name)


def numpy_function(func=None, inp=None, Tout=None, stateful=True, name=None):
    """Runs `func` on numpy arrays; without `func` it is a decorator."""
    if func is None:
        return _decorator(numpy_function, Tout=Tout, stateful=stateful, name=name)
    return _add("PyFunc" if stateful else "PyFuncStateless", func, inp, Tout, name)


def py_func(func, inp, Tout, stateful=True, name=None):
    return numpy_function(func, inp, Tout, stateful, name)
