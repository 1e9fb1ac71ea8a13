"""allreduce, allgather, broadcast, alltoall, reducescatter: at once, or in graphs and tf.functions.

Tensors of one name meet. Without a name it follows from the place in the graph; eager calls without a name meet in
their order. Gradients follow Horovod's convention, in which a loss is the average of the processes' losses.
"""

from weir import _core
from weir.horovod.compression import Compression
from weir.horovod.process import global_process_set, process_set_number, rank, size, local_rank, local_size

__all__ = ["Adasum", "Average", "Max", "Min", "Product", "Sum", "allgather", "allreduce", "alltoall", "broadcast",
           "broadcast_", "grouped_allgather", "grouped_allreduce", "grouped_reducescatter", "local_rank_op",
           "local_size_op", "process_set_included_op", "rank_op", "reducescatter", "size_op"]


class _Reduction:
    """How values are combined."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


Average, Sum, Adasum = _Reduction("Average"), _Reduction("Sum"), _Reduction("Adasum")
Min, Max, Product = _Reduction("Min"), _Reduction("Max"), _Reduction("Product")
_REDUCED = {"bfloat16", "float16", "float32", "float64", "int32", "int64"}


def reduction(op, average=None):
    """The reduction that is meant by `op` and Horovod's older `average`."""
    if average is not None:
        if op is not None:
            raise ValueError("The op parameter supersedes average. Please provide only one of them.")
        return Average if average else Sum
    if op is None:
        return Average
    if not isinstance(op, _Reduction):
        raise ValueError(f"`op` must be one of hvd.Average, Sum, Adasum, Min, Max and Product, not {op!r}")
    return op


def unique_name(kind, name, ignore_name_scope=False):
    """The name under which tensors meet."""
    graph = _core.current_graph()
    if graph is None:
        return name or kind
    if name is not None:
        scope = "" if ignore_name_scope else graph.get_name_scope()
        return _distinct(graph, f"{scope}/{name}" if scope else name)
    return graph.unique_name(kind)


def _distinct(graph, name):
    """Exchanges of a function run in any order, so two that were given one name must not take each other's tensors."""
    used = graph.__dict__.setdefault("_exchange_names", {})
    count = used[name] = used.get(name, 0) + 1
    return name if count == 1 else f"{name}_{count - 1}"


def _run(op, inputs, process_set, **attrs):
    return _core.op(op)(*inputs, process_set=process_set_number(process_set), **attrs)


def _scaled_gradient(value, factor):
    """`value`, whose gradient is multiplied by `factor`."""
    import weir as tf
    if factor == 1 or not value.dtype.is_floating:
        return value

    @tf.custom_gradient
    def scale(x):
        return tf.identity(x), lambda flow: flow * tf.cast(factor, flow.dtype)
    return scale(value)


def _widened(tensor):
    """The tensor in a type that can be reduced."""
    import weir as tf
    if tensor.dtype.name in _REDUCED:
        return tensor
    if tensor.dtype.is_integer or tensor.dtype == tf.bool:
        return tf.cast(tensor, tf.int64 if tensor.dtype.size > 2 else tf.int32)
    raise ValueError(f"Tensors of type {tensor.dtype.name} cannot be reduced")


def _reduce_dense(tensors, op, compression, prescale, postscale, name, process_set):
    """All tensors together."""
    import weir as tf
    if (prescale != 1 or postscale != 1) and any(not t.dtype.is_floating for t in tensors):
        raise ValueError("prescale_factor and postscale_factor need tensors of a floating type")
    small, contexts = [], []
    for tensor in tensors:
        compressed, context = compression.compress(tensor)
        small.append(_widened(compressed))
        contexts.append((compressed.dtype, context))
    out = [None] * len(small)
    dtypes = sorted({t.dtype.name for t in small})
    for dtype in dtypes:
        members = [i for i, t in enumerate(small) if t.dtype.name == dtype]
        own = name if len(dtypes) == 1 else f"{name}/{dtype}"
        if len(tensors) == 1:
            reduced = [_run("_ProcessAllReduce", [small[0]], process_set, tensor_name=own, reduction=op.name,
                            prescale=float(prescale), postscale=float(postscale))]
        else:
            reduced = _run("_ProcessGroupedAllReduce", [[small[i] for i in members]], process_set, tensor_name=own,
                           reduction=op.name, prescale=float(prescale), postscale=float(postscale))
        for i, value in zip(members, reduced):
            original, context = contexts[i]
            if value.dtype != original:
                value = tf.cast(value, original)
            out[i] = compression.decompress(value, context)
    return out


