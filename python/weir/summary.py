"""tf.summary: values written to event files, which TensorBoard shows.

A writer is a resource of the runtime, so that summaries can be written by eager code, in functions and in graphs alike.
"""

import contextlib
import itertools
import os
import re
import threading
import weakref

from weir import _core
from weir.framework import convert_to_tensor, dtypes, protos, raw_ops
from weir.framework.graph import current_name_scope, eager_mode, executing_eagerly, get_default_graph, init_scope, name_scope
from weir.trackable import Trackable

__all__ = ["SummaryWriter", "audio", "create_file_writer", "create_noop_writer", "flush", "graph", "histogram", "image",
           "record_if", "scalar", "should_record_summaries", "text", "trace_export", "trace_off", "trace_on", "write",
           "get_step", "set_step", "summary_scope", "write_raw_pb"]

_OPS = "_SUMMARY_V2"  # the collection of summary operations of a graph
_counter = itertools.count()


class _State(threading.local):
    def __init__(self):
        self.writer = None
        self.step = None
        self.recording = True
        self.trace = None  # what trace_on asks for


_state = _State()


def _end_writer(handle):
    try:
        with eager_mode():
            raw_ops.CloseSummaryWriter(writer=handle)
    except Exception:  # the runtime may be gone at exit
        pass


class SummaryWriter:
    """Writes summaries while it is the default."""

    def set_as_default(self, step=None):
        """Makes this the thread's writer until another is set."""
        self.as_default(step).__enter__()

    def as_default(self, step=None):
        """`with writer.as_default():` summaries inside go to this writer."""
        raise NotImplementedError()

    def init(self):
        raise NotImplementedError()

    def flush(self):
        raise NotImplementedError()

    def close(self):
        raise NotImplementedError()


class _AsDefault:
    def __init__(self, writer, step):
        self._writer, self._step = writer, step
        self._before = None

    def __enter__(self):
        self._before = (_state.writer, _state.step)
        _state.writer = self._writer
        if self._step is not None:
            set_step(self._step)
        return self._writer

    def __exit__(self, *_):
        self._writer.flush()
        _state.writer, step = self._before
        if self._step is not None:
            _state.step = step


class _FileWriter(SummaryWriter, Trackable):
    def __init__(self, logdir, max_queue, flush_millis, filename_suffix, name):
        self._closed = False
        self._graph = _core.current_graph()
        with name_scope(name or "create_file_writer"):
            arguments = {"logdir": convert_to_tensor(logdir, dtypes.string),
                         "max_queue": convert_to_tensor(10 if max_queue is None else max_queue, dtypes.int32),
                         "flush_millis": convert_to_tensor(120000 if flush_millis is None else flush_millis, dtypes.int32),
                         "filename_suffix": convert_to_tensor(".v2" if filename_suffix is None else filename_suffix,
                                                              dtypes.string)}
            self._handle = raw_ops.SummaryWriter(shared_name=f"weir_summary_writer_{os.getpid()}_{next(_counter)}")
            self._init_op = raw_ops.CreateSummaryFileWriter(writer=self._handle, **arguments)
        if self._graph is None:
            weakref.finalize(self, _end_writer, self._handle)
        else:
            self._graph.add_to_collection("_SUMMARY_WRITER_INIT", self._init_op)

    def as_default(self, step=None):
        if self._closed:
            raise RuntimeError(f"SummaryWriter {self!r} is already closed")
        return _AsDefault(self, step)

    def init(self):
        return self._init_op

    def flush(self):
        """Hands what was written to the file."""
        if self._closed:
            return None
        with init_scope() if self._graph is None and not executing_eagerly() else contextlib.nullcontext():
            return raw_ops.FlushSummaryWriter(writer=self._handle)

    def close(self):
        """Ends the file; nothing can be written afterwards."""
        if self._closed:
            return None
        self._closed = self._graph is None
        with init_scope() if self._graph is None and not executing_eagerly() else contextlib.nullcontext():
            return raw_ops.CloseSummaryWriter(writer=self._handle)


class _NoWriter(SummaryWriter):
    def as_default(self, step=None):
        return _AsDefault(self, step)

    def init(self):
        pass

    def flush(self):
        pass

    def close(self):
        pass


