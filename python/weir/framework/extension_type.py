"""tf.experimental.ExtensionType: classes of users that functions, loops and datasets take as they take tensors.

    class MaskedTensor(tf.experimental.ExtensionType):
        values: tf.Tensor
        mask: tf.Tensor

Fields come from annotations, in order, those of base classes first. A value is immutable; its tensors are its components,
and everything else is part of its TypeSpec.
"""

import collections.abc
import typing

import numpy as np

from weir.framework.conversion import convert_to_tensor
from weir.framework.dtypes import DType
from weir.framework.shapes import TensorShape
from weir.framework.tensor import Tensor
from weir.framework.type_spec import BatchableTypeSpec, CompositeTensor, TensorSpec, TypeSpec, type_spec_from_value

__all__ = ["ExtensionType", "BatchableExtensionType", "ExtensionTypeSpec", "ExtensionTypeBatchEncoder", "as_dict"]

_RESERVED = {"self", "_type_spec", "__name__", "_tf_extension_type_cached_type_spec"}


class Mapping(collections.abc.Mapping):
    """The immutable dictionary that mappings in fields become."""

    def __init__(self, items):
        self._items = dict(items)

    def __getitem__(self, key):
        return self._items[key]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __hash__(self):
        return hash(tuple(self._items.items()))

    def __repr__(self):
        return f"ImmutableDict({self._items})"


def as_dict(value):
    """The fields of an extension type by name."""
    return {name: getattr(value, name) for name in _fields(type(value))}


def _fields(cls):
    """{name: annotation} of a class, those of its bases first."""
    out = {}
    for base in reversed(cls.__mro__):
        if base.__dict__.get("_is_extension_root"):
            continue
        if issubclass(base, ExtensionType):
            module = __import__("sys").modules.get(base.__module__)
            for name, annotation in base.__dict__.get("__annotations__", {}).items():
                if isinstance(annotation, str):
                    annotation = eval(annotation, dict(vars(module)) if module else {})  # the class's own source
                out[name] = annotation
    return out


def _convert(value, annotation, path, specs=False):
    """`value` as its annotation asks; with `specs` a TypeSpec stands for a tensor."""
    if annotation in (typing.Any, None) or annotation is object:
        return value
    if annotation is type(None):
        if value is not None:
            raise _wrong(path, "None", value)
        return None
    if isinstance(annotation, TensorSpec) or annotation is Tensor or annotation is TensorSpec:
        if isinstance(value, TypeSpec):
            return value
        dtype = annotation.dtype if isinstance(annotation, TensorSpec) else None
        try:
            tensor = convert_to_tensor(value, dtype)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{path}: expected a Tensor, got {value!r}") from error
        if isinstance(annotation, TensorSpec) and not annotation.shape.is_compatible_with(tensor.shape):
            raise TypeError(f"{path}: Shape {tensor.shape} is incompatible with {annotation.shape}")
        return tensor
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin is typing.Union or type(annotation).__name__ == "UnionType":
        return _convert_union(value, arguments or annotation.__args__, path, specs)
    if origin is typing.Literal:
        if value not in arguments:
            raise _wrong(path, " or ".join(map(repr, arguments)), value)
        return value
    if origin is tuple or annotation is tuple:
        return _convert_tuple(value, arguments, path, specs)
    if origin in (collections.abc.Mapping, dict) or annotation in (collections.abc.Mapping, typing.Mapping):
        if not isinstance(value, collections.abc.Mapping):
            raise _wrong(path, "mapping", value)
        kinds = arguments or (typing.Any, typing.Any)
        return Mapping({_convert(k, kinds[0], path + ".keys()", specs): _convert(v, kinds[1], f"{path}[{k!r}]", specs)
                        for k, v in value.items()})
    if isinstance(annotation, TypeSpec):
        if isinstance(value, TypeSpec) or annotation.is_compatible_with(value):
            return value
        raise _wrong(path, repr(annotation), value)
    if annotation is TensorShape:
        return TensorShape(value)
    if annotation is DType:
        from weir.framework.dtypes import as_dtype
        return as_dtype(value)
    if isinstance(annotation, type):
        if isinstance(value, annotation) or (specs and isinstance(value, TypeSpec)):
            return value
        if issubclass(annotation, CompositeTensor) and isinstance(value, Tensor) and hasattr(annotation, "from_tensor"):
            return annotation.from_tensor(value)
        if annotation is float and isinstance(value, int) and not isinstance(value, bool):
            raise _wrong(path, "float", value)
        raise _wrong(path, annotation.__name__, value)
    return value


def _wrong(path, expected, value):
    return TypeError(f"{path}: expected {expected}, got {type(value).__name__} {value!r}")


