"""tensorflow.python.data.util.structure: elements of datasets as flat lists of tensors, and their specs."""

from weir.data import structure as _structure
from weir.data.structure import NoneTensorSpec
from weir.framework import CompositeTensor, TensorShape, TensorSpec, TypeSpec, convert_to_tensor
from weir.ops.ragged import RaggedTensor
from weir.ops.sparse import SparseTensor, SparseTensorSpec

__all__ = ["NoneTensorSpec", "are_compatible", "convert_legacy_structure", "from_compatible_tensor_list", "from_tensor_list",
           "get_flat_tensor_shapes", "get_flat_tensor_specs", "get_flat_tensor_types", "normalize_element",
           "to_batched_tensor_list", "to_tensor_list", "type_spec_from_value"]


def normalize_element(element, element_signature=None):
    """The element with tensors in the place of what can be converted to them."""
    if element_signature is None:
        return _structure.normalize(element)
    specs = iter(_structure.flatten(element_signature))

    def leaf(value):
        spec = next(specs)
        if value is None or isinstance(value, CompositeTensor) or hasattr(value, "_variant_tensor"):
            return value
        return convert_to_tensor(value, dtype=getattr(spec, "dtype", None))
    return _structure.map_structure(leaf, element)


def convert_legacy_structure(output_types, output_shapes, output_classes):
    """Specs of types, shapes and classes that are given apart, as TensorFlow 1 did."""
    def leaf(dtype, shape, kind):
        if isinstance(kind, TypeSpec):
            return kind
        if issubclass(kind, SparseTensor):
            return SparseTensorSpec(shape, dtype)
        if issubclass(kind, RaggedTensor):
            from weir.ops.ragged import RaggedTensorSpec
            return RaggedTensorSpec(shape, dtype)
        return TensorSpec(shape, dtype)
    flat = [_structure.flatten(v) for v in (output_types, _shapes_like(output_types, output_shapes), output_classes)]
    return _structure.pack(output_types, [leaf(*row) for row in zip(*flat)])


def _shapes_like(types, shapes):
    if not _structure.is_structure(types):
        return shapes if isinstance(shapes, TensorShape) else TensorShape(shapes)
    return _structure._rebuild(types, [(key, _shapes_like(child, other)) for (key, child), (_, other) in zip(
        _structure._children(types), _structure._children(shapes))])


def get_flat_tensor_specs(element_spec):
    return _structure.flat_specs(element_spec)


def get_flat_tensor_shapes(element_spec):
    return [spec.shape for spec in _structure.flat_specs(element_spec)]


def get_flat_tensor_types(element_spec):
    return [spec.dtype for spec in _structure.flat_specs(element_spec)]


def from_tensor_list(element_spec, tensor_list):
    """The element that these tensors make."""
    specs = _structure.flat_specs(element_spec)
    if len(specs) != len(tensor_list):
        raise ValueError(f"Expected {len(specs)} tensors but got {len(tensor_list)}.")
    for spec, tensor in zip(specs, tensor_list):
        if not spec.is_compatible_with(tensor):
            raise ValueError(f"Tensor {tensor} is incompatible with {spec}.")
    return _structure.from_tensors(element_spec, tensor_list)


def from_compatible_tensor_list(element_spec, tensor_list):
    return _structure.from_tensors(element_spec, tensor_list)


def to_tensor_list(element_spec, element):
    """The tensors of an element."""
    _assert_compatible(element_spec, element)
    return _structure.to_tensors(element_spec, element)


def to_batched_tensor_list(element_spec, element):
    """The tensors of a batch of elements."""
    _assert_compatible(element_spec, element)
    return [tensor for spec, value in zip(_structure.flatten(element_spec), _structure.flatten(element))
            for tensor in spec._to_batched_tensor_list(value)]


def _assert_compatible(element_spec, element):
    from weir.internal import data_nest
    data_nest.assert_same_structure(element_spec, element)
    for spec, value in zip(_structure.flatten(element_spec), _structure.flatten(element)):
        if not spec.is_compatible_with(value):
            raise ValueError(f"Value {value} is not convertible to a tensor with dtype {getattr(spec, 'dtype', None)} and "
                             f"shape {getattr(spec, 'shape', None)}.")


def are_compatible(spec1, spec2):
    """Whether two structures of specs could describe the same elements."""
    from weir.internal import data_nest
    try:
        data_nest.assert_same_structure(spec1, spec2)
    except (TypeError, ValueError):
        return False
    return all(a.is_compatible_with(b) for a, b in zip(_structure.flatten(spec1), _structure.flatten(spec2)))


def type_spec_from_value(element, use_fallback=True):
    """The structure of specs of an element."""
    del use_fallback
    return _structure.spec_of(_structure.normalize(element))
