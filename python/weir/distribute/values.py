"""Values that replicas have copies or versions of: PerReplica, Mirrored, and variables."""

import weakref

from weir import nest
from weir.distribute import context
from weir.framework import CompositeTensor, TypeSpec
from weir.framework.type_spec import type_spec_from_value
from weir.variables import Variable, VariableAggregation, VariableSynchronization

__all__ = ["DistributedValues", "Mirrored", "MirroredVariable", "PerReplica", "PerReplicaSpec", "SyncOnReadVariable",
           "regroup", "select"]


class DistributedValues:
    """One value for each replica."""

    def __init__(self, values):
        self._values = tuple(values)

    values = property(lambda self: self._values)

    def _local(self):
        index = context.local_replica()
        return self._values[0 if index is None else index]

    def __repr__(self):
        lines = "".join(f"  {i}: {v!r},\n" for i, v in enumerate(self._values))
        return f"{type(self).__name__}:{{\n{lines.rstrip().rstrip(',')}\n}}"

    def __str__(self):
        return f"{type(self).__name__}:{{\n" + ",\n".join(f"  {i}: {v!s}" for i, v in enumerate(self._values)) + "\n}"


class PerReplica(DistributedValues, CompositeTensor):
    """Values that differ by replica, such as the parts of a batch."""

    @property
    def _type_spec(self):
        return PerReplicaSpec(*[type_spec_from_value(v) for v in self._values])


class Mirrored(DistributedValues):
    """The same value for each replica."""


class PerReplicaSpec(TypeSpec):
    """The type of a PerReplica value."""

    def __init__(self, *specs):
        self._specs = tuple(specs)

    value_type = property(lambda self: PerReplica)
    _component_specs = property(lambda self: self._specs)

    def _serialize(self):
        return self._specs

    def _to_components(self, value):
        replica = context.local_replica()
        if replica is not None:
            raise ValueError("Flattening a PerReplica to components is not supported in replica context.")
        return value._values

    def _from_components(self, components):
        return PerReplica(components)

    # As an element of a dataset.

    @property
    def _flat_tensor_specs(self):
        from weir.data import structure
        return [s for spec in self._specs for s in structure.flat_specs(spec)]

    def _to_tensor_list(self, value):
        from weir.data import structure
        return [t for spec, v in zip(self._specs, value._values) for t in structure.to_tensors(spec, v)]

    def _from_compatible_tensor_list(self, tensors):
        from weir.data import structure
        values, begin = [], 0
        for spec in self._specs:
            count = len(structure.flat_specs(spec))
            values.append(structure.from_tensors(spec, tensors[begin:begin + count]))
            begin += count
        return PerReplica(values)


def regroup(values):
    """Structures of replicas' results as one structure of values for all replicas."""
    first = values[0]
    if isinstance(first, (list, tuple)) and not isinstance(first, CompositeTensor):
        parts = [regroup([v[i] for v in values]) for i in range(len(first))]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if isinstance(first, dict):
        return type(first)((key, regroup([v[key] for v in values])) for key in first)
    containers = [_container(v) for v in values]
    if containers[0] is not None and all(c is containers[0] for c in containers):
        return containers[0]
    if all(v is first for v in values):
        return first
    return PerReplica(values)


def _container(value):
    if isinstance(value, DistributedVariable):
        return value
    container = getattr(value, "_distributed_container", None)
    return container() if container is not None else None


def select(replica, structure):
    """What a replica has of a structure."""
    return nest.map_structure(lambda v: v._values[replica] if isinstance(v, DistributedValues) else
                              v._components[replica] if isinstance(v, DistributedVariable) else v, structure)


