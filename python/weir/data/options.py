"""`tf.data.Options`: how a dataset runs, and the enumerations it uses."""

import enum


class AutoShardPolicy(enum.IntEnum):
    """How a dataset is divided among workers."""
    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """What happens to external state when a dataset is serialized."""
    WARN = 0
    IGNORE = 1
    FAIL = 2


class AutotuneAlgorithm(enum.Enum):
    """How parallelism and buffers are tuned."""
    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class _Fields:
    """An object with a fixed set of attributes, all None at first."""

    _fields = {}

    def __init__(self):
        for name, make in self._fields.items():
            object.__setattr__(self, name, make() if make is not None else None)

    def __setattr__(self, name, value):
        if name not in self._fields:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)

    def __eq__(self, other):
        return type(self) is type(other) and all(getattr(self, n) == getattr(other, n) for n in self._fields)

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def merge_from(self, other):
        """Takes what `other` sets."""
        for name, make in self._fields.items():
            value = getattr(other, name)
            if make is not None:
                getattr(self, name).merge_from(value)
            elif value is not None:
                object.__setattr__(self, name, value)


class AutotuneOptions(_Fields):
    """Options of automatic tuning."""
    _fields = {"enabled": None, "cpu_budget": None, "ram_budget": None, "autotune_algorithm": None,
               "initial_parallelism": None, "min_parallelism": None}


class DistributeOptions(_Fields):
    """Options of distribution."""
    _fields = {"auto_shard_policy": None, "num_devices": None}


class OptimizationOptions(_Fields):
    """Options of graph rewrites; all are accepted."""
    _fields = {name: None for name in (
        "apply_default_optimizations filter_fusion filter_parallelization inject_prefetch map_and_batch_fusion "
        "map_and_filter_fusion map_fusion map_parallelization noop_elimination parallel_batch shuffle_and_repeat_fusion "
        "seq_interleave_prefetch").split()}


class ThreadingOptions(_Fields):
    """Options of threads."""
    _fields = {"max_intra_op_parallelism": None, "private_threadpool_size": None}


class ServiceOptions(_Fields):
    """Options of the data service."""
    _fields = {"pinned": None}


class Options(_Fields):
    """How a dataset runs; see `Dataset.with_options`."""
    _fields = {"autotune": AutotuneOptions, "deterministic": None, "experimental_deterministic": None,
               "experimental_distribute": DistributeOptions, "experimental_external_state_policy": None,
               "experimental_optimization": OptimizationOptions, "experimental_service": ServiceOptions,
               "experimental_slack": None, "experimental_symbolic_checkpoint": None, "experimental_threading":
               ThreadingOptions, "experimental_warm_start": None, "threading": ThreadingOptions, "dataset_name": None,
               "framework_type": None}

    def merge(self, options):
        """A copy with what `options` sets."""
        result = Options()
        result.merge_from(self)
        result.merge_from(options)
        return result