def _reduce_slices(slices, op, name, process_set):
    import weir as tf
    if op not in (Average, Sum):
        raise NotImplementedError(f"IndexedSlices can be reduced by Average and Sum only, not by {op}; convert them to "
                                  "tensors first (sparse_as_dense=True)")
    values = allgather(slices.values, name=f"{name}/values", process_set=process_set, ignore_name_scope=True)
    indices = allgather(slices.indices, name=f"{name}/indices", process_set=process_set, ignore_name_scope=True)
    if op is Average:
        values = values / tf.cast(process_set.size(), values.dtype)
    return tf.IndexedSlices(values, indices, dense_shape=slices.dense_shape)


def _one(tensor, op, compression, prescale, postscale, name, process_set):
    import weir as tf
    if isinstance(tensor, tf.IndexedSlices):
        if prescale != 1 or postscale != 1:
            raise NotImplementedError("prescale_factor and postscale_factor are for tensors, not for IndexedSlices")
        return _reduce_slices(tensor, op, name, process_set)
    return _reduce_dense([tf.convert_to_tensor(tensor)], op, compression, prescale, postscale, name, process_set)[0]


def allreduce(tensor, average=None, device_dense="", device_sparse="", compression=Compression.none, op=None,
              prescale_factor=1.0, postscale_factor=1.0, name=None, process_set=global_process_set,
              ignore_name_scope=False):
    """The processes' values combined by `op`: their average unless given. The rows of IndexedSlices are gathered."""
    del device_dense, device_sparse
    return _one(tensor, reduction(op, average), compression, prescale_factor, postscale_factor,
                unique_name("HorovodAllreduce", name, ignore_name_scope), process_set)


def grouped_allreduce(tensors, average=None, device_dense="", device_sparse="", compression=Compression.none, op=None,
                      prescale_factor=1.0, postscale_factor=1.0, name=None, process_set=global_process_set,
                      ignore_name_scope=False):
    """The same for a list: all together, or none."""
    import weir as tf
    del device_dense, device_sparse
    op, tensors = reduction(op, average), list(tensors)
    name = unique_name("HorovodGroupedAllreduce", name, ignore_name_scope)
    out, dense = [None] * len(tensors), []
    for i, tensor in enumerate(tensors):
        if isinstance(tensor, tf.IndexedSlices):
            out[i] = _one(tensor, op, compression, prescale_factor, postscale_factor, f"{name}/{i}", process_set)
        else:
            dense.append(i)
    if dense:
        values = _reduce_dense([tf.convert_to_tensor(tensors[i]) for i in dense], op, compression, prescale_factor,
                               postscale_factor, name, process_set)
        for i, value in zip(dense, values):
            out[i] = value
    return out


def reduce_when_ready(tensors, op, name, compression=Compression.none, prescale_factor=1.0, postscale_factor=1.0,
                      process_set=global_process_set):
    """As grouped_allreduce; but in a function each tensor travels as soon as it is computed, while others still are. Which
    tensors then share a buffer may differ from step to step, and so may the last bits of sums over three processes or
    more: not with deterministic ops."""
    from weir import _core
    from weir.framework import config
    if _core.current_graph() is None or op is Adasum or config.is_op_determinism_enabled():
        return grouped_allreduce(tensors, op=op, compression=compression, prescale_factor=prescale_factor,
                                 postscale_factor=postscale_factor, name=name, process_set=process_set,
                                 ignore_name_scope=True)
    return [_one(tensor, op, compression, prescale_factor, postscale_factor, f"{name}/{i}", process_set)
            for i, tensor in enumerate(tensors)]


def allgather(tensor, name=None, ignore_name_scope=False, process_set=global_process_set):
    """The processes' rows, one process after the other; they may give different numbers of rows."""
    import weir as tf
    tensor = tf.convert_to_tensor(tensor)
    gathered = _run("_ProcessAllGather", [tensor], process_set,
                    tensor_name=unique_name("HorovodAllgather", name, ignore_name_scope))
    if tensor.shape.rank is not None:
        gathered = tf.ensure_shape(gathered, [None] + tensor.shape.as_list()[1:])
    return _scaled_gradient(gathered, 1.0 / process_set.size())


