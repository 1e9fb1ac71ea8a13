"""horovod.keras and horovod.tensorflow.keras: weir.horovod for programs of Keras."""

import importlib

from weir.horovod import collectives, training
from weir.horovod.collectives import Adasum, Average, Max, Min, Product, Sum  # noqa: F401
from weir.horovod.compression import Compression
from weir.horovod.process import (ProcessSet, add_process_set, barrier, ccl_built, cross_rank,  # noqa: F401
                                  cross_size, cuda_built, global_process_set, gloo_built, gloo_enabled, init,
                                  is_homogeneous, is_initialized, join, local_rank, local_size, mpi_built, mpi_enabled,
                                  mpi_threads_supported, nccl_built, rank, remove_process_set, rocm_built, shutdown, size,
                                  start_timeline, stop_timeline)
from weir.horovod.variables import allgather_object, broadcast_object, broadcast_variables  # noqa: F401


def DistributedOptimizer(optimizer, name=None, device_dense="", device_sparse="", compression=Compression.none,
                         sparse_as_dense=False, gradient_predivide_factor=1.0, op=Average, backward_passes_per_step=1,
                         average_aggregated_gradients=False, num_groups=0, groups=None, process_set=global_process_set,
                         scale_local_gradients=True):
    """The optimizer, with gradients that are averaged over the processes before they are applied."""
    return training.DistributedOptimizer(
        optimizer, name, False, device_dense, device_sparse, compression, sparse_as_dense, backward_passes_per_step, op,
        gradient_predivide_factor, average_aggregated_gradients, num_groups, groups, process_set, scale_local_gradients)


def _array(tensor):
    return tensor.numpy() if hasattr(tensor, "numpy") else tensor


def allreduce(value, name=None, average=None, prescale_factor=1.0, postscale_factor=1.0, op=None,
              compression=Compression.none, process_set=global_process_set):
    """The processes' values combined, as an array."""
    return _array(collectives.allreduce(value, average, compression=compression, op=op, prescale_factor=prescale_factor,
                                        postscale_factor=postscale_factor, name=name, process_set=process_set))


def allgather(value, name=None, process_set=global_process_set):
    """The processes' rows, as an array."""
    return _array(collectives.allgather(value, name, process_set=process_set))


def broadcast(value, root_rank, name=None, process_set=global_process_set):
    """The value of the process `root_rank`, as an array."""
    return _array(collectives.broadcast(value, root_rank, name, process_set=process_set))


def reducescatter(value, name=None, op=Average, process_set=global_process_set):
    """This process's part of the combined rows, as an array."""
    return _array(collectives.reducescatter(value, op=op, name=name, process_set=process_set))


def broadcast_global_variables(root_rank):
    """For graphs of TensorFlow 1."""
    from weir.horovod import variables
    return variables.broadcast_global_variables(root_rank)


def load_model(filepath, custom_optimizers=None, custom_objects=None, compression=Compression.none):
    """A saved model of Keras whose optimizer, with its state, is made a DistributedOptimizer."""
    import keras
    from weir.horovod import keras_optimizer
    objects = {c.__name__: c for c in custom_optimizers or ()}
    model = keras.models.load_model(filepath, custom_objects={**objects, **(custom_objects or {})})
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None:
        optimizer.__class__ = keras_optimizer.distribute_class(type(optimizer), training.Exchange(compression))
    return model


def __getattr__(name):
    if name == "callbacks":  # needs Keras
        return importlib.import_module("weir.horovod.callbacks")
    if name == "SyncBatchNormalization":
        return importlib.import_module("weir.horovod.sync_batch_norm").SyncBatchNormalization
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
