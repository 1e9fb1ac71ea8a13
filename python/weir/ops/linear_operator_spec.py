"""The TypeSpecs of linear operators: what makes them composite tensors, for functions, loops and saved models.

An operator names the arguments that make it again (`_composite_tensor_fields`). Those that are tensors, variables or
other operators are its components; the rest, with the hints, is part of the type.
"""

import numpy as np

from weir import nest
from weir.framework import CompositeTensor, TensorSpec, TypeSpec, get_static_value, is_tensor
from weir.framework.type_spec import BatchableTypeSpec, register_type_spec

__all__ = ["make_composite_tensor"]

_HINTS = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
_MISSING = object()


class _LinearOperatorSpec(BatchableTypeSpec):
    """The type of a linear operator: specs of its components, its other arguments."""

    __slots__ = ("_param_specs", "_non_tensor_params", "_prefer_static_fields")

    def __init__(self, param_specs, non_tensor_params, prefer_static_fields):
        self._param_specs = param_specs
        self._non_tensor_params = non_tensor_params
        self._prefer_static_fields = prefer_static_fields

    @classmethod
    def from_operator(cls, operator):
        """The spec of an operator."""
        param_specs, non_tensor_params = {}, {}
        for name, value in _arguments(operator, operator._composite_tensor_fields + _HINTS).items():
            spec = _spec_of(value)
            kinds = [isinstance(leaf, TypeSpec) for leaf in nest.flatten(spec)]
            if all(kinds):
                param_specs[name] = spec
            elif not any(kinds):
                non_tensor_params[name] = value
            else:
                raise NotImplementedError(f"Field {name} contains a mix of `Tensor` and  non-`Tensor` values.")
        return cls(param_specs, non_tensor_params, operator._composite_tensor_prefer_static_fields)

    def _to_components(self, operator):
        return _arguments(operator, list(self._param_specs))

    def _from_components(self, components):
        return self.value_type(**{**self._non_tensor_params, **components})

    @property
    def _component_specs(self):
        return self._param_specs

    def _serialize(self):
        return self._param_specs, self._non_tensor_params, self._prefer_static_fields

    def _copy(self, **overrides):
        fields = {"param_specs": self._param_specs, "non_tensor_params": self._non_tensor_params,
                  "prefer_static_fields": self._prefer_static_fields, **overrides}
        return type(self)(**fields)

    def _batch(self, batch_size):
        return self._copy(param_specs=nest.map_structure(lambda spec: spec._batch(batch_size), self._param_specs))

    def _unbatch(self):
        return self._copy(param_specs=nest.map_structure(lambda spec: spec._unbatch(), self._param_specs))


_LinearOperatorSpec.__module__ = "tensorflow.python.ops.linalg.linear_operator"


def make_composite_tensor(cls, module_name="tf.linalg"):
    """Class decorator: gives a LinearOperator class a TypeSpec of its own."""
    name = cls.__name__ + "Spec"
    spec = type(name, (_LinearOperatorSpec,), {"value_type": property(lambda self: cls), "__module__": cls.__module__})
    register_type_spec(f"{module_name}.{name}")(spec)
    cls._type_spec = property(spec.from_operator)
    return cls


def _arguments(operator, names):
    """The named arguments of an operator, as they would make it again."""
    found = {}
    for name in names:
        values = (getattr(operator, name, _MISSING), getattr(operator, "_" + name, _MISSING),
                  operator.parameters.get(name, _MISSING))
        value = next((v for v in values if v is not _MISSING), _MISSING)
        if value is _MISSING:
            raise ValueError(f"Could not determine an appropriate value for field `{name}` in object  `{operator}`. "
                             f"Looked for \n 1. an attr called `{name}`,\n 2. an attr called `_{name}`,\n 3. an entry in "
                             "`operator.parameters` with key '{name}'.")
        if name in operator._composite_tensor_prefer_static_fields and is_tensor(value):
            static = get_static_value(value)
            value = value if static is None else static
        found[name] = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    return found


def _spec_of(value):
    from weir.variable_spec import VariableSpec
    from weir.variables import Variable
    if isinstance(value, Variable):
        return VariableSpec.from_value(value)
    if isinstance(value, CompositeTensor):
        return value._type_spec
    if is_tensor(value):
        return TensorSpec(value.shape, value.dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(_spec_of(v) for v in value)
    return value