class DistributedVariable(Variable):
    """A variable with a component for each replica. In a replica it is that replica's component."""

    def __init__(self, strategy, components, aggregation):  # pylint: disable=super-init-not-called
        self._strategy = strategy
        self._components = tuple(components)
        primary = components[0]
        for name in ("_dtype", "_shape", "_trainable", "_constraint", "_synchronization", "_handle_name", "_unique_id",
                     "_save_slice_info", "_graph_mode", "_initial_value", "_initializer_op", "_graph_element"):
            object.__setattr__(self, name, getattr(primary, name))
        self._aggregation = aggregation
        this = weakref.ref(self)
        for component in components:
            component._distributed_container = this

    values = property(lambda self: self._components)
    distribute_strategy = property(lambda self: self._strategy)
    _primary = property(lambda self: self._components[0])

    def _local(self):
        index = context.local_replica()
        return self._components[0 if index is None or index >= len(self._components) else index]

    @property
    def _handle(self):
        return self._local()._handle

    def _across(self):
        """Whether this is asked across replicas, outside of all."""
        return context.local_replica() is None

    def _changed(self, op, read_value):
        return self if read_value else op

    def _write(self, method, value, arguments):
        raise NotImplementedError

    def assign(self, value, use_locking=None, name=None, read_value=True):
        return self._write("assign", value, {"read_value": read_value})

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        return self._write("assign_add", delta, {"read_value": read_value})

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        return self._write("assign_sub", delta, {"read_value": read_value})

    def _scatter_into(self, method, sparse_delta):
        return self._write(method, sparse_delta, {})

    def scatter_add(self, sparse_delta, use_locking=False, name=None):
        return self._scatter_into("scatter_add", sparse_delta)

    def scatter_sub(self, sparse_delta, use_locking=False, name=None):
        return self._scatter_into("scatter_sub", sparse_delta)

    def scatter_update(self, sparse_delta, use_locking=False, name=None):
        return self._scatter_into("scatter_update", sparse_delta)

    def __repr__(self):
        lines = ",\n".join(f"  {i}: {v!r}" for i, v in enumerate(self._components))
        return f"{type(self).__name__}:{{\n{lines}\n}}"


def _in_all(variable, method, value, arguments):
    results = []
    for i, component in enumerate(variable._components):
        with context.enter(context.Frame(variable._strategy, update=i)):
            results.append(getattr(component, method)(select(i, value), **arguments))
    return variable if arguments.get("read_value", True) else results


class MirroredVariable(DistributedVariable):
    """A variable whose components are equal: every update goes to all of them."""

    def _write(self, method, value, arguments):
        frame = context.current()
        if frame is not None and frame.update is not None:
            return getattr(self._local(), method)(value, **arguments)
        if frame is None or frame.replica is None:
            return _in_all(self, method, value, arguments)
        if self._aggregation == VariableAggregation.NONE:
            return getattr(self._local(), method)(value, **arguments)

        def merge(strategy, values):
            if self._aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
                values = select(0, values)
            else:
                values = strategy.reduce(self._aggregation.name, values, axis=None)
            _in_all(self, method, values, arguments)
        frame.replica.merge_call(merge, args=(value,))
        return self


class SyncOnReadVariable(DistributedVariable):
    """A variable that each replica changes for itself; read across replicas it is their sum or mean."""

    def _write(self, method, value, arguments):
        if not self._across():
            return getattr(self._local(), method)(value, **arguments)
        if self._aggregation == VariableAggregation.SUM:
            if method != "assign":
                raise ValueError("SyncOnReadVariable does not support `assign_add` in cross-replica context when "
                                 "aggregation is set to `tf.VariableAggregation.SUM`.")
            import weir as tf
            value = tf.cast(tf.convert_to_tensor(value, self._dtype) / self._strategy.num_replicas_in_sync, self._dtype)
        return _in_all(self, method, value, arguments)

    def _read(self):
        if not self._across():
            return super()._read()
        values = []
        for i in range(len(self._components)):
            with context.enter(context.Frame(self._strategy, update=i)):
                values.append(super()._read())
        if self._aggregation == VariableAggregation.ONLY_FIRST_REPLICA:
            return values[0]
        if self._aggregation == VariableAggregation.NONE:
            return values[0]
        return self._strategy.reduce(self._aggregation.name, PerReplica(values), axis=None)


def variable_class(synchronization):
    return SyncOnReadVariable if synchronization == VariableSynchronization.ON_READ else MirroredVariable
