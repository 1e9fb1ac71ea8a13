"""tf.GradientTape over the extension's Tape (python/src/tape.h)."""

import contextlib
import enum
import threading

from weir import _core
from weir.framework import dtypes, indexed_slices  # noqa: F401 (gives the extension its sparse gradients)
from weir.framework.conversion import convert_to_tensor
from weir.framework.graph import executing_eagerly_outside_functions
from weir.framework.raw_ops import raw_ops
from weir.framework.tensor import SymbolicTensor, Tensor
from weir.framework.type_spec import CompositeTensor

__all__ = ["GradientTape", "UnconnectedGradients", "gradients", "hessians", "stop_gradient", "stop_recording"]


class UnconnectedGradients(enum.Enum):
    """What the gradient is of a source that the target does not depend on."""
    NONE = "none"
    ZERO = "zero"


def stop_gradient(input, name=None):
    """`input` as it is, taken for a constant by gradients."""
    from weir import nest

    def stop(value):
        if isinstance(value, CompositeTensor):
            return nest.map_structure(lambda t: raw_ops.StopGradient(t, name=name), value, expand_composites=True)
        return raw_ops.StopGradient(convert_to_tensor(value), name=name)
    return stop(input)


@contextlib.contextmanager
def stop_recording():
    _core.pause_tapes()
    try:
        yield
    finally:
        _core.resume_tapes()


def _source(value):
    """The tensor by which tapes know a source: a variable's is its handle."""
    if isinstance(value, Tensor):
        return value
    if getattr(value, "_should_act_as_resource_variable", False):
        return value.handle
    handle = getattr(value, "handle", None)
    if isinstance(handle, Tensor):
        return handle
    if hasattr(value, "_values") and isinstance(value, CompositeTensor):
        return value.values
    return value