for _class in (SummaryWriter, _FileWriter, _NoWriter):
    _class.__module__ = "tensorflow.python.ops.summary_ops_v2"


def create_file_writer(logdir, max_queue=None, flush_millis=None, filename_suffix=None, name=None,
                       experimental_trackable=False, experimental_mesh=None):
    """A writer of event files in `logdir`."""
    if logdir is None:
        raise ValueError("Argument `logdir` cannot be None")
    with init_scope():
        return _FileWriter(os.fspath(logdir) if not isinstance(logdir, _core.Tensor) else logdir, max_queue, flush_millis,
                           filename_suffix, name)


def create_noop_writer():
    """A writer that writes nothing."""
    return _NoWriter()


def flush(writer=None, name=None):
    """Hands what `writer` (or the default one) has to its file."""
    writer = writer or _state.writer
    return None if writer is None else writer.flush()


# Steps and conditions.

def get_step():
    """The default step of summaries."""
    return _state.step


def set_step(step):
    """Sets the default step of summaries: a number, or a variable whose value is read each time."""
    _state.step = step


def should_record_summaries():
    """Whether summaries would be written now, a tensor."""
    return convert_to_tensor(_wanted(), dtypes.bool)


def _wanted():
    """The same as a bool where it is known."""
    if _state.writer is None or isinstance(_state.writer, _NoWriter):
        return False
    condition = _state.recording
    return condition() if callable(condition) else condition


@contextlib.contextmanager
def record_if(condition):
    """Summaries inside are written only where `condition` (a bool, a tensor or a function) holds."""
    before = _state.recording
    _state.recording = condition
    try:
        yield
    finally:
        _state.recording = before


def _step_tensor(step):
    if step is None:
        step = _state.step
        if step is None:
            raise ValueError("No step set. Please specify one either through the `step` argument or through "
                             "tf.summary.experimental.set_step()")
    if callable(step):
        step = step()
    from weir.ops import math
    return math.cast(step, dtypes.int64)


def _record(write_op, name):
    """Runs `write_op` where summaries are wanted; a bool tensor that says whether it ran."""
    condition = _wanted()
    if isinstance(condition, bool):
        if not condition:
            return convert_to_tensor(False)
        return _true_after(write_op())
    from weir.ops import control_flow
    condition = convert_to_tensor(condition, dtypes.bool)
    if executing_eagerly():
        return _true_after(write_op()) if bool(condition) else convert_to_tensor(False)
    return control_flow.cond(condition, lambda: _true_after(write_op()), lambda: convert_to_tensor(False), name=name)


def _true_after(operation):
    graph = _core.current_graph()
    if graph is None:
        return convert_to_tensor(True)
    with graph.control_dependencies([operation]):
        return raw_ops.Identity(input=convert_to_tensor(True))


def _note(op):
    graph = _core.current_graph()
    if graph is not None and not graph.building_function:
        graph.add_to_collection(_OPS, op)
    return op


def write(tag, tensor, step=None, metadata=None, name=None):
    """Writes a tensor as a summary; `metadata` is a SummaryMetadata or its bytes. Gives whether it was written."""
    if _state.writer is None:
        return convert_to_tensor(False)
    with name_scope(name or "write_summary"):
        if metadata is None:
            metadata = b""
        elif hasattr(metadata, "SerializeToString"):
            metadata = metadata.SerializeToString()

        def record():
            value = tensor() if callable(tensor) else tensor
            value = convert_to_tensor(value)
            return raw_ops.WriteSummary(writer=_state.writer._handle, step=_step_tensor(step), tensor=value,
                                        tag=convert_to_tensor(tag, dtypes.string), summary_metadata=metadata)
        if step is None and _state.step is None and _wanted() is not False:
            _step_tensor(None)  # tells what is wrong
        return _note(_record(record, "summary_cond"))


def write_raw_pb(tensor, step=None, name=None):
    """Writes serialized Summary protos."""
    if _state.writer is None:
        return convert_to_tensor(False)
    return _note(_record(lambda: raw_ops.WriteRawProtoSummary(
        writer=_state.writer._handle, step=_step_tensor(step), tensor=convert_to_tensor(tensor)), name))


