"""Modules of TensorFlow that are not public, under their own names: tensorflow.python.ops.math_ops and the like.

TensorFlow's own tests import them. `module(name)` makes one whose attributes are weir's own objects: first those written
here by hand, then the public names and ops of the generated table (weir/_internal_names.py).
"""

import functools
import importlib
import re
import types

__all__ = ["module", "packages"]

_PREFIX = "tensorflow.python."

def is_constant(tensor_or_op):
    return getattr(tensor_or_op, "op", tensor_or_op).type == "Const"


def unknown_shape(rank=None, **kwargs):
    from weir.framework.shapes import TensorShape
    rank = kwargs.get("ndims", rank)
    return TensorShape(None) if rank is None else TensorShape([None] * rank)


def dimension_value(dimension):
    return getattr(dimension, "value", dimension)


def scalar_shape():
    from weir.framework.shapes import TensorShape
    return TensorShape([])


def vector_shape(length):
    from weir.framework.shapes import TensorShape
    return TensorShape([length])


def matrix_shape(rows, cols):
    from weir.framework.shapes import TensorShape
    return TensorShape([rows, cols])


def false(*_args):
    return False


def none(*_args):
    return None


def is_ragged(value):
    return type(value).__name__ in ("RaggedTensor", "RaggedTensorValue")


def is_sparse(value):
    from weir.ops.sparse import SparseTensor
    return type(value).__name__ == "SparseTensorValue" or isinstance(value, SparseTensor)


DEFAULT_GRAPH_SEED = 87654321
build_info = {"is_cuda_build": False, "is_rocm_build": False, "is_tensorrt_build": False}


def is_variable(value):
    from weir.compat.v1.ref_variable import RefVariable
    from weir.variables import Variable
    return isinstance(value, Variable) and not isinstance(value, RefVariable)


def defun(func=None, input_signature=None, autograph=True, **_):
    """tf.function under its name of TensorFlow 1."""
    from weir.eager.function import function
    return function(func, input_signature=input_signature, autograph=autograph)


def with_dependencies(dependencies, output_tensor, name=None):
    """`output_tensor`, computed after `dependencies`."""
    from weir.framework import control_dependencies
    from weir.framework.conversion import identity
    with control_dependencies(dependencies):
        return identity(output_tensor, name=name)


def _value(path):
    if ":" in path:
        home, _, attribute = path.partition(":")
        if not attribute:
            return importlib.import_module(home)
        return functools.reduce(getattr, attribute.split("."), importlib.import_module(home))
    import weir
    return functools.reduce(getattr, path.split("."), weir)


def _words(text, prefix=""):
    out = {}
    for word in text.split():
        name, _, path = word.partition("=")
        out[name] = prefix + (path or name)
    return out


@functools.lru_cache(None)
def _ops_by_name():
    """{name of an op in snake case: the op}, as TensorFlow names its generated functions."""
    from weir import _core
    out = {}
    for op in _core.op_names():
        snake = re.sub(r"([A-Z]+)([A-Z][a-z])|([a-z0-9])([A-Z])",
                       lambda m: f"{m[1]}_{m[2]}" if m[1] else f"{m[3]}_{m[4]}", op)
        snake = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", snake).lower()
        out[snake] = out[op] = op
        out.setdefault(re.sub(r"([0-9])_d(?![a-z0-9])", r"\1d", snake), op)  # avg_pool3d
        out.setdefault("_" + snake, op)
    return out


def _op(snake):
    from weir.ops import generated
    found = _ops_by_name().get(snake)
    if found is None:
        raise AttributeError(snake)
    return getattr(generated, found)


def _in_namespaces(namespaces, name):
    for namespace in namespaces:
        try:
            return _value(f"{namespace}.{name}" if namespace else name)
        except AttributeError:
            continue
    raise AttributeError(name)


class _Internal(types.ModuleType):
    """One internal module; its names are resolved when they are first asked for."""

    def __init__(self, name, names, generated, base, own, namespaces):
        super().__init__(name)
        self.__path__ = []
        self.__dict__.update(_names=names, _generated=generated, _base=base, _own=own, _namespaces=namespaces)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        own = self.__dict__["_own"] and vars(importlib.import_module(self.__dict__["_own"]))
        if own and name in own:
            self.__dict__[name] = own[name]
            return own[name]
        path = self.__dict__["_names"].get(name)
        base = self.__dict__["_base"]
        missing = AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        try:
            if path is not None and path.startswith("raw."):
                value = _op(path[4:])
            elif path is not None:
                value = _value(path)
            elif base is not None and name in base():
                value = base()[name]
            elif self.__dict__["_generated"]:
                value = _op(name)
            else:
                value = _in_namespaces(self.__dict__["_namespaces"], name)
        except AttributeError:
            raise missing from None
        self.__dict__[name] = value
        return value

    def __dir__(self):
        return sorted({*self.__dict__["_names"], *(self.__dict__["_base"]() if self.__dict__["_base"] else ())})


@functools.lru_cache(None)
def packages():
    """Names of the packages that hold internal modules."""
    from weir import _internal_by_hand, _internal_names
    out = set()
    for name in [*_internal_names.TABLE, *_internal_by_hand.NAMES, *_internal_by_hand.MODULES,
                 *_internal_by_hand.NAMESPACES, "ops.gen_array_ops"]:
        parts = (_PREFIX + name).split(".")
        out.update(".".join(parts[:i]) for i in range(1, len(parts)))
    return out


def module(name, base=None):
    """The internal module `name`, or None; `base()` gives more names, after those of the tables."""
    if not name.startswith(_PREFIX):
        return None
    from weir import _internal_by_hand, _internal_names
    short = name[len(_PREFIX):]
    generated = short.startswith("ops.gen_") or "._gen_" in short or ".gen_" in short
    table = _internal_names.TABLE.get(short)
    by_hand = _internal_by_hand.NAMES.get(short)
    own = _internal_by_hand.MODULES.get(short)
    namespaces = _internal_by_hand.NAMESPACES.get(short, ())
    if not (own or table or by_hand or generated or namespaces):
        return None
    names = {}
    for prefix, words in (table or {}).items():
        names.update(_words(words, prefix + "." if prefix else ""))
    names.update(_words(by_hand or ""))
    return _Internal(name, names, generated, base, own, namespaces)