class GradientTape:
    """Records operations for automatic differentiation: `with tf.GradientTape() as tape: ...`."""

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._persistent = persistent
        self._watch_accessed = watch_accessed_variables
        self._tape = None
        self._recording = False
        self._watched_variables = {}

    def __enter__(self):
        self._push()
        return self

    def __exit__(self, *error):
        if self._recording:
            self._pop()

    def _push(self):
        if self._recording:
            raise ValueError("Tape is still recording, This can happen if you try to re-enter an already-active tape.")
        if self._tape is None:
            self._tape = _core.Tape(self._watch_accessed)
        self._tape.start()
        _TAPES.append(self)
        self._recording = True

    def _pop(self):
        if not self._recording:
            raise ValueError("Tape is not recording.")
        self._tape.stop()
        if self in _TAPES:
            _TAPES.remove(self)
        self._recording = False

    def watch(self, tensor):
        """Makes `tensor`, or a structure of tensors, something to differentiate by."""
        from weir import nest
        for value in nest.flatten(tensor, expand_composites=True):
            if not (isinstance(value, Tensor) or hasattr(value, "handle")):
                raise ValueError(f"Passed in object {value} of type {type(value).__name__!r}, not tf.Tensor or "
                                 "tf.Variable or ExtensionType.")
            dtype = value.dtype
            if not (dtype.is_floating or dtype.is_complex or dtype._number in (20, 21)):
                import logging
                logging.getLogger("tensorflow").warning("The dtype of the watched tensor must be floating (e.g. "
                                                        "tf.float32), got %r", dtype)
            if self._tape is None:
                self._tape = _core.Tape(self._watch_accessed)
            if not isinstance(value, Tensor):
                self._note(value)
            source = _source(value)
            self._tape.watch(source)
            graph = _core.current_graph()
            if graph is not None and graph.building_function:
                self._tape.watch(graph.capture(source))

    def _note(self, variable):
        self._watched_variables.setdefault(id(variable), variable)

    def watched_variables(self):
        """The variables that were watched, in the order of their making."""
        return tuple(self._watched_variables.values())

    @contextlib.contextmanager
    def stop_recording(self):
        """Operations inside are not recorded."""
        if self._tape is None:
            raise RuntimeError("Trying to stop recording a tape which is not recording.")
        self._pop()
        try:
            yield
        finally:
            self._push()

    def reset(self):
        """Forgets everything that was recorded."""
        recording = self._recording
        if recording:
            self._pop()
        self._tape = None
        self._watched_variables = {}
        if recording:
            self._push()

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients=UnconnectedGradients.NONE):
        """The derivative of `target` by each of `sources`, in the structure of `sources`."""
        from weir import nest
        if self._tape is None:
            raise RuntimeError("A non-persistent GradientTape can only be used to compute one set of gradients (or "
                               "jacobians)")
        unconnected = UnconnectedGradients(unconnected_gradients)
        if self._recording and not self._persistent:
            self._pop()
        if target is None:
            raise TypeError("Argument `target` should be a list or nested structure of Tensors, Variables or "
                            "CompositeTensors to be differentiated, but received None.")
        given = [] if output_gradients is None else [
            None if g is None else convert_to_tensor(g) if not isinstance(g, CompositeTensor) else g
            for g in nest.flatten(output_gradients, expand_composites=True)]
        targets, of_itself = [], {}
        for i, value in enumerate(nest.flatten(target, expand_composites=True)):
            if not isinstance(value, Tensor):
                if hasattr(value, "handle"):
                    of_itself[id(value)] = given[i] if i < len(given) else None
                value = convert_to_tensor(value) if not hasattr(value, "handle") else _source(value)
            targets.append(value)
        flat_sources = nest.flatten(sources, expand_composites=False)
        tensors, spans = [], []
        for source in flat_sources:
            parts = _parts(source)
            spans.append((len(tensors), len(parts)))
            tensors.extend(parts)
        for i, t in enumerate(targets):
            if i < len(given) and given[i] is not None and given[i].shape.is_fully_defined() and \
                    not given[i].shape.is_compatible_with(t.shape) and isinstance(given[i], Tensor):
                from weir.framework import errors
                raise errors.InvalidArgumentError(None, None, f"Incompatible shapes: the target has {t.shape}, its "
                                                  f"gradient {given[i].shape}")
        flat = self._tape.gradient(targets, tensors, given, unconnected is UnconnectedGradients.ZERO)
        if not self._persistent:
            self._watched_variables_after = self.watched_variables()
            self._tape.clear()
            self._tape = None
        out = []
        for source, (begin, count) in zip(flat_sources, spans):
            if isinstance(source, CompositeTensor) and not hasattr(source, "handle"):
                out.append(_composite_gradient(source, flat[begin:begin + count]))
            elif id(source) in of_itself:  # a variable's gradient by itself
                own = of_itself[id(source)]
                own = raw_ops.OnesLike(x=source.read_value()) if own is None else own
                out.append(own if flat[begin] is None else own + convert_to_tensor(flat[begin]))
            else:
                out.append(flat[begin])
        return nest.pack_sequence_as(sources, out)

    def jacobian(self, target, sources, unconnected_gradients=UnconnectedGradients.NONE, parallel_iterations=None,
                 experimental_use_pfor=True):
        """The derivative of each element of `target` by `sources`: shape target.shape + source.shape."""
        from weir import nest
        if not self._persistent and self._tape is None:
            raise RuntimeError("A non-persistent GradientTape can only be used to compute one set of gradients (or "
                               "jacobians)")
        flat_sources = nest.flatten(sources)
        target = convert_to_tensor(target)
        size = target.shape.num_elements()
        if size is None:
            raise ValueError("The shape of the target of a jacobian must be known")
        dtype = target.dtype
        rows = [[] for _ in flat_sources]
        tape, persistent = self._tape, self._persistent
        if self._recording and not persistent:
            self._pop()
        self._persistent = True
        try:
            identity = _eye(size, dtype)
            shape = target.shape.as_list()
            for i in range(size):
                weights = raw_ops.Reshape(tensor=identity[i], shape=_ints(shape))
                grads = self.gradient(target, flat_sources, weights, unconnected_gradients)
                for row, grad in zip(rows, grads):
                    row.append(None if grad is None else convert_to_tensor(grad))
        finally:
            self._persistent = persistent
        if not persistent:
            tape.clear()
            self._tape = None
        out = []
        for row in rows:
            if not row or row[0] is None:
                out.append(None)
                continue
            stacked = raw_ops.Pack(values=row)
            out.append(raw_ops.Reshape(tensor=stacked, shape=_ints(shape + stacked.shape.as_list()[1:])))
        return nest.pack_sequence_as(sources, out)

    def batch_jacobian(self, target, source, unconnected_gradients=UnconnectedGradients.NONE, parallel_iterations=None,
                       experimental_use_pfor=True):
        """As `jacobian` for each entry of the first dimension by itself: shape [b, ...target, ...source]."""
        batch = target.shape[0]
        if batch is None or source.shape[0] != batch:
            raise ValueError(f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) "
                             "to match.")
        flat = raw_ops.Reshape(tensor=target, shape=_ints([batch, -1])) if not self._recording else None
        persistent, tape = self._persistent, self._tape
        if self._recording and not persistent:
            self._pop()
        width = target.shape[1:].num_elements()
        identity = _eye(width, target.dtype)
        self._persistent = True
        rows = []
        try:
            for i in range(width):
                weights = raw_ops.BroadcastTo(input=identity[i], shape=_ints([batch, width]))
                weights = raw_ops.Reshape(tensor=weights, shape=_ints(target.shape.as_list()))
                rows.append(self.gradient(target, source, weights, unconnected_gradients))
        finally:
            self._persistent = persistent
        if not persistent:
            tape.clear()
            self._tape = None
        if not rows or rows[0] is None:
            return None
        stacked = raw_ops.Pack(values=rows, axis=1)
        return raw_ops.Reshape(tensor=stacked, shape=_ints(target.shape.as_list() + source.shape.as_list()[1:]))