def grouped_allgather(tensors, name=None, ignore_name_scope=False, process_set=global_process_set):
    """The same for a list."""
    name = unique_name("HorovodGroupedAllgather", name, ignore_name_scope)
    return [allgather(t, f"{name}/{i}", True, process_set) for i, t in enumerate(tensors)]


def broadcast(tensor, root_rank, name=None, ignore_name_scope=False, process_set=global_process_set):
    """The value of the process `root_rank`."""
    import weir as tf
    tensor = tf.convert_to_tensor(tensor)
    if root_rank not in process_set.ranks:
        raise ValueError(f"The root rank {root_rank} is not in {process_set}")
    value = _run("_ProcessBroadcast", [tensor], process_set, root=process_set.ranks.index(root_rank),
                 tensor_name=unique_name("HorovodBroadcast", name, ignore_name_scope))
    return _scaled_gradient(value, 1.0 / process_set.size())


def broadcast_(variables, root_rank, name=None, process_set=global_process_set):
    """Gives variables the values of the process `root_rank`."""
    from weir.horovod.variables import broadcast_variables
    broadcast_variables(variables, root_rank, process_set, inplace=True, name=name)
    return list(variables)


def alltoall(tensor, splits=None, name=None, ignore_name_scope=False, process_set=global_process_set):
    """Sends `splits[i]` rows to process i, or equally many to all; gives the rows that came, and with `splits` also how
    many came from each."""
    import weir as tf
    rows = tf.zeros([0], tf.int64) if splits is None else tf.cast(splits, tf.int64)
    out, received = _run("_ProcessAllToAll", [tf.convert_to_tensor(tensor), rows], process_set,
                         tensor_name=unique_name("HorovodAlltoall", name, ignore_name_scope))
    return out if splits is None else (out, tf.cast(received, tf.int32))


def reducescatter(tensor, device_dense="", compression=Compression.none, op=Average, name=None,
                  process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0, ignore_name_scope=False):
    """This process's part of the combined rows. Where they cannot be divided, the first processes get one more."""
    import weir as tf
    del device_dense
    if op not in (Average, Sum):
        raise ValueError(f"`op` of a reducescatter must be hvd.Average or hvd.Sum, not {op!r}")
    small, context = compression.compress(tf.convert_to_tensor(tensor))
    out = _run("_ProcessReduceScatter", [_widened(small)], process_set, reduction=op.name, prescale=float(prescale_factor),
               postscale=float(postscale_factor), tensor_name=unique_name("HorovodReducescatter", name, ignore_name_scope))
    out = tf.cast(_scaled_gradient(out, float(process_set.size())), small.dtype)
    return compression.decompress(out, context)


def grouped_reducescatter(tensors, device_dense="", compression=Compression.none, op=Average, name=None,
                          process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0,
                          ignore_name_scope=False):
    """The same for a list."""
    name = unique_name("HorovodGroupedReducescatter", name, ignore_name_scope)
    return [reducescatter(t, device_dense, compression, op, f"{name}/{i}", process_set, prescale_factor, postscale_factor,
                          True) for i, t in enumerate(tensors)]


def _constant(value, name):
    import weir as tf
    return tf.constant(value, tf.int32, name=name)


def size_op(process_set_id=0, name=None):
    """The number of processes as a tensor."""
    if process_set_id:
        return _core.op("_ProcessSize")(process_set=process_set_id)
    return _constant(size(), name or "size")


def rank_op(name=None):
    """`rank()` as a tensor."""
    return _constant(rank(), name or "rank")


def local_rank_op(name=None):
    """`local_rank()` as a tensor."""
    return _constant(local_rank(), name or "local_rank")


def local_size_op(name=None):
    """`local_size()` as a tensor."""
    return _constant(local_size(), name or "local_size")


def process_set_included_op(process_set_id=0, name=None):
    """1 if this process is in the set, else 0, as a tensor."""
    from weir.horovod.process import get_process_set_ids_and_ranks
    return _constant(int(rank() in get_process_set_ids_and_ranks().get(process_set_id, ())), name or "included")
