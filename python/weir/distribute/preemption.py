"""tf.distribute.experimental.PreemptionCheckpointHandler: workers that are told to end save a checkpoint first."""

import contextlib
import os
import signal
import sys
import tempfile
import threading

from weir import _core

__all__ = ["PreemptionCheckpointHandler", "TerminationConfig"]

_LOOK_SECONDS = 1.0  # how often `termination_watcher_fn` is asked


class TerminationConfig:
    """What tells that a worker must end (unless given: SIGTERM), and how it ends: after `grace_period` seconds, with
    `save_fn` instead of a checkpoint, by `exit_fn` (unless given: with the code 42)."""

    def __init__(self, termination_watcher_fn=None, exit_fn=None, grace_period=None, save_fn=None):
        self.termination_watcher_fn, self.exit_fn, self.save_fn = termination_watcher_fn, exit_fn, save_fn
        self.grace_period = grace_period or 0


class PreemptionCheckpointHandler:
    """Calls the steps of a training. When one of the workers is told to end, all of them save the same step and end; the
    program, started again, goes on from there: the newest checkpoint is restored here."""

    def __init__(self, cluster_resolver, checkpoint_or_checkpoint_manager, checkpoint_dir=None, termination_config=None):
        import weir as tf
        self._resolver, self._config = cluster_resolver, termination_config or TerminationConfig()
        if isinstance(checkpoint_or_checkpoint_manager, tf.train.CheckpointManager):
            self._manager = checkpoint_or_checkpoint_manager
            checkpoint, newest = self._manager.checkpoint, self._manager.latest_checkpoint
        else:
            if not checkpoint_dir:
                raise ValueError("When a checkpoint is passed, a checkpoint_dir must be passed as well.")
            checkpoint, newest = checkpoint_or_checkpoint_manager, tf.train.latest_checkpoint(checkpoint_dir)
            # All workers save, since variables may be read over all of them; the chief's files count.
            place = _core.collective_place()
            own = checkpoint_dir if place is None or place[0] == 0 else tempfile.mkdtemp(prefix="weir_worker_")
            os.makedirs(own, exist_ok=True)
            self._manager = tf.train.CheckpointManager(checkpoint, own, max_to_keep=1)
        self._calls = tf.Variable(0, dtype=tf.int64, trainable=False)
        checkpoint.preemption_run_calls = self._calls
        if newest is not None:
            checkpoint.restore(newest)
        self._told = threading.Event()
        self._left = None  # the end of the grace period, once the workers know that they must end
        if self._config.termination_watcher_fn is not None:
            threading.Thread(target=self._watch, daemon=True).start()
        elif threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: self._told.set())
        else:
            raise RuntimeError("The handler must be made by the main thread, where signals arrive, unless there is a "
                               "termination_watcher_fn")

    def _watch(self):
        while not self._config.termination_watcher_fn():
            if self._told.wait(_LOOK_SECONDS):
                return
        self._told.set()

    @property
    def total_run_calls(self):
        """How many steps there were, also before restarts."""
        return int(self._calls)

    def run(self, distributed_train_function, *args, **kwargs):
        """A step."""
        result = distributed_train_function(*args, **kwargs)
        self._calls.assign_add(1)
        self.save_checkpoint_if_preempted()
        return result

    def save_checkpoint_if_preempted(self, *args, **kwargs):
        """Saves and ends if a worker was told to end. All workers call it after the same steps."""
        import time
        told = self._told.is_set() and self._left is None
        is_over = self._left is not None and time.monotonic() >= self._left
        told, is_over = self._of_any(told), self._of_any(is_over)
        if told:
            self._left = time.monotonic() + self._config.grace_period
        if not is_over and not (told and self._config.grace_period == 0):
            return
        if self._config.save_fn is not None:
            self._config.save_fn(*args, **kwargs)
        else:
            self._manager.save(*args, **kwargs)
        if _core.collective_place() is not None:
            _core.collective_barrier(0)  # the chief's checkpoint is complete before anybody ends
        (self._config.exit_fn or (lambda: sys.exit(42)))()

    def _of_any(self, is_so):
        """Whether it is so for one of the workers."""
        if _core.collective_place() is None:
            return is_so
        import weir as tf
        from weir.horovod import collectives
        return bool(collectives.allreduce(tf.constant(int(is_so)), op=collectives.Max, name="preempted"))

    @contextlib.contextmanager
    def watch_preemption_scope(self):
        """For loops that call `save_checkpoint_if_preempted` themselves; steps are not counted."""
        yield self
