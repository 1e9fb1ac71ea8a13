"""tf.distribute.MirroredStrategy: one program, several replicas of it on parts of each batch, variables kept equal.

Each replica's call runs in a thread of its own, one at a time, so that it can stop in `merge_call` until the others have
come there, too. The replicas' computations become one graph inside a tf.function.
"""

import contextlib
import threading

from weir import _core, nest
from weir.distribute import context, values
from weir.distribute.strategy import Extended, ReplicaContext, Strategy
from weir.eager import traced_gradient
from weir.framework import config
from weir.variables import VariableSynchronization, _creators, variable_creator_scope

__all__ = ["CentralStorageStrategy", "MirroredStrategy"]


class _Replica(threading.Thread):
    """A replica's call. The thread that made it says when it goes on."""

    def __init__(self, strategy, index, function, args, kwargs):
        super().__init__(daemon=True, name=f"replica {index}")
        from weir.eager import function as functions
        self._strategy, self._function, self._args, self._kwargs = strategy, function, args, kwargs
        self.index = index
        self.context = _MirroredReplicaContext(strategy, index, self)
        self._graph = _core.current_graph()
        self._tracing = list(functions._tracing.stack)
        self._creators = list(_creators.stack)
        self._go, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self.merge = None  # (function, args, kwargs) while it waits in merge_call
        self.merged = self.result = self.error = None
        self.is_done = False

    def run(self):
        from weir.autograph import context as autograph_context
        from weir.eager import function as functions
        self._go.acquire()
        functions._tracing.stack = self._tracing
        _creators.stack = self._creators
        _core.push_graph(self._graph)
        try:
            with context.enter(context.Frame(self._strategy, replica=self.context)), \
                    config.device(self._strategy.extended.devices[self.index]), \
                    autograph_context.ControlContext(self._status):
                self.result = self._function(*self._args, **self._kwargs)
        except BaseException as error:  # noqa: BLE001 raised again where the replicas were started
            self.error = error
        finally:
            _core.pop_graph()
            self.is_done = True
            self._paused.release()

    _status = None

    def go_on(self):
        """Lets the replica run until its end or its next merge_call."""
        self._go.release()
        self._paused.acquire()

    def wait_for_merge(self, function, args, kwargs):
        """In the replica: stops until all have come here; what `function` gave for this one."""
        self.merge = (function, args, kwargs)
        self._paused.release()
        self._go.acquire()
        if isinstance(self.merged, BaseException):
            raise self.merged
        return self.merged


class _MirroredReplicaContext(ReplicaContext):
    def __init__(self, strategy, index, thread):
        super().__init__(strategy)
        self.replica_id = index
        self._thread = thread

    @property
    def replica_id_in_sync_group(self):
        return self.strategy.extended.first_replica + self.replica_id

    @property
    def num_replicas_in_sync(self):
        return self.strategy.num_replicas_in_sync

    @property
    def devices(self):
        return [self.strategy.extended.worker_devices[self.replica_id]]

    def merge_call(self, merge_fn, args=(), kwargs=None):
        frame = context.current()
        if self._thread is None or threading.current_thread() is not self._thread:
            with context.enter(context.Frame(self.strategy)):
                return values.select(self.replica_id, merge_fn(self.strategy, *args, **(kwargs or {})))
        if frame is None or frame.replica is not self or traced_gradient.is_tracing():
            raise RuntimeError("`merge_call` called while defining a new graph or a tf.function. This can often happen if "
                               "the function `fn` passed to `strategy.run()` contains a nested `@tf.function`.")
        return self._thread.wait_for_merge(merge_fn, args, kwargs or {})

    def all_reduce(self, reduce_op, value, options=None):
        def merge(strategy, flat):
            return strategy.extended.reduce_all_everywhere(reduce_op, flat)
        flat = nest.flatten(value)
        return nest.pack_sequence_as(value, self.merge_call(merge, args=(flat,)))

    def all_gather(self, value, axis, options=None):
        return self.merge_call(lambda strategy, v: strategy.gather(v, axis), args=(value,))


def _run_replicas(strategy, function, args, kwargs):
    count = len(strategy.extended.worker_devices)
    from weir.autograph import context as autograph_context
    status = autograph_context.control_status()
    replicas = [_Replica(strategy, i, function, values.select(i, args), values.select(i, kwargs)) for i in range(count)]
    for replica in replicas:
        replica._status = status
        replica.start()
    while True:
        for replica in replicas:
            if not replica.is_done:
                replica.go_on()
        failed = next((r for r in replicas if r.error is not None), None)
        waiting = [r for r in replicas if not r.is_done]
        if failed is not None or (waiting and len(waiting) != count):
            _abandon(waiting)
            if failed is not None:
                raise failed.error
            raise RuntimeError("Some replicas called merge_call (for example through a variable's assign or an optimizer) "
                               "and others did not; all must do the same")
        if not waiting:
            return values.regroup([r.result for r in replicas])
        merges = [r.merge for r in replicas]
        try:
            with context.enter(context.Frame(strategy)):
                merged = merges[0][0](strategy, *values.regroup([list(m[1]) for m in merges]),
                                      **values.regroup([m[2] for m in merges]))
        except BaseException as error:  # noqa: BLE001 it is the caller's after the replicas have ended
            _abandon(replicas)
            raise error
        for i, replica in enumerate(replicas):
            replica.merged = values.select(i, merged)


