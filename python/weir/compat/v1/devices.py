"""Where variables of replicated training go: replica_device_setter, and strategies that choose a parameter server."""

from weir.framework.graph import Operation

__all__ = ["replica_device_setter", "GreedyLoadBalancingStrategy", "RandomStrategy", "byte_size_load_fn"]

_VARIABLES = ("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2",
              "MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable",
              "MutableDenseHashTableV2", "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp",
              "BoostedTreesQuantileStreamResourceHandleOp", "ResourceConditionalAccumulator",
              "DecisionTreeResource")


class _RoundRobin:
    def __init__(self, count):
        self._count, self._next = count, 0

    def __call__(self, op):
        task = self._next
        self._next = (task + 1) % self._count
        return task


def byte_size_load_fn(op):
    """How many bytes the variable that `op` makes takes."""
    shape = op.get_attr("shape") if op.type in ("VarHandleOp", "VariableV2", "Variable") else op.outputs[0].shape
    dtype = op.get_attr("dtype")
    elements = shape.num_elements()
    if elements is None:
        raise ValueError(f"The shape of {op.name} is not known: {shape}")
    return elements * dtype.size


class GreedyLoadBalancingStrategy:
    """Each variable goes to the task with the least load so far."""

    def __init__(self, num_tasks, load_fn):
        self._loads, self._load_fn = [0.0] * num_tasks, load_fn

    def __call__(self, op):
        task = min(range(len(self._loads)), key=lambda i: self._loads[i])
        self._loads[task] += self._load_fn(op)
        return task


class RandomStrategy:
    """Each variable goes to a random task."""

    def __init__(self, num_ps_tasks, seed=0):
        import random
        self._count, self._random = num_ps_tasks, random.Random(seed)

    def __call__(self, op):
        return self._random.randrange(self._count)


class _Chooser:
    def __init__(self, ps_tasks, ps_device, worker_device, merge_devices, ps_ops, ps_strategy):
        self._tasks, self._ps, self._worker = ps_tasks, ps_device, worker_device
        self._merge, self._ops, self._strategy = merge_devices, ps_ops, ps_strategy

    def __call__(self, op):
        from weir.framework.config import merge_devices
        current = op.device or ""
        if not self._merge and current:
            return current
        kind = op.type if isinstance(op, Operation) else op.node_def.op
        if self._tasks and self._ps and kind in self._ops:
            device = self._ps
            if "/task:" not in device:
                device = f"{device}/task:{self._strategy(op)}"
        else:
            device = self._worker or ""
        if not self._merge:
            return device
        return merge_devices([device, current], None) if current else device


def replica_device_setter(ps_tasks=0, ps_device="/job:ps", worker_device="/job:worker", merge_devices=True, cluster=None,
                          ps_ops=None, ps_strategy=None):
    """A function for tf.device: variables go to parameter servers in turn, everything else to the worker."""
    if cluster is not None:
        jobs = cluster.as_dict() if hasattr(cluster, "as_dict") else dict(cluster)
        name = ps_device.lstrip("/").split("/")[0].partition(":")[2]
        if name not in jobs or not jobs[name]:
            return None
        ps_tasks = len(jobs[name])
    if ps_tasks == 0:
        return None
    if ps_strategy is None:
        ps_strategy = _RoundRobin(ps_tasks)
    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    return _Chooser(ps_tasks, ps_device, worker_device, merge_devices, list(_VARIABLES) if ps_ops is None else ps_ops,
                    ps_strategy)
