"""tf.logging of TensorFlow 1: messages by level to the standard error output."""

import logging as _logging
import sys as _sys

DEBUG, INFO, WARN, ERROR, FATAL = _logging.DEBUG, _logging.INFO, _logging.WARN, _logging.ERROR, _logging.FATAL

_logger = None
_counts = {}


def _get():
    global _logger
    if _logger is None:
        _logger = _logging.getLogger("tensorflow")
        if not _logger.handlers and not _logging.getLogger().handlers:
            handler = _logging.StreamHandler(_sys.stderr)
            handler.setFormatter(_logging.Formatter("%(levelname)s:%(name)s:%(message)s"))
            _logger.addHandler(handler)
        if _logger.level == _logging.NOTSET:
            _logger.setLevel(WARN)
    return _logger


def get_logger():
    """The Python logger of these messages."""
    return _get()


def log(level, msg, *args, **kwargs):
    _get().log(level, msg, *args, **kwargs)


def debug(msg, *args, **kwargs):
    _get().debug(msg, *args, **kwargs)


def info(msg, *args, **kwargs):
    _get().info(msg, *args, **kwargs)


def warn(msg, *args, **kwargs):
    _get().warning(msg, *args, **kwargs)


warning = warn


def error(msg, *args, **kwargs):
    _get().error(msg, *args, **kwargs)


def fatal(msg, *args, **kwargs):
    _get().fatal(msg, *args, **kwargs)


def vlog(level, msg, *args, **kwargs):
    _get().log(level, msg, *args, **kwargs)


def log_every_n(level, msg, n, *args):
    """Every n-th call from here is shown."""
    frame = _sys._getframe(1)
    key = frame.f_code, frame.f_lineno
    count = _counts[key] = _counts.get(key, -1) + 1
    log_if(level, msg, not count % n, *args)


def log_first_n(level, msg, n, *args):
    """The first n calls from here are shown."""
    frame = _sys._getframe(1)
    key = frame.f_code, frame.f_lineno
    count = _counts[key] = _counts.get(key, -1) + 1
    log_if(level, msg, count < n, *args)


def log_if(level, msg, condition, *args):
    if condition:
        log(level, msg, *args)


def flush():
    for handler in _get().handlers:
        handler.flush()


def get_verbosity():
    return _get().getEffectiveLevel()


def set_verbosity(v):
    """Messages of this level and above are shown."""
    _get().setLevel(v)


def TaskLevelStatusMessage(msg):
    error(msg)