class _Abandoned(BaseException):
    """Ends a replica whose fellows have failed."""


def _abandon(replicas):
    for replica in replicas:
        while not replica.is_done:
            replica.merged = _Abandoned()
            replica.go_on()


class MirroredExtended(Extended):
    def __init__(self, strategy, devices):
        super().__init__(strategy)
        self.worker_devices = self.parameter_devices = self.devices = tuple(devices)

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        if len(self.worker_devices) == 1:
            replica = _MirroredReplicaContext(self._strategy, 0, None)
            with context.enter(context.Frame(self._strategy, replica=replica)), config.device(self.devices[0]):
                return fn(*values.select(0, args), **values.select(0, kwargs or {}))
        return _run_replicas(self._strategy, fn, tuple(args), kwargs or {})

    # Where the variables' components are, by names that this process knows.
    devices_of_variables = property(lambda self: self.parameter_devices)

    def create_variable(self, next_creator, **kwargs):
        synchronization = kwargs.get("synchronization", VariableSynchronization.AUTO)
        aggregation = kwargs.get("aggregation")
        components = []
        initial = kwargs.pop("initial_value")
        for i, device in enumerate(self.devices_of_variables):
            with config.device(device), context.enter(context.Frame(self._strategy, update=i)):
                if i == 0:
                    component = next_creator(initial_value=initial, **kwargs)
                else:
                    name = kwargs.get("name")
                    component = next_creator(initial_value=components[0].read_value(), **dict(
                        kwargs, name=f"{name or 'Variable'}/replica_{i}"))
            components.append(component)
        return values.variable_class(synchronization)(self._strategy, components, aggregation)

    def update(self, var, fn, args=(), kwargs=None, group=True):
        kwargs = kwargs or {}
        if not isinstance(var, values.DistributedVariable):
            with context.enter(context.Frame(self._strategy, update=0)):
                return fn(var, *values.select(0, args), **values.select(0, kwargs))
        results = []
        for i, component in enumerate(var._components):
            with config.device(self.devices_of_variables[i]), context.enter(context.Frame(self._strategy, update=i)):
                results.append(fn(component, *values.select(i, args), **values.select(i, kwargs)))
        if not group:
            return values.regroup(results) if any(r is not None for r in results) else None
        return results[0]

    def reduce_to(self, reduce_op, value, destinations, options=None):
        return self.batch_reduce_to(reduce_op, [(value, destinations)])[0]

    def batch_reduce_to(self, reduce_op, value_destination_pairs, options=None):
        reduced = self.reduce_all(reduce_op, [value for value, _ in value_destination_pairs])
        return [values.Mirrored([value] * len(self.worker_devices)) if isinstance(destination, values.DistributedVariable)
                else value for value, (_, destination) in zip(reduced, value_destination_pairs)]

    def variable_created_in_scope(self, variable):
        return getattr(variable, "_strategy", None) is self._strategy

    def value_container(self, value):
        return values._container(value) or value


class MirroredStrategy(Strategy):
    """A replica on each of several devices of this process, which share the work of each batch."""

    def __init__(self, devices=None, cross_device_ops=None):
        super().__init__()
        del cross_device_ops  # the devices share the host's memory
        if devices is None:
            logical = config.list_logical_devices("GPU") or config.list_logical_devices("CPU")
            devices = [d.name for d in logical]
        devices = [devices] if isinstance(devices, str) else [getattr(d, "name", d) for d in devices]
        if not devices:
            raise ValueError("Got an empty `devices` list and unable to recognize any local devices.")
        self.extended = MirroredExtended(self, [config.canonical_device(d) for d in devices])

    @property
    def num_replicas_in_sync(self):
        return len(self.extended.worker_devices)

    @contextlib.contextmanager
    def scope(self):
        self._check_scope()
        with context.enter(context.Frame(self)), variable_creator_scope(self.extended.create_variable):
            yield self


class _CentralExtended(MirroredExtended):
    """Variables are on one device, and all replicas use them."""

    def __init__(self, strategy, devices, parameter_device):
        super().__init__(strategy, devices)
        self.parameter_devices = (parameter_device,)

    def create_variable(self, next_creator, **kwargs):
        if kwargs.get("synchronization") == VariableSynchronization.ON_READ:
            self.parameter_devices, before = self.worker_devices, self.parameter_devices
            try:
                return super().create_variable(next_creator, **kwargs)
            finally:
                self.parameter_devices = before
        return super().create_variable(next_creator, **kwargs)


class CentralStorageStrategy(MirroredStrategy):
    """Variables on one device, computation on several."""

    def __init__(self, compute_devices=None, parameter_device=None):
        super().__init__(compute_devices)
        self.extended = _CentralExtended(self, self.extended.worker_devices,
                                         config.canonical_device(parameter_device or "/cpu:0"))

