"""Whether calls are converted: a stack per thread of "enabled", "disabled" and "unspecified"."""

import enum
import threading


class ControlStatus(enum.Enum):
    """What happens to functions that are called from here."""
    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2


class ControlContext:
    """A region of code with a status; used as a context manager."""

    def __init__(self, status):
        self.status = status

    def __enter__(self):
        _stack().append(self)
        return self

    def __exit__(self, *_):
        _stack().pop()


class _Local(threading.local):
    stack = None


_local = _Local()


def _stack():
    if _local.stack is None:
        _local.stack = [ControlContext(ControlStatus.UNSPECIFIED)]
    return _local.stack


def control_status():
    """The status of the innermost region."""
    return _stack()[-1].status
