"""Hooks of monitored sessions: what is done before and after each step."""

import collections
import os
import time

import numpy as np

from weir.compat.v1 import global_step as global_steps
from weir.compat.v1 import logging
from weir.framework import errors, protos
from weir.framework.graph import GraphKeys, get_default_graph

__all__ = ["SessionRunHook", "SessionRunArgs", "SessionRunContext", "SessionRunValues", "CheckpointSaverHook",
           "CheckpointSaverListener", "FeedFnHook", "FinalOpsHook", "GlobalStepWaiterHook", "LoggingTensorHook",
           "NanLossDuringTrainingError", "NanTensorHook", "ProfilerHook", "SecondOrStepTimer", "StepCounterHook",
           "StopAtStepHook", "SummarySaverHook"]


class SessionRunArgs(collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """What a hook adds to a step."""

    def __new__(cls, fetches, feed_dict=None, options=None):
        return super().__new__(cls, fetches, feed_dict, options)


SessionRunValues = collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])


class SessionRunContext:
    """What hooks know of a step; they may ask to stop after it."""

    def __init__(self, original_args, session):
        self._original_args, self._session, self._stop = original_args, session, False

    original_args = property(lambda self: self._original_args)
    session = property(lambda self: self._session)
    stop_requested = property(lambda self: self._stop)

    def request_stop(self):
        self._stop = True


class SessionRunHook:
    """Called around the life of a session and each of its steps."""

    def begin(self):
        """Before the session is made; the graph may still change."""

    def after_create_session(self, session, coord):
        """After a session was made, also after a failure."""

    def before_run(self, run_context):
        """May give SessionRunArgs for the step."""
        return None

    def after_run(self, run_context, run_values):
        """After the step, with the results of what before_run asked for."""

    def end(self, session):
        """At the end, unless there was an error."""


class SecondOrStepTimer:
    """Says when something is due: every so many seconds or steps."""

    def __init__(self, every_secs=None, every_steps=None):
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._secs, self._steps = every_secs, every_steps
        self.reset()

    def reset(self):
        self._last_step = self._last_time = None

    def should_trigger_for_step(self, step):
        if self._last_step is None:
            return True
        if self._last_step == step:
            return False
        if self._secs is not None:
            return time.time() >= self._last_time + self._secs
        return step >= self._last_step + self._steps

    def update_last_triggered_step(self, step):
        now = time.time()
        if self._last_step is None:
            elapsed = None, None
        else:
            elapsed = now - self._last_time, step - self._last_step
        self._last_step, self._last_time = step, now
        return elapsed

    def last_triggered_step(self):
        return self._last_step


class _Never(SecondOrStepTimer):
    def __init__(self):
        self._last_step = self._last_time = None

    def should_trigger_for_step(self, step):
        return False


class LoggingTensorHook(SessionRunHook):
    """Prints tensors every so often."""

    def __init__(self, tensors, every_n_iter=None, every_n_secs=None, at_end=False, formatter=None):
        if not at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if not isinstance(tensors, dict):
            self._order = [getattr(t, "name", t) for t in tensors]
            tensors = {getattr(t, "name", t): t for t in tensors}
        else:
            self._order = sorted(tensors)
        self._tensors, self._formatter, self._at_end = tensors, formatter, at_end
        self._timer = _Never() if at_end and every_n_iter is None and every_n_secs is None else SecondOrStepTimer(
            every_secs=every_n_secs, every_steps=every_n_iter)

    def begin(self):
        self._timer.reset()
        self._count = 0
        graph = get_default_graph()
        self._current = {name: graph.as_graph_element(t if not isinstance(t, str) or ":" in t else t + ":0")
                         for name, t in self._tensors.items()}

    def before_run(self, run_context):
        self._due = self._timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._current) if self._due else None

    def _log(self, values):
        elapsed, _ = self._timer.update_last_triggered_step(self._count)
        if self._formatter:
            logging.info(self._formatter(values))
            return
        text = ", ".join(f"{name} = {values[name]}" for name in self._order)
        logging.info("%s (%.3f sec)" % (text, elapsed) if elapsed is not None else text)

    def after_run(self, run_context, run_values):
        if self._due:
            self._log(run_values.results)
        self._count += 1

    def end(self, session):
        if self._at_end:
            self._log(session.run(self._current))


