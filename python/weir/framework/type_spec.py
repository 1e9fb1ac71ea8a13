"""TypeSpec: what is known of a value before it exists, and CompositeTensor: a value made of several tensors.

A TypeSpec is a value: equal specs describe the same type. A subclass gives

    value_type          the Python class of the values
    _serialize()        a tuple that makes the spec again: cls(*tuple)
    _component_specs    a nest of the specs of the parts
    _to_components(v)   the parts of a value, nested as the specs are
    _from_components(c) the value that has these parts

Functions, datasets and saved models take values of any such class apart and put them together again with nothing more.
"""

import abc

from weir.framework.dtypes import DType, as_dtype
from weir.framework.shapes import TensorShape, as_shape

__all__ = ["TypeSpec", "BatchableTypeSpec", "CompositeTensor", "TensorSpec", "register_type_spec",
           "type_spec_from_value", "register_type_spec_from_value_converter"]

_NAMES = {}  # name -> class
_CONVERTERS = []  # (class, function), for values that have no spec of their own


class CompositeTensor(metaclass=abc.ABCMeta):
    """A value made of tensors: SparseTensor, RaggedTensor, iterators, distributions."""

    _is_a_dense_tensor = False  # whether operators may convert the value to a tensor

    @property
    @abc.abstractmethod
    def _type_spec(self):
        """The TypeSpec of this value."""

    def _shape_invariant_to_type_spec(self, shape):
        raise NotImplementedError(f"{type(self).__name__}._shape_invariant_to_type_spec")

    def _consumers(self):
        from weir import nest
        parts = nest.flatten(self, expand_composites=True)
        return list({op for part in parts for op in part.consumers()})

    def __tf_tracing_type__(self, context):
        return self._type_spec

    def _convert_variables_to_tensors(self):
        return self


CompositeTensor.__module__ = "tensorflow.python.framework.composite_tensor"


def _hashable(value):
    if isinstance(value, TypeSpec):
        return value
    if isinstance(value, dict):
        return ("dict",) + tuple((k, _hashable(v)) for k, v in sorted(value.items(), key=lambda item: str(item[0])))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__,) + tuple(_hashable(v) for v in value)
    return value


class TypeSpec(metaclass=abc.ABCMeta):
    """The type of a value, for functions, datasets and saved models."""

    @property
    @abc.abstractmethod
    def value_type(self):
        """The class of the values."""

    @abc.abstractmethod
    def _serialize(self):
        """A tuple of arguments that makes an equal spec."""

    @property
    @abc.abstractmethod
    def _component_specs(self):
        """A nest of the parts' specs."""

    @abc.abstractmethod
    def _to_components(self, value):
        """The parts of a value."""

    @abc.abstractmethod
    def _from_components(self, components):
        """The value with these parts."""

    @classmethod
    def _deserialize(cls, serialization):
        return cls(*serialization)

    @property
    def _flat_tensor_specs(self):
        from weir import nest
        out = []
        for spec in nest.flatten(self._component_specs):
            out.extend(spec._flat_tensor_specs if isinstance(spec, TypeSpec) else [spec])
        return out

    def _to_tensor_list(self, value):
        from weir import nest
        return nest.flatten(self._to_components(value), expand_composites=True)

    def _from_tensor_list(self, tensors):
        from weir import nest
        return self._from_components(nest.pack_sequence_as(self._component_specs, tensors, expand_composites=True))

    _from_compatible_tensor_list = _from_tensor_list

    def is_compatible_with(self, spec_or_value):
        """Whether a value of the type `spec_or_value` may be where this type is expected."""
        if not isinstance(spec_or_value, TypeSpec):
            spec_or_value = type_spec_from_value(spec_or_value)
        if type(self) is not type(spec_or_value):
            return False
        return _compatible(self._serialize(), spec_or_value._serialize())

    def is_subtype_of(self, other):
        return type(self) is type(other) and _is_subtype(self._serialize(), other._serialize())

    def most_specific_common_supertype(self, others):
        """The least general type that this one and all `others` are subtypes of; None if there is none."""
        if any(type(self) is not type(o) for o in others):
            return None
        serialized = _common(self._serialize(), [o._serialize() for o in others])
        return None if serialized is None else self._deserialize(serialized)

    def most_specific_compatible_type(self, other):
        result = self.most_specific_common_supertype([other])
        if result is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return result

    def _with_tensor_ranks_only(self):
        def relax(value):
            if isinstance(value, TypeSpec):
                return value._with_tensor_ranks_only()
            if isinstance(value, TensorShape):
                return TensorShape(None) if value.rank is None else TensorShape([None] * value.rank)
            return value
        return self._deserialize(_map(relax, self._serialize()))

    def _without_tensor_names(self):
        def strip(value):
            return value._without_tensor_names() if isinstance(value, TypeSpec) else value
        return self._deserialize(_map(strip, self._serialize()))

    def placeholder_value(self, placeholder_context):
        parts = [spec.placeholder_value(placeholder_context) for spec in self._flat_tensor_specs]
        return self._from_tensor_list(parts)

    def _to_legacy_output_types(self):
        raise NotImplementedError()

    def __get_cmp_key(self):
        return (type(self), _hashable(self._serialize()))

    def __hash__(self):
        return hash(self.__get_cmp_key())

    def __eq__(self, other):
        return type(other) is type(self) and self.__get_cmp_key() == other.__get_cmp_key()

    def __ne__(self, other):
        return not self == other

    def __reduce__(self):
        return type(self), self._serialize()

    def __repr__(self):
        return f"{type(self).__name__}{self._serialize()!r}"

    def __tf_tracing_type__(self, context):
        return self


