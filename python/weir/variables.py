"""tf.Variable over resource handles.

A variable is a handle (a tensor of type resource) and what is known beforehand of its value. Eager variables own their
resource: it goes when the last reference to the handle does. In graphs of compat.v1 the handle is a VarHandleOp node.
"""

import contextlib
import enum
import itertools
import threading

import numpy as np

from weir import _core
from weir.eager.tape import variable_accessed
from weir.framework import dtypes
from weir.framework.conversion import convert_to_tensor, register_tensor_conversion_function
from weir.framework.graph import (FuncGraph, GraphKeys, current_name_scope, executing_eagerly_outside_functions,
                                  get_default_graph, init_scope, name_scope, names_mean_values)
from weir.framework.raw_ops import raw_ops
from weir.framework.shapes import TensorShape, as_shape
from weir.framework.tensor import EagerTensor, Reference, SymbolicTensor, Tensor, types_Tensor
from weir.trackable import Trackable

__all__ = ["Variable", "VariableAggregation", "VariableSynchronization", "VariableV1", "variable_creator_scope"]


class VariableSynchronization(enum.Enum):
    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


_counter = itertools.count()


class _Creators(threading.local):
    def __init__(self):
        self.stack = []


_creators = _Creators()


@contextlib.contextmanager
def variable_creator_scope(variable_creator):
    """`variable_creator(next_creator, **kwargs)` makes the variables inside."""
    _creators.stack.append(variable_creator)
    try:
        yield
    finally:
        _creators.stack.remove(variable_creator)