class StopAtStepHook(SessionRunHook):
    """Asks to stop at a step."""

    def __init__(self, num_steps=None, last_step=None):
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self):
        self._step = global_steps.get_global_step()
        if self._step is None:
            raise RuntimeError("Global step should be created to use StopAtStepHook.")

    def after_create_session(self, session, coord):
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + self._num_steps

    def before_run(self, run_context):
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        if int(run_values.results) + 1 >= self._last_step:
            if int(run_context.session.run(self._step)) >= self._last_step:
                run_context.request_stop()


class CheckpointSaverListener:
    """Told when a checkpoint is written."""

    def begin(self):
        pass

    def before_save(self, session, global_step_value):
        pass

    def after_save(self, session, global_step_value):
        pass

    def end(self, session, global_step_value):
        pass


class CheckpointSaverHook(SessionRunHook):
    """Writes checkpoints every so often."""

    def __init__(self, checkpoint_dir, save_secs=None, save_steps=None, saver=None, checkpoint_basename="model.ckpt",
                 scaffold=None, listeners=None, save_graph_def=True):
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        logging.info("Create CheckpointSaverHook.")
        self._dir, self._saver, self._scaffold = checkpoint_dir, saver, scaffold
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = listeners or []
        self._save_graph = save_graph_def

    def begin(self):
        from weir.compat.v1.summaries import FileWriterCache
        self._writer = FileWriterCache.get(self._dir)
        self._step = global_steps.get_global_step()
        if self._step is None:
            raise RuntimeError("Global step should be created to use CheckpointSaverHook.")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session, coord):
        step = int(session.run(self._step))
        if self._save_graph:
            os.makedirs(self._dir, exist_ok=True)
            with open(os.path.join(self._dir, "graph.pbtxt"), "w") as file:
                file.write(str(get_default_graph().as_graph_def()))
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context):
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        if self._timer.should_trigger_for_step(int(run_values.results) + 1):
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def end(self, session):
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session, step):
        logging.info("Calling checkpoint listeners before saving checkpoint %d...", step)
        for listener in self._listeners:
            listener.before_save(session, step)
        logging.info("Saving checkpoints for %d into %s.", step, self._path)
        self._get_saver().save(session, self._path, global_step=step, write_meta_graph=self._save_graph)
        self._writer.add_session_log(protos.message("SessionLog")(status=protos.message("SessionLog").CHECKPOINT,
                                                                  checkpoint_path=self._path), step)
        logging.info("Calling checkpoint listeners after saving checkpoint %d...", step)
        return any([listener.after_save(session, step) for listener in self._listeners])

    def _get_saver(self):
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        found = get_default_graph().get_collection(GraphKeys.SAVERS)
        if not found:
            raise RuntimeError("No items in collection savers. Please add a saver to the collection or provide a saver or "
                               "scaffold.")
        self._saver = found[0]
        return self._saver


class StepCounterHook(SessionRunHook):
    """Writes steps per second."""

    def __init__(self, every_n_steps=100, every_n_secs=None, output_dir=None, summary_writer=None):
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._writer, self._dir = summary_writer, output_dir

    def begin(self):
        from weir.compat.v1.summaries import FileWriterCache
        if self._writer is None and self._dir:
            self._writer = FileWriterCache.get(self._dir)
        self._step = global_steps.get_global_step()
        if self._step is None:
            raise RuntimeError("Global step should be created to use StepCounterHook.")
        self._tag = self._step.op.name + "/sec"

    def before_run(self, run_context):
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        if self._timer.should_trigger_for_step(int(run_values.results) + 1):
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds:
                    self._log_and_record(steps, seconds, step)

    def _log_and_record(self, elapsed_steps, elapsed_time, global_step):
        rate = elapsed_steps / elapsed_time
        if self._writer is not None:
            summary = protos.message("Summary")()
            summary.value.add(tag=self._tag, simple_value=rate)
            self._writer.add_summary(summary, global_step)
        logging.info("%s: %g", self._tag, rate)


