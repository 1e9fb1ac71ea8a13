"""Switches for how eager operations run. They run one after the other, and errors are raised where they arise."""

import contextlib

__all__ = ["async_scope", "async_clear_error", "function_executor_type"]


@contextlib.contextmanager
def async_scope():
    """A part of a program whose operations may run later."""
    yield


def async_clear_error():
    """Forgets errors of operations that ran later."""


@contextlib.contextmanager
def function_executor_type(executor_type):
    """A part of a program whose functions use another executor."""
    del executor_type
    yield