GradientTape.__module__ = "tensorflow.python.eager.backprop"


class _ThreadTapes(threading.local):
    """The tapes that record in this thread, for watched_variables."""

    def __init__(self):
        self._tapes = []

    def __bool__(self):
        return bool(self._tapes)

    def __iter__(self):
        return iter(list(self._tapes))

    def __contains__(self, tape):
        return any(each is tape for each in self._tapes)

    def append(self, tape):
        self._tapes.append(tape)

    def remove(self, tape):
        self._tapes = [each for each in self._tapes if each is not tape]


_TAPES = _ThreadTapes()


def detach(but=None):
    """Stops the tapes of this thread for a while; gives those that `attach` shall start again."""
    return [tape for tape in list(_TAPES) if tape is not but and tape._tape.stop()]


def attach(stopped):
    for tape in stopped:
        tape._tape.start()


def variable_accessed(variable):
    """Called for each read of a trainable variable."""
    if _TAPES:
        for tape in _TAPES:
            if tape._watch_accessed:
                tape._note(variable)
    _core.variable_accessed(variable.handle)
    graph = _core.current_graph()
    if graph is not None and graph.building_function:
        _core.variable_accessed(graph.capture(variable.handle))
        graph.watch_variable(variable)


def _parts(source):
    from weir import nest
    if isinstance(source, CompositeTensor) and not hasattr(source, "handle"):
        if hasattr(source, "_values"):
            return [source.values]
        return [t for t in nest.flatten(source, expand_composites=True)]
    tensor = _source(source)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"Argument `sources` should be a list or nested structure of Tensors or Variables, got "
                        f"{source!r}")
    graph = _core.current_graph()
    if graph is not None and not (isinstance(tensor, SymbolicTensor) and tensor._graph is graph):
        return [graph.capture(tensor)]
    return [tensor]


def _composite_gradient(source, parts):
    if all(p is None for p in parts):
        return None
    if hasattr(source, "with_values"):
        return source.with_values(parts[0])
    return parts[0]


def _eye(size, dtype):
    one = convert_to_tensor(1, dtype)
    return raw_ops.Diag(diagonal=raw_ops.Fill(dims=_ints([size]), value=one))


def _ints(values):
    return convert_to_tensor(list(values), dtypes.int32)


def gradients(ys, xs, grad_ys=None, name="gradients", colocate_gradients_with_ops=False, gate_gradients=False,
              aggregation_method=None, stop_gradients=None, unconnected_gradients=UnconnectedGradients.NONE):
    """Symbolic derivatives of the sum of `ys` by each x, in graphs and functions."""
    from weir.ops.indexed_slices import IndexedSlices
    graph = _core.current_graph()
    if graph is None:
        raise RuntimeError("tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    ys = list(ys) if isinstance(ys, (list, tuple)) else [ys]
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]

    def own(value):
        if value is None:
            return None
        tensor = _source(value)
        return graph.capture(tensor) if isinstance(tensor, Tensor) else convert_to_tensor(tensor)
    stops = list(stop_gradients) if isinstance(stop_gradients, (list, tuple)) else (
        [] if stop_gradients is None else [stop_gradients])
    weights = [] if grad_ys is None else list(grad_ys) if isinstance(grad_ys, (list, tuple)) else [grad_ys]
    first = graph._num_nodes()
    with graph.name_scope(name or "gradients") as scope:
        flat = graph._gradients([own(y) if isinstance(y, Tensor) else own(convert_to_tensor(y)) for y in ys],
                                [own(x) for x in xs], [own(w) for w in weights], [own(s) for s in stops],
                                UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO,
                                scope.rstrip("/") or "gradients", bool(colocate_gradients_with_ops))
    graph._place_from(first)
    return [IndexedSlices(*g) if isinstance(g, tuple) else g for g in flat]


def hessians(ys, xs, gate_gradients=False, aggregation_method=None, name="hessians"):
    """The matrix of second derivatives of sum(ys) by each x."""
    del gate_gradients, aggregation_method, name  # how the sums are formed
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    out = []
    for gradient, x in zip(gradients(ys, xs), xs):
        size = x.shape.num_elements()
        flat = raw_ops.Reshape(tensor=gradient, shape=_ints([size]))
        rows = [gradients(flat[i], x)[0] for i in range(size)]
        out.append(raw_ops.Reshape(tensor=raw_ops.Pack(values=rows), shape=_ints(x.shape.as_list() * 2)))
    return out
