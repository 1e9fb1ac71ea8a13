"""VariableSpec: the type of a tf.Variable."""

from weir.framework import TypeSpec, as_dtype
from weir.framework.shapes import TensorShape
from weir.framework.type_spec import register_type_spec

__all__ = ["VariableSpec"]


@register_type_spec("tf.VariableSpec")
class VariableSpec(TypeSpec):
    """The shape, type and kind of a variable."""

    __slots__ = ["_shape", "_dtype", "trainable", "alias_id"]

    def __init__(self, shape, dtype="float32", trainable=True, alias_id=None):
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self.trainable = trainable
        self.alias_id = alias_id

    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._dtype)

    @staticmethod
    def value_class():
        """tf.Variable, which is loaded late."""
        from weir.variables import Variable
        return Variable

    @property
    def value_type(self):
        return self.value_class()

    @classmethod
    def from_value(cls, value):
        return cls(value.shape, dtype=value.dtype, trainable=value.trainable)

    @property
    def _component_specs(self):
        from weir.framework import TensorSpec
        return [TensorSpec([], "resource")]

    def _to_components(self, value):
        return [value.handle]

    def _from_components(self, components):
        if not isinstance(components, (list, tuple)) or len(components) != 1:
            raise TypeError(f"Components of a ResourceVariable must only contain its resource handle. Got {components}.")
        return components[0]

    @property
    def _flat_tensor_specs(self):
        return [self]

    def _serialize(self):
        return self._shape, self._dtype, self.trainable, self.alias_id

    def is_compatible_with(self, spec_or_value):
        """Whether a variable of that type may stand where this one is expected."""
        if not isinstance(spec_or_value, (TypeSpec, self.value_type)):
            return False
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else self.from_value(spec_or_value)
        return type(other) is type(self) and self._dtype == other._dtype and self.trainable == other.trainable and \
            self._shape.is_compatible_with(other._shape)

    def __repr__(self):
        return (f"VariableSpec(shape={self._shape}, dtype={self._dtype!r}, trainable={self.trainable!r}, "
                f"alias_id={self.alias_id!r})")


VariableSpec.__module__ = "tensorflow.python.ops.resource_variable_ops"

