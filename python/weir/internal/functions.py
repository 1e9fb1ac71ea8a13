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


def canonical_name(device):
    """The full text of a device's name or DeviceSpec."""
    from weir.framework.device_spec import DeviceSpec
    if device is None:
        return ""
    return device.to_string() if is_device_spec(device) else DeviceSpec.from_string(device).to_string()


def is_device_spec(obj):
    from weir.framework.device_spec import DeviceSpec
    return isinstance(obj, DeviceSpec)


def smart_constant_value(pred):
    """True or False if it is known now, else None."""
    from weir.framework import Tensor, get_static_value
    if isinstance(pred, Tensor):
        known = get_static_value(pred)
        return None if known is None else bool(known)
    if pred in (0, 1):
        return bool(pred)
    raise TypeError("`pred` must be a Tensor, or a Python bool, or 1 or 0. "
                    f"Received: pred={pred} of type {type(pred)}")


def data_seed(seed):
    """The two seeds of a dataset's op, as tensors."""
    import weir
    from weir.framework.random_seed import get_seed
    first, second = get_seed(seed)
    pair = [weir.constant(0 if value is None else value, "int64", name=name)
            for value, name in ((first, "seed"), (second, "seed2"))]
    if first == 0 and second == 0:
        pair[1] = weir.constant(2 ** 31 - 1, "int64")
    return tuple(pair)


def algorithm_number(alg):
    """The number of an algorithm for random numbers, by its name or member of tf.random.Algorithm."""
    import weir
    names = {"philox": 1, "threefry": 2, "auto_select": 3}
    if isinstance(alg, str):
        if alg not in names:
            raise ValueError(f"Unsupported algorithm name: {alg}")
        return names[alg]
    return alg.value if isinstance(alg, weir.random.Algorithm) else alg


def should_use_result(fn=None, warn_in_eager=False, error_in_function=False):
    """Decorator: leaves a function as it is; that its result goes unused is not told."""
    del warn_in_eager, error_in_function
    return fn if fn is not None else lambda function: function


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
