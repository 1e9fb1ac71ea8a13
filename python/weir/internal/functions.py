"""Small modules of tensorflow.python.util: decorators that mark functions, and what is known of a function's arguments."""

import contextlib
import functools
import importlib
import inspect
import types

__all__ = ["LazyLoader", "deprecated", "deprecated_argument_lookup", "fn_args", "get_func_code", "get_func_name",
           "has_kwargs", "silence", "tf_export"]


def fn_args(fn):
    """The names of a function's arguments, without self and those that a partial gives."""
    given, keywords = 0, set()
    while isinstance(fn, functools.partial):
        given += len(fn.args)
        keywords |= set(fn.keywords)
        fn = fn.func
    if not callable(fn):
        raise ValueError(f"{fn} is not callable")
    if not inspect.isroutine(fn) and not inspect.isclass(fn):
        fn = fn.__call__
    names = [p.name for p in inspect.signature(fn).parameters.values()
             if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return tuple(name for name in names[given:] if name not in keywords)


def has_kwargs(fn):
    """Whether a function takes any keyword argument."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if not callable(fn):
        raise TypeError(f"Argument `fn` should be a callable. Received: fn={fn} (of type {type(fn)})")
    if not inspect.isroutine(fn):
        fn = fn.__call__
    return any(p.kind == p.VAR_KEYWORD for p in inspect.signature(fn).parameters.values())


def get_func_name(func):
    """The name of a function, class or partial."""
    if not callable(func):
        raise ValueError(f"Argument `func` must be a callable. Received func={func} (of type {type(func)})")
    if isinstance(func, functools.partial):
        return get_func_name(func.func)
    return getattr(func, "__name__", str(type(func)))


def get_func_code(func):
    """The code of a function; None of an object that is called."""
    if not callable(func):
        raise ValueError(f"Argument `func` must be a callable. Received func={func} (of type {type(func)})")
    return getattr(func, "__code__", None)


def tf_export(*names, **options):
    """Decorator: leaves a function or class as it is; which names are public is said elsewhere."""
    del names, options
    return lambda function: function


keras_export = tf_export


def deprecated(*args, **kwargs):
    """Decorator: leaves a function as it is."""
    del args, kwargs
    return lambda function: function


def deprecated_argument_lookup(new_name, new_value, old_name, old_value):
    """The value that was given, under the new or the old name of an argument."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old_value


@contextlib.contextmanager
def silence():
    yield


class LazyLoader(types.ModuleType):
    """A module that is imported when it is first used."""

    def __init__(self, local_name, parent_module_globals, name, warning=None):
        self._local_name, self._globals = local_name, parent_module_globals
        super().__init__(str(name))
        del warning

    def _load(self):
        module = importlib.import_module(self.__name__)
        self._globals[self._local_name] = module
        self.__dict__.update(module.__dict__)
        return module

    def __getattr__(self, item):
        return getattr(self._load(), item)

    def __dir__(self):
        return dir(self._load())
