"""tf.distribute.Strategy: the base of all strategies, and the default one, which every program uses."""

import contextlib
import enum

from weir import nest
from weir.distribute import context

__all__ = ["Extended", "InputContext", "OneDeviceStrategy", "ReduceOp", "ReplicaContext", "Strategy", "ValueContext",
           "experimental_set_strategy", "get_replica_context", "get_strategy", "has_strategy",
           "in_cross_replica_context", "maybe_merge_call", "reduce_values", "strategy_supports_no_merge_call"]


class ReduceOp(enum.Enum):
    """How values of replicas become one."""
    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation):
        """The reduction of a variable's aggregation."""
        return ReduceOp[aggregation.name]


def _is_mean(reduce_op):
    name = reduce_op.value if isinstance(reduce_op, ReduceOp) else str(reduce_op).upper()
    if name not in ("SUM", "MEAN"):
        raise ValueError(f"The reduce_op must be 'SUM' or 'MEAN', not {reduce_op!r}")
    return name == "MEAN"


def reduce_values(reduce_op, value):
    """The sum or mean of the replicas' values; a value that all share is its own mean."""
    import weir as tf
    from weir.distribute import values
    mean = _is_mean(reduce_op)
    if isinstance(value, values.DistributedVariable):
        value = values.Mirrored(value._components) if isinstance(value, values.MirroredVariable) else values.PerReplica(
            value._components)
    if isinstance(value, values.Mirrored) and mean:
        return value._values[0]
    if not isinstance(value, values.DistributedValues):
        frame = context.current()
        count = frame.strategy.num_replicas_in_sync if frame is not None else 1
        if mean or count == 1 or isinstance(value, (int, float)) and value == 0:
            return value
        raise ValueError(f"A non-DistributedValues value {value} cannot be reduced with the given reduce op "
                         f"{reduce_op if isinstance(reduce_op, ReduceOp) else ReduceOp[str(reduce_op).upper()]}.")
    parts = value._values
    if isinstance(parts[0], tf.IndexedSlices):
        joined = tf.IndexedSlices(tf.concat([p.values for p in parts], 0), tf.concat([p.indices for p in parts], 0),
                                  parts[0].dense_shape)
        return tf.IndexedSlices(joined.values / len(parts), joined.indices, joined.dense_shape) if mean else joined
    total = tf.add_n([tf.convert_to_tensor(p) for p in parts])
    return total / len(parts) if mean else total


class Extended:
    """What libraries ask of a strategy."""

    worker_devices = ("/job:localhost/replica:0/task:0/device:CPU:0",)
    parameter_devices = worker_devices
    experimental_require_static_shapes = False
    first_replica = 0  # the number of this process's first replica among all
    first_part, step_of_parts = 0, 1  # which parts of a batch are for this process's replicas
    should_checkpoint = True
    should_save_summary = True

    def __init__(self, strategy):
        self._strategy = strategy

    def _in_multi_worker_mode(self):
        return False

    def _use_merge_call(self):
        return True

    @contextlib.contextmanager
    def colocate_vars_with(self, variable):
        yield

    def update(self, var, fn, args=(), kwargs=None, group=True):
        return fn(var, *args, **(kwargs or {}))

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        return fn(*args, **(kwargs or {}))

    def reduce_to(self, reduce_op, value, destinations, options=None):
        return value

    def reduce_all(self, reduce_op, flat):
        """The sum or mean of each of several values over all replicas."""
        return [reduce_values(reduce_op, value) for value in flat]

    def reduce_all_everywhere(self, reduce_op, flat):
        """The reduced values, as tensors of its own for each replica of this process."""
        import weir as tf
        from weir.distribute import values

        def copies(reduced):
            if isinstance(reduced, tf.IndexedSlices):
                return reduced
            return values.Mirrored([tf.identity(reduced) for _ in self.worker_devices])
        return [copies(reduced) for reduced in self.reduce_all(reduce_op, flat)]

    def input_context(self):
        """What a function that makes a dataset gets."""
        return InputContext(self._strategy.num_replicas_in_sync)

    def equally_long(self, dataset):
        """The dataset, with as many elements as those of the other processes."""
        return dataset

    def sum_over_workers(self, tensors):
        """The sums of what all processes give; here there is one."""
        return tensors

    def gather_leaf(self, value, axis):
        """The replicas' values joined along `axis`."""
        import weir as tf
        from weir.distribute import values
        return tf.concat(value._values, axis) if isinstance(value, values.DistributedValues) else value

    def batch_reduce_to(self, reduce_op, value_destination_pairs, options=None):
        return [value for value, _ in value_destination_pairs]

    def variable_created_in_scope(self, variable):
        return True

    def value_container(self, value):
        return value


