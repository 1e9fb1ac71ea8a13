"""Graphs, operations, and the scopes under which operations are added.

A thread either runs operations at once or adds them to its current graph (`_core.push_graph`). tf.function makes a
FuncGraph current while it traces; compat.v1 programs make a Graph the default.
"""

import contextlib
import re
import sys
import threading

from weir import _core
from weir.framework import errors
from weir.framework.shapes import TensorShape
from weir.framework.tensor import EagerTensor, SymbolicTensor, Tensor

__all__ = ["Graph", "Operation", "FuncGraph", "GraphKeys", "control_dependencies", "executing_eagerly",
           "executing_eagerly_outside_functions", "get_default_graph", "init_scope", "inside_function", "name_scope",
           "check_accessible"]

_VALID_SCOPE = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class _ThreadState(threading.local):
    def __init__(self):
        self.graphs = []  # default graphs of compat.v1, innermost last
        self.scope = ""  # name scope of eager code
        self.eager = 0  # how many eager_mode() are open


_state = _ThreadState()
_global_graph = None
_eager_by_default = True


def executing_eagerly():
    """Whether operations of this thread run at once."""
    return _core.current_graph() is None and (_eager_by_default or _state.eager > 0)


def executing_eagerly_outside_functions():
    return _eager_by_default


def inside_function():
    return isinstance(_core.current_graph(), FuncGraph)


_names_mean_values = False


def set_names_mean_values(enabled):
    """Whether `w:0` names the value of the variable `w`, as in TensorFlow 1, or its handle."""
    global _names_mean_values
    _names_mean_values = enabled


def names_mean_values():
    return _names_mean_values


_control_flow_v2 = True


def set_control_flow_v2(enabled):
    """Whether loops in graphs return the structure of their variables, or that of what the body returns."""
    global _control_flow_v2
    _control_flow_v2 = enabled


def control_flow_v2_enabled():
    return _control_flow_v2


def disable_eager_execution():
    """compat.v1: operations are added to the default graph from now on."""
    global _eager_by_default
    if _eager_by_default:
        _eager_by_default = False
        _core.push_graph(_get_global_graph())


def enable_eager_execution():
    global _eager_by_default
    if not _eager_by_default:
        _eager_by_default = True
        _core.pop_graph()


def _get_global_graph():
    global _global_graph
    if _global_graph is None:
        _global_graph = Graph()
    return _global_graph


def reset_default_graph():
    global _global_graph
    if _is_nested():
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, "
                             "exit the nesting and create a new graph.")
    _global_graph = None
    if not _eager_by_default:
        _core.pop_graph()
        _core.push_graph(_get_global_graph())


def _is_nested():
    """Whether the default graph is that of a `with`."""
    graph = _core.current_graph()
    if _eager_by_default or graph is None:
        return graph is not None
    _core.pop_graph()
    try:
        return _core.current_graph() is not None
    finally:
        _core.push_graph(graph)


def get_default_graph():
    graph = _core.current_graph()
    if graph is None and not _eager_by_default:  # a thread that has no graph yet
        _core.push_graph(_get_global_graph())
        graph = _core.current_graph()
    return graph if graph is not None else _get_global_graph()


class GraphKeys:
    """Names of the collections that graphs keep."""
    GLOBAL_VARIABLES = "variables"
    VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


