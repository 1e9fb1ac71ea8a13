"""tf.distribute on one device: the default strategy, which every program uses whether it asks for it or not."""

import contextlib
import enum

__all__ = ["Strategy", "ReplicaContext", "ReduceOp", "get_strategy", "has_strategy", "get_replica_context",
           "in_cross_replica_context", "DistributedValues", "DistributedDataset", "DistributedIterator"]


class ReduceOp(enum.Enum):
    SUM = "SUM"
    MEAN = "MEAN"


class DistributedValues:
    """Values that differ by replica; on one device there are none."""


class DistributedDataset:
    """A dataset that several replicas share; on one device there are none."""


class DistributedIterator:
    """An iterator over a DistributedDataset."""


class _Extended:
    _in_multi_worker_mode_ = False
    worker_devices = ("/job:localhost/replica:0/task:0/device:CPU:0",)
    parameter_devices = worker_devices

    def __init__(self, strategy):
        self._strategy = strategy

    def _in_multi_worker_mode(self):
        return False

    def colocate_vars_with(self, variable):
        return contextlib.nullcontext()

    def update(self, var, fn, args=(), kwargs=None, group=True):
        return fn(var, *args, **(kwargs or {}))

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        return fn(*args, **(kwargs or {}))

    def reduce_to(self, reduce_op, value, destinations, options=None):
        return value

    def batch_reduce_to(self, reduce_op, value_destination_pairs, options=None):
        return [value for value, _ in value_destination_pairs]

    def variable_created_in_scope(self, variable):
        return True

    @property
    def num_replicas_in_sync_(self):
        return 1


class Strategy:
    """Runs on one device."""

    num_replicas_in_sync = 1

    def __init__(self):
        self.extended = _Extended(self)

    @contextlib.contextmanager
    def scope(self):
        yield self

    def run(self, fn, args=(), kwargs=None, options=None):
        return fn(*args, **(kwargs or {}))

    def reduce(self, reduce_op, value, axis=None):
        if axis is None:
            return value
        import weir as tf
        mean = getattr(reduce_op, "value", reduce_op).upper() == "MEAN"
        return tf.reduce_mean(value, axis) if mean else tf.reduce_sum(value, axis)

    def gather(self, value, axis):
        return value

    def experimental_distribute_dataset(self, dataset, options=None):
        return dataset

    def distribute_datasets_from_function(self, dataset_fn, options=None):
        return dataset_fn(InputContext())

    def experimental_local_results(self, value):
        return (value,)

    @property
    def cluster_resolver(self):
        return None


class InputContext:
    num_input_pipelines = 1
    input_pipeline_id = 0
    num_replicas_in_sync = 1

    def get_per_replica_batch_size(self, global_batch_size):
        return global_batch_size


class ReplicaContext:
    """What a replica knows: with one device, that it is alone."""

    replica_id_in_sync_group = 0
    num_replicas_in_sync = 1

    def __init__(self, strategy):
        self.strategy = strategy

    def all_reduce(self, reduce_op, value, options=None):
        return value

    def merge_call(self, merge_fn, args=(), kwargs=None):
        return merge_fn(self.strategy, *args, **(kwargs or {}))


_default = Strategy()
_context = ReplicaContext(_default)


def get_strategy():
    return _default


def has_strategy():
    return False


def get_replica_context():
    return _context


def in_cross_replica_context():
    return False


def maybe_merge_call(fn, strategy, *args, **kwargs):
    return fn(strategy, *args, **kwargs)


def strategy_supports_no_merge_call():
    return True


def _several(name):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"tf.distribute.{name} needs several devices, which this build of the package does not "
                                  "offer; without it programs run on one device")
    return type(name, (Strategy,), {"__init__": __init__, "__doc__": "Several devices; not available."})


MirroredStrategy = _several("MirroredStrategy")
MultiWorkerMirroredStrategy = _several("MultiWorkerMirroredStrategy")
TPUStrategy = _several("TPUStrategy")
ParameterServerStrategy = _several("ParameterServerStrategy")
CentralStorageStrategy = _several("CentralStorageStrategy")


class OneDeviceStrategy(Strategy):
    """Everything on the device that is named."""

    def __init__(self, device="/cpu:0"):
        super().__init__()
        self._device = device


import weir  # noqa: E402

__getattr__ = weir.names_of(__name__)  # tf.distribute.experimental
