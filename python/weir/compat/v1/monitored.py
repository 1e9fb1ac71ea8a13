"""Monitored sessions: sessions that are initialized or restored, call hooks, and survive failures of servers."""

import os

from weir.compat.v1 import graph_ops, logging
from weir.compat.v1 import hooks as basic_hooks
from weir.compat.v1.coordinator import Coordinator
from weir.compat.v1.queues import start_queue_runners
from weir.compat.v1.saver import Saver
from weir.compat.v1.session_manager import SessionManager
from weir.framework import errors, protos
from weir.framework.graph import GraphKeys, get_default_graph

__all__ = ["Scaffold", "SessionCreator", "ChiefSessionCreator", "WorkerSessionCreator", "MonitoredSession",
           "MonitoredTrainingSession", "SingularMonitoredSession"]

_USE_DEFAULT = object()
_LOST = (errors.AbortedError, errors.UnavailableError)


class Scaffold:
    """The operations that a session needs: to initialize, to say whether it is ready, to save."""

    def __init__(self, init_op=None, init_feed_dict=None, init_fn=None, ready_op=None, ready_for_local_init_op=None,
                 local_init_op=None, summary_op=None, saver=None, copy_from_scaffold=None, local_init_feed_dict=None):
        other = copy_from_scaffold
        self._init_op = init_op if init_op is not None else getattr(other, "_init_op", None)
        self._init_feed_dict = init_feed_dict if init_feed_dict is not None else getattr(other, "_init_feed_dict", None)
        given = init_fn if init_fn is not None else getattr(other, "_user_init_fn", None)
        self._user_init_fn = given
        self._init_fn = (lambda session: given(self, session)) if given else None
        self._ready_op = ready_op if ready_op is not None else getattr(other, "_ready_op", None)
        self._ready_for_local_init_op = ready_for_local_init_op if ready_for_local_init_op is not None else getattr(
            other, "_ready_for_local_init_op", None)
        self._local_init_op = local_init_op if local_init_op is not None else getattr(other, "_local_init_op", None)
        self._local_init_feed_dict = local_init_feed_dict
        self._summary_op = summary_op if summary_op is not None else getattr(other, "_summary_op", None)
        self._saver = saver if saver is not None else getattr(other, "_saver", None)

    def finalize(self):
        """Makes what was not given, and ends changes of the graph."""
        graph = get_default_graph()
        if self._init_op is None:
            self._init_op = Scaffold.get_or_default("init_op", GraphKeys.INIT_OP, lambda: graph_ops.group(
                graph_ops.global_variables_initializer(), _shared_resources(), name="init_all"))
        if self._ready_op is None:
            self._ready_op = Scaffold.get_or_default("ready_op", GraphKeys.READY_OP,
                                                     graph_ops.report_uninitialized_variables)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = Scaffold.get_or_default(
                "ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: graph_ops.report_uninitialized_variables(graph_ops.global_variables()))
        if self._local_init_op is None:
            self._local_init_op = Scaffold.get_or_default("local_init_op", GraphKeys.LOCAL_INIT_OP,
                                                          Scaffold.default_local_init_op)
        if self._summary_op is None:
            from weir.compat.v1.summaries import merge_all
            self._summary_op = Scaffold.get_or_default("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        if self._saver is None:
            found = graph.get_collection(GraphKeys.SAVERS)
            if found:
                self._saver = found[0]
            else:
                self._saver = Saver(sharded=True, allow_empty=True)
                graph.add_to_collection(GraphKeys.SAVERS, self._saver)
        self._saver.build()
        graph.finalize()
        logging.info("Graph was finalized.")
        return self

    init_fn = property(lambda self: self._init_fn)
    init_op = property(lambda self: self._init_op)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    local_init_op = property(lambda self: self._local_init_op)
    local_init_feed_dict = property(lambda self: self._local_init_feed_dict)
    summary_op = property(lambda self: self._summary_op)
    saver = property(lambda self: self._saver)
    init_feed_dict = property(lambda self: self._init_feed_dict)

    @staticmethod
    def get_or_default(arg_name, collection_key, default_constructor):
        found = get_default_graph().get_collection(collection_key)
        if found:
            if len(found) > 1:
                raise RuntimeError(f"More than one item in the collection \"{collection_key}\". Please indicate which one "
                                   f"to use by passing it to the tf.Scaffold constructor as:  "
                                   f"tf.Scaffold({arg_name}=item to use)")
            return found[0]
        made = default_constructor()
        if made is not None:
            get_default_graph().add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op():
        return graph_ops.group(graph_ops.local_variables_initializer(), graph_ops.tables_initializer())


def _shared_resources():
    return graph_ops.no_op()


class SessionCreator:
    """Makes sessions."""

    def create_session(self):
        raise NotImplementedError()


class ChiefSessionCreator(SessionCreator):
    """The session of the task that initializes or restores variables."""

    def __init__(self, scaffold=None, master="", config=None, checkpoint_dir=None, checkpoint_filename_with_path=None):
        self._scaffold = scaffold or Scaffold()
        self._master, self._config = master, config
        self._dir, self._file = checkpoint_dir, checkpoint_filename_with_path
        self._manager = None

    def create_session(self):
        self._scaffold.finalize()
        if self._manager is None:
            self._manager = SessionManager(
                local_init_op=self._scaffold.local_init_op, ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op, graph=get_default_graph(),
                local_init_feed_dict=self._scaffold.local_init_feed_dict)
        return self._manager.prepare_session(
            self._master, saver=self._scaffold.saver, checkpoint_dir=self._dir, checkpoint_filename_with_path=self._file,
            config=self._config, init_op=self._scaffold.init_op, init_feed_dict=self._scaffold.init_feed_dict,
            init_fn=self._scaffold.init_fn)


class WorkerSessionCreator(SessionCreator):
    """The session of another task, which waits for the chief's."""

    def __init__(self, scaffold=None, master="", config=None, max_wait_secs=30 * 60):
        self._scaffold = scaffold or Scaffold()
        self._master, self._config, self._max_wait = master, config, max_wait_secs
        self._manager = None

    def create_session(self):
        self._scaffold.finalize()
        if self._manager is None:
            self._manager = SessionManager(
                local_init_op=self._scaffold.local_init_op, ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op, graph=get_default_graph(),
                recovery_wait_secs=1)
        return self._manager.wait_for_session(self._master, config=self._config, max_wait_secs=self._max_wait)


class _MonitoredSession:
    """A session with hooks around each step."""

    def __init__(self, session_creator, hooks, should_recover, stop_grace_period_secs=120):
        self._hooks = list(hooks or [])
        self._creator, self._recovers, self._grace = session_creator, should_recover, stop_grace_period_secs
        self._stop = False
        self._graph_was_finalized = get_default_graph().finalized
        for hook in self._hooks:
            hook.begin()
        self._session = self._coord = None
        self._open()

    def _open(self):
        while True:
            try:
                self._session = self._creator.create_session()
                self._coord = Coordinator(clean_stop_exception_types=[])
                if get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
                    start_queue_runners(sess=self._session, coord=self._coord)
                for hook in self._hooks:
                    hook.after_create_session(self._session, self._coord)
                return
            except _LOST:
                if not self._recovers:
                    raise

    @property
    def graph(self):
        return None if self._session is None else self._session.graph

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Runs a step; hooks see it before and after."""
        while True:
            try:
                return self._step(fetches, feed_dict, options, run_metadata)
            except _LOST:
                if not self._recovers:
                    raise
                self._drop()
                self._open()

    def _step(self, fetches, feed_dict, options, run_metadata):
        if self._session is None:
            raise RuntimeError("Session is already closed.")
        context = basic_hooks.SessionRunContext(basic_hooks.SessionRunArgs(fetches, feed_dict), self._session)
        asked, feeds = {"caller": fetches}, dict(feed_dict or {})
        run_options = options
        for i, hook in enumerate(self._hooks):
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                asked[i] = request.fetches
            if request.feed_dict:
                feeds.update(request.feed_dict)
            if request.options is not None:
                merged = protos.message("RunOptions")()
                if run_options is not None:
                    merged.CopyFrom(run_options)
                merged.trace_level = max(merged.trace_level, request.options.trace_level)
                run_options = merged
        metadata = run_metadata if run_metadata is not None else (
            protos.message("RunMetadata")() if run_options is not None else None)
        try:
            results = self._session.run(asked, feeds, run_options, metadata)
        except errors.OpError:
            if self._coord is not None:  # what a queue runner died of says more
                self._coord.raise_requested_exception()
            raise
        for i, hook in enumerate(self._hooks):
            hook.after_run(context, basic_hooks.SessionRunValues(results.get(i), run_options, metadata))
        self._stop = self._stop or context.stop_requested
        return results["caller"]

    def run_step_fn(self, step_fn):
        """Runs a function of a StepContext; session.run inside it calls no hooks, run_with_hooks does."""
        return step_fn(_StepContext(self))

    def should_stop(self):
        if self._session is None or self._stop:
            return True
        return self._coord is not None and self._coord.should_stop()

    def _drop(self):
        session, self._session = self._session, None
        if self._coord is not None:
            self._coord.request_stop()
        try:
            if session is not None:
                session.close()
        except errors.OpError:
            pass

    def close(self):
        self._close(None)

    def _close(self, error):
        try:
            if error is None and self._session is not None:
                for hook in self._hooks:
                    hook.end(self._session)
        finally:
            session, self._session = self._session, None
            if self._coord is not None:
                coordinator, self._coord = self._coord, None
                coordinator.request_stop()
                threads = set(coordinator._threads)
                try:
                    coordinator.join(stop_grace_period_secs=min(1.0, self._grace), ignore_live_threads=True)
                finally:
                    if session is not None:
                        session.close()  # ends steps that wait for what will not come
                    for thread in threads:
                        thread.join(self._grace)
            if not self._graph_was_finalized:
                get_default_graph()._unsafe_unfinalize()

    def _is_closed(self):
        return self._session is None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind in (errors.OutOfRangeError, StopIteration):
            kind = None
            self._close(None)
            return True
        self._close(kind)
        return kind is None


class _StepContext:
    def __init__(self, monitored):
        self._monitored = monitored

    @property
    def session(self):
        return self._monitored._session

    def run_with_hooks(self, *args, **kwargs):
        return self._monitored.run(*args, **kwargs)

    def request_stop(self):
        self._monitored._stop = True
        raise StopIteration("step_fn has requested the iterations to stop.")


class MonitoredSession(_MonitoredSession):
    """A monitored session that begins again after failures of servers."""

    StepContext = _StepContext

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        super().__init__(session_creator or ChiefSessionCreator(), hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_MonitoredSession):
    """A monitored session without recovery."""

    def __init__(self, hooks=None, scaffold=None, master="", config=None, checkpoint_dir=None,
                 stop_grace_period_secs=120, checkpoint_filename_with_path=None):
        super().__init__(ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path),
                         hooks, False, stop_grace_period_secs)

    def raw_session(self):
        return self._session


def MonitoredTrainingSession(master="", is_chief=True, checkpoint_dir=None, scaffold=None, hooks=None, chief_only_hooks=None,
                             save_checkpoint_secs=_USE_DEFAULT, save_summaries_steps=_USE_DEFAULT,
                             save_summaries_secs=_USE_DEFAULT, config=None, stop_grace_period_secs=120,
                             log_step_count_steps=100, max_wait_secs=7200, save_checkpoint_steps=_USE_DEFAULT,
                             summary_dir=None, save_graph_def=True):
    """A MonitoredSession for training: the chief restores, saves and writes summaries, others wait for it."""
    if save_summaries_steps is _USE_DEFAULT and save_summaries_secs is _USE_DEFAULT:
        save_summaries_steps, save_summaries_secs = 100, None
    save_summaries_steps = None if save_summaries_steps is _USE_DEFAULT else save_summaries_steps
    save_summaries_secs = None if save_summaries_secs is _USE_DEFAULT else save_summaries_secs
    if save_checkpoint_secs is _USE_DEFAULT and save_checkpoint_steps is _USE_DEFAULT:
        save_checkpoint_secs, save_checkpoint_steps = 600, None
    save_checkpoint_secs = None if save_checkpoint_secs is _USE_DEFAULT else save_checkpoint_secs
    save_checkpoint_steps = None if save_checkpoint_steps is _USE_DEFAULT else save_checkpoint_steps
    scaffold = scaffold or Scaffold()
    if not is_chief:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(creator, hooks or [], stop_grace_period_secs)
    every = list(chief_only_hooks or [])
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        os.makedirs(summary_dir, exist_ok=True)
        if log_step_count_steps and log_step_count_steps > 0:
            every.append(basic_hooks.StepCounterHook(every_n_steps=log_step_count_steps, output_dir=summary_dir))
        if (save_summaries_steps and save_summaries_steps > 0) or (save_summaries_secs and save_summaries_secs > 0):
            every.append(basic_hooks.SummarySaverHook(scaffold=scaffold, save_steps=save_summaries_steps,
                                                      save_secs=save_summaries_secs, output_dir=summary_dir))
    if checkpoint_dir:
        if (save_checkpoint_secs and save_checkpoint_secs > 0) or (save_checkpoint_steps and save_checkpoint_steps > 0):
            os.makedirs(checkpoint_dir, exist_ok=True)
            every.append(basic_hooks.CheckpointSaverHook(checkpoint_dir, save_secs=save_checkpoint_secs,
                                                         save_steps=save_checkpoint_steps, scaffold=scaffold,
                                                         save_graph_def=save_graph_def))
    return MonitoredSession(creator, every + list(hooks or []), stop_grace_period_secs)


for _class in (Scaffold, SessionCreator, ChiefSessionCreator, WorkerSessionCreator, MonitoredSession,
               SingularMonitoredSession):
    _class.__module__ = "tensorflow.python.training.monitored_session"
