"""Callbacks that see every operation of a thread when it has run or was added to a graph.

A callback is called as callback(op_type, inputs, attrs, outputs, op_name=None, graph=None); attributes alternate with
their values. The tensors that it returns, if any, take the place of the outputs. Operations that a callback itself
makes are not shown; nor are calls of functions, whose operations were shown when they were traced.
"""

import threading

from weir import _core

__all__ = ["add_op_callback", "clear_op_callbacks", "remove_op_callback", "should_invoke_op_callbacks"]

_state = threading.local()


def _callbacks():
    if not hasattr(_state, "callbacks"):
        _state.callbacks = []
    return _state.callbacks


def _after_op(op_type, inputs, attrs, outputs, name, graph):
    flat = tuple(part for pair in attrs.items() for part in pair)
    given = outputs
    for callback in list(_callbacks()):
        made = callback(op_type, inputs, flat, given, op_name=name, graph=graph)
        if made is not None and len(made) != len(outputs):
            raise ValueError(f"The op callback returned {len(made)} tensors, which does not match the original number of "
                             f"outputs of op {name} ({len(outputs)}).")
        given = outputs if made is None else made
    return None if given is outputs else given


_core.set_hook("after_op", _after_op)


def add_op_callback(callback_fn):
    """Calls `callback_fn` after every operation of this thread."""
    if callback_fn is None:
        raise ValueError("Passed callback function cannot be None.")
    if not callable(callback_fn):
        raise ValueError(f"Callback function passed to op_callback() is expected to be callable, but got {callback_fn} of "
                         f"type {type(callback_fn)}.")
    if callback_fn not in _callbacks():
        _callbacks().append(callback_fn)
    _core.observe_ops(True)


def remove_op_callback(op_callback):
    """Undoes add_op_callback; KeyError if it was not added."""
    if op_callback not in _callbacks():
        raise KeyError("The specified op callback has not been registered, and hence cannot be removed.")
    _callbacks().remove(op_callback)
    _core.observe_ops(bool(_callbacks()))


def clear_op_callbacks():
    """Removes all callbacks of this thread."""
    _callbacks().clear()
    _core.observe_ops(False)


def should_invoke_op_callbacks():
    """Whether this thread has callbacks."""
    return bool(_callbacks())