def _convert_union(value, options, path, specs):
    for option in options:  # first one that needs no conversion
        if option is type(None) and value is None:
            return None
        if isinstance(option, type) and option is not Tensor and isinstance(value, option):
            return value
    for option in options:
        try:
            return _convert(value, option, path, specs)
        except (TypeError, ValueError):
            continue
    raise _wrong(path, f"one of {options}", value)


def _convert_tuple(value, arguments, path, specs):
    if not isinstance(value, (list, tuple)):
        raise _wrong(path, "tuple", value)
    if not arguments:
        return tuple(value)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_convert(v, arguments[0], f"{path}[{i}]", specs) for i, v in enumerate(value))
    if len(arguments) != len(value):
        raise _wrong(path, f"tuple with length {len(arguments)}", value)
    return tuple(_convert(v, a, f"{path}[{i}]", specs) for i, (v, a) in enumerate(zip(value, arguments)))


def _is_component(value):
    return isinstance(value, (Tensor, CompositeTensor))


def _pull(value, out):
    """The value with a TypeSpec for each tensor, which goes into `out`."""
    if _is_component(value):
        out.append(value)
        return type_spec_from_value(value)
    if isinstance(value, tuple):
        return tuple(_pull(v, out) for v in value)
    if isinstance(value, Mapping):
        return Mapping({k: _pull(v, out) for k, v in value.items()})
    return value


def _put(value, tensors):
    if isinstance(value, TypeSpec):
        return next(tensors)
    if isinstance(value, tuple):
        return tuple(_put(v, tensors) for v in value)
    if isinstance(value, Mapping):
        return Mapping({k: _put(v, tensors) for k, v in value.items()})
    return value


def _component_specs(value, out):
    if isinstance(value, TypeSpec):
        out.append(value)
    elif isinstance(value, tuple):
        for v in value:
            _component_specs(v, out)
    elif isinstance(value, Mapping):
        for v in value.values():
            _component_specs(v, out)
    return out


class ExtensionTypeSpec(TypeSpec):
    """The TypeSpec of an ExtensionType: a TypeSpec for each tensor, and the other fields as they are."""

    def __init__(self, *args, **kwargs):
        fields = list(_fields(self.value_type))
        given = dict(zip(fields, args), **kwargs)
        for name, annotation in _fields(self.value_type).items():
            if name not in given:
                if not hasattr(self.value_type, name):
                    raise TypeError(f"missing a required argument: {name!r}")
                given[name] = getattr(self.value_type, name)
            value = given[name]
            if isinstance(value, dict):
                value = Mapping(value)
            object.__setattr__(self, name, _convert(value, annotation, name, specs=True))

    @classmethod
    def _from_fields(cls, fields):
        spec = cls.__new__(cls)
        for name, value in fields.items():
            object.__setattr__(spec, name, value)
        return spec

    def _named(self):
        return {name: getattr(self, name) for name in _fields(self.value_type)}

    def _serialize(self):
        return tuple(self._named().items())

    @classmethod
    def _deserialize(cls, serialization):
        return cls._from_fields(dict(serialization))

    @property
    def _component_specs(self):
        return tuple(_component_specs(tuple(self._named().values()), []))

    def _to_components(self, value):
        out = []
        for name in _fields(self.value_type):
            _pull(getattr(value, name), out)
        return tuple(out)

    def _from_components(self, components):
        tensors = iter(components)
        return self.value_type._from_fields({name: _put(value, tensors) for name, value in self._named().items()})

    def __repr__(self):
        plain = lambda v: dict(v) if isinstance(v, Mapping) else v  # noqa: E731
        fields = ", ".join(f"{name}={plain(value)!r}" for name, value in self._named().items())
        return f"{type(self).__qualname__}({fields})"


class _Meta(type(CompositeTensor)):
    def __init__(cls, name, bases, namespace):
        super().__init__(name, bases, namespace)
        if namespace.get("_is_extension_root"):
            return
        for field in namespace.get("__annotations__", {}):
            if field in _RESERVED or field.startswith("_tf_extension_type"):
                raise ValueError(f"The field annotations for {name} are invalid. Field '{field}' is reserved.")
        root = BatchableExtensionTypeSpec if cls._is_batchable else ExtensionTypeSpec
        cls.Spec = type(f"{name}.Spec", (namespace.get("Spec", object), root) if "Spec" in namespace else (root,),
                        {"value_type": cls, "__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}.Spec"})


