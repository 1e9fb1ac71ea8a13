"""Which processes take part: init, ranks, process sets."""

import atexit
import os

from weir import _core

__all__ = ["ProcessSet", "add_process_set", "barrier", "ccl_built", "cross_rank", "cross_size", "cuda_built",
           "get_process_set_ids_and_ranks", "global_process_set", "gloo_built", "gloo_enabled", "init", "is_homogeneous",
           "is_initialized", "join", "local_rank", "local_size", "mpi_built", "mpi_enabled", "mpi_threads_supported",
           "nccl_built", "process_set_number", "rank", "remove_process_set", "rocm_built", "shutdown", "size",
           "start_timeline", "stop_timeline"]

_state = {"at_exit": False, "place": None, "dynamic": False}


def _seconds(*names):
    for name in names:
        if os.environ.get(name):
            return float(os.environ[name])
    return 0.0


def _times():
    return (_seconds("WEIR_COLLECTIVE_TIMEOUT", "HOROVOD_GLOO_TIMEOUT_SECONDS"),
            _seconds("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"))


def is_elastic():
    """Whether `weir launch --elastic` has started this process."""
    return bool(os.environ.get("WEIR_ELASTIC"))


def join_round():
    """Meets the processes of the next round of an elastic job. Ends this process if it has been told to leave."""
    joined = None
    while joined is None:  # others were lost while they met
        joined = _core.elastic_join(_seconds("HOROVOD_ELASTIC_TIMEOUT"), *_times())
    if not joined:
        raise SystemExit(0)
    after_init()


def init(comm=None, process_sets=None):
    """Meets the other processes of the job, which `weir launch`, mpirun, srun or torchrun has started; alone without
    them. Calling it again does nothing. `process_sets` is a list of ProcessSet, or "dynamic"."""
    if comm:
        raise NotImplementedError("weir.horovod.init takes no `comm`: a job is all processes that its launcher started. "
                                  "Use process sets for some of them")
    if is_initialized():
        return
    if is_elastic():
        join_round()
    else:
        _core.collective_init(None, *_times())
    after_init()
    _state["dynamic"] = process_sets == "dynamic" or os.environ.get("HOROVOD_DYNAMIC_PROCESS_SETS") == "1"
    if isinstance(process_sets, (list, tuple)):
        for each in process_sets:
            _register(each if isinstance(each, ProcessSet) else ProcessSet(each))


def after_init():
    """What follows on a meeting of the processes, whoever asked for it."""
    _state["place"] = _core.collective_place()
    if not _state["at_exit"]:
        atexit.register(shutdown)
        _state["at_exit"] = True
    global_process_set.ranks = list(range(size()))
    global_process_set.process_set_id = 0


def shutdown():
    """Leaves the job. Waits until the other processes do the same; what they still ask this one for ends with an error
    there."""
    _core.collective_shutdown()
    _state["place"] = None
    for known in list(_sets.values()):
        known.process_set_id = None
    _sets.clear()


def is_initialized():
    """Whether `init` was called."""
    return _core.collective_place() is not None


def _place():
    if _state["place"] is None or _core.collective_place() is None:
        raise ValueError("Horovod has not been initialized; use hvd.init().")
    return _state["place"]


def rank():
    """The number of this process."""
    return _place()[0]


def size():
    """How many processes there are."""
    return _place()[1]


def local_rank():
    """The number of this process among those of its host."""
    return _place()[2]


def local_size():
    """How many processes there are on this host."""
    return _place()[3]


def cross_rank():
    """The number of this host."""
    return _place()[4]


def cross_size():
    """How many hosts there are."""
    return _place()[5]


def is_homogeneous():
    """Whether all hosts have equally many processes."""
    return size() == local_size() * cross_size()


def mpi_threads_supported():
    """False: no MPI call is made."""
    _place()
    return False


def _no():
    return False


mpi_enabled = mpi_built = gloo_enabled = gloo_built = ccl_built = cuda_built = rocm_built = _no


def nccl_built():
    """0: tensors are exchanged by the CPU."""
    return 0


def start_timeline(file_path, mark_cycles=False):
    """Begins to write what happens to each tensor, for chrome://tracing."""
    del mark_cycles
    _place()
    _core.collective_timeline(os.fspath(file_path))


def stop_timeline():
    """Ends the timeline."""
    _place()
    _core.collective_timeline(None)


class ProcessSet:
    """Some of the processes, by their ranks; collectives may be among them alone."""

    process_set_id = None

    def __init__(self, ranks):
        self.ranks = sorted({int(r) for r in ranks}) if ranks is not None else None

    def _check(self):
        if self.process_set_id is None:
            raise ValueError(f"{self} is not known: call hvd.add_process_set, or give it to hvd.init")

    def included(self):
        """Whether this process is in the set."""
        self._check()
        return rank() in self.ranks

    def rank(self):
        """This process's number within the set."""
        self._check()
        if not self.included():
            raise ValueError(f"rank {rank()} is not in {self}")
        return self.ranks.index(rank())

    def size(self):
        """How many processes are in the set."""
        self._check()
        return len(self.ranks)

    def __eq__(self, other):
        return isinstance(other, ProcessSet) and self.process_set_id == other.process_set_id and self.ranks == other.ranks

    __hash__ = object.__hash__

    def __str__(self):
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks})"

    __repr__ = __str__


global_process_set = ProcessSet([0])
_sets = {}  # by number; the global one is not among them


def _register(process_set):
    if process_set.process_set_id is not None:
        raise ValueError(f"{process_set} has been added already")
    if any(known.ranks == process_set.ranks for known in _sets.values()) or process_set.ranks == global_process_set.ranks:
        raise ValueError(f"A process set with the ranks {process_set.ranks} has been added already")
    if not process_set.ranks or process_set.ranks[0] < 0 or process_set.ranks[-1] >= size():
        raise ValueError(f"The ranks of {process_set} must be from 0 to {size() - 1}")
    process_set.process_set_id = _core.collective_add_set(process_set.ranks)
    _sets[process_set.process_set_id] = process_set
    return process_set


def add_process_set(process_set):
    """Makes a set known. All processes do the same, in the same order; it waits for them."""
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    _place()
    return _register(process_set)


def remove_process_set(process_set):
    """Forgets a set; all processes do the same. False if it is not known, or if it is the global one."""
    if process_set.process_set_id is None or _sets.pop(process_set.process_set_id, None) is None:
        return False
    barrier()
    process_set.process_set_id = None
    return True


def get_process_set_ids_and_ranks():
    """{number: ranks} of the sets that are known."""
    return {0: global_process_set.ranks, **{number: known.ranks for number, known in _sets.items()}}


def process_set_number(process_set):
    """The number that the operations know a set by."""
    _place()
    process_set._check()
    return process_set.process_set_id


def barrier(process_set=global_process_set):
    """Waits until all processes of the set have come here."""
    _core.collective_barrier(process_set_number(process_set))


def join(device=-1):
    """This process has no more data: until all have joined, it takes part in all-reduces with zeros. Gives the rank that
    joined last."""
    del device
    _place()
    return _core.collective_join()
