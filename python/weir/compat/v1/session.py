"""Sessions over graphs: in this process, or kept by a server (targets grpc://host:port)."""

import collections
import re
import threading

import numpy as np

from weir import _core, nest
from weir.framework import errors
from weir.framework.conversion import _eager_constant
from weir.framework.graph import Operation, get_default_graph, names_mean_values
from weir.framework.tensor import EagerTensor, SymbolicTensor, Tensor
from weir.framework.type_spec import CompositeTensor

__all__ = ["Session", "InteractiveSession", "get_default_session"]


SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])
IndexedSlicesValue = collections.namedtuple("IndexedSlicesValue", ["values", "indices", "dense_shape"])


class _Default(threading.local):
    def __init__(self):
        self.stack = []


_default = _Default()


def get_default_session():
    """The innermost session that is a default, or None."""
    return _default.stack[-1] if _default.stack else None


class BaseSession:
    """Runs parts of a graph."""

    def __init__(self, target="", graph=None, config=None):
        self._graph = graph if graph is not None else get_default_graph()
        self._target = target or ""
        if isinstance(self._target, bytes):
            self._target = self._target.decode()
        self._config = config
        self._session = None
        self._known = 0  # nodes that the session has
        self._closed = False
        self._lock = threading.Lock()

    graph = property(lambda self: self._graph)
    sess_str = property(lambda self: self._target)

    @property
    def graph_def(self):
        return self._graph.as_graph_def()

    def _ready(self):
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        with self._lock:
            if self._session is None:
                config = self._config.SerializeToString() if self._config is not None and hasattr(
                    self._config, "SerializeToString") else b""
                self._session = _core.Session(self._target, config)
            count = self._graph._num_nodes()
            if count > self._known:
                self._session.extend_from(self._graph, self._known)
                self._known = count
        return self._session

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """The values of `fetches`, a structure of tensors and operations, with some tensors' values given."""
        if self._graph._num_nodes() == 0:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")
        session = self._ready()
        feeds = self._feeds(feed_dict)
        flat, pack = _flatten_fetches(self._graph, fetches)
        names, targets, places, variables = [], [], [], set()
        for item in flat:
            if isinstance(item, Operation):
                targets.append(item.name)
                places.append(None)
            else:
                if item.name not in names:
                    names.append(item.name)
                    if names_mean_values() and _is_variable(item):
                        variables.add(item.name)
                places.append(names.index(item.name))
        fed = [n for n in names if n in feeds]
        asked = [n for n in names if n not in feeds]
        last = []  # a reference has the value that the step leaves behind
        if variables and (targets or len(variables) < len(asked)):
            last = [n for n in asked if n in variables]
            asked = [n for n in asked if n not in variables]
        try:
            if not (asked or targets or not (fed or last)):
                results = []
            elif options is None and run_metadata is None:
                results = session.run(feeds, asked, targets)
            else:
                written = b"" if options is None else options.SerializeToString()
                results, metadata = session.run(feeds, asked, targets, written)
                if run_metadata is not None:
                    run_metadata.ParseFromString(metadata)
            if last:
                results = [*results, *session.run({}, last, [])]
        except errors.OpError as error:
            if names_mean_values():
                error._message = _UNINITIALIZED.sub(r"Attempting to use uninitialized value \1", error.message)
            _name_operation(error, self._graph)
            raise
        by_name = dict(zip(asked + last, results))
        by_name.update({n: feeds[n] for n in fed})
        values = [None if p is None else _value(by_name[names[p]]) for p in places]
        return pack(values)

    def _feeds(self, feed_dict):
        feeds = {}
        for key, value in (feed_dict or {}).items():
            for tensor, part in _expand_feed(self._graph, key, value):
                if isinstance(part, SymbolicTensor):
                    raise TypeError("The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
                                    "Python scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, "
                                    f"the tensor object was {part} which was passed to the argument `feed_dict` with key "
                                    f"{tensor}.")
                dtype = tensor.dtype.base_dtype
                _core.push_graph(None)
                try:
                    if isinstance(part, EagerTensor):
                        fed = part
                    elif dtype._number in (20, 21):
                        fed = part
                    else:
                        array = np.asarray(part, dtype=dtype.as_numpy_dtype)
                        fed = _eager_constant(array, dtype)
                finally:
                    _core.pop_graph()
                if not tensor.shape.is_compatible_with(fed.shape):
                    raise ValueError(f"Cannot feed value of shape {tuple(fed.shape)} for Tensor {tensor.name}, which has "
                                     f"shape {tensor.shape}")
                feeds[tensor.name] = fed
        return feeds

    def partial_run_setup(self, fetches, feeds=None):
        """Begins a step that is run in parts; gives its handle."""
        session = self._ready()
        flat, _ = _flatten_fetches(self._graph, fetches)
        names = list(dict.fromkeys(i.name for i in flat if not isinstance(i, Operation)))
        targets = [i.name for i in flat if isinstance(i, Operation)]
        fed = [element.name for key in feeds or [] for element, _ in _expand_feed(self._graph, key, None)]
        return session.partial_run_setup(fed, names, targets)

    def partial_run(self, handle, fetches, feed_dict=None):
        """The values of some fetches of a step in parts, with some of its feeds."""
        feeds = self._feeds(feed_dict)
        flat, pack = _flatten_fetches(self._graph, fetches)
        asked = list(dict.fromkeys(i.name for i in flat))
        by_name = dict(zip(asked, self._ready().partial_run(handle, feeds, asked)))
        return pack([None if isinstance(i, Operation) else _value(by_name[i.name]) for i in flat])

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        """A function of the values of `feed_list` that runs `fetches`."""
        feed_list = list(feed_list or [])

        def call(*values, options=None, run_metadata=None):
            if len(values) != len(feed_list):
                raise TypeError(f"Expected {len(feed_list)} feeds, got {len(values)}")
            return self.run(fetches, dict(_pairs(feed_list, values)), options, run_metadata)
        return call

    def list_devices(self):
        return [_DeviceAttributes(*row) for row in self._ready().list_devices()]

    def close(self):
        """Ends running steps; nothing runs afterwards."""
        if self._session is not None and not self._closed:
            self._session.close()
        self._closed = True

    def as_default(self):
        return _AsDefault(self)

    def __del__(self):
        self._session = None


