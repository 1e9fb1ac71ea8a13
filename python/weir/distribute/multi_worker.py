"""tf.distribute.MultiWorkerMirroredStrategy: several processes, each with replicas on its devices.

Every worker runs the same program. Inside a process the replicas are MirroredStrategy's; between processes values are
exchanged by the collectives of weir/collective, all workers in the order of the program.
"""

import hashlib
import os

from weir import _core
from weir.distribute import values
from weir.distribute.cluster_resolver import TFConfigClusterResolver
from weir.distribute.mirrored import MirroredExtended, MirroredStrategy
from weir.distribute.options import CommunicationOptions
from weir.distribute.strategy import InputContext, _is_mean, reduce_values
from weir.framework import config

__all__ = ["MultiWorkerMirroredStrategy"]

_STALL_SECONDS = 3600.0  # a collective in which a worker is missing ends then, unless the options say otherwise
_state = {"place": None}


def _addresses(resolver):
    """The addresses of all workers, the chief's first, and the number of this one. None, None for a single process."""
    spec = resolver.cluster_spec()
    jobs = set(spec.jobs) if spec else set()
    if not jobs:
        return None, None
    if resolver.task_type is None or resolver.task_id is None:
        raise ValueError("When `cluster_spec` is given, you must also specify `task_type` and `task_id`.")
    if resolver.task_type == "evaluator":
        return None, None
    if jobs - {"chief", "master", "worker", "evaluator"}:
        raise ValueError("MultiWorkerMirroredStrategy is for clusters of the jobs 'chief' and 'worker', not for "
                         f"{sorted(jobs)}")
    tasks = [(job, i, spec.task_address(job, i)) for job in ("chief", "master", "worker") if job in jobs
             for i in spec.task_indices(job)]
    own = [n for n, (job, i, _) in enumerate(tasks) if (job, i) == (resolver.task_type, resolver.task_id)]
    if not own:
        raise ValueError(f"The `task_type` {resolver.task_type!r} with `task_id` {resolver.task_id} is not in the cluster "
                         f"{spec}.")
    return [address for _, _, address in tasks], own[0]


def _place(addresses, rank):
    """Where the process is in a job of these addresses."""
    hosts = [address.rpartition(":")[0] or address for address in addresses]
    local = [i for i, host in enumerate(hosts) if host == hosts[rank]]
    job = "workers/" + hashlib.sha256(",".join([os.environ.get("WEIR_JOB", ""), *addresses]).encode()).hexdigest()[:24]
    return {"rank": rank, "size": len(addresses), "local_rank": local.index(rank), "local_size": len(local), "job": job,
            "launcher": "TF_CONFIG", "host": hosts[rank], "address": addresses[0],
            "secret": os.environ.get("WEIR_SECRET") or job}


def _join_job(place, timeout):
    """Meets the other workers, once in the life of a process."""
    from weir.horovod import process
    if _core.collective_place() is not None:
        rank, size = _core.collective_place()[:2]
        if place is not None and (rank, size) != (place["rank"], place["size"]):
            raise RuntimeError(f"This process is rank {rank} of {size} already, and cannot be rank {place['rank']} of "
                               f"{place['size']}")
        return
    _core.collective_init(place, float(timeout or 0), float(timeout or _STALL_SECONDS))
    process.after_init()