class ExtensionType(CompositeTensor, metaclass=_Meta):
    """Base of classes whose annotated fields hold tensors and Python values."""

    _is_extension_root = True
    _is_batchable = False

    def __init__(self, *args, **kwargs):
        fields = _fields(type(self))
        if len(args) > len(fields):
            raise TypeError("too many positional arguments")
        given = dict(zip(fields, args))
        for name, value in kwargs.items():
            if name not in fields:
                raise TypeError(f"got an unexpected keyword argument {name!r}")
            if name in given:
                raise TypeError(f"multiple values for argument {name!r}")
            given[name] = value
        for name, annotation in fields.items():
            if name not in given and name not in vars(self):
                if not hasattr(type(self), name):
                    raise TypeError(f"missing a required argument: {name!r}")
                given[name] = getattr(type(self), name)
            if name in given:
                self.__dict__[name] = _convert(given[name], annotation, name)
        self.__dict__["_ready"] = True
        self.__validate__()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = _finishing(cls.__init__)

    @classmethod
    def _from_fields(cls, fields):
        value = cls.__new__(cls)
        value.__dict__.update(fields, _ready=True)
        return value

    def __validate__(self):
        """For subclasses: raises if the fields do not fit together."""

    def __setattr__(self, name, value):
        if self.__dict__.get("_ready"):
            raise AttributeError(f"Cannot mutate attribute `{name}` outside the custom constructor of ExtensionType.")
        self.__dict__[name] = value

    def __delattr__(self, name):
        raise AttributeError(f"Cannot mutate attribute `{name}` outside the custom constructor of ExtensionType.")

    @property
    def _type_spec(self):
        return self.Spec._from_fields({name: _pull(getattr(self, name), []) for name in _fields(type(self))})

    def __repr__(self):
        fields = ", ".join(f"{name}={self.__dict__.get(name)!r}" for name in _fields(type(self)))
        return f"{type(self).__qualname__}({fields})"

    def __eq__(self, other):
        if type(self) is not type(other):
            return False
        from weir.framework.raw_ops import raw_ops
        mine, theirs = [], []
        if self._type_spec != other._type_spec:
            return False
        for name in _fields(type(self)):
            _pull(getattr(self, name), mine)
            _pull(getattr(other, name), theirs)
        result = convert_to_tensor(True)
        for a, b in zip(mine, theirs):
            same = raw_ops.All(input=raw_ops.Equal(x=a, y=b), axis=np.arange(a.shape.rank, dtype=np.int32))
            result = raw_ops.LogicalAnd(x=result, y=same)
        return result

    def __ne__(self, other):
        result = self.__eq__(other)
        if isinstance(result, bool):
            return not result
        from weir.framework.raw_ops import raw_ops
        return raw_ops.LogicalNot(x=result)

    __hash__ = None


def _finishing(init):
    """A constructor of a user's: it sets fields, which are then converted and checked."""
    def call(self, *args, **kwargs):
        init(self, *args, **kwargs)
        if self.__dict__.get("_ready"):
            return
        for name, annotation in _fields(type(self)).items():
            if name not in self.__dict__:
                if not hasattr(type(self), name):
                    raise TypeError(f"Missing field {name!r} in {type(self).__name__}")
                self.__dict__[name] = getattr(type(self), name)
            self.__dict__[name] = _convert(self.__dict__[name], annotation, name)
        self.__dict__["_ready"] = True
        self.__validate__()
    call.__wrapped__ = init
    return call


class BatchableExtensionTypeSpec(ExtensionTypeSpec, BatchableTypeSpec):
    """A TypeSpec whose values can be batched: each tensor gets a dimension more."""

    def _map(self, function):
        def apply(value):
            if isinstance(value, TypeSpec):
                return function(value)
            if isinstance(value, tuple):
                return tuple(apply(v) for v in value)
            if isinstance(value, Mapping):
                return Mapping({k: apply(v) for k, v in value.items()})
            return value
        return type(self)._from_fields({name: apply(value) for name, value in self._named().items()})

    def _batch(self, batch_size):
        return self._map(lambda spec: spec._batch(batch_size))

    def _unbatch(self):
        return self._map(lambda spec: spec._unbatch())


class BatchableExtensionType(ExtensionType):
    """An ExtensionType that datasets and map_fn can batch and unbatch."""

    _is_extension_root = True
    _is_batchable = True


class ExtensionTypeBatchEncoder:
    """How values of a BatchableExtensionType are batched: by default each field by itself."""

    def batch(self, spec, batch_size):
        return spec._batch(batch_size)

    def unbatch(self, spec):
        return spec._unbatch()

    def encode(self, spec, value, minimum_rank=0):
        return spec._to_components(value)

    def decode(self, spec, encoded_value):
        return spec._from_components(encoded_value)

    def encoding_specs(self, spec):
        return spec._component_specs