class Operation:
    """A node of a graph."""
    __slots__ = ("_graph", "_node", "__weakref__")

    def __init__(self, graph, node):
        self._graph = graph
        self._node = node

    graph = property(lambda self: self._graph)
    name = property(lambda self: self._graph._node_name(self._node))
    type = property(lambda self: self._graph._node_op(self._node))
    device = property(lambda self: self._graph._node_device(self._node))
    inputs = property(lambda self: tuple(self._graph._node_inputs(self._node)))

    @property
    def outputs(self):
        return [self._graph._tensor(self._node, i) for i in range(self._graph._node_num_outputs(self._node))]

    @property
    def control_inputs(self):
        return [self._graph._operation(n) for n in self._graph._node_control_inputs(self._node)]

    @property
    def node_def(self):
        from weir.framework import protos
        return protos.node_def(self)

    @property
    def traceback(self):
        return []

    def colocation_groups(self):
        """The names of the operations that this one is to be with; its own if there are none."""
        groups = self.get_attr("_class") if "_class" in self._graph._node_attrs(self._node) else []
        return [group for group in groups if group.startswith(b"loc:@")] or [b"loc:@" + self.name.encode()]

    def values(self):
        return tuple(self.outputs)

    def get_attr(self, name):
        return self._graph._node_attr(self._node, name)

    def _set_attr_with_type(self, name, kind, value):
        self._graph._set_node_attr(self._node, name, kind, value)

    def _set_device(self, device):
        self._graph._set_node_device(self._node, device)

    def _add_control_input(self, op):
        self._graph._add_control_input(self._node, op._node)

    def _add_control_inputs(self, ops):
        for op in ops:
            self._add_control_input(op)

    def run(self, feed_dict=None, session=None):
        """Runs this operation in a session of graph mode."""
        from weir.compat.v1 import session as sessions
        return sessions.run_using_session(self, feed_dict, session)

    def __eq__(self, other):
        return isinstance(other, Operation) and self._graph is other._graph and self._node == other._node

    def __hash__(self):
        return hash((id(self._graph), self._node))

    def __repr__(self):
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self):
        try:
            return str(self.node_def)
        except ImportError:  # no package protobuf
            return f'name: "{self.name}"\nop: "{self.type}"\n'


Operation.__module__ = "tensorflow.python.framework.ops"


