"""tf.summary of compat.v1: operations that give serialized Summary protos, and FileWriter, which writes them."""

import os
import re
import threading
import time

from weir.framework import convert_to_tensor, dtypes, protos, raw_ops
from weir.framework.graph import GraphKeys, eager_mode, executing_eagerly, get_default_graph, name_scope

__all__ = ["FileWriter", "FileWriterCache", "scalar", "histogram", "image", "audio", "text", "tensor_summary", "merge",
           "merge_all", "get_summary_description"]


def _tag(name, family):
    name = re.sub(r"[^-/\w\.]", "_", name).lstrip("/")
    return f"{family}/{name}" if family else name


class _scope:
    """Opens the scope of a summary; gives its tag."""

    def __init__(self, name, family, default):
        self._family = re.sub(r"[^-/\w\.]", "_", family) if family else None
        self._name = _tag(name or default, self._family)

    def __enter__(self):
        self._inner = name_scope(self._name)
        scope = self._inner.__enter__() or ""
        scope = scope.rstrip("/") or self._name
        return (f"{self._family}/{scope}" if self._family else scope), scope

    def __exit__(self, *error):
        return self._inner.__exit__(*error)


def _collected(value, collections):
    if not executing_eagerly():
        for key in [GraphKeys.SUMMARIES] if collections is None else collections:
            get_default_graph().add_to_collection(key, value)
    return value


def scalar(name, tensor, collections=None, family=None):
    """A number."""
    with _scope(name, family, "ScalarSummary") as (tag, scope):
        return _collected(raw_ops.ScalarSummary(tags=convert_to_tensor(tag.encode()), values=tensor, name=scope + "/"),
                          collections)


def histogram(name, values, collections=None, family=None):
    """How often values fall into each of many buckets."""
    with _scope(name, family, "HistogramSummary") as (tag, scope):
        return _collected(raw_ops.HistogramSummary(tag=convert_to_tensor(tag.encode()), values=values, name=scope + "/"),
                          collections)


def image(name, tensor, max_outputs=3, collections=None, family=None):
    """The first images of a batch."""
    with _scope(name, family, "ImageSummary") as (tag, scope):
        return _collected(raw_ops.ImageSummary(tag=convert_to_tensor(tag.encode()), tensor=tensor, max_images=max_outputs,
                                               name=scope + "/"), collections)


def audio(name, tensor, sample_rate, max_outputs=3, collections=None, family=None):
    """The first clips of a batch."""
    with _scope(name, family, "AudioSummary") as (tag, scope):
        return _collected(raw_ops.AudioSummaryV2(tag=convert_to_tensor(tag.encode()), tensor=tensor,
                                                 sample_rate=convert_to_tensor(sample_rate, dtypes.float32),
                                                 max_outputs=max_outputs, name=scope + "/"), collections)


def text(name, tensor, collections=None):
    """Strings, which TensorBoard shows as Markdown."""
    tensor = convert_to_tensor(tensor)
    if tensor.dtype != dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    metadata = protos.message("SummaryMetadata")(
        plugin_data=protos.message("SummaryMetadata").PluginData(plugin_name="text"))
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


def tensor_summary(name, tensor, summary_description=None, collections=None, summary_metadata=None, family=None,
                   display_name=None):
    """Any tensor."""
    metadata = protos.message("SummaryMetadata")()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if display_name is not None:
        metadata.display_name = display_name
    if summary_description is not None:
        metadata.summary_description = summary_description
    with _scope(name, family, "TensorSummary") as (tag, scope):
        return _collected(raw_ops.TensorSummaryV2(tag=convert_to_tensor(tag.encode()), tensor=tensor,
                                                  serialized_summary_metadata=metadata.SerializeToString(),
                                                  name=scope + "/"), collections)


def merge(inputs, collections=None, name=None):
    """One summary of several."""
    if executing_eagerly():
        raise RuntimeError("Merging tf.summary.* ops is not compatible with eager execution. Use tf.contrib.summary "
                           "instead.")
    made = raw_ops.MergeSummary(inputs=list(inputs), name=name or "Merge/MergeSummary")
    for key in collections or []:
        get_default_graph().add_to_collection(key, made)
    return made