class Strategy:
    """How a program's computation and variables are spread over devices. This one uses a single device."""

    def __init__(self, extended=None):
        self.extended = extended if extended is not None else Extended(self)

    num_replicas_in_sync = property(lambda self: 1)
    cluster_resolver = property(lambda self: None)

    def _check_scope(self):
        frame = context.current()
        if frame is not None and frame.strategy is not self and frame.strategy is not _default:
            raise RuntimeError(f"Mixing different tf.distribute.Strategy objects: {frame.strategy} is not {self}")

    @contextlib.contextmanager
    def scope(self):
        """Inside, variables are made as the strategy wants them."""
        if self is _default:
            yield self
            return
        self._check_scope()
        with context.enter(context.Frame(self)):
            yield self

    def run(self, fn, args=(), kwargs=None, options=None):
        """Calls `fn` once for each replica; arguments that are PerReplica give each its own."""
        del options
        if not isinstance(args, (list, tuple)):
            raise ValueError(f"positional args must be a list or tuple, got {type(args)}")
        if self is _default:
            return fn(*args, **(kwargs or {}))
        from weir import autograph
        from weir.autograph import context as status
        if status.control_status() is status.ControlStatus.ENABLED:
            fn = autograph.tf_convert(fn)
        with self.scope() if context.current() is None or context.current().strategy is not self else \
                contextlib.nullcontext():
            return self.extended.call_for_each_replica(fn, args=args, kwargs=kwargs)

    def reduce(self, reduce_op, value, axis=None):
        """The replicas' values as one: their sum or mean, and over `axis` of each, if given."""
        import weir as tf
        from weir.distribute import values
        mean = _is_mean(reduce_op)
        if axis is None:
            return nest.pack_sequence_as(value, self.extended.reduce_all(reduce_op, nest.flatten(value)))

        def reduce_leaf(leaf):
            parts = leaf._values if isinstance(leaf, values.DistributedValues) else (leaf,)
            sums = tf.add_n([tf.reduce_sum(p, axis=axis) for p in parts])
            if not mean:
                return self.extended.sum_over_workers([sums])[0]
            axes = axis if isinstance(axis, (list, tuple)) else [axis]
            count = tf.add_n([tf.reduce_prod(tf.gather(tf.shape(p), [a % p.shape.rank for a in axes])) for p in parts])
            sums, count = self.extended.sum_over_workers([sums, tf.cast(count, sums.dtype)])
            return sums / count
        return nest.map_structure(reduce_leaf, value)

    def gather(self, value, axis):
        """The replicas' values joined along `axis`."""
        return nest.map_structure(lambda v: self.extended.gather_leaf(v, axis), value)

    def experimental_distribute_dataset(self, dataset, options=None):
        """A dataset whose elements have a part for each replica."""
        if self.num_replicas_in_sync == 1 and type(self) in (Strategy, OneDeviceStrategy):
            return dataset
        from weir.distribute.input import DistributedDataset
        return DistributedDataset(self, dataset)

    def distribute_datasets_from_function(self, dataset_fn, options=None):
        """The same for `dataset_fn(input_context)`, whose batches are those of one replica."""
        if self.num_replicas_in_sync == 1 and type(self) in (Strategy, OneDeviceStrategy):
            return dataset_fn(InputContext())
        from weir.distribute.input import DistributedDatasetsFromFunction
        return DistributedDatasetsFromFunction(self, dataset_fn(self.extended.input_context()))

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def experimental_distribute_values_from_function(self, value_fn):
        """PerReplica values of `value_fn(value_context)`."""
        from weir.distribute import values
        first = self.extended.first_replica
        return values.PerReplica([value_fn(ValueContext(first + i, self.num_replicas_in_sync))
                                  for i in range(len(self.extended.worker_devices))])

    def experimental_local_results(self, value):
        """The replicas' values as a tuple."""
        from weir.distribute import values
        if isinstance(value, values.DistributedValues):
            return value._values
        if isinstance(value, values.DistributedVariable):
            return value._components
        return (value,)


