"""tf.distribute: strategies for one and for several devices of this process, and for several processes."""

import weir
from weir.distribute.options import (CollectiveHints, CommunicationImplementation, CommunicationOptions,  # noqa: F401
                                     CrossDeviceOps, HierarchicalCopyAllReduce, InputOptions, InputReplicationMode,
                                     NcclAllReduce, ReductionToOneDevice, RunOptions)
from weir.distribute.strategy import Extended as StrategyExtended  # noqa: F401
from weir.distribute.strategy import (InputContext, OneDeviceStrategy, ReduceOp, ReplicaContext, Strategy,  # noqa: F401
                                      ValueContext, experimental_set_strategy, get_replica_context, get_strategy,
                                      has_strategy, in_cross_replica_context, maybe_merge_call, strategy_supports_no_merge_call)

_LATER = {  # modules that need variables and datasets, which need this one
    "DistributedValues": "values", "DistributedDataset": "input", "DistributedIterator": "input",
    "DistributedDatasetsFromFunction": "input", "MirroredStrategy": "mirrored", "CentralStorageStrategy": "mirrored",
    "MultiWorkerMirroredStrategy": "multi_worker", "ParameterServerStrategy": "parameter_server",
    "ParameterServerStrategyV2": "parameter_server"}


class TPUStrategy(Strategy):
    """TPUs; not available."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("tf.distribute.TPUStrategy: weir has no TPUs")


_public = weir.names_of(__name__)  # tf.distribute.experimental


def __getattr__(name):
    if name in _LATER:
        import importlib
        return getattr(importlib.import_module("weir.distribute." + _LATER[name]), name)
    return _public(name)
