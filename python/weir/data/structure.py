"""Elements of datasets: nested tuples and dictionaries of tensors, sparse and ragged tensors, datasets, optionals.

A dataset op carries an element as a flat list of tensors. A spec, a structure of TypeSpecs, says how a flat list is
made of an element and back. Lists are not structures here: a list in an element becomes a tensor.
"""

import collections.abc as _abc

from weir.framework import (CompositeTensor, TensorShape, TensorSpec, TypeSpec, convert_to_tensor, is_tensor)
from weir.ops import dtypes


class NoneTensorSpec(TypeSpec):
    """The spec of None: it has no tensors."""

    value_type = property(lambda self: type(None))

    def _serialize(self):
        return ()

    @property
    def _component_specs(self):
        return []

    def _to_components(self, value):
        return []

    def _from_components(self, components):
        return None

    def _batch(self, _):
        return NoneTensorSpec()

    def _unbatch(self):
        return NoneTensorSpec()

    @property
    def _flat_tensor_specs(self):
        return []

    def _to_tensor_list(self, _):
        return []

    def _to_batched_tensor_list(self, _):
        return []

    def _from_compatible_tensor_list(self, _):
        return None


def is_structure(value):
    """Tuples, named tuples and dictionaries are structures; lists are not."""
    return isinstance(value, (tuple, _abc.Mapping)) or hasattr(type(value), "__attrs_attrs__")


def _children(value):
    if isinstance(value, _abc.Mapping):
        return [(key, value[key]) for key in sorted(value)]
    if hasattr(type(value), "__attrs_attrs__"):
        return [(a.name, getattr(value, a.name)) for a in type(value).__attrs_attrs__]
    return list(enumerate(value))


def _rebuild(model, items):
    if isinstance(model, _abc.Mapping):
        new = dict(items)
        ordered = [(key, new[key]) for key in model]
        return type(model)(ordered) if type(model) is not dict else dict(ordered)
    if hasattr(type(model), "__attrs_attrs__"):
        return type(model)(**dict(items))
    values = [value for _, value in items]
    return type(model)(*values) if hasattr(model, "_fields") else tuple(values)


def map_structure(function, *structures):
    """Applies a function to the leaves of structures of equal shape."""
    first = structures[0]
    if not is_structure(first):
        return function(*structures)
    for other in structures[1:]:
        if not is_structure(other) or len(_children(other)) != len(_children(first)):
            raise ValueError(f"The two structures don't have the same nested structure: {first!r} and {other!r}")
    rows = [_children(s) for s in structures]
    return _rebuild(first, [(row[0][0], map_structure(function, *[v for _, v in row])) for row in zip(*rows)])


def flatten(structure):
    """The leaves of a structure."""
    if not is_structure(structure):
        return [structure]
    return [leaf for _, child in _children(structure) for leaf in flatten(child)]


def pack(structure, leaves):
    """A structure with other leaves."""
    leaves = iter(leaves)
    return map_structure(lambda _: next(leaves), structure)


def normalize(element):
    """An element whose leaves are tensors, composite values, datasets and optionals."""

    def leaf(value):
        if value is None or isinstance(value, CompositeTensor) or hasattr(value, "_variant_tensor"):
            return value
        return convert_to_tensor(value)

    return map_structure(leaf, element)


def spec_of(element):
    """The spec of a normalized element."""

    def leaf(value):
        if value is None:
            return NoneTensorSpec()
        if hasattr(value, "_variant_tensor") and hasattr(value, "element_spec"):
            from weir.data.dataset import DatasetSpec
            return DatasetSpec(value.element_spec)
        if isinstance(value, CompositeTensor):
            return value._type_spec
        if isinstance(value, TypeSpec):
            return value
        return TensorSpec(value.shape, value.dtype)

    return map_structure(leaf, element)


def _flat_specs(spec):
    return spec._flat_tensor_specs if not isinstance(spec, TensorSpec) else [spec]


def flat_specs(spec):
    """The specs of the flat tensors."""
    return [s for leaf in flatten(spec) for s in _flat_specs(leaf)]


def types_and_shapes(spec):
    """The attributes `output_types` and `output_shapes` of an op that makes such elements."""
    specs = flat_specs(spec)
    return {"output_types": [s.dtype for s in specs], "output_shapes": [s.shape for s in specs]}


def to_tensors(spec, element):
    """The flat tensors of an element."""
    out = []
    for leaf_spec, value in zip(flatten(spec), flatten(element)):
        if isinstance(leaf_spec, TensorSpec):
            out.append(value if is_tensor(value) else convert_to_tensor(value, dtype=leaf_spec.dtype))
        else:
            out.extend(leaf_spec._to_tensor_list(value))
    return out


def to_batched_tensors(spec, element):
    """The flat tensors of an element that is to be cut along its first dimension."""
    out = []
    for leaf_spec, value in zip(flatten(spec), flatten(element)):
        if isinstance(leaf_spec, TensorSpec):
            out.append(convert_to_tensor(value))
        else:
            out.extend(leaf_spec._to_batched_tensor_list(value))
    return out


def from_tensors(spec, tensors):
    """The element of flat tensors."""
    tensors = list(tensors)
    leaves = []
    for leaf in flatten(spec):
        count = len(_flat_specs(leaf))
        part, tensors = tensors[:count], tensors[count:]
        leaves.append(part[0] if isinstance(leaf, TensorSpec) else leaf._from_compatible_tensor_list(part))
    return pack(spec, leaves)


def batched(spec, size):
    """The spec of batches of elements."""
    return map_structure(lambda s: TensorSpec(TensorShape([size]).concatenate(s.shape), s.dtype) if isinstance(
        s, TensorSpec) else s._batch(size), spec)


def unbatched(spec):
    """The spec of the elements of a batch."""

    def leaf(s):
        if not isinstance(s, TensorSpec):
            return s._unbatch()
        if s.shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return TensorSpec(s.shape[1:], s.dtype)

    return map_structure(leaf, spec)


def most_general(a, b):
    """A spec that elements of both specs have, or an error."""

    def leaf(x, y):
        if isinstance(x, TensorSpec) and isinstance(y, TensorSpec):
            if x.dtype != y.dtype:
                raise TypeError(f"Incompatible types {x.dtype.name} and {y.dtype.name}")
            if x.shape.rank is None or y.shape.rank != x.shape.rank:
                return TensorSpec(None, x.dtype)
            return TensorSpec([m if m == n else None for m, n in zip(x.shape.as_list(), y.shape.as_list())], x.dtype)
        if type(x) is not type(y):
            raise TypeError(f"Incompatible specs {x} and {y}")
        return x

    return map_structure(leaf, a, b)


def legacy_types(spec):
    """The types of a spec, as `output_types` of old programs."""
    return map_structure(lambda s: getattr(s, "dtype", dtypes.variant), spec)
