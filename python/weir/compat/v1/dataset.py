"""Iterators over datasets in graphs: make_one_shot_iterator, make_initializable_iterator."""

from weir import nest
from weir.data import structure
from weir.framework import raw_ops
from weir.framework.graph import executing_eagerly, get_default_graph
from weir.framework.type_spec import TensorSpec

__all__ = ["Iterator", "get_output_classes", "get_output_shapes", "get_output_types", "make_initializable_iterator",
           "make_one_shot_iterator"]


class Iterator:
    """An iterator of a graph; `initializer` begins anew."""

    def __init__(self, resource, initializer, spec):
        self._resource, self._initializer, self._spec = resource, initializer, spec
        self._next = None

    @property
    def initializer(self):
        if self._initializer is None:
            raise ValueError("The iterator does not have an initializer. This means it was likely created using "
                             "`tf.data.Dataset.make_one_shot_iterator()`. For an initializable iterator, use "
                             "`tf.data.Dataset.make_initializable_iterator()` instead.")
        return self._initializer

    element_spec = property(lambda self: self._spec)

    @staticmethod
    def from_structure(output_types, output_shapes=None, shared_name=None, output_classes=None):
        """An iterator without a dataset; make_initializer gives it one."""
        types = nest.flatten(output_types)
        shapes = [None] * len(types) if output_shapes is None else nest.flatten_up_to(output_types, output_shapes)
        spec = nest.pack_sequence_as(output_types, [TensorSpec(s, t) for s, t in zip(shapes, types)])
        return Iterator(_handle(spec, shared_name), None, spec)

    def make_initializer(self, dataset, name=None):
        return raw_ops.MakeIterator(dataset=dataset._variant_tensor, iterator=self._resource, name=name)

    def string_handle(self, name=None):
        return raw_ops.IteratorToStringHandle(resource_handle=self._resource, name=name)

    @staticmethod
    def from_string_handle(string_handle, output_types, output_shapes=None, output_classes=None):
        types = nest.flatten(output_types)
        shapes = [None] * len(types) if output_shapes is None else nest.flatten_up_to(output_types, output_shapes)
        spec = nest.pack_sequence_as(output_types, [TensorSpec(s, t) for s, t in zip(shapes, types)])
        flat = _flat(spec)
        handle = raw_ops.IteratorFromStringHandleV2(string_handle=string_handle, output_types=[s.dtype for s in flat],
                                                    output_shapes=[s.shape for s in flat])
        return Iterator(handle, None, spec)

    output_types = property(lambda self: get_output_types(self))
    output_shapes = property(lambda self: get_output_shapes(self))
    output_classes = property(lambda self: get_output_classes(self))

    def get_next_as_optional(self):
        """The next element as an optional, which is empty after the last."""
        from weir.data.optional import Optional
        flat = _flat(self._spec)
        return Optional(raw_ops.IteratorGetNextAsOptional(iterator=self._resource, output_types=[s.dtype for s in flat],
                                                          output_shapes=[s.shape for s in flat]), self._spec)

    def get_next(self, name=None):
        """The next element; OutOfRangeError after the last."""
        flat = _flat(self._spec)
        values = raw_ops.IteratorGetNext(iterator=self._resource, output_types=[s.dtype for s in flat],
                                         output_shapes=[s.shape for s in flat], name=name)
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        for value, spec in zip(values, flat):
            if hasattr(value, "op"):
                value.set_shape(spec.shape)
        return _packed(self._spec, values)


Iterator.__module__ = "tensorflow.python.data.ops.iterator_ops"


def _flat(spec):
    return structure.flat_specs(spec)


def _packed(spec, values):
    return structure.from_tensors(spec, values)


def _handle(spec, shared_name):
    flat = _flat(spec)
    return raw_ops.IteratorV2(shared_name=shared_name or "", container="", output_types=[s.dtype for s in flat],
                              output_shapes=[s.shape for s in flat])


def make_initializable_iterator(dataset, shared_name=None):
    """An iterator whose `initializer` must be run first."""
    if executing_eagerly():
        raise RuntimeError("`dataset.make_initializable_iterator()` is not supported in eager mode. Use a `for` loop or "
                           "`iter(dataset)`.")
    spec = dataset.element_spec
    handle = _handle(spec, shared_name)
    made = raw_ops.MakeIterator(dataset=dataset._variant_tensor, iterator=handle)
    get_default_graph().add_to_collection("iterators", handle)
    return Iterator(handle, made, spec)


def make_one_shot_iterator(dataset):
    """An iterator over the dataset, once."""
    if executing_eagerly():
        return iter(dataset)
    from weir.eager.function import trace_function
    spec = dataset.element_spec
    flat = _flat(spec)
    body = trace_function(lambda: [_rebuilt(dataset)], [], "make_dataset")
    if body.captures:
        raise ValueError("A dataset over which a one-shot iterator goes may not depend on tensors of the graph; use "
                         "make_initializable_iterator")
    handle = raw_ops.OneShotIterator(dataset_factory=body.finish([]), output_types=[s.dtype for s in flat],
                                     output_shapes=[s.shape for s in flat])
    return Iterator(handle, None, spec)


def _rebuilt(dataset):
    """The dataset's variant, made again in the current graph."""
    from weir import _core
    variant = dataset._variant_tensor
    graph = _core.current_graph()
    source = variant.graph
    copies = {}

    def copy(tensor):
        op = tensor.op
        if op.name not in copies:
            inputs = [copy(t) for t in op.inputs]
            attrs = {name: source._node_attr(op._node, name) for name in source._node_attrs(op._node)
                     if not name.startswith("_")}
            with graph.control_dependencies(None):
                copies[op.name] = _core.execute(op.type, inputs, attrs, op.name)
        return copies[op.name][tensor.value_index]
    return copy(variant)


def get_output_types(dataset_or_iterator):
    return nest.map_structure(lambda s: s.dtype, dataset_or_iterator.element_spec)


def get_output_shapes(dataset_or_iterator):
    return nest.map_structure(lambda s: s.shape, dataset_or_iterator.element_spec)


def get_output_classes(dataset_or_iterator):
    return nest.map_structure(lambda s: s.value_type, dataset_or_iterator.element_spec)
