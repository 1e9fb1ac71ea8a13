"""tf.raw_ops: the operations of the tables as callables, made when they are first asked for."""

import collections
import sys
import types

from weir import _core
from weir.framework import op_arguments

__all__ = ["raw_ops"]


class _RawOps(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            op = _core.op(name)
        except AttributeError:
            raise AttributeError(f"module 'weir.raw_ops' has no attribute {name!r}") from None
        setattr(self, name, op)
        return op

    def __dir__(self):
        return [name for name in _core.op_names() if not name.startswith("_")]


raw_ops = _RawOps("weir.raw_ops", "The operations under their own names.")
sys.modules["weir.raw_ops"] = raw_ops


def _make_result_type(op, names):
    fields = [name if not name.startswith("_") else "x" + name for name in names]
    return collections.namedtuple(op, fields, rename=True)


def _op_signature(op):
    """An inspect.Signature: the op's parameters and `name`."""
    import inspect
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind, default=default if has_default else inspect.Parameter.empty)
                  for name, _, _, has_default, default in op.parameters]
    return inspect.Signature([*parameters, inspect.Parameter("name", kind, default=None)])


def _op_doc(op):
    parameters = []
    lines = [op.summary, "", "Args:"]
    for name, is_input, kind, has_default, default in op.parameters:
        parameters.append(f"{name}={default!r}" if has_default else name)
        what = f"A `Tensor` of type `{kind}`." if is_input else f"An attribute of type `{kind}`."
        lines.append(f"  {name}: {what}" + (f" Defaults to `{default!r}`." if has_default else ""))
    lines.append("  name: A name for the operation.")
    outputs = op.outputs
    if outputs:
        lines += ["", "Returns:", "  " + ", ".join(f"`{o}`" for o in outputs)]
    return f"{op.__name__}({', '.join(parameters + ['name=None'])})\n\n" + "\n".join(lines)


_core.set_hook("make_result_type", _make_result_type)
_core.set_hook("op_doc", _op_doc)
_core.set_hook("op_signature", _op_signature)
_core.set_hook("op_arguments", op_arguments.ARGUMENTS)