class Graph(_core.Graph):
    """Operations and the tensors between them."""

    building_function = False

    def __init__(self):
        super().__init__()
        self._collections = {}
        self._scope = ""
        self._controls = []  # stack of lists of nodes
        self._device_stack = []
        self._colocation = []
        self._attr_scope = {}
        self._gradient_types = {}
        self.seed = None
        self._finalized = False
        self._variable_creators = []
        self._last_id_random = 0
        self._store = {}  # what other modules keep with a graph: variable stores, queues

    # Operations and tensors.

    def _operation(self, node):
        return Operation(self, node)

    def get_operations(self):
        return [Operation(self, i) for i in range(self._num_nodes()) if self._has_node(i)]

    @property
    def operations(self):
        return self.get_operations()

    def get_operation_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        node = self._find_node(name)
        if node < 0 and ":" in name:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
        if node < 0:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return Operation(self, node)

    def get_tensor_by_name(self, name):
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        op, _, index = name.partition(":")
        if not index:
            raise ValueError(f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor names "
                             'must be of the form "<op_name>:<output_index>".')
        node = self._find_node(op)
        if node < 0 and _names_mean_values and op.endswith("/read"):
            node = self._find_node(op[:-len("/read")] + "/Read/ReadVariableOp")
        if node < 0:
            raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. The operation, {op!r}, does not "
                           "exist in the graph.")
        count = self._node_num_outputs(node)
        if not 0 <= int(index) < count:
            raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. The operation, {op!r}, exists but "
                           f"only has {count} outputs.")
        tensor = self._tensor(node, int(index))
        if _names_mean_values and sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] != "weir":
            return self._value_of_name(tensor)
        return tensor

    def _value_of_name(self, tensor):
        """Where names of variables mean their values, as with references: the variable's value for its handle."""
        if _names_mean_values and tensor.op.type == "VarHandleOp":
            read = self._find_node(tensor.op.name + "/Read/ReadVariableOp")
            if read >= 0:
                return self._tensor(read, 0)
        return tensor

    def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
        if hasattr(obj, "_as_graph_element"):
            obj = obj._as_graph_element()
        if isinstance(obj, bytes):
            obj = obj.decode()
        if isinstance(obj, str):
            if ":" in obj and allow_tensor:
                return self.get_tensor_by_name(obj)
            if not allow_operation:
                raise ValueError(f"The name {obj!r} looks like an (invalid) Operation name, not a Tensor.")
            return self.get_operation_by_name(obj)
        if isinstance(obj, SymbolicTensor) and allow_tensor:
            if obj.graph is not self:
                raise ValueError(f"Tensor {obj} is not an element of this graph.")
            return obj
        if isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                raise ValueError(f"Operation {obj!r} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a Tensor or Operation.")

    def _consumers(self, tensor):
        return [op for op in self.get_operations()
                if any(t._node == tensor._node and t._index == tensor._index for t in op.inputs)]

    def capture(self, tensor, name=None, shape=None):
        """`tensor` as a tensor of this graph."""
        if isinstance(tensor, EagerTensor):
            from weir.framework.conversion import _add_constant
            with self.as_default():
                return _add_constant(tensor, name)
        if tensor._graph is not self:
            raise ValueError(f"Tensor {tensor!r} must be from the same graph as the operation that uses it.")
        return tensor

    def create_op(self, op_type, inputs, dtypes=None, input_types=None, name=None, attrs=None, op_def=None, **_):
        with self.as_default():
            outputs = _core.execute(op_type, list(inputs), dict(attrs or {}), name)
            return outputs[0].op if outputs else None

    @property
    def version(self):
        return self._num_nodes()

    @property
    def finalized(self):
        return self._finalized

    def finalize(self):
        self._finalized = True
        self._set_finalized(True)

    def _unsafe_unfinalize(self):
        self._finalized = False
        self._set_finalized(False)

    def _check_not_finalized(self):
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def as_graph_def(self, from_version=None, add_shapes=False):
        from weir.framework import protos
        return protos.graph_def(self._to_graph_def())

    def is_fetchable(self, element):
        return getattr(element, "op", element).name not in self._store.get("unfetchable", ())

    def is_feedable(self, element):
        return element.name not in self._store.get("unfeedable", ())

    # Collections.

    def add_to_collection(self, name, value):
        self._check_not_finalized()
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value):
        for name in [names] if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name):
        return self._collections.setdefault(name, [])

    def get_collection(self, name, scope=None):
        values = self._collections.get(name, [])
        if scope is None:
            return list(values)
        pattern = re.compile(scope)
        return [v for v in values if hasattr(v, "name") and pattern.match(v.name)]

    def get_all_collection_keys(self):
        return [name for name in self._collections if isinstance(name, str)]

    collections = property(lambda self: self.get_all_collection_keys())

    def clear_collection(self, name):
        self._check_not_finalized()
        self._collections.pop(name, None)

    # Scopes.

    @contextlib.contextmanager
    def as_default(self):
        _core.push_graph(self)
        try:
            yield self
        finally:
            _core.pop_graph()

    def unique_name(self, name, mark_as_used=True):
        return self._unique_name(self._scope + name if self._scope else name, mark_as_used)

    def get_name_scope(self):
        return self._scope.rstrip("/")

    @contextlib.contextmanager
    def name_scope(self, name):
        before = self._scope
        if not name:
            self._scope = ""
        elif name.endswith("/"):
            self._scope = name
        else:
            if not _VALID_SCOPE.match(name):
                raise ValueError(f"'{name}' is not a valid scope name. A scope name has to match the following pattern: "
                                 f"{_VALID_SCOPE.pattern}")
            self._scope = self._unique_name(before + name) + "/"
        self._set_scope(self._scope)
        try:
            yield self._scope
        finally:
            self._scope = before
            self._set_scope(before)

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs):
        before = self._controls
        if control_inputs is None:
            self._controls = []
        else:
            nodes = []
            for item in control_inputs:
                if isinstance(item, EagerTensor) or item is None:
                    continue
                if hasattr(item, "handle") and not isinstance(item, (Tensor, Operation)):
                    item = item.handle
                    if isinstance(item, EagerTensor):
                        continue
                if hasattr(item, "_as_graph_element"):
                    item = item._as_graph_element()
                if hasattr(item, "op") and not isinstance(item, Operation):
                    item = item.op
                if not isinstance(item, Operation):
                    raise TypeError(f"Control input must be Operation, Tensor, or Variable, got {item!r}")
                if item._graph is self:
                    nodes.append(item._node)
            self._controls = before + [n for n in nodes if n not in before]
        self._set_control_inputs(self._controls)
        try:
            yield
        finally:
            self._controls = before
            self._set_control_inputs(before)

    @contextlib.contextmanager
    def device(self, name):
        before = list(self._device_stack)
        if name is None:
            self._device_stack = []
        else:
            self._device_stack = before + [name]
        try:
            self._apply_device()
            yield
        finally:
            self._device_stack = before
            self._apply_device()

    def _apply_device(self):
        from weir.framework import config
        self._set_device(config.merge_devices(self._device_stack, self))
        self._set_asks_device(any(callable(entry) for entry in self._device_stack))

    def _place(self, node):
        """Lets the functions and names of tf.device choose a node's device, the innermost first."""
        from weir.framework import config
        operation = Operation(self, node)
        asks, self._device_stack = self._device_stack, []
        self._set_asks_device(False)
        try:
            for entry in reversed(asks):
                if callable(entry):
                    device = entry(operation) or ""
                    if hasattr(device, "to_string"):
                        device = device.to_string()
                    operation._set_device(config.merge_devices([device]))
                else:
                    operation._set_device(config.merge_devices([entry, operation.device]))
        finally:
            self._device_stack = asks
            self._set_asks_device(True)

    def _place_from(self, first):
        """Gives nodes that passes have added since `first` the device that new nodes get now."""
        from weir.framework import config
        if not self._device_stack:
            return
        asks = any(callable(entry) for entry in self._device_stack)
        device = "" if asks else config.merge_devices(self._device_stack)
        for node in range(first, self._num_nodes()):
            if self._has_node(node) and not self._node_device(node):
                if asks:
                    self._place(node)
                elif device:
                    self._set_node_device(node, device)

    @contextlib.contextmanager
    def colocate_with(self, op, ignore_existing=False):
        before, devices = self._colocation, self._device_stack
        if op is None:
            self._colocation = []
        else:
            op = getattr(op, "op", op)
            if isinstance(op, Operation):
                self._colocation = ([] if ignore_existing else before) + [b"loc:@" + op.name.encode()]
                self._device_stack = [op.device] if op.device else []
        self._apply_attributes()
        self._apply_device()
        try:
            yield
        finally:
            self._colocation, self._device_stack = before, devices
            self._apply_attributes()
            self._apply_device()

    @contextlib.contextmanager
    def _attr_scope_of(self, attrs):
        before = self._attr_scope
        self._attr_scope = dict(before, **attrs)
        self._apply_attributes()
        try:
            yield
        finally:
            self._attr_scope = before
            self._apply_attributes()

    def _apply_attributes(self):
        attributes = dict(self._attr_scope)
        if self._colocation:
            attributes["_class"] = ("list(string)", list(self._colocation))
        self._set_attributes(attributes)

    @contextlib.contextmanager
    def container(self, name):
        yield name

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map):
        """Operations added inside take their gradient functions by these names: {op type: name of RegisterGradient}."""
        if not isinstance(op_type_map, dict):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        for op_type, name in op_type_map.items():
            if not isinstance(op_type, str) or not isinstance(name, str):
                raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        before = self._gradient_types
        self._gradient_types = dict(before, **op_type_map)
        self._set_gradient_types(self._gradient_types)
        try:
            yield
        finally:
            self._gradient_types = before
            self._set_gradient_types(before)

    @contextlib.contextmanager
    def _variable_creator_scope(self, creator, priority=100):
        self._variable_creators.append(creator)
        try:
            yield
        finally:
            self._variable_creators.remove(creator)

    def get_handle_data(self, tensor):
        return self._handle_data(tensor._node, tensor._index)

    def prevent_feeding(self, tensor):
        self._store.setdefault("unfeedable", set()).add(tensor.name)

    def prevent_fetching(self, op):
        self._store.setdefault("unfetchable", set()).add(op.name)

    def switch_to_thread_local(self):
        pass

    def __repr__(self):
        return f"<{type(self).__module__}.{type(self).__qualname__} object at {id(self):#x}>"


