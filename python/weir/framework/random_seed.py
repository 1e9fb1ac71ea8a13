"""Seeds of random operations: tf.random.set_seed and the rules by which operations get theirs."""

import threading

from weir import _core

_MAX = 2**31 - 1
_DEFAULT_GRAPH_SEED = 87654321


class _Seeds(threading.local):
    seed = None
    counter = 0


_lock = threading.Lock()
_global = {"seed": None, "rng": None}


def global_seed():
    return _global["seed"]


def set_seed(seed):
    """Sets the global seed. Operations that run afterwards draw the same numbers in the same order."""
    import random
    graph = _core.current_graph()
    if graph is not None and not hasattr(graph, "outer_graph"):
        graph.seed = seed
        return
    with _lock:
        _global["seed"] = None if seed is None else int(seed)
        _global["rng"] = None if seed is None else random.Random(int(seed))
    _core.forget_seeded()


def _next_internal():
    with _lock:
        rng = _global["rng"]
        if rng is None:
            return None
        return rng.randint(0, _MAX)


def get_seed(op_seed):
    """The two seeds of an operation that was given `op_seed` (or None): what the ops' seed and seed2 shall be."""
    graph = _core.current_graph()
    if graph is None:
        base = _global["seed"]
        if base is not None and op_seed is None:
            op_seed = _next_internal()
    else:
        base = graph.seed
        if base is not None and op_seed is None:
            op_seed = graph._last_id_random
            graph._last_id_random += 1
    if base is not None:
        seeds = base, op_seed
    elif op_seed is not None:
        seeds = _DEFAULT_GRAPH_SEED, op_seed
    else:
        return None, None
    seeds = tuple(int(s) % (2**63 - 1) if s is not None else 0 for s in seeds)
    if seeds == (0, 0):
        return 0, _MAX
    return seeds