class _DeviceAttributes(collections.namedtuple("_DeviceAttributes", ["name", "device_type", "memory_limit_bytes",
                                                                     "incarnation"])):
    """A device that a session can use."""

    def __repr__(self):
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"


def _pairs(keys, values):
    return [(_Key(k), v) for k, v in zip(keys, values)]


class _Key:
    """A fed tensor as the key of a dictionary."""

    def __init__(self, element):
        self.element = element


class _AsDefault:
    def __init__(self, session):
        self._session = session

    def __enter__(self):
        _default.stack.append(self._session)
        return self._session

    def __exit__(self, *error):
        _default.stack.remove(self._session)


class Session(BaseSession):
    """tf.compat.v1.Session."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._contexts = []

    def __enter__(self):
        default = self._graph.as_default()
        default.__enter__()
        self._contexts.append(default)
        _default.stack.append(self)
        return self

    def __exit__(self, *error):
        _default.stack.remove(self)
        self._contexts.pop().__exit__(*error)
        self.close()
        return False

    @staticmethod
    def reset(target, containers=None, config=None):
        pass


class InteractiveSession(BaseSession):
    """A session that is the default as soon as it is made."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        _default.stack.append(self)
        self._scope = self._graph.as_default() if graph is not None else None
        if self._scope is not None:
            self._scope.__enter__()

    def close(self):
        super().close()
        if self in _default.stack:
            _default.stack.remove(self)
        if self._scope is not None:
            self._scope.__exit__(None, None, None)
            self._scope = None


Session.__module__ = InteractiveSession.__module__ = BaseSession.__module__ = "tensorflow.python.client.session"


def _value(tensor):
    if tensor.dtype._number in (20, 21):
        return tensor
    return tensor.numpy()


_PREFIX = "Graph execution error:"
_UNINITIALIZED = re.compile(r"Could not find variable (\S+)\. This could mean .*?(?=\n|$)")


def _is_variable(tensor):
    """Whether a fetched tensor is the value of a variable, to be read at any time."""
    op = tensor.op
    return op.type == "ReadVariableOp" and not op.control_inputs


def _name_operation(error, graph):
    """The error says at which operation of the graph it came up, as far as its message names one."""
    named = re.search(r"\{\{node ([^}]+)\}\}", error.message)
    if error.op is None and named is not None:
        try:
            error._op = graph.get_operation_by_name(named.group(1))
            error._node_def = error._op.node_def
        except (KeyError, ValueError):
            pass
    if not error.message.startswith(_PREFIX):
        place = "" if error.op is None else (f"Detected at node '{error.op.name}' defined at (most recent call last):\n"
                                             f"<stack traces unavailable>\nNode: '{error.op.name}'\n")
        error._message = f"{_PREFIX}\n\n{place}{error.message}"