TypeSpec.__module__ = "tensorflow.python.framework.type_spec"


def _map(function, value):
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_map(function, v) for v in value)
    if isinstance(value, dict):
        return {k: _map(function, v) for k, v in value.items()}
    return function(value)


def _compatible(a, b):
    if isinstance(a, TypeSpec):
        return isinstance(b, TypeSpec) and a.is_compatible_with(b)
    if isinstance(a, TensorShape):
        return isinstance(b, TensorShape) and a.is_compatible_with(b)
    if isinstance(a, DType):
        return isinstance(b, DType) and a.is_compatible_with(b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(_compatible(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return type(a) is type(b) and a.keys() == b.keys() and all(_compatible(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


def _is_subtype(a, b):
    if isinstance(a, (TypeSpec, TensorShape)):
        return isinstance(b, (TypeSpec, TensorShape)) and a.is_subtype_of(b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(_is_subtype(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return type(a) is type(b) and a.keys() == b.keys() and all(_is_subtype(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


def _common(a, others):
    if isinstance(a, (TypeSpec, TensorShape)):
        if any(type(a) is not type(o) for o in others):
            return None
        return a.most_specific_common_supertype(others)
    if isinstance(a, (list, tuple)):
        if any(type(o) is not type(a) or len(o) != len(a) for o in others):
            return None
        parts = []
        for i, value in enumerate(a):
            part = _common(value, [o[i] for o in others])
            if part is None and value is not None:
                return None
            parts.append(part)
        return type(a)(parts)
    if isinstance(a, dict):
        if any(type(o) is not type(a) or o.keys() != a.keys() for o in others):
            return None
        return {k: _common(v, [o[k] for o in others]) for k, v in a.items()}
    return a if all(type(o) is type(a) and o == a for o in others) else None


class BatchableTypeSpec(TypeSpec):
    """A TypeSpec whose values can be stacked into a batch, and taken out of one."""

    @abc.abstractmethod
    def _batch(self, batch_size):
        """The spec of a batch of such values."""

    @abc.abstractmethod
    def _unbatch(self):
        """The spec of one value of a batch."""

    @property
    def _flat_tensor_specs(self):
        from weir import nest
        return nest.flatten(self._component_specs, expand_composites=True)

    def _to_batched_tensor_list(self, value):
        return self._to_tensor_list(value)


BatchableTypeSpec.__module__ = "tensorflow.python.framework.type_spec"


class TensorSpec(BatchableTypeSpec):
    """The type of a tf.Tensor: shape, dtype and perhaps a name."""
    __slots__ = ("_shape", "_dtype", "_name", "_hash")

    def __init__(self, shape, dtype=None, name=None):
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype if dtype is not None else "float32")
        self._name = name

    @classmethod
    def from_spec(cls, spec, name=None):
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor, name=None):
        from weir.framework.tensor import EagerTensor
        if isinstance(tensor, EagerTensor):
            return cls(tensor.shape, tensor.dtype, name)
        op = getattr(tensor, "op", None)
        return cls(tensor.shape, tensor.dtype, name or (op.name if op is not None else None))

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def name(self):
        return self._name

    @property
    def value_type(self):
        from weir.framework.tensor import Tensor
        return Tensor

    @property
    def _component_specs(self):
        return self

    @property
    def _flat_tensor_specs(self):
        return [self]

    def _to_components(self, value):
        return value

    def _from_components(self, components):
        return components

    def _to_tensor_list(self, value):
        return [value]

    def _from_tensor_list(self, tensors):
        return tensors[0]

    _from_compatible_tensor_list = _from_tensor_list

    def _serialize(self):
        return (self._shape, self._dtype, self._name)

    def is_compatible_with(self, spec_or_tensor):
        shape, dtype = spec_or_tensor.shape, spec_or_tensor.dtype
        return self._dtype.is_compatible_with(dtype) and self._shape.is_compatible_with(shape)

    def is_subtype_of(self, other):
        return (type(self) is type(other) and self._dtype is other._dtype and self._shape.is_subtype_of(other._shape)
                and other._name in (None, self._name))

    def most_specific_common_supertype(self, others):
        if any(type(o) is not type(self) or o._dtype is not self._dtype for o in others):
            return None
        shape = self._shape.most_specific_common_supertype([o._shape for o in others])
        return TensorSpec(shape, self._dtype, self._name if all(o._name == self._name for o in others) else None)

    def most_specific_compatible_type(self, other):
        if not isinstance(other, TensorSpec) or other._dtype is not self._dtype:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        return TensorSpec(self._shape.most_specific_compatible_shape(other._shape), self._dtype)

    def placeholder_value(self, placeholder_context):
        return placeholder_context.add_placeholder(self)

    def _batch(self, batch_size):
        return TensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self):
        if self._shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return TensorSpec(self._shape[1:], self._dtype)

    def _with_tensor_ranks_only(self):
        shape = self._shape
        return TensorSpec(None if shape.rank is None else [None] * shape.rank, self._dtype)

    def _without_tensor_names(self):
        return self if self._name is None else TensorSpec(self._shape, self._dtype)

    def _to_legacy_output_types(self):
        return self._dtype

    def __eq__(self, other):
        return (type(self) is type(other) and self._shape == other._shape and self._dtype is other._dtype
                and self._name == other._name)

    def __hash__(self):
        return hash((self._shape, self._dtype))

    def __repr__(self):
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    def __reduce__(self):
        return TensorSpec, (self._shape, self._dtype, self._name)


TensorSpec.__module__ = "tensorflow.python.framework.tensor"


class NoneTensorSpec(BatchableTypeSpec):
    """The type of None in the structure of a dataset's elements."""

    value_type = property(lambda self: type(None))
    _component_specs = property(lambda self: [])
    shape = property(lambda self: TensorShape([]))

    def _serialize(self):
        return ()

    def _to_components(self, value):
        return []

    def _from_components(self, components):
        return None

    def _batch(self, batch_size):
        return NoneTensorSpec()

    def _unbatch(self):
        return NoneTensorSpec()

    def _to_legacy_output_types(self):
        return self


def register_type_spec(name):
    """Gives a TypeSpec class the name under which saved models keep it: `@register_type_spec("package.Name")`."""
    def register(cls):
        if not (isinstance(cls, type) and issubclass(cls, TypeSpec)):
            raise TypeError("Expected `cls` to be a TypeSpec")
        if name in _NAMES and _NAMES[name] is not cls:
            raise ValueError(f"Name {name} has already been registered for class {_NAMES[name].__name__}")
        _NAMES[name] = cls
        cls.__registered_name__ = name
        return cls
    return register


def lookup(name):
    if name not in _NAMES:
        raise ValueError(f"No TypeSpec has been registered with name {name!r}")
    return _NAMES[name]


def get_name(cls):
    if "__registered_name__" not in cls.__dict__:
        raise ValueError(f"TypeSpec {cls.__module__}.{cls.__name__} has not been registered.")
    return cls.__registered_name__


def register_type_spec_from_value_converter(type_object, converter_fn, allow_subclass=False):
    _CONVERTERS.append((type_object, converter_fn, allow_subclass))


def type_spec_from_value(value):
    """The TypeSpec of a tensor, composite tensor, or of what can be converted to one."""
    from weir.framework.tensor import Tensor
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    if isinstance(value, TypeSpec):
        return value
    if isinstance(value, CompositeTensor):
        return value._type_spec
    if getattr(value, "_should_act_as_resource_variable", False):
        from weir.variable_spec import VariableSpec
        return VariableSpec.from_value(value) if isinstance(value, VariableSpec.value_class()) else TensorSpec(
            value.shape, value.dtype)
    for type_object, function, allow_subclass in reversed(_CONVERTERS):
        if type(value) is type_object or (allow_subclass and isinstance(value, type_object)):
            return function(value)
    from weir.framework.conversion import convert_to_tensor
    try:
        tensor = convert_to_tensor(value)
    except (TypeError, ValueError):
        tensor = None
    if tensor is None:
        raise TypeError(f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}")
    return TensorSpec(tensor.shape, tensor.dtype)
