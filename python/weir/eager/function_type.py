"""What a function takes and gives, as it is printed: `(x: TensorSpec(...), flag: Literal[True]) -> TensorSpec(...)`."""

import inspect

from weir.framework.tensor import Tensor
from weir.framework.type_spec import CompositeTensor, TensorSpec, TypeSpec

__all__ = ["FunctionType", "of_concrete", "of_function"]

_DEFAULT = "<captured_default_value>"


class FunctionType:
    """Parameters [(name, kind, type, default)], the type of the result, and what is captured, {id: spec}."""

    def __init__(self, parameters, output=None, captures=None):
        self._parameters, self.output, self.captures = parameters, output, captures or {}

    def __str__(self):
        parts, kinds = [], inspect.Parameter
        last = None
        for name, kind, text, default in self._parameters:
            if last == kinds.POSITIONAL_ONLY and kind != last:
                parts.append("/")
            if kind == kinds.KEYWORD_ONLY and last not in (kind, kinds.VAR_POSITIONAL):
                parts.append("*")
            stars = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(kind, "")
            shown = f"{stars}{name}" + (f": {text}" if text else "")
            parts.append(shown + ("" if default is None else f" = {default}" if text else f"={default}"))
            last = kind
        if last == kinds.POSITIONAL_ONLY:
            parts.append("/")
        return f"({', '.join(parts)})" + (f" -> {self.output}" if self.output else "")

    def __repr__(self):
        lines = ["Input Parameters:"] + [f"  {name} ({kind.name}): {text}" for name, kind, text, _ in self._parameters]
        captures = [f"  {key}: {spec}" for key, spec in self.captures.items()] or ["  None"]
        return "\n".join(lines + ["Output Type:", f"  {self.output}", "Captures:"] + captures)


FunctionType.__module__ = "tensorflow.core.function.polymorphism.function_type"


class _Names:
    """Types as text; variables are numbered."""

    def __init__(self):
        self._variables = {}

    def __call__(self, value):
        if isinstance(value, Tensor):
            return str(TensorSpec(value.shape, value.dtype))
        if hasattr(value, "handle") and hasattr(value, "trainable"):
            number = self._variables.setdefault(id(value), len(self._variables))
            return (f"VariableSpec(shape={value.shape}, dtype={value.dtype!r}, trainable={value.trainable}, "
                    f"alias_id={number})")
        if isinstance(value, TypeSpec):
            return repr(value)
        if isinstance(value, CompositeTensor):
            return repr(value._type_spec)
        if isinstance(value, dict):
            return "Dict[" + ", ".join(f"[{key!r}, {self(item)}]" for key, item in value.items()) + "]"
        if isinstance(value, (list, tuple)):
            return f"{'List' if isinstance(value, list) else 'Tuple'}[{', '.join(self(v) for v in value)}]"
        return f"Literal[{value!r}]"


def of_concrete(function):
    """The FunctionType of a ConcreteFunction."""
    text, kinds = _Names(), inspect.Parameter
    args, kwargs = function._typed_arguments()
    given = function._python_signature
    parameters = []
    if given is None:
        names = function._arg_keywords or []
        parameters = [(names[i] if i < len(names) and names[i] else f"arg{i}", kinds.POSITIONAL_OR_KEYWORD, text(a), None)
                      for i, a in enumerate(args)]
    else:
        known = list(given.parameters.values())
        by_position = [p for p in known if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
        collected = len(args) > len(by_position)
        for i, value in enumerate(args):
            if i < len(by_position):
                parameters.append((by_position[i].name, kinds.POSITIONAL_ONLY if collected else by_position[i].kind,
                                   text(value), None))
            else:
                rest = next((p.name for p in known if p.kind == kinds.VAR_POSITIONAL), "args")
                parameters.append((f"{rest}_{i - len(by_position)}", kinds.POSITIONAL_ONLY, text(value), None))
        for parameter in by_position[len(args):]:
            if parameter.default is not parameter.empty:
                parameters.append((parameter.name, parameter.kind, text(parameter.default), None))
    parameters += [(name, kinds.KEYWORD_ONLY, text(value), None) for name, value in kwargs.items()]
    captures = {id(t): TensorSpec(t.shape, t.dtype) for t in function.captured_inputs}
    return FunctionType(parameters, text(function.structured_outputs), captures)


def of_function(signature, input_signature=None):
    """The FunctionType of a Function: its parameters, with types if an input signature gives them."""
    text, parameters = _Names(), []
    specs = list(input_signature or ())
    for parameter in signature.parameters.values():
        shown = ""
        if input_signature is not None and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            shown = text(specs.pop(0)) if specs else "" if parameter.default is parameter.empty else text(parameter.default)
        parameters.append((parameter.name, parameter.kind, shown,
                           None if parameter.default is parameter.empty else _DEFAULT))
    return FunctionType(parameters)