@contextlib.contextmanager
def summary_scope(name, default_name="summary", values=None):
    """The tag of a summary called `name` under the current name scopes, and its own scope."""
    name = name or default_name
    scope = current_name_scope()
    tag = scope + name
    name = re.sub(r"[^A-Za-z0-9.\-_/>]", "", name).lstrip("_/.") or default_name
    with name_scope(name, default_name) as inner:
        yield tag, inner


def _metadata(plugin, description, content=b""):
    return protos.message("SummaryMetadata")(
        plugin_data=protos.message("SummaryMetadata").PluginData(plugin_name=plugin, content=content),
        summary_description=description or "")


# What TensorBoard knows to show.

def scalar(name, data, step=None, description=None):
    """Writes a number."""
    metadata = _metadata("scalars", description)
    with summary_scope(name, "scalar_summary") as (tag, _):
        from weir import debugging
        from weir.ops import math
        debugging.assert_scalar(convert_to_tensor(data))
        return write(tag, lambda: math.cast(data, dtypes.float32), step, metadata)


def histogram(name, data, step=None, buckets=None, description=None):
    """Writes how often values fall into each of `buckets` equal parts of their range."""
    metadata = _metadata("histograms", description)
    with summary_scope(name, "histogram_summary") as (tag, _):
        return write(tag, lambda: _buckets(data, 30 if buckets is None else buckets), step, metadata)


def _buckets(data, count):
    """Rows of (left edge, right edge, how many); none for no values, and all in the last for equal ones."""
    from weir.ops import array, control_flow, math
    if count == 0:
        return array.zeros([0, 3], dtypes.float64)
    values = math.cast(array.reshape(convert_to_tensor(data), [-1]), dtypes.float64)

    def some():
        low, high = math.reduce_min(values), math.reduce_max(values)
        span = high - low

        def apart():
            width = span / math.cast(count, dtypes.float64)
            places = math.cast((values - low) / width, dtypes.int32)
            places = raw_ops.Minimum(x=places, y=count - 1)
            counts = math.cast(raw_ops.Bincount(arr=places, size=count, weights=convert_to_tensor(
                [], dtypes.float64)), dtypes.float64)
            # The same rounding as a linear space has.
            edges = raw_ops.LinSpace(start=low, stop=high, num=count + 1)
            edges = array.concat([edges[:-1], [high]], 0)
            return array.transpose(array.stack([edges[:-1], edges[1:], counts]))

        def equal():
            edges = array.repeat(low, count)
            last = math.cast(array.size(values), dtypes.float64)
            counts = array.concat([array.zeros([count - 1], dtypes.float64), [last]], 0)
            return array.transpose(array.stack([edges, edges, counts]))
        return control_flow.cond(math.equal(span, 0.0), equal, apart)
    return control_flow.cond(math.equal(array.size(values), 0), lambda: array.zeros([count, 3], dtypes.float64), some)


def image(name, data, step=None, max_outputs=3, description=None):
    """Writes the first images of a batch [k, height, width, channels]; numbers are from 0 to 1, or bytes."""
    metadata = _metadata("images", description)
    with summary_scope(name, "image_summary") as (tag, _):
        def encoded():
            from weir import debugging
            from weir.ops import array, control_flow, strings
            from weir.ops import image as images
            value = convert_to_tensor(data)
            debugging.assert_rank(value, 4)
            limited = value[:max_outputs]
            pixels = images.convert_image_dtype(limited, dtypes.uint8, saturate=True)
            files = control_flow.map_fn(lambda p: raw_ops.EncodePng(image=p), pixels, fn_output_signature=dtypes.string)
            shape = array.shape(pixels)
            size = raw_ops.AsString(input=array.stack([shape[2], shape[1]]))
            return array.concat([size, files], 0)
        return write(tag, encoded, step, metadata)


