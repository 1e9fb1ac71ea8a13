"""weir: TensorFlow's names over weir's engine. `import weir as tf`.

Names are looked up when they are first used (weir/_names.py), so importing is quick and starts nothing.
"""

import importlib as _importlib
import sys as _sys
import types as _types

__version__ = "2.21.0"
__git_version__ = "weir"
__compiler_version__ = ""
newaxis = None


class _Namespace(_types.ModuleType):
    """A public module such as tf.math: its names come from the table."""

    def __init__(self, name, prefix):
        super().__init__(name)
        self.__dict__["_prefix"] = prefix
        self.__path__ = []

    def __getattr__(self, name):
        return _resolve(self, self.__dict__["_prefix"], name)

    def __dir__(self):
        return sorted(set(self.__dict__) | _children(self.__dict__["_prefix"]))


def _children(prefix):
    table = _importlib.import_module("weir._names").TABLE
    return {key[len(prefix):].split(".")[0] for key in table if key.startswith(prefix)}


def _resolve(module, prefix, name):
    if name.startswith("_") and name != "__internal__":  # also weir's own modules, which Python looks for here first
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
    table = _importlib.import_module("weir._names").TABLE
    key = prefix + name
    entry = table.get(key)
    if entry is not None:
        value = _importlib.import_module(entry[0])
        for part in entry[1].split(".") if entry[1] else []:
            value = getattr(value, part)
    elif any(k.startswith(key + ".") for k in table):
        full = f"weir.{key}"
        try:
            value = _importlib.import_module(full)  # a package that also has public names
        except ModuleNotFoundError as error:
            if error.name is None or not (full + ".").startswith(error.name + "."):
                raise
            value = _Namespace(full, key + ".")
        else:
            if "__getattr__" not in vars(value):
                value.__getattr__ = names_of(full)
    else:
        raise AttributeError(f"module {'tensorflow' if not prefix else 'tensorflow.' + prefix[:-1]!r} has no attribute "
                             f"{name!r}")
    setattr(module, name, value)
    return value


def names_of(package):
    """The `__getattr__` of a package whose public names are in the table: `__getattr__ = weir.names_of(__name__)`."""
    prefix = package.partition(".")[2] + "."
    return lambda name: _resolve(_sys.modules[package], prefix, name)


def __getattr__(name):
    if name == "keras":
        return _importlib.import_module("tensorflow.keras")
    return _resolve(_sys.modules[__name__], "", name)


def __dir__():
    return sorted(_children("") | {"__version__", "newaxis"})


from weir import _alias  # noqa: E402

_alias.offer()  # so that `import weir as tf; import keras` works beside no TensorFlow