class NanLossDuringTrainingError(RuntimeError):
    """The loss is no number."""

    def __str__(self):
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Stops when a loss is no number."""

    def __init__(self, loss_tensor, fail_on_nan_loss=True):
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context):
        return SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        if np.isnan(run_values.results):
            if self._fail:
                raise NanLossDuringTrainingError
            run_context.request_stop()


class SummarySaverHook(SessionRunHook):
    """Writes summaries every so often."""

    def __init__(self, save_steps=None, save_secs=None, output_dir=None, summary_writer=None, scaffold=None,
                 summary_op=None):
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._op, self._scaffold, self._writer, self._dir = summary_op, scaffold, summary_writer, output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self):
        from weir.compat.v1.summaries import FileWriterCache
        if self._writer is None and self._dir:
            self._writer = FileWriterCache.get(self._dir)
        self._step = global_steps.get_global_step()
        if self._step is None:
            raise RuntimeError("Global step should be created to use SummarySaverHook.")
        self._next = None

    def _ops(self):
        op = self._op if self._op is not None else self._scaffold.summary_op
        if op is None:
            return None
        return list(op) if isinstance(op, (list, tuple)) else [op]

    def before_run(self, run_context):
        self._due = self._next is None or self._timer.should_trigger_for_step(self._next)
        fetches = {"global_step": self._step}
        if self._due and self._ops() is not None:
            fetches["summary"] = self._ops()
        return SessionRunArgs(fetches)

    def after_run(self, run_context, run_values):
        if not self._writer:
            return
        step = int(run_values.results["global_step"])
        if self._next is None or self._due:
            step = int(run_context.session.run(self._step))
        if self._next is None:
            self._writer.add_session_log(protos.message("SessionLog")(status=protos.message("SessionLog").START), step)
        if self._due:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", []):
                self._writer.add_summary(summary, step)
        self._next = step + 1

    def end(self, session=None):
        if self._writer:
            self._writer.flush()


class GlobalStepWaiterHook(SessionRunHook):
    """Waits with the first step until the global step is far enough."""

    def __init__(self, wait_until_step):
        self._until = wait_until_step

    def begin(self):
        self._started = False
        self._step = global_steps.get_global_step()
        if self._step is None:
            raise RuntimeError("Global step should be created to use _GlobalStepWaiterHook.")

    def before_run(self, run_context):
        if self._started:
            return
        while self._until > 0 and int(run_context.session.run(self._step)) < self._until:
            time.sleep(0.5)
        self._started = True


class FinalOpsHook(SessionRunHook):
    """Runs operations at the end."""

    def __init__(self, final_ops, final_ops_feed_dict=None):
        self._ops, self._feeds, self._values = final_ops, final_ops_feed_dict, None

    final_ops_values = property(lambda self: self._values)

    def end(self, session):
        if self._ops is not None:
            try:
                self._values = session.run(self._ops, feed_dict=self._feeds)
            except (errors.OutOfRangeError, StopIteration):
                raise


class FeedFnHook(SessionRunHook):
    """Feeds what a function gives."""

    def __init__(self, feed_fn):
        self._feed_fn = feed_fn

    def before_run(self, run_context):
        return SessionRunArgs(fetches=None, feed_dict=self._feed_fn())


class ProfilerHook(SessionRunHook):
    """Writes a trace of a step every so often, as Chrome shows it."""

    def __init__(self, save_steps=None, save_secs=None, output_dir="", show_dataflow=True, show_memory=False):
        self._file = os.path.join(output_dir, "timeline-{}.json")
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self):
        self._next = None
        self._step = global_steps.get_global_step()
        if self._step is None:
            raise RuntimeError("Global step should be created to use ProfilerHook.")

    def before_run(self, run_context):
        self._due = self._next is not None and self._timer.should_trigger_for_step(self._next)
        options = protos.message("RunOptions")(trace_level=3) if self._due else None
        return SessionRunArgs({"global_step": self._step}, options=options)

    def after_run(self, run_context, run_values):
        step = int(run_values.results["global_step"])
        if self._next is None:
            self._timer.update_last_triggered_step(step)
        if self._due:
            self._timer.update_last_triggered_step(step)
            from weir.compat.v1.timeline import Timeline
            with open(self._file.format(step), "w") as file:
                file.write(Timeline(run_values.run_metadata.step_stats).generate_chrome_trace_format())
        self._next = step + 1


for _class in (SessionRunHook, SessionRunContext, SessionRunArgs, SessionRunValues):
    _class.__module__ = "tensorflow.python.training.session_run_hook"
for _class in (SecondOrStepTimer, LoggingTensorHook, StopAtStepHook, CheckpointSaverHook, StepCounterHook, NanTensorHook,
               SummarySaverHook, GlobalStepWaiterHook, FinalOpsHook, FeedFnHook, ProfilerHook, CheckpointSaverListener,
               NanLossDuringTrainingError):
    _class.__module__ = "tensorflow.python.training.basic_session_run_hooks"