class OneDeviceStrategy(Strategy):
    """Everything on the device that is named."""

    def __init__(self, device="/cpu:0"):
        super().__init__()
        from weir.framework import config
        self._device = config.canonical_device(device)
        self.extended.worker_devices = self.extended.parameter_devices = (self._device,)

    def run(self, fn, args=(), kwargs=None, options=None):
        from weir.framework import config
        replica = ReplicaContext(self)
        with context.enter(context.Frame(self, replica=replica)), config.device(self._device):
            return fn(*args, **(kwargs or {}))

    @contextlib.contextmanager
    def scope(self):
        from weir.framework import config
        self._check_scope()
        with context.enter(context.Frame(self)), config.device(self._device):
            yield self


class InputContext:
    """What a function that makes a dataset may know."""

    def __init__(self, num_replicas_in_sync=1, num_input_pipelines=1, input_pipeline_id=0):
        self.num_replicas_in_sync = num_replicas_in_sync
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id

    def __repr__(self):
        return f"tf.distribute.InputContext(input pipeline id {self.input_pipeline_id}, total: {self.num_input_pipelines})"

    def get_per_replica_batch_size(self, global_batch_size):
        """A replica's part of a global batch."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                             f"{self.num_replicas_in_sync} ")
        return global_batch_size // self.num_replicas_in_sync


class ValueContext:
    """What a function that makes a replica's value may know."""

    def __init__(self, replica_id_in_sync_group=0, num_replicas_in_sync=1):
        self.replica_id_in_sync_group = replica_id_in_sync_group
        self.num_replicas_in_sync = num_replicas_in_sync


class ReplicaContext:
    """What a replica knows of itself and may ask of the others."""

    replica_id = 0
    replica_id_in_sync_group = 0
    num_replicas_in_sync = 1

    def __init__(self, strategy):
        self.strategy = strategy

    def all_reduce(self, reduce_op, value, options=None):
        return value

    def all_gather(self, value, axis, options=None):
        return value

    def merge_call(self, merge_fn, args=(), kwargs=None):
        with context.enter(context.Frame(self.strategy)) if self.strategy is not _default else contextlib.nullcontext():
            return merge_fn(self.strategy, *args, **(kwargs or {}))

    def __enter__(self):
        self._entered = context.enter(context.Frame(self.strategy, replica=self))
        return self._entered.__enter__() and self

    def __exit__(self, *error):
        return self._entered.__exit__(*error)


class _DefaultDistributionStrategy(Strategy):
    """The strategy of programs that have none."""


_DefaultDistributionStrategy.__module__ = "tensorflow.python.distribute.distribute_lib"
_default = _DefaultDistributionStrategy()
_default_replica = ReplicaContext(_default)


def get_strategy():
    """The strategy whose scope is open, or the default one."""
    frame = context.current()
    return _default if frame is None else frame.strategy


def has_strategy():
    """Whether a strategy other than the default one is in use."""
    return get_strategy() is not _default


def get_replica_context():
    """The context of the replica that runs; None across replicas."""
    frame = context.current()
    return _default_replica if frame is None else frame.replica


def experimental_set_strategy(strategy):
    """Makes `strategy` the one in use, as if its scope were open for good; None ends that."""
    global _set_scope
    if _set_scope is not None:
        _set_scope.__exit__(None, None, None)
        _set_scope = None
    if strategy is not None:
        _set_scope = strategy.scope()
        _set_scope.__enter__()


_set_scope = None


def in_cross_replica_context():
    """Whether a strategy's scope is open and no replica runs."""
    frame = context.current()
    return frame is not None and frame.replica is None


def maybe_merge_call(fn, strategy, *args, **kwargs):
    """`fn(strategy, ...)` across replicas, from wherever this is called."""
    replica = get_replica_context()
    if strategy is _default or replica is None:
        return fn(strategy, *args, **kwargs)
    return replica.merge_call(fn, args=args, kwargs=kwargs)


def strategy_supports_no_merge_call():
    """Whether updates may be made inside replicas."""
    return not has_strategy()