def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
    """One summary of all of the graph's; None if it has none."""
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


def get_summary_description(node_def):
    from google.protobuf import json_format
    return json_format.Parse(node_def.attr["description"].s, protos.message("SummaryDescription")())


class FileWriter:
    """Writes summaries and graphs to an event file."""

    def __init__(self, logdir, graph=None, max_queue=10, flush_secs=120, graph_def=None, filename_suffix=None,
                 session=None):
        self._logdir = os.fspath(logdir)
        self._suffix, self._max_queue, self._flush_secs = filename_suffix, max_queue, flush_secs
        self._handle = None
        self._lock = threading.Lock()
        self._waiting = 0
        self._open()
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)
            meta = protos.message("MetaGraphDef")()
            meta.graph_def.CopyFrom(graph.as_graph_def(add_shapes=True) if graph is not None else graph_def)
            self.add_meta_graph(meta)

    _number = 0

    def _open(self):
        with eager_mode():
            FileWriter._number += 1
            self._handle = raw_ops.SummaryWriter(shared_name=f"weir_file_writer_{os.getpid()}_{FileWriter._number}")
            raw_ops.CreateSummaryFileWriter(writer=self._handle, logdir=self._logdir, max_queue=self._max_queue,
                                            flush_millis=int(self._flush_secs * 1000),
                                            filename_suffix=self._suffix or "")
        self._closed = False

    def get_logdir(self):
        return self._logdir

    def add_event(self, event):
        """Writes an Event."""
        with self._lock:
            if self._closed:
                return
            if not event.wall_time:
                event.wall_time = time.time()
            with eager_mode():
                raw_ops.ImportEvent(writer=self._handle, event=event.SerializeToString())

    def add_summary(self, summary, global_step=None):
        """Writes a Summary, or the bytes of one."""
        if isinstance(summary, bytes):
            summary = protos.message("Summary").FromString(summary)
        elif hasattr(summary, "tobytes") and not hasattr(summary, "SerializeToString"):
            summary = protos.message("Summary").FromString(summary.tobytes() if summary.dtype != object else summary.item())
        self._add(global_step, summary=summary)

    def _add(self, step, **what):
        event = protos.message("Event")(wall_time=time.time(), **what)
        if step is not None:
            event.step = int(step)
        self.add_event(event)

    def add_graph(self, graph=None, global_step=None, graph_def=None):
        """Writes a graph."""
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        source = graph if graph is not None else graph_def
        if hasattr(source, "as_graph_def"):
            source = source.as_graph_def(add_shapes=True)
        elif not hasattr(source, "SerializeToString"):
            raise TypeError("The passed graph must be an instance of `Graph` or the deprecated `GraphDef`")
        self._add(global_step, graph_def=source.SerializeToString())

    def add_meta_graph(self, meta_graph_def, global_step=None):
        self._add(global_step, meta_graph_def=meta_graph_def.SerializeToString())

    def add_session_log(self, session_log, global_step=None):
        self._add(global_step, session_log=session_log)

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        """Writes where the time of a step went."""
        self._add(global_step, tagged_run_metadata=protos.message("TaggedRunMetadata")(
            tag=tag, run_metadata=run_metadata.SerializeToString()))

    def flush(self):
        if not self._closed:
            with eager_mode():
                raw_ops.FlushSummaryWriter(writer=self._handle)

    def close(self):
        if not self._closed:
            self._closed = True
            with eager_mode():
                raw_ops.CloseSummaryWriter(writer=self._handle)

    def reopen(self):
        if self._closed:
            self._open()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class FileWriterCache:
    """One writer for each folder."""

    _cache = {}
    _lock = threading.RLock()

    @staticmethod
    def clear():
        with FileWriterCache._lock:
            for writer in FileWriterCache._cache.values():
                writer.close()
            FileWriterCache._cache.clear()

    @staticmethod
    def get(logdir):
        with FileWriterCache._lock:
            if logdir not in FileWriterCache._cache:
                FileWriterCache._cache[logdir] = FileWriter(logdir, graph=None if executing_eagerly() else
                                                            get_default_graph())
            return FileWriterCache._cache[logdir]


FileWriter.__module__ = "tensorflow.python.summary.writer.writer"
