"""tensorflow.python.eager.context: what tests ask of the eager context. The engine has no state that most of it would change."""

import contextlib

from weir.framework import config
from weir.framework.graph import eager_mode, executing_eagerly, get_default_graph

__all__ = ["Context", "async_clear_error", "async_scope", "async_wait", "context", "context_safe", "device_policy",
           "execution_mode", "executing_eagerly", "function_executor_type", "get_config", "get_device_name", "get_function_def",
           "global_seed", "graph_mode", "in_eager_mode", "in_graph_mode", "is_async", "num_gpus", "set_execution_mode",
           "set_global_seed", "eager_mode"]

ASYNC, SYNC, GRAPH_MODE, EAGER_MODE = 1, 0, 0, 1
DEVICE_PLACEMENT_EXPLICIT, DEVICE_PLACEMENT_WARN, DEVICE_PLACEMENT_SILENT = 0, 1, 2
DEVICE_PLACEMENT_SILENT_FOR_INT32 = 3


def graph_mode():
    """Operations go into the default graph of compat.v1 inside this context."""
    return get_default_graph().as_default()


def num_gpus():
    return len(config.list_logical_devices("GPU"))


class Context:
    """The context of eager execution."""

    ones_rank_cache = None
    execution_mode = SYNC
    device_policy = DEVICE_PLACEMENT_SILENT
    scope_name = ""

    def executing_eagerly(self):
        return executing_eagerly()

    def num_gpus(self):
        return num_gpus()

    def ensure_initialized(self):
        config.list_logical_devices()

    def clear_kernel_cache(self):
        pass

    def list_physical_devices(self, device_type=None):
        return config.list_physical_devices(device_type)

    def list_logical_devices(self, device_type=None):
        return config.list_logical_devices(device_type)

    def devices(self):
        return [device.name for device in config.list_logical_devices()]

    def has_function(self, name):
        return get_function_def(name) is not None

    def get_function_def(self, name):
        return get_function_def(name)

    @property
    def device_name(self):
        return config.list_logical_devices()[0].name

    @property
    def _seed(self):
        return global_seed()

    @property
    def config(self):
        return get_config()


_context = Context()


def context():
    return _context


context_safe = context


def in_graph_mode():
    return not executing_eagerly()


def in_eager_mode():
    return executing_eagerly()


def async_wait():
    """Waits for operations in flight: there are none, an eager operation is done when its call returns."""


async_clear_error = async_wait


def is_async():
    return False


def set_execution_mode(mode):
    del mode


@contextlib.contextmanager
def execution_mode(mode):
    del mode
    yield


@contextlib.contextmanager
def device_policy(policy):
    del policy
    yield


@contextlib.contextmanager
def async_scope():
    yield


@contextlib.contextmanager
def function_executor_type(executor_type):
    del executor_type
    yield


def get_device_name():
    return _context.device_name


def get_config():
    from weir.framework import protos
    return protos.message("ConfigProto")()


def set_global_seed(seed):
    from weir.framework import random_seed
    random_seed.set_seed(seed)


def global_seed():
    from weir.framework import random_seed
    return random_seed.global_seed()


def get_function_def(name):
    """The FunctionDef of a function of the runtime's library, or None."""
    from weir import _core
    from weir.framework import protos
    name = name.decode() if isinstance(name, bytes) else name
    library = protos.message("FunctionDefLibrary")()
    try:
        library.ParseFromString(_core.function_library([name]))
    except (KeyError, ValueError):
        return None
    return next((f for f in library.function if f.signature.name == name), None)
