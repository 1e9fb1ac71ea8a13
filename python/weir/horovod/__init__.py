"""weir.horovod: training with several equal processes, under the names of horovod.tensorflow.

    import weir.horovod as hvd                      # or, with python -m weir, import horovod.tensorflow as hvd
    hvd.init()                                      # under weir launch, mpirun, srun, torchrun, or alone
    tape = hvd.DistributedGradientTape(tape)        # gradients are averaged over the processes
    hvd.broadcast_variables(variables, root_rank=0)

What the names mean is in docs/guide/horovod.md.
"""

import importlib

from weir.horovod.collectives import (Adasum, Average, Max, Min, Product, Sum, allgather, allreduce,  # noqa: F401
                                      alltoall, broadcast, broadcast_, grouped_allgather, grouped_allreduce,
                                      grouped_reducescatter, local_rank_op, local_size_op, process_set_included_op,
                                      rank_op, reducescatter, size_op)
from weir.horovod.compression import Compression  # noqa: F401
from weir.horovod.process import (ProcessSet, add_process_set, barrier, ccl_built, cross_rank,  # noqa: F401
                                  cross_size, cuda_built, get_process_set_ids_and_ranks, global_process_set, gloo_built,
                                  gloo_enabled, init, is_homogeneous, is_initialized, join, local_rank, local_size,
                                  mpi_built, mpi_enabled, mpi_threads_supported, nccl_built, rank, remove_process_set,
                                  rocm_built, shutdown, size, start_timeline, stop_timeline)
from weir.horovod.training import (DistributedGradientTape, DistributedOptimizer,  # noqa: F401
                                   PartialDistributedGradientTape)
from weir.horovod.variables import (BroadcastGlobalVariablesHook, allgather_object,  # noqa: F401
                                    broadcast_global_variables, broadcast_object, broadcast_object_fn,
                                    broadcast_variables)


def __getattr__(name):
    if name in ("keras", "callbacks", "elastic"):  # the first two need Keras
        return importlib.import_module("weir.horovod." + name)
    if name == "SyncBatchNormalization":
        return importlib.import_module("weir.horovod.sync_batch_norm").SyncBatchNormalization
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