Graph.__module__ = "tensorflow.python.framework.ops"


class FuncGraph(Graph):
    """The body of a function while it is built. Tensors from outside become inputs of the function."""

    building_function = True

    def __init__(self, name, collections=None, capture_by_value=None, structured_input_signature=None,
                 structured_outputs=None):
        super().__init__()
        self.name = name
        self.inputs = []
        self.outputs = []
        self.structured_input_signature = structured_input_signature
        self.structured_outputs = structured_outputs
        self.control_outputs = []
        self._captures = {}  # id of the outer tensor -> (outer, inner)
        self._watched = {}  # id of a handle -> variable
        self._deferred = []
        self.capture_by_value = capture_by_value
        self.outer_graph = _core.current_graph()
        self._weak_variables = []
        self._calls = {}  # functions that the body calls, which must live as long
        self._is_concrete = False  # a tf.function's, which lives as long as its ConcreteFunction
        self._set_orders_effects(True)
        if self.outer_graph is not None:
            self.seed = self.outer_graph.seed
        else:
            from weir.framework import random_seed
            self.seed = random_seed.global_seed()

    def _to_function(self, *args):
        made = super()._to_function(*args)
        owners = self._store.get("gradient_functions")
        if owners and not self._is_part_of_concrete():  # nobody tells when such a function goes
            for owner in owners:
                owner.give_up()
        return made

    def _is_part_of_concrete(self):
        graph = self
        while isinstance(graph, FuncGraph) and not graph._is_concrete:
            graph = graph.outer_graph
        return isinstance(graph, FuncGraph)

    def add_argument(self, dtype, shape, name=None, handle_data=None):
        """A new input, after those that exist."""
        tensor = self._placeholder(dtype, shape, name, handle_data)
        self.inputs.append(tensor)
        return tensor

    def _placeholder(self, dtype, shape, name, handle_data=None):
        _core.push_graph(self)
        try:
            with self.control_dependencies(None):
                tensor = _core.execute("_Arg", [], {"T": dtype, "index": len(self.inputs) + len(self._captures)},
                                       name or "args")[0]
        finally:
            _core.pop_graph()
        if shape is not None:
            self._set_shape(tensor._node, 0, shape)
        if handle_data:
            self._set_handle_data(tensor._node, 0, handle_data)
        return tensor

    def capture(self, tensor, name=None, shape=None):
        if isinstance(tensor, SymbolicTensor) and tensor._graph is self:
            return tensor
        found = self._captures.get(tensor._id)
        if found is not None:
            return found[1]
        if isinstance(tensor, EagerTensor):
            if self.capture_by_value or _is_small(tensor):
                _core.push_graph(self)
                try:
                    with self.control_dependencies(None):
                        from weir.framework.conversion import _add_constant
                        inner = _add_constant(tensor, name)
                finally:
                    _core.pop_graph()
                self._captures_by_value(tensor, inner)
                return inner
            handle_data = tensor_handle_data(tensor)
        else:
            if not self._encloses(tensor._graph):
                raise errors.InaccessibleTensorError(
                    f"{tensor!r} is out of scope and cannot be used here. Use return values, explicit Python locals or "
                    "TensorFlow collections to access it.\nPlease see https://www.tensorflow.org/guide/function#all_"
                    "outputs_of_a_tffunction_must_be_return_values for more information.")
            if tensor._graph is not self.outer_graph and isinstance(self.outer_graph, FuncGraph):
                tensor_outer = self.outer_graph.capture(tensor)
                inner = self.capture(tensor_outer, name)
                return inner
            handle_data = tensor._graph._handle_data(tensor._node, tensor._index)
        inner = self._placeholder(tensor.dtype.base_dtype, shape if shape is not None else tensor.shape, name,
                                  handle_data)
        self._captures[tensor._id] = (tensor, inner)
        return inner

    def _captures_by_value(self, tensor, inner):
        self._store.setdefault("constants", {})[tensor._id] = (tensor, inner)

    def _encloses(self, graph):
        outer = self.outer_graph
        while outer is not None:
            if outer is graph:
                return True
            outer = getattr(outer, "outer_graph", None)
        return False

    @property
    def captures(self):
        return list(self._captures.values())

    @property
    def external_captures(self):
        return [outer for outer, _ in self._captures.values()]

    @property
    def internal_captures(self):
        return [inner for _, inner in self._captures.values()]

    @property
    def captured_inputs(self):
        return self.external_captures

    def watch_variable(self, variable):
        self._watched.setdefault(id(variable), variable)

    @property
    def variables(self):
        return tuple(self._watched.values())

    @property
    def trainable_variables(self):
        return tuple(v for v in self._watched.values() if v.trainable)

    @property
    def structured_input_specs(self):
        return self.structured_input_signature

    def inner_graph_inputs(self):
        return self.inputs + self.internal_captures


