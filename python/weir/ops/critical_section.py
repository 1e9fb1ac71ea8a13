"""tf.CriticalSection: functions of which one runs at a time."""

import threading

from weir import nest
from weir.framework import control_dependencies, convert_to_tensor
from weir.framework.graph import executing_eagerly, get_default_graph
from weir.framework.raw_ops import raw_ops
from weir.framework.tensor import Tensor

__all__ = ["CriticalSection"]

_local = threading.local()


class CriticalSection:
    """A lock around functions: `section.execute(f)` runs when no other execution does."""

    def __init__(self, name=None, shared_name=None, critical_section_def=None, import_scope=None):
        if critical_section_def is not None:
            raise ValueError("Argument `critical_section_def` is not supported.")
        del import_scope
        self._name = name or "critical_section"
        if executing_eagerly():
            shared_name = shared_name or f"{self._name}_{id(self)}"
        else:
            shared_name = shared_name or get_default_graph().unique_name(self._name)
        self._handle = raw_ops.MutexV2(shared_name=shared_name, container="", name=self._name)

    name = property(lambda self: self._name)

    def execute(self, fn, exclusive_resource_access=True, name=None):
        """The result of `fn()`, which runs alone. `fn` must not execute the same section."""
        del exclusive_resource_access  # a check that TensorFlow makes while the graph is built
        running = getattr(_local, "sections", [])
        if any(section is self for section in running):
            raise ValueError(f"Attempting to lock a CriticalSection (signature={self._name}) in which we are already running "
                             "in the same thread.  This is illegal and may cause deadlocks.")
        with get_default_graph().name_scope(name or "critical_section_execute") if not executing_eagerly() else _nothing():
            lock = raw_ops.MutexLock(mutex=self._handle)
            _local.sections = [*running, self]
            try:
                with control_dependencies([lock]):
                    result = fn()
            finally:
                _local.sections = running
            made = nest.map_structure(lambda v: v if isinstance(v, Tensor) or not _is_value(v) else convert_to_tensor(v),
                                      result)
            tensors = [v for v in nest.flatten(made, expand_composites=True) if isinstance(v, Tensor) or hasattr(v, "op")]
            with control_dependencies(tensors):
                done = raw_ops.ConsumeMutexLock(mutex_lock=lock)
            if executing_eagerly():
                return made
            with control_dependencies([done]):
                return nest.map_structure(lambda v: raw_ops.Identity(input=v) if isinstance(v, Tensor) else v, made,
                                          expand_composites=True)


def _is_value(value):
    return value is not None and not hasattr(value, "node_def")


def _nothing():
    import contextlib
    return contextlib.nullcontext()


CriticalSection.__module__ = "tensorflow.python.ops.critical_section_ops"
