"""Which strategy the program is in, and where: in a replica, across them, or updating one of them."""

import contextlib
import threading

__all__ = ["Frame", "current", "enter", "local_replica"]


class Frame:
    """A level of the thread's stack. `replica` is None across replicas; `update` is the replica that is updated."""

    __slots__ = ("strategy", "replica", "update")

    def __init__(self, strategy, replica=None, update=None):
        self.strategy = strategy
        self.replica = replica
        self.update = update


class _Stack(threading.local):
    def __init__(self):
        self.frames = []


_stack = _Stack()


def current():
    """The innermost frame, or None outside of all strategies."""
    return _stack.frames[-1] if _stack.frames else None


@contextlib.contextmanager
def enter(frame):
    """Inside, `frame` is the current one."""
    _stack.frames.append(frame)
    try:
        yield frame
    finally:
        _stack.frames.pop()


def local_replica():
    """The index of the replica whose values are meant here: the one that runs or is updated; None across replicas."""
    frame = current()
    if frame is None:
        return None
    if frame.update is not None:
        return frame.update
    return None if frame.replica is None else frame.replica.replica_id
