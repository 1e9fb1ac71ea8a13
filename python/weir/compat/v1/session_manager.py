"""SessionManager: sessions whose variables are restored or initialized, or waited for."""

import os
import time

from weir.compat.v1 import logging
from weir.compat.v1.session import Session
from weir.framework import errors
from weir.framework.graph import get_default_graph
from weir.train import checkpoint as checkpoints

__all__ = ["SessionManager"]


class SessionManager:
    """Makes sessions that are ready to be used."""

    def __init__(self, local_init_op=None, ready_op=None, ready_for_local_init_op=None, graph=None,
                 recovery_wait_secs=30, local_init_run_options=None, local_init_feed_dict=None):
        self._local_init_op, self._ready_op = local_init_op, ready_op
        self._ready_for_local = ready_for_local_init_op
        self._graph = graph if graph is not None else get_default_graph()
        self._wait = recovery_wait_secs
        self._feeds = local_init_feed_dict
        self._target = None

    def _restore(self, master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs,
                 config):
        self._target = master
        session = Session(master, graph=self._graph, config=config)
        if not saver or not (checkpoint_dir or checkpoint_filename_with_path):
            return session, False
        if checkpoint_filename_with_path:
            saver.restore(session, checkpoint_filename_with_path)
            return session, True
        begin = time.monotonic()
        state = checkpoints.get_checkpoint_state(checkpoint_dir)
        while state is None or not state.model_checkpoint_path:
            if not wait_for_checkpoint or time.monotonic() - begin > max_wait_secs:
                return session, False
            time.sleep(min(self._wait, 1.0))
            state = checkpoints.get_checkpoint_state(checkpoint_dir)
        saver.restore(session, state.model_checkpoint_path)
        saver.recover_last_checkpoints([p for p in state.all_model_checkpoint_paths if os.path.exists(p + ".index")])
        return session, True

    def prepare_session(self, master, init_op=None, saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None,
                        wait_for_checkpoint=False, max_wait_secs=7200, config=None, init_feed_dict=None, init_fn=None):
        """A session with variables from a checkpoint, or else initialized."""
        session, restored = self._restore(master, saver, checkpoint_dir, checkpoint_filename_with_path,
                                          wait_for_checkpoint, max_wait_secs, config)
        if not restored:
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
            if init_op is not None:
                session.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(session)
        done, message = self._try_local_init(session)
        if not done:
            raise RuntimeError(f"Init operations did not make model ready for local_init.  Init op: "
                               f"{getattr(init_op, 'name', init_op)}, init fn: {init_fn}, error: {message}")
        ready, message = self._is_ready(session)
        if not ready:
            raise RuntimeError(f"Init operations did not make model ready.  Init op: {getattr(init_op, 'name', init_op)}, "
                               f"init fn: {init_fn}, local_init_op: "
                               f"{getattr(self._local_init_op, 'name', self._local_init_op)}, error: {message}")
        return session

    def recover_session(self, master, saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None,
                        wait_for_checkpoint=False, max_wait_secs=7200, config=None):
        """A session from a checkpoint, and whether there was one."""
        session, restored = self._restore(master, saver, checkpoint_dir, checkpoint_filename_with_path,
                                          wait_for_checkpoint, max_wait_secs, config)
        if not restored:
            return session, False
        done, _ = self._try_local_init(session)
        if not done:
            return session, False
        ready, _ = self._is_ready(session)
        return session, ready

    def wait_for_session(self, master, config=None, max_wait_secs=float("Inf")):
        """A session on a master that another task initializes; waits for that."""
        self._target = master
        begin = time.monotonic()
        while True:
            session = Session(master, graph=self._graph, config=config)
            message = None
            done, message = self._try_local_init(session)
            if done:
                ready, message = self._is_ready(session)
                if ready:
                    return session
            try:
                session.close()
            except errors.OpError:
                pass
            if max_wait_secs is not None and time.monotonic() - begin + self._wait > max_wait_secs:
                raise errors.DeadlineExceededError(None, None, f"Session was not ready after waiting {max_wait_secs} secs. "
                                                   f"{message}")
            time.sleep(self._wait)

    def _ask(self, session, op):
        if op is None:
            return True, None
        try:
            missing = session.run(op)
        except errors.FailedPreconditionError as error:
            return False, str(error)
        if missing is None or len(missing) == 0:
            return True, None
        names = ", ".join(n.decode() if isinstance(n, bytes) else str(n) for n in missing)
        return False, f"Variables not initialized: {names}"

    def _is_ready(self, session):
        return self._ask(session, self._ready_op)

    def _try_local_init(self, session):
        if self._local_init_op is None:
            return True, None
        ready, message = self._ask(session, self._ready_for_local)
        if not ready:
            return False, message
        logging.info("Running local_init_op.")
        session.run(self._local_init_op, feed_dict=self._feeds)
        logging.info("Done running local_init_op.")
        return True, None


SessionManager.__module__ = "tensorflow.python.training.session_manager"
