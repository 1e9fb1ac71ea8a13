"""Iterators over datasets: `iter(dataset)` eagerly and in functions."""

import collections.abc

from weir.data import function_owners, structure
from weir.data.optional import Optional
from weir.framework import CompositeTensor, TensorSpec, TypeSpec, errors, executing_eagerly, raw_ops
from weir.ops import dtypes
from weir.trackable import Trackable


class IteratorBase(collections.abc.Iterator, Trackable, CompositeTensor):
    """What all iterators over datasets are: `tf.data.Iterator`. A checkpoint keeps the place where they are."""

    def __iter__(self):
        return self


class OwnedIterator(IteratorBase):
    """An iterator with a resource of its own, which goes when the iterator does."""

    def __init__(self, dataset=None, components=None, element_spec=None):
        if dataset is None:
            self._resource = components[0]
            self._element_spec = element_spec
            self._dataset = None
            return
        self._dataset = dataset
        self._element_spec = dataset.element_spec
        attributes = structure.types_and_shapes(self._element_spec)
        self._resource = raw_ops.AnonymousIteratorV3(**attributes)
        raw_ops.MakeIterator(dataset=dataset._variant_tensor, iterator=self._resource)
        function_owners.share(self._resource, dataset._variant_tensor)

    @property
    def element_spec(self):
        """The spec of the elements."""
        return self._element_spec

    def __next__(self):
        if not executing_eagerly():
            return self.get_next()
        try:
            return self.get_next()
        except errors.OutOfRangeError:
            raise StopIteration from None

    def get_next(self, name=None):
        """The next element; OutOfRangeError after the last."""
        tensors = raw_ops.IteratorGetNext(iterator=self._resource, name=name,
                                          **structure.types_and_shapes(self._element_spec))
        tensors = [tensors] if not isinstance(tensors, (list, tuple)) else tensors
        return structure.from_tensors(self._element_spec, tensors)

    def get_next_as_optional(self, name=None):
        """The next element, or an empty optional after the last."""
        variant = raw_ops.IteratorGetNextAsOptional(iterator=self._resource, name=name,
                                                    **structure.types_and_shapes(self._element_spec))
        return Optional(variant, self._element_spec)

    @property
    def _type_spec(self):
        return IteratorSpec(self._element_spec)

    # Positions in checkpoints.

    def _serialize_to_tensors(self):
        return {"ITERATOR_STATE": raw_ops.SerializeIterator(resource_handle=self._resource)}

    def _restore_from_tensors(self, tensors):
        return [raw_ops.DeserializeIterator(resource_handle=self._resource, serialized=tensors["ITERATOR_STATE"])]


class IteratorSpec(TypeSpec):
    """The type of an iterator."""

    def __init__(self, element_spec):
        self._element_spec = element_spec

    value_type = property(lambda self: OwnedIterator)

    def _with_tensor_ranks_only(self):
        return self  # no component says what the elements are

    def _serialize(self):
        return (self._element_spec,)

    @property
    def _component_specs(self):
        return (TensorSpec([], dtypes.resource),)

    def _to_components(self, value):
        return (value._resource,)

    def _from_components(self, components):
        return OwnedIterator(components=components, element_spec=self._element_spec)

    @staticmethod
    def from_value(value):
        """The spec of a value."""
        return IteratorSpec(value.element_spec)


class NumpyIterator:
    """Elements as numpy arrays."""

    def __init__(self, dataset):
        self._iterator = iter(dataset)

    def __iter__(self):
        return self

    def __next__(self):
        def leaf(value):
            return value if value is None else value.numpy() if hasattr(value, "numpy") else value

        return structure.map_structure(leaf, next(self._iterator))


Iterator = IteratorBase
