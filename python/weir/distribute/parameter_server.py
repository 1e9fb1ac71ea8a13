"""tf.distribute.ParameterServerStrategy: variables on parameter servers, functions on workers, one coordinator.

The coordinator is this process. Workers and parameter servers run `tf.distribute.Server(...).join()`, or `weir server`.
"""

import contextlib
import threading
import uuid

from weir.distribute import context, remote
from weir.distribute.cluster_resolver import ClusterResolver
from weir.distribute.input import DistributedDataset
from weir.distribute.sharded_variable import ShardedVariable
from weir.distribute.strategy import Extended, InputContext, ReplicaContext, Strategy
from weir.eager import tape as tapes
from weir.variables import variable_creator_scope

__all__ = ["ParameterServerStrategy", "ParameterServerStrategyV2"]


class _Extended(Extended):
    def __init__(self, strategy, workers, servers):
        super().__init__(strategy)
        self._workers, self._servers = workers, servers
        self.parameter_devices = tuple(f"{server.name}/device:CPU:0" for server in servers)
        self._next, self._lock = 0, threading.Lock()
        self.worker = threading.local()

    def input_context(self):
        return InputContext()

    def call_for_each_replica(self, fn, args=(), kwargs=None):
        with context.enter(context.Frame(self._strategy, replica=ReplicaContext(self._strategy))):
            return fn(*args, **(kwargs or {}))

    def reduce_all(self, reduce_op, flat):
        return list(flat)

    def update(self, var, fn, args=(), kwargs=None, group=True):
        if isinstance(var, ShardedVariable):
            raise NotImplementedError("extended.update of a ShardedVariable; update its `variables`")
        return fn(var, *args, **(kwargs or {}))

    def _server(self):
        """The parameter servers take turns."""
        with self._lock:
            self._next += 1
            return self._servers[(self._next - 1) % len(self._servers)]

    def create_variable(self, next_creator, **kwargs):
        del next_creator
        import weir as tf
        for unused in ("validate_shape", "caching_device", "variable_def", "import_scope", "use_resource", "collections",
                       "expected_shape", "distribute_strategy", "experimental_enable_variable_lifting"):
            kwargs.pop(unused, None)
        initial, dtype = kwargs.pop("initial_value"), kwargs.get("dtype")
        if initial is None:
            raise ValueError("It looks like you are using `ParameterServerStrategy` with a `variable_partitioner`, and "
                             "trying to create a variable without specifying `initial_value`. This is not allowed.")
        partitioner = self._strategy.variable_partitioner
        with tf.init_scope():
            value = tf.convert_to_tensor(initial() if callable(initial) else initial, dtype)
        if partitioner is None or value.shape.rank == 0:
            return remote.RemoteVariable(self._server(), self._strategy, value, **kwargs)
        parts = partitioner(shape=value.shape, dtype=value.dtype)
        if any(count != 1 for count in parts[1:]):
            raise ValueError(f"partitions along other dimensions than the first are not supported: {parts}")
        if parts[0] == 1:
            return remote.RemoteVariable(self._server(), self._strategy, value, **kwargs)
        name = kwargs.pop("name", None)
        rows, count = value.shape.as_list()[0], min(parts[0], value.shape.as_list()[0])
        begin, made = 0, []
        for i in range(count):
            size = rows // count + (i < rows % count)
            made.append(remote.RemoteVariable(self._server(), self._strategy, value[begin:begin + size],
                                              name=f"{name}/part_{i}" if name else None, **kwargs))
            begin += size
        return ShardedVariable(made, name=name or "Variable")


class ParameterServerStrategyV2(Strategy):
    """Variables on parameter servers, which workers read and update on their own. Work is given out by a
    tf.distribute.coordinator.ClusterCoordinator."""

    def __init__(self, cluster_resolver, variable_partitioner=None):
        super().__init__()
        if not isinstance(cluster_resolver, ClusterResolver):
            raise TypeError("`cluster_resolver` must be a tf.distribute.cluster_resolver.ClusterResolver")
        if variable_partitioner is not None and not callable(variable_partitioner):
            raise ValueError("`variable_partitioner` should be a callable")
        spec = cluster_resolver.cluster_spec()
        for job in ("worker", "ps"):
            if job not in spec.jobs or not spec.job_tasks(job):
                raise ValueError(f"The cluster must have at least one {job}: {spec}")
        if spec.jobs.count("chief") and spec.num_tasks("chief") > 1:
            raise ValueError("There can be at most one 'chief' in the cluster")
        if cluster_resolver.task_type is not None and cluster_resolver.task_type not in ("chief", "worker", "ps"):
            raise ValueError(f"Unrecognized task type {cluster_resolver.task_type!r}")
        if cluster_resolver.task_type in ("worker", "ps"):
            raise ValueError("The strategy is for the coordinator (chief); workers and parameter servers call "
                             "tf.distribute.Server(...).join()")
        self._resolver, self.variable_partitioner = cluster_resolver, variable_partitioner
        self._prefix = f"parameter_server/{uuid.uuid4().hex[:12]}"
        tasks = {job: [remote.RemoteTask(job, i, spec.task_address(job, i)) for i in spec.task_indices(job)]
                 for job in ("worker", "ps")}
        self.workers, self.servers = tasks["worker"], tasks["ps"]
        self.extended = _Extended(self, self.workers, self.servers)
        self._coordinator = None
        from weir.eager import function
        function.remote_runner = self._run_here

    cluster_resolver = property(lambda self: self._resolver)

    def keep_table(self, table):
        """A table that is made inside the scope: every task that needs it gets a copy. The name of the copies."""
        return remote.keep_table(table, self._prefix)

    @staticmethod
    def _run_here(concrete, tensors):
        """A traced function that uses remote variables and is called outside of a coordinator runs where the first of
        them is. None if it uses none."""
        for captured in concrete.captured_inputs:
            variable = remote.variable_of(captured)
            if variable is not None:
                if tapes._TAPES and concrete.trainable_variables:
                    raise NotImplementedError("A GradientTape cannot look into a tf.function that runs at a parameter "
                                              "server: use the tape inside the function")
                return variable.task.call(concrete, tensors)
        return None

    @contextlib.contextmanager
    def scope(self):
        self._check_scope()
        with context.enter(context.Frame(self)), variable_creator_scope(self.extended.create_variable):
            yield self

    def experimental_distribute_dataset(self, dataset, options=None):
        """Inside create_per_worker_dataset: the dataset itself, since each worker has one replica."""
        return dataset if self._is_for_worker() else _Unusable(dataset)

    def distribute_datasets_from_function(self, dataset_fn, options=None):
        """Inside create_per_worker_dataset: the dataset of that worker."""
        dataset = dataset_fn(self.extended.input_context())
        return dataset if self._is_for_worker() else _Unusable(dataset)

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def _is_for_worker(self):
        return getattr(self.extended.worker, "index", None) is not None


class _Unusable(DistributedDataset):
    """A dataset that was distributed outside of create_per_worker_dataset."""

    def __init__(self, dataset):  # pylint: disable=super-init-not-called
        self._original = self._dataset = dataset

    def __iter__(self):
        raise ValueError("To use this dataset, you need to pass this dataset to "
                         "ClusterCoordinator.create_per_worker_dataset.")


ParameterServerStrategy = ParameterServerStrategyV2