FuncGraph.__module__ = "tensorflow.python.framework.func_graph"


def _is_small(tensor):
    """Shapes and the like: worth more as constants, since shapes are inferred from them."""
    dtype = tensor.dtype
    return dtype.is_integer and tensor.shape.num_elements() <= 128


def tensor_handle_data(tensor):
    if tensor.dtype._number not in (20, 21):
        return None
    if isinstance(tensor, SymbolicTensor):
        return tensor._graph._handle_data(tensor._node, tensor._index)
    return _core.handle_data(tensor)


def check_accessible(tensor):
    """Raises unless a symbolic tensor may be used in the current graph."""
    if _core.current_graph() is None and isinstance(tensor, SymbolicTensor):
        raise errors.InaccessibleTensorError(
            f"{tensor!r} is out of scope and cannot be used here. Use return values, explicit Python locals or TensorFlow "
            "collections to access it.\nPlease see https://www.tensorflow.org/guide/function#all_outputs_of_a_"
            "tffunction_must_be_return_values for more information.")


class name_scope:
    """Names of operations begin with this inside; `with tf.name_scope("layer") as scope:`."""

    def __init__(self, name, default_name=None, values=None):
        if name is None:
            name = default_name
        if name is not None and not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self._name = name
        self._exits = []

    name = property(lambda self: self._name)

    def __enter__(self):
        graph = _core.current_graph()
        if graph is not None:
            if self._name is None:  # no scope of its own
                self._exits.append(None)
                return graph._scope
            scope = graph.name_scope(self._name)
            self._exits.append(scope)
            return scope.__enter__()
        before = _state.scope
        if not self._name:
            _state.scope = ""
        elif self._name.endswith("/"):
            _state.scope = self._name
        else:
            _state.scope = before + self._name + "/"
        self._exits.append(before)
        return _state.scope

    def __exit__(self, *error):
        last = self._exits.pop()
        if isinstance(last, str):
            _state.scope = last
        elif last is not None:
            last.__exit__(*error)
        return False

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def call(*args, **kwargs):
            with name_scope(self._name):
                return function(*args, **kwargs)
        return call