def audio(name, data, sample_rate, step=None, max_outputs=3, encoding=None, description=None):
    """Writes the first clips of a batch [k, frames, channels]."""
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}")
    metadata = _metadata("audio", description, b"\x10\x0b")
    with summary_scope(name, "audio_summary") as (tag, _):
        def encoded():
            from weir.ops import array, control_flow
            value = convert_to_tensor(data, dtypes.float32)
            limited = value[:max_outputs]
            clips = control_flow.map_fn(lambda c: raw_ops.EncodeWav(audio=c, sample_rate=sample_rate), limited,
                                        fn_output_signature=dtypes.string)
            return array.stack([clips, array.fill(array.shape(clips), "")], axis=1)
        return write(tag, encoded, step, metadata)


def text(name, data, step=None, description=None):
    """Writes strings, which TensorBoard shows as Markdown."""
    metadata = _metadata("text", description)
    with summary_scope(name, "text_summary") as (tag, _):
        value = convert_to_tensor(data)
        if value.dtype != dtypes.string:
            raise ValueError(f"Expected string values. Received: {value.dtype}")
        return write(tag, value, step, metadata)


def graph(graph_data):
    """Writes a graph, a FuncGraph or a GraphDef."""
    writer = _state.writer
    if writer is None:
        return convert_to_tensor(False)
    if hasattr(graph_data, "as_graph_def"):
        graph_data = graph_data.as_graph_def(add_shapes=True)
    if not hasattr(graph_data, "SerializeToString"):
        raise ValueError("Argument 'graph_data' is not tf.Graph or tf.compat.v1.GraphDef. Received graph_data="
                         f"{graph_data} of type {type(graph_data).__name__}.")
    with init_scope():
        raw_ops.WriteGraphSummary(writer=writer._handle, step=convert_to_tensor(0, dtypes.int64),
                                  tensor=convert_to_tensor(graph_data.SerializeToString(), dtypes.string))
    return convert_to_tensor(True)


# Graphs and profiles of what ran in between.

def trace_on(graph=True, profiler=False, profiler_outdir=None):
    """Begins to note the graphs of functions that are called, and with `profiler` where time goes."""
    from weir.eager import function
    if not executing_eagerly():
        raise NotImplementedError("trace_on outside of eager execution")
    if _state.trace is not None:
        return
    _state.trace = (graph, profiler)
    if graph:
        function.called_functions = []
    if profiler:
        from weir import profiler as profilers
        profilers.start(profiler_outdir or "")


def trace_export(name, step=None, profiler_outdir=None):
    """Writes what was noted since trace_on and ends it."""
    from weir.eager import function
    if _state.trace is None:
        raise ValueError("Must enable trace before export through tf.summary.trace_on.")
    with_graph, with_profile = _state.trace
    if with_graph:
        metadata = protos.message("RunMetadata")()
        for concrete in {id(c): c for c in function.called_functions or []}.values():
            graphs = metadata.function_graphs.add()
            graphs.pre_optimization_graph.CopyFrom(concrete.graph.as_graph_def())
        content = _metadata("graph_run_metadata_graph", None, b"1")
        with summary_scope(name, "graph_run_metadata_graph_summary") as (tag, _):
            write(tag, convert_to_tensor(metadata.SerializeToString(), dtypes.string), step, content)
    if with_profile:
        from weir import profiler as profilers
        profilers.stop(outdir=profiler_outdir)
    _stop_trace()


def trace_off():
    """Ends what trace_on began; nothing is written."""
    if _state.trace is not None and _state.trace[1]:
        from weir import profiler as profilers
        profilers.stop(save=False)
    _stop_trace()


def _stop_trace():
    from weir.eager import function
    function.called_functions = None
    _state.trace = None


def all_v2_summary_ops():
    """compat.v1: the summary operations of the default graph."""
    return None if executing_eagerly() else get_default_graph().get_collection(_OPS)


def initialize(graph=None, session=None):
    """compat.v1: makes the files of the graph's writers."""
    from weir.compat.v1.session import get_default_session
    if executing_eagerly():
        return
    session = session or get_default_session()
    if session is None:
        raise ValueError("Argument `session must be passed if no default session exists")
    session.run(get_default_graph().get_collection("_SUMMARY_WRITER_INIT"))


def __getattr__(name):  # names of its namespaces, such as tf.summary.experimental
    import weir
    return weir.names_of(__name__)(name)