class VariableMetaclass(type):
    def __call__(cls, *args, **kwargs):
        if cls is VariableV1 and _makes_reference(kwargs.get("use_resource", args[11] if len(args) > 11 else None)):
            from weir.compat.v1.ref_variable import RefVariable
            return RefVariable(*args, **kwargs)
        if cls is not Variable or not _creators.stack:
            return super().__call__(*args, **kwargs)
        import inspect
        bound = inspect.signature(cls.__init__).bind(None, *args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        arguments.pop("self", None)
        make = lambda **kw: super(VariableMetaclass, cls).__call__(**kw)  # noqa: E731
        for creator in _creators.stack:
            make = _bind_creator(creator, make)
        return make(**arguments)


def _makes_reference(use_resource):
    """Whether a variable of compat.v1 is a reference: in a graph, if asked for."""
    graph = _core.current_graph()
    return use_resource is False and graph is not None and not isinstance(graph, FuncGraph)


def _bind_creator(creator, following):
    return lambda **kwargs: creator(following, **kwargs)


class Variable(Trackable, types_Tensor, metaclass=VariableMetaclass):
    """A tensor whose value can be changed."""

    _should_act_as_resource_variable = True
    __array_priority__ = 100

    def __init__(self, initial_value=None, trainable=None, validate_shape=True, caching_device=None, name=None,
                 variable_def=None, dtype=None, import_scope=None, constraint=None,
                 synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE, shape=None,
                 experimental_enable_variable_lifting=True, use_resource=None, collections=None, expected_shape=None,
                 distribute_strategy=None):
        if initial_value is None:
            raise ValueError("The `initial_value` arg to `tf.Variable` must be specified except when you are not "
                             "providing a `variable_def`. You provided neither.")
        if isinstance(initial_value, Trackable) and not callable(initial_value) and hasattr(initial_value, "checkpoint"
                                                                                             "_value"):
            initial_value = initial_value.checkpoint_value
        if trainable is None:
            trainable = synchronization != VariableSynchronization.ON_READ
        dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._trainable = trainable
        self._constraint = constraint
        self._synchronization = synchronization
        self._aggregation = aggregation
        self._save_slice_info = None
        graph = _core.current_graph()
        lifts = isinstance(graph, FuncGraph)
        if lifts:
            from weir.eager import function
            function.note_variable_creation(self)
            if isinstance(initial_value, SymbolicTensor):
                initial_value = function.lift_initial_value(initial_value)
        with init_scope() if lifts else contextlib.nullcontext():
            self._initialize(initial_value, dtype, name, shape, collections, validate_shape)

    def _initialize(self, initial_value, dtype, name, shape, collections, validate_shape):
        graph = _core.current_graph()
        scope_name = name if name is not None else "Variable"
        if graph is not None:
            with graph.name_scope(scope_name) as scope:
                unique = scope.rstrip("/")
                with graph.name_scope("Initializer") if callable(initial_value) or not isinstance(
                        initial_value, Tensor) else contextlib.nullcontext():
                    value = initial_value() if callable(initial_value) else initial_value
                    value = convert_to_tensor(value, dtype, name="initial_value")
        else:
            unique = current_name_scope() + scope_name
            value = initial_value() if callable(initial_value) else initial_value
            value = convert_to_tensor(value, dtype, name="initial_value")
        self._dtype = value.dtype.base_dtype
        if shape is not None and not value.shape.is_compatible_with(shape):
            raise ValueError(f"In this `tf.Variable` creation, the initial value's shape ({value.shape}) is not compatible "
                             f"with the explicitly supplied `shape` argument ({shape}).")
        self._shape = as_shape(shape) if shape is not None else (value.shape if validate_shape else TensorShape(None))
        self._handle_name = unique + ":0"
        self._unique_id = f"{unique}_{next(_counter)}"
        self._graph_mode = graph
        if graph is not None:
            self._shared_name_ = unique
            self._handle = _core.execute("VarHandleOp", [], {"dtype": self._dtype, "shape": self._shape,
                                                             "shared_name": unique, "container": ""},
                                         unique + "/")[0] if graph._find_node(unique) < 0 else raw_ops.VarHandleOp(
                dtype=self._dtype, shape=self._shape, shared_name=unique, name=scope_name)
            graph._set_handle_data(self._handle._node, 0, [(self._dtype, self._shape)])
            with graph.name_scope(unique + "/"):
                self._initial_value = value
                self._is_initialized_op = raw_ops.VarIsInitializedOp(resource=self._handle, name="IsInitialized/"
                                                                     "VarIsInitializedOp")
                self._initializer_op = raw_ops.AssignVariableOp(resource=self._handle, value=value, name="Assign")
                with graph.name_scope("Read"):
                    read = raw_ops.ReadVariableOp(resource=self._handle, dtype=self._dtype)
                read.set_shape(self._shape)
                self._graph_element = read
            if collections is None:
                collections = [GraphKeys.GLOBAL_VARIABLES]
            collections = list(collections)
            if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
                collections.append(GraphKeys.TRAINABLE_VARIABLES)
            graph.add_to_collections(collections, self)
        else:
            self._initial_value = None
            self._initializer_op = None
            self._graph_element = None
            self._handle = raw_ops.VarHandleOp(dtype=self._dtype, shape=self._shape,
                                               shared_name="cd2c89b7-88b7-44c8-ad83-06c2a9158347")
            raw_ops.AssignVariableOp(resource=self._handle, value=value)

    # What it is.

    handle = property(lambda self: self._handle)
    dtype = property(lambda self: self._dtype)
    shape = property(lambda self: self._shape)
    name = property(lambda self: self._handle_name)
    trainable = property(lambda self: self._trainable)
    synchronization = property(lambda self: self._synchronization)
    aggregation = property(lambda self: self._aggregation)
    initial_value = property(lambda self: self._initial_value)
    initializer = property(lambda self: self._initializer_op)
    op = property(lambda self: self._handle.op)
    graph = property(lambda self: self._handle.graph)
    device = property(lambda self: self._handle.device)
    create = initializer

    @property
    def _shared_name(self):
        return self._handle_name.split(":")[0]

    @property
    def constraint(self):
        return self._constraint

    @property
    def ndim(self):
        return self._shape.rank

    @property
    def _in_graph_mode(self):
        return self._graph_mode is not None

    def get_shape(self):
        return self._shape

    def set_shape(self, shape):
        self._shape = self._shape.merge_with(shape)

    def _shape_tuple(self):
        return tuple(self._shape)

    def _as_graph_element(self):
        return self._graph_element

    # Reading.

    def _read(self):
        if self._trainable:
            variable_accessed(self)
        value = raw_ops.ReadVariableOp(resource=self._handle, dtype=self._dtype)
        if isinstance(value, SymbolicTensor):
            value.set_shape(self._shape)
        return value

    def value(self):
        return self._read()

    def read_value(self):
        return raw_ops.Identity(input=self._read())

    def read_value_no_copy(self):
        return self._read()

    def initialized_value(self):
        return self._read()

    def is_initialized(self, name=None):
        return raw_ops.VarIsInitializedOp(resource=self._handle)

    def numpy(self):
        if _core.current_graph() is not None:
            raise NotImplementedError("numpy() is only available when eager execution is enabled.")
        return self._read().numpy()

    def eval(self, session=None):
        if self._graph_element is None:
            raise RuntimeError("This operation is not supported when eager execution is enabled.")
        return self._graph_element.eval(session=session)

    def load(self, value, session=None):
        from weir.compat.v1 import session as sessions
        session = session or sessions.get_default_session()
        session.run(self._initializer_op, {self._initializer_op.inputs[1]: value})

    def sparse_read(self, indices, name=None):
        if self._trainable:
            variable_accessed(self)
        value = raw_ops.ResourceGather(resource=self._handle, indices=indices, dtype=self._dtype, name=name)
        return raw_ops.Identity(input=value)

    def gather_nd(self, indices, name=None):
        if self._trainable:
            variable_accessed(self)
        return raw_ops.ResourceGatherNd(resource=self._handle, indices=indices, dtype=self._dtype, name=name)

    def __tf_tensor__(self, dtype=None, name=None):
        if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(self._dtype):
            raise ValueError(f"Incompatible type conversion requested to type {dtypes.as_dtype(dtype).name} for "
                             f"`tf.Variable of type {self._dtype.name}. (Variable: {self})")
        return self._read()

    def _dense_var_to_tensor(self, dtype=None, name=None, as_ref=False):
        return self.__tf_tensor__(dtype, name)

    # Writing.

    def _changed(self, op, read_value):
        if not read_value:
            return op
        if _core.current_graph() is not None:
            graph = _core.current_graph()
            if not graph.building_function:
                with graph.control_dependencies([op]):
                    value = raw_ops.ReadVariableOp(resource=self._handle, dtype=self._dtype)
                value.set_shape(self._shape)
                return value
        changed = object.__new__(_UnreadVariable)
        changed.__dict__.update(self.__dict__)
        changed._handle_name = "UnreadVariable"
        return changed

    def _check(self, value):
        if not self._shape.is_compatible_with(value.shape):
            raise ValueError(f"Cannot assign value to variable ' {self._handle_name}': Shape mismatch.The variable shape "
                             f"{self._shape}, and the assigned value shape {value.shape} are incompatible.")

    def assign(self, value, use_locking=None, name=None, read_value=True):
        """Makes `value` the variable's value."""
        value = convert_to_tensor(value, self._dtype)
        self._check(value)
        validate = _core.current_graph() is not None and self._shape.is_fully_defined()
        return self._changed(raw_ops.AssignVariableOp(resource=self._handle, value=value, validate_shape=validate, name=name),
                             read_value)

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        delta = convert_to_tensor(delta, self._dtype)
        return self._changed(raw_ops.AssignAddVariableOp(resource=self._handle, value=delta, name=name), read_value)

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        delta = convert_to_tensor(delta, self._dtype)
        return self._changed(raw_ops.AssignSubVariableOp(resource=self._handle, value=delta, name=name), read_value)

    def _scatter(self, op, sparse_delta, name):
        from weir.ops.indexed_slices import IndexedSlices
        if not isinstance(sparse_delta, IndexedSlices) and not hasattr(sparse_delta, "indices"):
            raise TypeError(f"Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: {sparse_delta}")
        return self._changed(op(resource=self._handle, indices=sparse_delta.indices,
                                updates=convert_to_tensor(sparse_delta.values, self._dtype), name=name), True)

    def scatter_add(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(raw_ops.ResourceScatterAdd, sparse_delta, name)

    def scatter_sub(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(raw_ops.ResourceScatterSub, sparse_delta, name)

    def scatter_update(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(raw_ops.ResourceScatterUpdate, sparse_delta, name)

    def scatter_max(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(raw_ops.ResourceScatterMax, sparse_delta, name)

    def scatter_min(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(raw_ops.ResourceScatterMin, sparse_delta, name)

    def scatter_mul(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(raw_ops.ResourceScatterMul, sparse_delta, name)

    def scatter_div(self, sparse_delta, use_locking=False, name=None):
        return self._scatter(raw_ops.ResourceScatterDiv, sparse_delta, name)

    batch_scatter_update = scatter_update

    def scatter_nd_update(self, indices, updates, name=None):
        return self._changed(raw_ops.ResourceScatterNdUpdate(ref=self._handle, indices=indices, updates=updates), True)

    def scatter_nd_add(self, indices, updates, name=None):
        return self._changed(raw_ops.ResourceScatterNdAdd(ref=self._handle, indices=indices, updates=updates), True)

    def scatter_nd_sub(self, indices, updates, name=None):
        return self._changed(raw_ops.ResourceScatterNdSub(ref=self._handle, indices=indices, updates=updates), True)

    def count_up_to(self, limit):
        return raw_ops.ResourceCountUpTo(resource=self._handle, limit=limit, T=self._dtype)

    # Python's protocols.

    def __getitem__(self, key):
        from weir.framework import slicing
        value = slicing.slice_tensor(self._read(), key)
        return _attach_assign(value, self, key)

    def __iter__(self):
        return iter(self._read())

    def __len__(self):
        return len(self._read())

    def __bool__(self):
        return bool(self._read())

    def __float__(self):
        return float(self._read())

    def __int__(self):
        return int(self._read())

    def __complex__(self):
        return complex(self._read())

    def __index__(self):
        return self._read().__index__()

    def __array__(self, dtype=None, copy=None):
        value = self.numpy()
        return np.asarray(value, dtype=dtype)

    def __hash__(self):
        if _has_identity():
            return id(self)
        raise TypeError(f"Variable is unhashable. Instead, use variable.ref() as the key. (Variable: {self})")

    def ref(self):
        return Reference(self)

    experimental_ref = ref

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        if _core.current_graph() is not None:
            raise NotImplementedError("__deepcopy__() is only available when eager execution is enabled.")
        copied = Variable(self.read_value(), trainable=self._trainable, constraint=self._constraint, dtype=self._dtype,
                          name=self._shared_name, synchronization=self._synchronization,
                          aggregation=self._aggregation)
        memo[id(self)] = copied
        return copied

    def __reduce__(self):
        return _unpickle, (self.numpy(), self._dtype, self._trainable, self._shared_name)

    def __repr__(self):
        if _core.current_graph() is None and self._graph_mode is None:
            from weir.framework.tensor import _numpy_text
            text = _numpy_text(raw_ops.ReadVariableOp(resource=self._handle, dtype=self._dtype), True)
            separator = "\n" if "\n" in text else ""
            return (f"<tf.Variable '{self._handle_name}' shape={self._shape} dtype={self._dtype.name}, numpy={separator}"
                    f"{text}>")
        return f"<tf.Variable '{self._handle_name}' shape={self._shape} dtype={self._dtype.name}>"

    # Checkpoints.

    def _serialize_to_tensors(self):
        return {"VARIABLE_VALUE": self._read_for_saving}

    def _read_for_saving(self):
        return raw_ops.ReadVariableOp(resource=self._handle, dtype=self._dtype)

    def _restore_from_tensors(self, restored_tensors):
        value = restored_tensors["VARIABLE_VALUE"]
        if not self.shape.is_compatible_with(value.shape):
            raise ValueError(f"Received incompatible tensor with shape {value.shape} when attempting to restore variable "
                             f"with shape {self.shape} and name {self.name}.")
        raw_ops.AssignVariableOp(resource=self._handle, value=value)

    def _gather_saveables_for_checkpoint(self):
        return {"VARIABLE_VALUE": self}

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        return {}

    @property
    def _object_identifier(self):
        return "tf_variable"

    class SaveSliceInfo:
        def __init__(self, full_name=None, full_shape=None, var_offset=None, var_shape=None, **_):
            self.full_name = full_name
            self.full_shape = full_shape
            self.var_offset = var_offset
            self.var_shape = var_shape

    def _set_save_slice_info(self, info):
        self._save_slice_info = info

    def _get_save_slice_info(self):
        return self._save_slice_info


Variable.__module__ = "tensorflow.python.ops.variables"


class _UnreadVariable(Variable):
    """What assign returns: the variable, to be read after the assignment."""


BaseVariable = Variable


def _unpickle(value, dtype, trainable, name):
    return Variable(value, dtype=dtype, trainable=trainable, name=name)


def _attach_assign(value, variable, key):
    def assign(new_value, use_locking=None, name=None, read_value=True):
        from weir.framework.slicing import Spec
        spec = Spec(key)
        begin, end, strides = spec.tensors()
        done = raw_ops.ResourceStridedSliceAssign(ref=variable.handle, begin=begin, end=end, strides=strides,
                                                  value=convert_to_tensor(new_value, variable.dtype), **spec.masks)
        return variable if _core.current_graph() is None else variable._changed(done, read_value)
    value.assign = assign
    return value


class VariableV1(Variable):
    """compat.v1.Variable."""

    def to_proto(self, export_scope=None):
        """A VariableDef, or None for a variable outside of the scope that is exported."""
        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        from weir.compat.v1.saver import _variable_def
        return _variable_def(self)

    @staticmethod
    def from_proto(variable_def, import_scope=None):
        """The variable of the default graph that a VariableDef describes."""
        from weir.compat.v1.saver import variable_from_proto
        from weir.framework.graph import get_default_graph
        return variable_from_proto(variable_def, get_default_graph(), import_scope or "")

    def __init__(self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None,
                 name=None, variable_def=None, dtype=None, expected_shape=None, import_scope=None, constraint=None,
                 use_resource=None, synchronization=VariableSynchronization.AUTO,
                 aggregation=VariableAggregation.NONE, shape=None):
        if names_mean_values() and validate_shape and not use_resource and isinstance(initial_value, Tensor) and \
                not initial_value.shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {initial_value}")
        super().__init__(initial_value, trainable, validate_shape, caching_device, name, variable_def, dtype,
                         import_scope, constraint, synchronization, aggregation, shape, collections=collections)


def _operator(name):
    def binary(self, other):
        return getattr(self._read(), name)(other)
    binary.__name__ = name
    return binary


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod",
              "pow", "rpow", "matmul", "rmatmul", "and", "rand", "or", "ror", "xor", "rxor", "lt", "le", "gt", "ge"):
    setattr(Variable, f"__{_name}__", _operator(f"__{_name}__"))
for _name in ("neg", "abs", "invert"):
    setattr(Variable, f"__{_name}__", lambda self, _n=f"__{_name}__": getattr(self._read(), _n)())


def _has_identity():
    """Whether variables are compared by what they are, not by their values: in graphs of sessions."""
    graph = _core.current_graph()
    return not executing_eagerly_outside_functions() or graph is not None and not isinstance(graph, FuncGraph)


def _equal(self, other):
    if other is None or _has_identity():
        return self is other
    return self._read() == other


def _not_equal(self, other):
    if other is None or _has_identity():
        return self is not other
    return self._read() != other


Variable.__eq__ = _equal
Variable.__ne__ = _not_equal
