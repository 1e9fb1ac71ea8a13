"""The arguments of a tf.function: taken apart into tensors and the rest, keyed, named and described."""

import inspect
import os
import traceback

import numpy as np

from weir.framework import dtypes, errors
from weir.framework.conversion import convert_to_tensor
from weir.framework.shapes import TensorShape
from weir.framework.tensor import Tensor
from weir.framework.type_spec import CompositeTensor, TensorSpec, TypeSpec

__all__ = ["Leaves", "Generalized", "Keywords", "StagingError", "argument_names", "in_user_code", "is_nested", "leaf_key",
           "name_of", "specs_of", "structure_of"]


class Leaves:
    """The arguments of a call, flat: tensors apart from the rest, and a key that says what they look like."""
    __slots__ = ("args", "flat", "tensors", "specs", "key")

    def __init__(self, args):
        from weir import nest
        self.args = args
        self.flat = nest.flatten(args, expand_composites=True) if is_nested(args) else list(args)
        self.tensors, self.specs, parts = [], [], []
        for i, value in enumerate(self.flat):
            if isinstance(value, np.ndarray) or isinstance(value, np.generic) and not isinstance(value, (str, bytes)):
                value = self.flat[i] = convert_to_tensor(value)
            if isinstance(value, Tensor):
                self.tensors.append(value)
                self.specs.append(TensorSpec(value.shape, value.dtype))
                parts.append(Tensor)
            else:
                parts.append(leaf_key(value))
        self.key = (structure_of(args), tuple(parts))


def is_nested(args):
    return any(not isinstance(a, Tensor) for a in args)


def leaf_key(value):
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, dtypes.DType)):
        return type(value), value
    if isinstance(value, (TypeSpec, TensorShape)):
        return value
    if hasattr(value, "handle") and hasattr(value, "_unique_id"):
        return "variable", id(value)
    try:
        hash(value)
    except TypeError:
        return "object", id(value)
    if isinstance(value, (type, tuple, frozenset)) or inspect.isfunction(value) or inspect.ismethod(value):
        return value
    return "object", id(value)


def structure_of(value):
    if isinstance(value, (list, tuple)):
        if hasattr(value, "_fields"):
            return (type(value),) + tuple(structure_of(v) for v in value)
        return ("list" if isinstance(value, list) else "tuple",) + tuple(structure_of(v) for v in value)
    if isinstance(value, dict):
        return ("dict",) + tuple((k, structure_of(value[k])) for k in value)
    if isinstance(value, CompositeTensor) and not hasattr(value, "handle"):
        return value._type_spec._with_tensor_ranks_only()
    return None


class Generalized:
    """Iterators, datasets and optionals among the arguments, with element types that cover those seen before.

    The shapes of their elements are not those of an argument: a function that avoids retracing is traced for a type
    that all of them have.
    """

    def __init__(self):
        self._specs = []

    def __call__(self, args):
        return tuple(self._one(a) if isinstance(a, CompositeTensor) and not hasattr(a, "handle") else a for a in args)

    def _one(self, value):
        spec = value._type_spec
        if spec._with_tensor_ranks_only() is not spec:
            return value
        for i, known in enumerate(self._specs):
            common = known if spec.is_subtype_of(known) else spec.most_specific_common_supertype([known])
            if common is not None:
                self._specs[i] = common
                return value if common == spec else common._from_components(spec._to_components(value))
        self._specs.append(spec)
        return value


class Keywords(dict):
    """The keyword arguments of a call, as its last positional one."""


def specs_of(args, specs):
    """The arguments with tensors replaced by their specs; composite tensors by theirs."""
    from weir import nest
    rest = iter(specs)

    def spec_of(value):
        if isinstance(value, CompositeTensor) and not hasattr(value, "handle"):
            for part in nest.flatten(value, expand_composites=True):
                if isinstance(part, Tensor):
                    next(rest)
            return value._type_spec
        return next(rest) if isinstance(value, (Tensor, TensorSpec, np.ndarray, np.generic)) else value
    return nest.map_structure(spec_of, args)


def name_of(names, i, flat, args):
    return names[i] if len(flat) == len(args) and i < len(names) else None


def argument_names(signature, args):
    """A name for each tensor among the arguments, where each is an argument of its own."""
    names = []
    for name, value in zip(signature.parameters, args):
        if isinstance(value, (Tensor, TensorSpec, np.ndarray)):
            names.append(name)
        elif isinstance(value, (list, tuple, dict)):
            from weir import nest
            leaves = [v for v in nest.flatten(value, expand_composites=True)
                      if isinstance(v, (Tensor, TensorSpec, np.ndarray))]
            names.extend(name if len(leaves) == 1 else f"{name}_{i}" for i in range(len(leaves)))
    return names


# Errors that are made from a message alone.
_PLAIN_ERRORS = (AssertionError, AttributeError, NameError, NotImplementedError, RuntimeError, StopIteration, TypeError,
                 UnboundLocalError, ValueError, errors.InaccessibleTensorError, errors.OperatorNotAllowedInGraphError)


class StagingError(Exception):
    """An error of a traced program whose own class takes more than a message."""


class _KeyError(KeyError):
    def __str__(self):
        return self.args[0]


StagingError.__module__ = "tensorflow.python.autograph.impl.api"
_KeyError.__name__ = _KeyError.__qualname__ = "KeyError"


def _with_message(error, message):
    kind = type(error)
    if isinstance(error, errors.OpError):
        return type(error)(error.node_def, error.op, message)
    if isinstance(error, KeyError):
        return _KeyError(message)
    if kind in _PLAIN_ERRORS or kind is StagingError or kind.__init__ is Exception.__init__:
        return kind(message)
    return StagingError(message)


def in_user_code(error):
    """The same error, whose message says where in the traced program it was raised."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    lines = []
    for frame in traceback.extract_tb(error.__traceback__):
        path = os.path.abspath(frame.filename)
        if not path.startswith(own) and os.path.exists(path):
            lines.append(f'    File "{path}", line {frame.lineno}, in {frame.name}  *\n        {frame.line}\n')
    if not lines:
        return error
    # An error that comes through several functions is described once, with the lines of all.
    described = getattr(error, "_described_as", None) or f"{type(error).__name__}: {error}"
    try:
        made = _with_message(error, "in user code:\n\n" + "".join(lines) + f"\n    {described}\n")
    except TypeError:  # an error class of a program's own with other arguments
        return error
    made._described_as = described
    return made.with_traceback(error.__traceback__)