name_scope.__module__ = "tensorflow.python.framework.ops"


class name_scope_v1(name_scope):
    """tf.compat.v1.name_scope: without a name the root's."""

    def __init__(self, name, default_name=None, values=None):
        super().__init__(name, default_name)
        if self._name is None and values is not None:
            raise ValueError(f"At least one of name ({name}) and default_name ({default_name}) must be provided.")

    def __enter__(self):
        graph = _core.current_graph()
        if graph is None or self._name is not None:
            return super().__enter__()
        scope = graph.name_scope(None)
        self._exits.append(scope)
        return scope.__enter__() or ""


def get_current_name_scope():
    """The name scope that new operations are in, "" outside of all."""
    return current_name_scope().rstrip("/")


def current_name_scope():
    graph = _core.current_graph()
    return graph._scope if graph is not None else _state.scope


@contextlib.contextmanager
def control_dependencies(control_inputs):
    """Operations made inside run after these."""
    graph = _core.current_graph()
    if graph is None:
        if callable(control_inputs):
            control_inputs()
        yield
        return
    with graph.control_dependencies(control_inputs):
        yield


@contextlib.contextmanager
def init_scope():
    """Leaves functions and control flow: what is made inside is made outside of them."""
    graph = _core.current_graph()
    target = graph
    while isinstance(target, FuncGraph):
        target = target.outer_graph
    if target is graph:
        yield
        return
    scope = current_name_scope()
    _core.push_graph(target)
    _core.pause_tapes()
    before, _state.scope = _state.scope, scope if target is None else _state.scope
    try:
        yield
    finally:
        _state.scope = before
        _core.resume_tapes()
        _core.pop_graph()


@contextlib.contextmanager
def eager_mode():
    """Operations inside run at once, also where graphs are the default."""
    _core.push_graph(None)
    _state.eager += 1
    try:
        yield
    finally:
        _state.eager -= 1
        _core.pop_graph()
