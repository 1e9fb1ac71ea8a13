"""The global step: how many training steps there were."""

from weir.compat.v1 import scopes
from weir.framework import dtypes
from weir.framework.graph import GraphKeys, executing_eagerly, get_default_graph
from weir.ops import initializers

__all__ = ["assert_global_step", "create_global_step", "get_global_step", "get_or_create_global_step", "global_step"]


def get_global_step(graph=None):
    """The global step of a graph, or None."""
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        raise RuntimeError("Multiple items with the global step collection key are found")
    if found:
        step = found[0]
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


def create_global_step(graph=None):
    """Makes the global step of a graph, which must not have one."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    if executing_eagerly():
        return scopes.get_variable("global_step", [], dtypes.int64, initializers.Zeros(), trainable=False)
    with graph.as_default(), graph.name_scope(None):
        store = scopes._store()
        outer, store.scope = store.scope, scopes.VariableScope(False)
        try:
            return scopes.get_variable("global_step", [], dtypes.int64, initializers.Zeros(dtypes.int64), trainable=False,
                                       collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP])
        finally:
            store.scope = outer


def get_or_create_global_step(graph=None):
    """The global step of a graph, made if there is none."""
    graph = graph or get_default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor):
    """Raises unless this can be a global step: a scalar of integers."""
    if not (hasattr(global_step_tensor, "dtype") and hasattr(global_step_tensor, "shape")):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.')
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    if global_step_tensor.shape.rank not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {global_step_tensor.shape}')


def global_step(sess, global_step_tensor):
    """The value of the global step, a Python int."""
    return int(global_step_tensor.numpy() if executing_eagerly() else sess.run(global_step_tensor))
