"""Variables of graphs that are references (VariableV2), as `use_resource=False` makes them.

The variable is a tensor of a reference type; assignments take that reference and give it on. What is read is the output
of the node `name/read`.
"""

import contextlib

from weir import _core
from weir.framework import convert_to_tensor, raw_ops
from weir.framework.shapes import TensorShape, as_shape
from weir.framework.tensor import Tensor
from weir.framework.graph import GraphKeys
from weir.variables import VariableV1

__all__ = ["RefVariable", "is_reference", "variable_op", "variable_op_v2", "variable_ops"]


class RefVariable(VariableV1):
    """A variable that is a reference."""

    _should_act_as_resource_variable = False

    def _initialize(self, initial_value, dtype, name, shape, collections, validate_shape):
        graph = _core.current_graph()
        with graph.name_scope(name if name is not None else "Variable") as scope:
            unique = scope.rstrip("/")
            with graph.name_scope("Initializer") if callable(initial_value) else contextlib.nullcontext():
                value = initial_value() if callable(initial_value) else initial_value
                value = convert_to_tensor(value, dtype, name="initial_value")
            self._base_dtype = value.dtype.base_dtype
            self._shape = as_shape(shape) if shape is not None else (value.shape if validate_shape else TensorShape(None))
            self._handle = _core.execute("VariableV2", [], {"dtype": self._base_dtype, "shape": self._shape if
                                                            self._shape.rank is not None else TensorShape(None),
                                                            "container": "", "shared_name": ""}, unique + "/")[0]
            self._initializer_op = raw_ops.Assign(ref=self._handle, value=value, validate_shape=validate_shape and
                                                  self._shape.is_fully_defined(), name="Assign").op
            with graph.colocate_with(self._handle.op):
                self._snapshot = raw_ops.Identity(input=self._handle, name="read")
        self._dtype = self._handle.dtype
        self._handle_name = unique + ":0"
        self._unique_id = f"{unique}_{id(self)}"
        self._graph_mode = graph
        self._initial_value = value
        self._graph_element = self._handle
        self._is_initialized_op = None
        names = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in names:
            names.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(names, self)

    _variable = property(lambda self: self._handle)

    def _ref(self):
        return self._handle

    def _read(self):
        return self._snapshot

    def _read_for_saving(self):
        return self._handle

    def read_value(self):
        return raw_ops.Identity(input=self._handle, name="read")

    def initialized_value(self):
        from weir.ops.control_flow import cond
        return cond(self.is_initialized(), self.read_value, lambda: self._initial_value)

    def is_initialized(self, name=None):
        return raw_ops.IsVariableInitialized(ref=self._handle, name=name)

    def __tf_tensor__(self, dtype=None, name=None):
        if dtype is not None and not self._base_dtype.is_compatible_with(dtype):
            raise ValueError(f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
                             f"'{self._base_dtype.name}'")
        return self._snapshot

    def _dense_var_to_tensor(self, dtype=None, name=None, as_ref=False):
        return self._handle if as_ref else self.__tf_tensor__(dtype, name)

    # Writing: each gives the reference, to be read after it.

    def _value_of(self, value):
        return convert_to_tensor(value, self._base_dtype)

    def assign(self, value, use_locking=False, name=None, read_value=True, validate_shape=None):
        """Makes `value` the variable's value."""
        done = raw_ops.Assign(ref=self._handle, value=self._value_of(value), use_locking=bool(use_locking), name=name,
                              validate_shape=self._shape.is_fully_defined() if validate_shape is None else validate_shape)
        return done if read_value else done.op

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        done = raw_ops.AssignAdd(ref=self._handle, value=self._value_of(delta), use_locking=bool(use_locking), name=name)
        return done if read_value else done.op

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        done = raw_ops.AssignSub(ref=self._handle, value=self._value_of(delta), use_locking=bool(use_locking), name=name)
        return done if read_value else done.op

    def _changed(self, op, read_value):
        return op

    def _scatter(self, op, sparse_delta, name):
        if not hasattr(sparse_delta, "indices"):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        own = getattr(raw_ops, op.__name__.replace("Resource", ""))
        return own(ref=self._handle, indices=sparse_delta.indices, updates=self._value_of(sparse_delta.values), name=name)

    def scatter_nd_add(self, indices, updates, name=None):
        return raw_ops.ScatterNdAdd(ref=self._handle, indices=indices, updates=self._value_of(updates), name=name)

    def scatter_nd_sub(self, indices, updates, name=None):
        return raw_ops.ScatterNdSub(ref=self._handle, indices=indices, updates=self._value_of(updates), name=name)

    def scatter_nd_update(self, indices, updates, name=None):
        return raw_ops.ScatterNdUpdate(ref=self._handle, indices=indices, updates=self._value_of(updates), name=name)

    def sparse_read(self, indices, name=None):
        return raw_ops.GatherV2(params=self._snapshot, indices=indices, axis=0, name=name)

    def gather_nd(self, indices, name=None):
        return raw_ops.GatherNd(params=self._snapshot, indices=indices, name=name)

    def count_up_to(self, limit):
        return raw_ops.CountUpTo(ref=self._handle, limit=limit)

    def __repr__(self):
        return f"<tf.Variable '{self._handle_name}' shape={self._shape} dtype={self._dtype.name}>"

    __str__ = __repr__

    @classmethod
    def _over(cls, definition, graph, prefix):
        """The variable that a VariableDef describes, over nodes that the graph has."""
        variable = object.__new__(cls)
        variable._handle = graph.as_graph_element(prefix + definition.variable_name)
        variable._base_dtype = variable._handle.dtype.base_dtype
        variable._dtype, variable._shape = variable._handle.dtype, variable._handle.shape
        variable._snapshot = graph.as_graph_element(prefix + definition.snapshot_name)
        variable._graph_element = variable._handle
        return variable


RefVariable.__module__ = "tensorflow.python.ops.ref_variable"


def is_reference(variable):
    """Whether a variable, or a tensor in its place, is a reference."""
    return isinstance(variable, RefVariable) or isinstance(variable, Tensor) and variable.dtype._is_ref_dtype


class _Updates:
    """The ops that update variables: `variable_ops.ResourceApplyAdam` takes references and calls ApplyAdam then."""

    def __getattr__(self, name):
        resource_op = getattr(raw_ops, name)

        def update(**arguments):
            key = "var" if "var" in arguments else "resource" if "resource" in arguments else "ref"
            if not is_reference(arguments[key]):
                return resource_op(**arguments)
            if key == "resource":
                arguments["ref"] = arguments.pop("resource")
            plain = {"AssignVariableOp": "Assign", "AssignAddVariableOp": "AssignAdd", "AssignSubVariableOp": "AssignSub"}
            return getattr(raw_ops, plain.get(name, name.replace("Resource", "")))(**arguments).op
        setattr(self, name, update)
        return update


variable_ops = _Updates()


def variable_op_v2(shape, dtype, name="Variable", container="", shared_name=""):
    return raw_ops.VariableV2(shape=as_shape(shape), dtype=dtype, name=name, container=container, shared_name=shared_name)


def variable_op(shape, dtype, name="Variable", set_shape=True, container="", shared_name=""):
    """As variable_op_v2; without `set_shape` its shape is not known."""
    made = variable_op_v2(shape if set_shape else TensorShape(None), dtype, name, container, shared_name)
    return made
