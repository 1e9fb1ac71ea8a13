"""Values of one process for all: variables and Python objects."""

import pickle

from weir.horovod.collectives import allgather, broadcast, unique_name
from weir.horovod.process import global_process_set

__all__ = ["BroadcastGlobalVariablesHook", "allgather_object", "broadcast_global_variables", "broadcast_object",
           "broadcast_object_fn", "broadcast_variables"]


def broadcast_variables(variables, root_rank, process_set=global_process_set, inplace=False, name=None):
    """Gives each variable the value that it has in the process `root_rank`. In a graph: the operation that does."""
    import weir as tf
    del inplace
    prefix, done = unique_name("HorovodBroadcastVariables", name), []
    for i, variable in enumerate(variables):
        value = broadcast(variable, root_rank, f"{prefix}/{i}", True, process_set)
        done.append(variable.assign(value))
    if not tf.executing_eagerly():
        return tf.group(*done)
    return None


def broadcast_global_variables(root_rank):
    """For graphs of TensorFlow 1: the operation that gives all global variables the values of the process `root_rank`."""
    import weir as tf
    if tf.executing_eagerly():
        raise RuntimeError("hvd.broadcast_global_variables() does not support eager execution. Please use "
                           "`hvd.broadcast_variables(<model/optimizer variables>)` instead.")
    return broadcast_variables(tf.compat.v1.global_variables(), root_rank)


def _hook_class():
    import weir as tf

    class Hook(tf.compat.v1.train.SessionRunHook):
        """Broadcasts all global variables once the session has been made."""

        def __init__(self, root_rank, device=""):
            del device
            self.root_rank, self.bcast_op = root_rank, None

        def begin(self):
            if self.bcast_op is None or self.bcast_op.graph is not tf.compat.v1.get_default_graph():
                self.bcast_op = broadcast_global_variables(self.root_rank)

        def after_create_session(self, session, coord):
            session.run(self.bcast_op)
    return Hook


class BroadcastGlobalVariablesHook:
    """A SessionRunHook that broadcasts all global variables once the session has been made."""

    def __new__(cls, root_rank, device=""):
        return _hook_class()(root_rank, device)


def _bytes(value):
    import numpy as np
    import weir as tf
    return tf.constant(np.frombuffer(value, np.uint8))


def broadcast_object(obj, root_rank=0, session=None, name=None, process_set=global_process_set):
    """The object of the process `root_rank`. It is pickled: use it among processes that trust each other."""
    import weir as tf
    from weir.horovod.process import rank
    del session
    name = name or "HorovodBroadcastObject"
    with tf.init_scope():
        data = _bytes(pickle.dumps(obj)) if rank() == root_rank else tf.zeros([0], tf.uint8)
        length = int(broadcast(tf.shape(data)[0], root_rank, f"{name}/size", True, process_set))
        if rank() != root_rank:
            data = tf.zeros([length], tf.uint8)
        data = broadcast(data, root_rank, f"{name}/data", True, process_set)
    return obj if rank() == root_rank else pickle.loads(data.numpy().tobytes())


def broadcast_object_fn(root_rank=0, session=None, name=None, process_set=global_process_set):
    """`broadcast_object` with all but the object given."""
    return lambda obj: broadcast_object(obj, root_rank, session, name, process_set)


def allgather_object(obj, session=None, name=None, process_set=global_process_set):
    """A list of the processes' objects."""
    import weir as tf
    del session
    name = name or "HorovodAllgatherObject"
    with tf.init_scope():
        data = _bytes(pickle.dumps(obj))
        lengths = allgather(tf.shape(data), f"{name}/sizes", True, process_set).numpy()
        joined = allgather(data, f"{name}/objects", True, process_set).numpy().tobytes()
    out, begin = [], 0
    for length in lengths:
        out.append(pickle.loads(joined[begin:begin + int(length)]))
        begin += int(length)
    return out
