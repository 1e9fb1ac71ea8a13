"""`Optional`: an element that may be missing, as the last call of an iterator gives it."""

from weir.data import structure
from weir.framework import CompositeTensor, TensorSpec, TypeSpec, raw_ops
from weir.ops import dtypes


class Optional(CompositeTensor):
    """A value, or none."""

    def __init__(self, variant, element_spec):
        self._variant = variant
        self._element_spec = element_spec

    @staticmethod
    def from_value(value):
        """An optional with a value."""
        value = structure.normalize(value)
        spec = structure.spec_of(value)
        return Optional(raw_ops.OptionalFromValue(components=structure.to_tensors(spec, value)), spec)

    @staticmethod
    def empty(element_spec):
        """An optional without a value."""
        return Optional(raw_ops.OptionalNone(), element_spec)

    @property
    def element_spec(self):
        """The spec of the value."""
        return self._element_spec

    def has_value(self, name=None):
        """Whether there is a value, a boolean scalar."""
        return raw_ops.OptionalHasValue(optional=self._variant, name=name)

    def get_value(self, name=None):
        """The value; an error if there is none."""
        specs = structure.flat_specs(self._element_spec)
        tensors = raw_ops.OptionalGetValue(optional=self._variant, output_types=[s.dtype for s in specs],
                                           output_shapes=[s.shape for s in specs], name=name)
        return structure.from_tensors(self._element_spec, tensors)

    @property
    def _type_spec(self):
        return OptionalSpec(self._element_spec)


class OptionalSpec(TypeSpec):
    """The type of an Optional."""

    def __init__(self, element_spec):
        self._element_spec = element_spec

    value_type = property(lambda self: Optional)

    def _with_tensor_ranks_only(self):
        return self  # no component says what the elements are

    def _serialize(self):
        return (self._element_spec,)

    @property
    def _component_specs(self):
        return [TensorSpec([], dtypes.variant)]

    def _to_components(self, value):
        return [value._variant]

    def _from_components(self, components):
        return Optional(components[0], self._element_spec)

    @staticmethod
    def from_value(value):
        """The spec of a value."""
        return OptionalSpec(value.element_spec)

    @property
    def _flat_tensor_specs(self):
        return [TensorSpec([], dtypes.variant)]

    def _to_tensor_list(self, value):
        return [value._variant]

    def _from_compatible_tensor_list(self, tensors):
        return Optional(tensors[0], self._element_spec)

    def _batch(self, _):
        raise NotImplementedError("Optionals cannot be batched")

    _unbatch = _to_batched_tensor_list = _batch