class _Extended(MirroredExtended):
    def __init__(self, strategy, devices, resolver, options):
        super().__init__(strategy, devices)
        self._resolver, self._workers, self._worker = resolver, 1, 0
        addresses, rank = _addresses(resolver)
        timeout = options.timeout_seconds
        if addresses is not None and len(addresses) > 1:
            _join_job(_place(addresses, rank), timeout)
        elif addresses is None and resolver.task_type != "evaluator" and int(os.environ.get("WEIR_SIZE", "1")) > 1:
            _join_job(None, timeout)  # started by `weir launch`
        else:
            return
        self._worker, self._workers = _core.collective_place()[:2]
        job, task = (resolver.task_type, resolver.task_id) if addresses is not None else ("worker", self._worker)
        self.worker_devices = self.parameter_devices = tuple(
            f"/job:{job}/replica:0/task:{task}/device:" + device.rpartition("/device:")[2] for device in devices)

    # Which parts of a batch are this process's: with several devices each worker takes every n-th.
    first_part = property(lambda self: self._worker)
    step_of_parts = property(lambda self: self._workers)
    first_replica = property(lambda self: self._worker * len(self.worker_devices))
    devices_of_variables = property(lambda self: self.devices)
    should_checkpoint = property(lambda self: self._worker == 0)
    should_save_summary = should_checkpoint

    def _in_multi_worker_mode(self):
        return self._workers > 1 or _addresses(self._resolver)[0] is not None

    def input_context(self):
        return InputContext(self._strategy.num_replicas_in_sync, self._workers, self._worker)

    # Between the processes.

    def sum_over_workers(self, tensors):
        if self._workers == 1:
            return tensors
        from weir.horovod import collectives
        return collectives.reduce_when_ready(tensors, collectives.Sum, collectives.unique_name("all_reduce", None))

    def _gather_rows(self, tensor):
        from weir.horovod import collectives
        return collectives._run("_ProcessAllGather", [tensor], collectives.global_process_set,
                                tensor_name=collectives.unique_name("all_gather", None))

    def reduce_all(self, reduce_op, flat):
        if self._workers == 1:
            return super().reduce_all(reduce_op, flat)
        mean, out, sums = _is_mean(reduce_op), [None] * len(flat), {}
        for i, value in enumerate(flat):
            if mean and isinstance(value, (values.Mirrored, values.MirroredVariable)):
                out[i] = reduce_values(reduce_op, value)
            elif isinstance(value, (values.DistributedValues, values.DistributedVariable)):
                sums[i] = reduce_values("SUM", value)
            elif len(self.worker_devices) > 1 and not (mean or isinstance(value, (int, float)) and value == 0):
                reduce_values(reduce_op, value)  # raises
            else:
                sums[i] = value
        if sums:
            for i, total in zip(sums, self.sum_over_workers(list(sums.values()))):
                out[i] = self._divided(total, flat[i]) if mean else total
        return out

    def _divided(self, total, value):
        import weir as tf
        is_shared = not isinstance(value, (values.DistributedValues, values.DistributedVariable))
        count = self._workers if is_shared else self._strategy.num_replicas_in_sync
        if isinstance(total, tf.IndexedSlices):
            return tf.IndexedSlices(total.values / count, total.indices, total.dense_shape)
        return total / count

    def gather_leaf(self, value, axis):
        import weir as tf
        local = tf.convert_to_tensor(super().gather_leaf(value, axis))
        if self._workers == 1:
            return local
        if local.shape.rank == 0:
            raise ValueError("Cannot gather scalars: there is no axis along which to join them")
        order = list(range(local.shape.rank))
        axis = axis % len(order)
        order[0], order[axis] = order[axis], order[0]
        rows = self._gather_rows(tf.transpose(local, order) if axis else local)
        gathered = tf.transpose(rows, order) if axis else rows
        shape = local.shape.as_list()
        return tf.ensure_shape(gathered, shape[:axis] + [None] + shape[axis + 1:])

    def equally_long(self, dataset):
        import weir as tf
        if self._workers == 1:
            return dataset
        own = int(dataset.cardinality())
        lengths = self._gather_rows(tf.constant([own], tf.int64)).numpy()
        if lengths.min() < 0 or own == lengths.max():
            return dataset
        nothing = dataset.take(1).map(lambda *e: tf.nest.map_structure(lambda v: v[:0], e if len(e) > 1 else e[0]))
        return dataset.concatenate(nothing.repeat(int(lengths.max()) - own))

    def create_variable(self, next_creator, **kwargs):
        if self._workers == 1:
            return super().create_variable(next_creator, **kwargs)
        import weir as tf
        initial, dtype = kwargs.pop("initial_value"), kwargs.get("dtype")

        def of_the_chief():
            from weir.horovod import collectives
            value = tf.convert_to_tensor(initial() if callable(initial) else initial, dtype)
            if value.dtype in (tf.string, tf.resource, tf.variant):
                return value
            return collectives._run("_ProcessBroadcast", [value], collectives.global_process_set, root=0,
                                    tensor_name=collectives.unique_name("initial_value", None))
        return super().create_variable(next_creator, initial_value=of_the_chief, **kwargs)


class MultiWorkerMirroredStrategy(MirroredStrategy):
    """Synchronous training by several processes: TF_CONFIG, a cluster resolver or `weir launch` says which."""

    def __init__(self, cluster_resolver=None, communication_options=None):
        super().__init__(self._local_devices())
        if communication_options is None:
            communication_options = CommunicationOptions()
        self._resolver = cluster_resolver if cluster_resolver is not None else TFConfigClusterResolver()
        self.extended = _Extended(self, self.extended.devices, self._resolver, communication_options)

    cluster_resolver = property(lambda self: self._resolver)

    @staticmethod
    def _local_devices():
        return [device.name for device in config.list_logical_devices("GPU")] or ["CPU:0"]

    def reduce(self, reduce_op, value, axis=None):
        """The replicas' values as one. Of scalars there is no axis to reduce: Keras's trainer gives one for all values."""
        from weir import nest
        if axis is None:
            return super().reduce(reduce_op, value)

        def rank(leaf):
            parts = self.experimental_local_results(leaf)
            return getattr(getattr(parts[0], "shape", None), "rank", 0)
        flat = nest.flatten(value)
        reduce = super().reduce
        return nest.pack_sequence_as(value, [reduce(reduce_op, v, None if rank(v) == 0 else axis) for v in flat])

    @property
    def num_replicas_in_sync(self):
        return len(self.extended.worker_devices) * self.extended._workers
