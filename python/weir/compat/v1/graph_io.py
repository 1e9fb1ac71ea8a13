"""Graphs and events in files, and a plain training loop."""

import os

from weir.framework import protos

__all__ = ["write_graph", "summary_iterator", "basic_train_loop"]


def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """Writes a GraphDef, as text or bytes; gives the path."""
    graph_def = graph_or_graph_def.as_graph_def() if hasattr(graph_or_graph_def, "as_graph_def") else graph_or_graph_def
    os.makedirs(logdir, exist_ok=True)
    path = os.path.join(logdir, name)
    with open(path, "wb") as file:
        if as_text:
            from google.protobuf import text_format
            file.write(text_format.MessageToString(graph_def).encode())
        else:
            file.write(graph_def.SerializeToString(deterministic=True))
    return path


def summary_iterator(path):
    """The Events of an event file."""
    from weir.framework.graph import eager_mode
    from weir.io.records import tf_record_iterator
    with eager_mode():
        records = list(tf_record_iterator(path))
    return iter([protos.message("Event").FromString(record) for record in records])


def basic_train_loop(supervisor, train_step_fn, args=None, kwargs=None, master=""):
    """Calls train_step_fn(session, ...) until the supervisor should stop."""
    with supervisor.managed_session(master) as session:
        while not supervisor.should_stop():
            train_step_fn(session, *(args or []), **(kwargs or {}))
