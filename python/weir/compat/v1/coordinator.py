"""Coordinator: threads that stop together, and hand on the first exception of any of them."""

import contextlib
import threading
import time

from weir.framework import errors

__all__ = ["Coordinator", "LooperThread"]


class Coordinator:
    """Threads ask `should_stop`; one of them, or the program, says `request_stop`; `join` waits for all."""

    def __init__(self, clean_stop_exception_types=None):
        self._clean = tuple(clean_stop_exception_types or (errors.OutOfRangeError,))
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error = None
        self._joined = False
        self._threads = set()

    def _of_interest(self, error):
        return error is not None and not isinstance(error, self._clean)

    def request_stop(self, ex=None):
        """Asks all threads to stop; an exception given here is raised by `join`."""
        with self._lock:
            if isinstance(ex, tuple):
                ex = ex[1]
            if self._joined:
                if ex is not None and self._of_interest(ex):
                    raise ex
                return
            if not self._stop.is_set():
                if self._of_interest(ex):
                    self._error = ex
                self._stop.set()

    def clear_stop(self):
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def should_stop(self):
        return self._stop.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self):
        """An exception inside asks all threads to stop."""
        try:
            yield
        except BaseException as error:  # pylint: disable=broad-except
            self.request_stop(error)

    def wait_for_stop(self, timeout=None):
        return self._stop.wait(timeout)

    def register_thread(self, thread):
        with self._lock:
            self._threads.add(thread)

    def join(self, threads=None, stop_grace_period_secs=120, ignore_live_threads=False):
        """Waits for the threads to end, then raises what one of them was stopped by."""
        with self._lock:
            waiting = self._threads if threads is None else self._threads | set(threads)
        while any(t.is_alive() for t in waiting) and not self.wait_for_stop(1.0):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for thread in waiting:
            thread.join(max(0.0, end - time.monotonic()))
        alive = [t.name for t in waiting if t.is_alive()]
        with self._lock:
            self._joined = True
            self._threads = set()
            error = self._error
        if error is not None:
            raise error
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")

    def raise_requested_exception(self):
        with self._lock:
            if self._error is not None:
                raise self._error

    @property
    def joined(self):
        return self._joined


class LooperThread(threading.Thread):
    """Calls `run_loop` again and again until the coordinator stops."""

    def __init__(self, coord, timer_interval_secs, target=None, args=None, kwargs=None):
        super().__init__(daemon=True)
        if not isinstance(coord, Coordinator):
            raise ValueError("'coord' argument must be a Coordinator: %s" % coord)
        self._coord, self._interval = coord, timer_interval_secs
        self._target, self._args, self._kwargs = target, args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(coord, timer_interval_secs, target, args=None, kwargs=None):
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self):
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                following = time.time()
                while not self._coord.wait_for_stop(max(0.0, following - time.time())):
                    following += self._interval
                    self.run_loop()
            self.stop_loop()

    def start_loop(self):
        pass

    def stop_loop(self):
        pass

    def run_loop(self):
        if self._target:
            self._target(*self._args, **self._kwargs)


for _class in (Coordinator, LooperThread):
    _class.__module__ = "tensorflow.python.training.coordinator"