def _element(graph, item):
    if isinstance(item, _Key):
        item = item.element
    if hasattr(item, "deref"):
        item = item.deref()
    if hasattr(item, "_graph_element") and item._graph_element is not None:
        item = item._graph_element
    try:
        element = graph.as_graph_element(item)
        return graph._value_of_name(element) if isinstance(item, (str, bytes)) and isinstance(element, Tensor) else element
    except TypeError as error:
        raise TypeError(f"Argument `fetch` = {item} has invalid type \"{type(item).__name__}\" must be a string or Tensor. "
                        f"({error})") from None
    except (ValueError, KeyError) as error:
        raise ValueError(f"Argument `fetch` = {item} cannot be interpreted as a Tensor. ({error})") from None


def _expand_feed(graph, key, value):
    if isinstance(key, _Key):
        key = key.element
    if hasattr(key, "deref"):
        key = key.deref()
    if isinstance(key, CompositeTensor) and not hasattr(key, "handle"):
        parts = nest.flatten(key, expand_composites=True)
        values = nest.flatten(value, expand_composites=True) if isinstance(value, CompositeTensor) else list(
            value if value is not None else [None] * len(parts))
        return list(zip(parts, values))
    if isinstance(key, (tuple, list)):
        return [pair for k, v in zip(key, value) for pair in _expand_feed(graph, k, v)]
    try:
        element = _element(graph, key)
    except (TypeError, ValueError) as error:
        reason = error.__context__ if error.__context__ is not None else error
        text = reason.args[0] if isinstance(reason, KeyError) else reason
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {text}") from None
    if not graph.is_feedable(element):
        raise ValueError(f"Tensor {element.name} may not be fed.")
    return [(element, value)]


def _flatten_fetches(graph, fetches):
    """A flat list of tensors and operations, and a function that puts values into the structure of `fetches`."""
    if fetches is None:
        raise TypeError("Argument `fetch` = None has invalid type \"NoneType\". Cannot be None")
    if isinstance(fetches, (list, tuple)):
        parts = [_flatten_fetches(graph, f) for f in fetches]

        def pack(values):
            out, start = [], 0
            for flat, inner in parts:
                out.append(inner(values[start:start + len(flat)]))
                start += len(flat)
            return type(fetches)(*out) if hasattr(fetches, "_fields") else type(fetches)(out)
        return [item for flat, _ in parts for item in flat], pack
    if isinstance(fetches, dict):
        keys = list(fetches)
        flat, inner = _flatten_fetches(graph, [fetches[k] for k in keys])
        return flat, lambda values: dict(zip(keys, inner(values)))
    if isinstance(fetches, CompositeTensor) and not hasattr(fetches, "handle"):
        tensors = nest.flatten(fetches, expand_composites=True)
        return tensors, lambda values: _composite_value(fetches, values)
    return [_element(graph, fetches)], lambda values: values[0]


def _composite_value(fetch, values):
    name = type(fetch).__name__
    if name == "SparseTensor":
        return SparseTensorValue(*values)
    if name == "RaggedTensor":
        return _ragged_value(fetch, list(values))
    if name == "IndexedSlices":
        return IndexedSlicesValue(*(list(values) + [None] * (3 - len(values))))
    return values


class RaggedTensorValue:
    """A ragged tensor that a session computed: values and row splits as arrays."""

    def __init__(self, values, row_splits):
        self._values, self._row_splits = values, row_splits

    values = property(lambda self: self._values)
    row_splits = property(lambda self: self._row_splits)
    dtype = property(lambda self: self._values.dtype)

    @property
    def flat_values(self):
        inner = self._values
        while isinstance(inner, RaggedTensorValue):
            inner = inner.values
        return inner

    @property
    def nested_row_splits(self):
        out, inner = [], self
        while isinstance(inner, RaggedTensorValue):
            out.append(inner.row_splits)
            inner = inner.values
        return tuple(out)

    ragged_rank = property(lambda self: len(self.nested_row_splits))
    shape = property(lambda self: (len(self._row_splits) - 1, None) + tuple(self._values.shape[1:]))

    def __str__(self):
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def to_list(self):
        rows = self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        return [rows[a:b] for a, b in zip(self._row_splits[:-1], self._row_splits[1:])]

    def __repr__(self):
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"


RaggedTensorValue.__module__ = "tensorflow.python.ops.ragged.ragged_tensor_value"


def _ragged_value(fetch, values):
    result = values[0]
    for splits in reversed(values[1:1 + fetch.ragged_rank]):
        result = RaggedTensorValue(result, splits)
    return result


def _session_of(graph, session):
    session = session or get_default_session()
    if session is None:
        raise ValueError("Cannot evaluate tensor using `eval()`: No default session is registered. Use `with "
                         "sess.as_default()` or pass an explicit session to `eval(session=sess)`")
    return session


def eval_using_session(tensor, feed_dict, session):
    return _session_of(tensor.graph, session).run(tensor, feed_dict)


def run_using_session(operation, feed_dict, session):
    return _session_of(operation.graph, session).run(operation, feed_dict)
