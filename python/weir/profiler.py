"""tf.profiler.experimental: which functions ran when, in the files that TensorBoard's profile plugin reads.

Noted are calls of traced functions and the regions that programs mark with Trace, by thread. Single eager operations
are not: noting them would take longer than they do.
"""

import collections
import datetime
import os
import socket
import threading
import time

from weir.framework import errors
from weir.train.object_graph import _field, _number, _text

__all__ = ["Profile", "ProfilerOptions", "Trace", "start", "stop"]


class ProfilerOptions(collections.namedtuple("ProfilerOptions", ["host_tracer_level", "python_tracer_level",
                                                                 "device_tracer_level", "delay_ms"])):
    """What to note; levels other than the default change nothing here."""

    def __new__(cls, host_tracer_level=2, python_tracer_level=0, device_tracer_level=1, delay_ms=None):
        return super().__new__(cls, host_tracer_level, python_tracer_level, device_tracer_level, delay_ms)


class _Recording:
    def __init__(self, logdir):
        self.logdir = logdir
        self.begin = time.time_ns()
        self.clock = time.perf_counter_ns()
        self.events = []  # (thread's id and name, what, begin and end by the performance counter)

    def add(self, name, begin, end):
        thread = threading.current_thread()
        self.events.append((thread.ident, thread.name, name, begin, end))


_lock = threading.Lock()
_recording = None
_plain_call = None


def _timed_call(self, tensors):
    begin = time.perf_counter_ns()
    try:
        return _plain_call(self, tensors)
    finally:
        recording = _recording
        if recording is not None:
            recording.add(self._name, begin, time.perf_counter_ns())


def start(logdir, options=None):
    """Begins to note what runs; `stop` writes it below `logdir`."""
    global _recording, _plain_call
    from weir.eager.function import ConcreteFunction
    with _lock:
        if _recording is not None:
            raise errors.AlreadyExistsError(None, None, "Another profiler is running.")
        _recording = _Recording(os.fspath(logdir))
        _plain_call = ConcreteFunction.run_flat
        ConcreteFunction.run_flat = _timed_call


def stop(save=True, outdir=None):
    """Ends what `start` began, and writes it unless `save` is False."""
    global _recording
    from weir.eager.function import ConcreteFunction
    with _lock:
        if _recording is None:
            raise errors.UnavailableError(None, None, "Cannot export profiling results. No profiler is running.")
        recording, _recording = _recording, None
        ConcreteFunction.run_flat = _plain_call
    if save:
        _write(recording, outdir or recording.logdir)


def _write(recording, logdir):
    names, lines = {}, {}
    for ident, thread, name, begin, end in recording.events:
        number = names.setdefault(name, len(names) + 1)
        event = _number(1, number) + _number(2, (begin - recording.clock) * 1000) + _number(3, (end - begin) * 1000)
        lines.setdefault((ident, thread), []).append((begin, _field(4, event)))
    plane = _text(2, "/host:CPU")
    for (ident, thread), events in lines.items():
        plane += _field(3, _number(1, ident) + _text(2, thread) + _number(3, recording.begin)
                        + b"".join(event for _, event in sorted(events)))
    for name, number in names.items():
        plane += _field(4, _number(1, number) + _field(2, _number(1, number) + _text(2, name)))
    host = socket.gethostname()
    folder = os.path.join(logdir, "plugins", "profile", datetime.datetime.now().strftime("%Y_%m_%d_%H_%M_%S"))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, host + ".xplane.pb"), "wb") as file:
        file.write(_field(1, plane) + _field(4, host.encode()))


class Profile:
    """`with Profile(logdir):` notes what runs inside."""

    def __init__(self, logdir, options=None):
        self._logdir, self._options = logdir, options

    def __enter__(self):
        start(self._logdir, self._options)

    def __exit__(self, *_):
        stop()


class Trace:
    """`with Trace("step", step_num=1):` a region with a name in the profile."""

    def __init__(self, name, **kwargs):
        self._name, self._metadata = name, dict(kwargs)
        self._begin = None

    def __enter__(self):
        self._begin = time.perf_counter_ns()
        return self

    def set_metadata(self, **kwargs):
        """Adds to what is shown beside the name."""
        self._metadata.update(kwargs)

    def __exit__(self, *_):
        recording = _recording
        if recording is not None:
            inside = ",".join(f"{key}={value}" for key, value in self._metadata.items())
            recording.add(f"{self._name}#{inside}#" if inside else self._name, self._begin, time.perf_counter_ns())


for _class in (Profile, Trace):
    _class.__module__ = "tensorflow.python.profiler.profiler_v2"


def __getattr__(name):  # names of its namespaces, such as tf.profiler.experimental
    import weir
    return weir.names_of(__name__)(name)
