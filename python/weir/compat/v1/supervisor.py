"""Supervisor: a session that is restored or initialized, with threads that save and write summaries."""

import contextlib
import os

from weir.compat.v1 import global_step as global_steps
from weir.compat.v1 import graph_ops
from weir.compat.v1.coordinator import Coordinator, LooperThread
from weir.compat.v1.queues import start_queue_runners
from weir.compat.v1.saver import Saver
from weir.compat.v1.session_manager import SessionManager
from weir.compat.v1.summaries import FileWriter, merge_all
from weir.framework import errors, protos
from weir.framework.graph import GraphKeys, get_default_graph

__all__ = ["Supervisor"]


class Supervisor:
    """Looks after a training program: its session, checkpoints, summaries and threads."""

    USE_DEFAULT = 0

    def __init__(self, graph=None, ready_op=USE_DEFAULT, ready_for_local_init_op=USE_DEFAULT, is_chief=True,
                 init_op=USE_DEFAULT, init_feed_dict=None, local_init_op=USE_DEFAULT, logdir=None, summary_op=USE_DEFAULT,
                 saver=USE_DEFAULT, global_step=USE_DEFAULT, save_summaries_secs=120, save_model_secs=600,
                 recovery_wait_secs=30, stop_grace_secs=120, checkpoint_basename="model.ckpt", session_manager=None,
                 summary_writer=USE_DEFAULT, init_fn=None, local_init_run_options=None):
        default = Supervisor.USE_DEFAULT
        self._graph = graph or get_default_graph()
        self._is_chief, self._logdir = is_chief, logdir
        self._feeds, self._init_fn = init_feed_dict, init_fn
        self._summary_secs, self._model_secs, self._grace = save_summaries_secs, save_model_secs, stop_grace_secs
        self._recovery = recovery_wait_secs
        self._coord = Coordinator()
        with self._graph.as_default():
            self._init_op = self._given(init_op, default, GraphKeys.INIT_OP, graph_ops.global_variables_initializer)
            self._ready_op = self._given(ready_op, default, GraphKeys.READY_OP, graph_ops.report_uninitialized_variables)
            self._ready_for_local = self._given(ready_for_local_init_op, default, GraphKeys.READY_FOR_LOCAL_INIT_OP,
                                                lambda: None)
            self._local_init_op = self._given(
                local_init_op, default, GraphKeys.LOCAL_INIT_OP,
                lambda: graph_ops.group(graph_ops.local_variables_initializer(), graph_ops.tables_initializer()))
            if saver is default:
                found = self._graph.get_collection(GraphKeys.SAVERS)
                saver = found[0] if found else (Saver() if graph_ops.global_variables() else None)
                if saver is not None and not found:
                    self._graph.add_to_collection(GraphKeys.SAVERS, saver)
            self._saver = saver
            self._summary_op = self._given(summary_op, default, GraphKeys.SUMMARY_OP, merge_all)
            self._step = global_steps.get_global_step(self._graph) if global_step is default else global_step
        self._save_path = os.path.join(logdir, checkpoint_basename) if logdir else None
        if logdir and is_chief:
            os.makedirs(logdir, exist_ok=True)
        if summary_writer is default:
            summary_writer = FileWriter(logdir) if logdir and is_chief else None
        self._writer = summary_writer
        self._manager = session_manager or SessionManager(
            local_init_op=self._local_init_op, ready_op=self._ready_op, ready_for_local_init_op=self._ready_for_local,
            graph=self._graph, recovery_wait_secs=recovery_wait_secs)
        self._graph.finalize()

    def _given(self, value, default, collection, make):
        if value is not default:
            return value
        found = self._graph.get_collection(collection)
        if found:
            return found[0]
        made = make()
        if made is not None:
            self._graph.add_to_collection(collection, made)
        return made

    coord = property(lambda self: self._coord)
    is_chief = property(lambda self: self._is_chief)
    init_op = property(lambda self: self._init_op)
    init_feed_dict = property(lambda self: self._feeds)
    ready_op = property(lambda self: self._ready_op)
    summary_op = property(lambda self: self._summary_op)
    summary_writer = property(lambda self: self._writer)
    saver = property(lambda self: self._saver)
    global_step = property(lambda self: self._step)
    save_path = property(lambda self: self._save_path)
    save_model_secs = property(lambda self: self._model_secs)
    save_summaries_secs = property(lambda self: self._summary_secs)
    session_manager = property(lambda self: self._manager)

    def prepare_or_wait_for_session(self, master="", config=None, wait_for_checkpoint=False, max_wait_secs=7200,
                                    start_standard_services=True):
        """The session: restored or initialized by the chief, waited for by the others."""
        self._coord.clear_stop()
        if self._is_chief:
            session = self._manager.prepare_session(
                master, init_op=self._init_op, saver=self._saver, checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint, max_wait_secs=max_wait_secs, config=config,
                init_feed_dict=self._feeds, init_fn=self._init_fn)
            if self._writer is not None:
                self._writer.add_graph(graph=self._graph)
                self._writer.add_session_log(protos.message("SessionLog")(status=protos.message("SessionLog").START))
            if start_standard_services:
                self.start_standard_services(session)
        else:
            session = self._manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            self.start_queue_runners(session)
        return session

    PrepareSession = prepare_or_wait_for_session

    def start_standard_services(self, sess):
        """Threads that write summaries and checkpoints every so often."""
        threads = []
        if not self._is_chief:
            raise RuntimeError("Only chief supervisor can start standard services. Because only chief supervisors can write "
                               "events.")
        if not self._logdir:
            return None
        if self._summary_op is not None and self._summary_secs and self._writer is not None:
            threads.append(LooperThread(self._coord, self._summary_secs, self._write_summary, (sess,)))
        if self._saver is not None and self._model_secs:
            threads.append(LooperThread(self._coord, self._model_secs, self._write_checkpoint, (sess,)))
        for thread in threads:
            thread.start()
        return threads

    def _write_summary(self, sess):
        if self._step is not None:
            summary, step = sess.run([self._summary_op, self._step])
        else:
            summary, step = sess.run(self._summary_op), None
        self._writer.add_summary(summary, step)

    def _write_checkpoint(self, sess):
        self._saver.save(sess, self._save_path, global_step=self._step)

    def start_queue_runners(self, sess, queue_runners=None):
        if queue_runners is None:
            return start_queue_runners(sess, self._coord)
        return [t for r in queue_runners for t in r.create_threads(sess, coord=self._coord, daemon=True, start=True)]

    StartQueueRunners = start_queue_runners

    def loop(self, timer_interval_secs, target, args=None, kwargs=None):
        thread = LooperThread(self._coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    Loop = loop

    def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
        """Stops all threads and raises what one of them was stopped by."""
        self._coord.request_stop()
        try:
            self._coord.join(threads, stop_grace_period_secs=self._grace, ignore_live_threads=True)
        finally:
            if close_summary_writer and self._writer is not None:
                self._writer.add_session_log(protos.message("SessionLog")(status=protos.message("SessionLog").STOP))
                self._writer.close()

    Stop = stop

    def request_stop(self, ex=None):
        self._coord.request_stop(ex)

    RequestStop = request_stop

    def should_stop(self):
        return self._coord.should_stop()

    ShouldStop = should_stop

    def stop_on_exception(self):
        return self._coord.stop_on_exception()

    def wait_for_stop(self):
        self._coord.wait_for_stop()

    def summary_computed(self, sess, summary, global_step=None):
        """Writes a summary that the program has computed."""
        if not self._writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._step is not None:
            global_step = sess.run(self._step)
        self._writer.add_summary(summary, global_step)

    SummaryComputed = summary_computed

    @contextlib.contextmanager
    def managed_session(self, master="", config=None, start_standard_services=True, close_summary_writer=True):
        """`with supervisor.managed_session() as sess:`; threads stop at the end."""
        try:
            session = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
            yield session
        except errors.OutOfRangeError:
            self.request_stop()
        except Exception as error:  # pylint: disable=broad-except
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                try:
                    session.close()
                except Exception:  # pylint: disable=broad-except
                    pass


Supervisor.__module__ = "tensorflow.python.training.supervisor"
