"""Variables by name: get_variable, variable_scope and how variables are split into parts.

Names of variables follow variable scopes alone; a variable scope also opens a name scope for operations. Each graph has
a store, so that a name stands for one variable, which `reuse` finds again.
"""

import contextlib
import enum
import threading

import numpy as np

from weir import _core
from weir.framework import as_dtype, convert_to_tensor, dtypes
from weir.framework.graph import GraphKeys, executing_eagerly, get_default_graph, init_scope, name_scope
from weir.framework.shapes import as_shape
from weir.framework.tensor import Tensor
from weir.ops import array, initializers
from weir.variables import Variable, VariableAggregation, VariableSynchronization, VariableV1

__all__ = ["AUTO_REUSE", "VariableScope", "get_variable", "get_local_variable", "get_variable_scope", "variable_scope",
           "variable_op_scope", "no_regularizer", "PartitionedVariable", "create_partitioned_variables"]


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _ReuseMode.AUTO_REUSE


def no_regularizer(_):
    """Given as a regularizer: there is none."""
    return None


class _Store:
    """The variables of a graph by name, and the scope that is current in each thread."""

    def __init__(self):
        self.variables = {}
        self.partitioned = {}
        self.counts = {}  # how often a scope was opened, for default names
        self.local = threading.local()

    @property
    def scope(self):
        found = getattr(self.local, "scope", None)
        if found is None:
            found = self.local.scope = VariableScope(False)
        return found

    @scope.setter
    def scope(self, value):
        self.local.scope = value

    def open(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_below(self, name):
        for key in list(self.counts):
            if not name or key.startswith(name + "/"):
                del self.counts[key]


_eager_store = _Store()


def _store():
    graph = _core.current_graph()
    if graph is None:
        if executing_eagerly():
            return _eager_store
        graph = get_default_graph()
    while graph.building_function and graph.outer_graph is not None:  # functions share their surroundings' variables
        graph = graph.outer_graph
    return graph._store.setdefault("variable store", _Store())


class VariableScope:
    """What get_variable uses under `with variable_scope(...)`."""

    def __init__(self, reuse, name="", initializer=None, regularizer=None, caching_device=None, partitioner=None,
                 custom_getter=None, name_scope="", dtype=dtypes.float32, use_resource=None, constraint=None):
        self._name, self._reuse = name, reuse
        self._initializer, self._regularizer, self._constraint = initializer, regularizer, constraint
        self._caching_device, self._partitioner, self._custom_getter = caching_device, partitioner, custom_getter
        self._name_scope, self._dtype, self._use_resource = name_scope, as_dtype(dtype), use_resource

    name = property(lambda self: self._name)
    original_name_scope = property(lambda self: self._name_scope)
    reuse = property(lambda self: self._reuse)
    initializer = property(lambda self: self._initializer)
    regularizer = property(lambda self: self._regularizer)
    constraint = property(lambda self: self._constraint)
    caching_device = property(lambda self: self._caching_device)
    partitioner = property(lambda self: self._partitioner)
    custom_getter = property(lambda self: self._custom_getter)
    dtype = property(lambda self: self._dtype)
    use_resource = property(lambda self: self._use_resource)

    def reuse_variables(self):
        self._reuse = True

    def set_initializer(self, initializer):
        self._initializer = initializer

    def set_regularizer(self, regularizer):
        self._regularizer = regularizer

    def set_partitioner(self, partitioner):
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter):
        self._custom_getter = custom_getter

    def set_dtype(self, dtype):
        self._dtype = as_dtype(dtype)

    def set_caching_device(self, caching_device):
        self._caching_device = caching_device

    def set_use_resource(self, use_resource):
        self._use_resource = use_resource

    def get_collection(self, name):
        return get_default_graph().get_collection(name, self._name + "/" if self._name else "")

    def trainable_variables(self):
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self):
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self):
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, _store_, name, **kwargs):
        return _get(self, name, **kwargs)


VariableScope.__module__ = "tensorflow.python.ops.variable_scope"


def get_variable_scope():
    """The current variable scope."""
    return _store().scope


def get_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, collections=None,
                 caching_device=None, partitioner=None, validate_shape=True, use_resource=None, custom_getter=None,
                 constraint=None, synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE):
    """The variable of this name in the current variable scope: a new one, or with `reuse` the one that exists."""
    return _get(get_variable_scope(), name, shape, dtype, initializer, regularizer, trainable, collections,
                caching_device, partitioner, validate_shape, use_resource, custom_getter, constraint, synchronization,
                aggregation)


def get_local_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=False,
                       collections=None, **kwargs):
    """A variable of this process that no checkpoint holds."""
    return get_variable(name, shape, dtype, initializer, regularizer, False,
                        list(collections or []) + [GraphKeys.LOCAL_VARIABLES], **kwargs)


def _get(scope, name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, collections=None,
         caching_device=None, partitioner=None, validate_shape=True, use_resource=None, custom_getter=None,
         constraint=None, synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE, reuse=None):
    regularizer = scope.regularizer if regularizer is None else regularizer
    partitioner = scope.partitioner if partitioner is None else partitioner
    constraint = scope.constraint if constraint is None else constraint
    initializer = scope.initializer if initializer is None else initializer
    custom_getter = scope.custom_getter if custom_getter is None else custom_getter
    use_resource = scope.use_resource if use_resource is None else use_resource
    full = f"{scope.name}/{name}" if scope.name else name
    if dtype is None:
        dtype = scope.dtype if not isinstance(initializer, Tensor) else initializer.dtype.base_dtype
    if executing_eagerly():
        reuse = False if scope.reuse is False else AUTO_REUSE
    elif reuse is None:
        reuse = scope.reuse
    arguments = {"shape": shape, "dtype": as_dtype(dtype), "initializer": initializer, "regularizer": regularizer,
                 "trainable": trainable, "collections": collections, "caching_device": caching_device,
                 "partitioner": partitioner, "validate_shape": validate_shape, "use_resource": use_resource,
                 "constraint": constraint, "synchronization": synchronization, "aggregation": aggregation,
                 "reuse": reuse}
    outer = name_scope(None) if executing_eagerly() else _no_name_scope()
    with outer:
        if custom_getter is not None:
            return custom_getter(_make_or_find, full, **arguments)
        return _make_or_find(full, **arguments)


@contextlib.contextmanager
def _no_name_scope():
    with get_default_graph().name_scope(None), get_default_graph().control_dependencies(None):
        yield


def _make_or_find(name, shape=None, dtype=dtypes.float32, initializer=None, regularizer=None, reuse=None, trainable=None,
                  collections=None, caching_device=None, partitioner=None, validate_shape=True, use_resource=None,
                  constraint=None, synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE,
                  custom_getter=None):
    store = _store()
    if partitioner is not None and not executing_eagerly():
        made = _partitioned(store, name, as_shape(shape), dtype, initializer, regularizer, reuse, trainable, collections,
                            partitioner, validate_shape, constraint)
        if made is not None:
            return made
    if name + "/part_0" in store.variables:
        raise ValueError(f"No partitioner was provided, but a partitioned version of the variable was found: {name}"
                         "/part_0. Perhaps a variable of the same name was already created with partitioning?")
    return _single(store, name, shape, dtype, initializer, regularizer, reuse, trainable, collections, validate_shape,
                   constraint, None, synchronization, aggregation, use_resource)


def _default_initializer(name, dtype):
    if dtype.is_floating:
        return initializers.GlorotUniform()
    if dtype.is_integer or dtype.is_unsigned or dtype == dtypes.bool or dtype == dtypes.string:
        return initializers.Zeros(dtype=dtype)
    raise ValueError(f"An initializer for variable {name} of {dtype} is required")


class _PartitionInfo:
    def __init__(self, full_shape, var_offset):
        self.full_shape, self.var_offset = list(full_shape), list(var_offset)


def _single(store, name, shape, dtype, initializer, regularizer, reuse, trainable, collections, validate_shape, constraint,
            partition, synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE,
            use_resource=None):
    found = store.variables.get(name)
    if found is not None:
        if reuse is False or reuse is None:
            raise ValueError(f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                             "reuse=tf.AUTO_REUSE in VarScope?")
        if shape is not None and not as_shape(shape).is_compatible_with(found.shape):
            raise ValueError(f"Trying to share variable {name}, but specified shape {as_shape(shape)} and found shape "
                             f"{found.shape}.")
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
                             f"{found.dtype.name}.")
        return found
    if reuse is True:
        raise ValueError(f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to "
                         "set reuse=tf.AUTO_REUSE in VarScope?")
    if initializer is None:
        if shape is None:
            raise ValueError(f"Variable {name} did not get an initializer, so its `shape` argument must be specified.")
        initializer = _default_initializer(name, dtype)
    if callable(initializer):
        if isinstance(initializer, type):
            initializer = initializer()
        if shape is not None and as_shape(shape).is_fully_defined():
            sizes = as_shape(shape).as_list()
            arguments = {"dtype": dtype.base_dtype}
            if partition is not None and _takes(initializer, "partition_info"):
                arguments["partition_info"] = partition
            if _takes(initializer, "dtype"):
                value = lambda: initializer(sizes, **arguments)  # noqa: E731
            else:
                value = initializer if _takes_nothing(initializer) else lambda: initializer(sizes)
        elif _takes_nothing(initializer):
            value = initializer
        else:
            raise ValueError(f"The initializer passed is not valid. It should be a callable with no arguments and the "
                             "shape should not be provided or an instance of `tf.keras.initializers.*' and `shape` "
                             "should be fully defined.")
    else:
        value = initializer if isinstance(initializer, Tensor) else convert_to_tensor(initializer)
        if shape is not None and partition is None:
            raise ValueError("If initializer is a constant, do not specify shape.")
    if trainable is None and synchronization == VariableSynchronization.ON_READ:
        trainable = False
    with init_scope() if callable(value) and _in_function() else contextlib.nullcontext():
        variable = VariableV1(value, trainable=True if trainable is None else trainable, collections=collections,
                              validate_shape=validate_shape, name=name, dtype=dtype if callable(value) else None,
                              constraint=constraint, synchronization=synchronization, aggregation=aggregation,
                              use_resource=use_resource)
    if not executing_eagerly() or reuse:
        store.variables[name] = variable
    if regularizer is not None:
        with _near(variable), name_scope(name + "/Regularizer/"):
            loss = regularizer(variable)
        if loss is not None:
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return variable


def _near(variable):
    graph = _core.current_graph()
    return contextlib.nullcontext() if graph is None else graph.colocate_with(variable.op)


def _in_function():
    graph = _core.current_graph()
    return graph is not None and graph.building_function


def _takes(function, name):
    import inspect
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(p.kind == p.VAR_KEYWORD for p in parameters.values())


def _takes_nothing(function):
    import inspect
    try:
        return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
                   for p in inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False


class PartitionedVariable:
    """A variable in parts along one dimension; as a tensor it is all of them together."""

    __array_priority__ = 100
    _is_partitioned_variable = True

    def __init__(self, name, shape, dtype, variable_list, partitions):
        self._name, self._shape, self._dtype = name, as_shape(shape), as_dtype(dtype)
        self._variables, self._partitions = list(variable_list), list(partitions)
        self._whole = None

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    shape = property(lambda self: self._shape)

    def get_shape(self):
        return self._shape

    def __iter__(self):
        """The parts."""
        return iter(self._variables)

    def __len__(self):
        return len(self._variables)

    def _axis(self):
        axes = [i for i, parts in enumerate(self._partitions) if parts > 1]
        return axes[0] if axes else 0

    def _partition_axes(self):
        return [self._axis()]

    def _get_variable_list(self):
        return list(self._variables)

    def _get_partitions(self):
        return self._partitions

    def as_tensor(self):
        """All parts, put together."""
        with name_scope(None) if executing_eagerly() else get_default_graph().name_scope(self._name + "/ConcatPartitions/"):
            if len(self._variables) == 1:
                return array.identity(self._variables[0])
            return array.concat([v.value() for v in self._variables], self._axis())

    def __tf_tensor__(self, dtype=None, name=None):
        return self.as_tensor()

    def _as_graph_element(self):
        return self.as_tensor()

    def assign(self, value, use_locking=False, name=None, read_value=True):
        sizes = [v.shape.as_list()[self._axis()] for v in self._variables]
        parts = array.split(convert_to_tensor(value, self._dtype), sizes, self._axis())
        done = [v.assign(p) for v, p in zip(self._variables, parts)]
        return done if read_value else [getattr(d, "op", d) for d in done]

    @property
    def initializer(self):
        from weir.compat.v1.graph_ops import group
        return group(*[v.initializer for v in self._variables])


def _operator(name):
    def call(self, *args):
        return getattr(self.as_tensor(), name)(*args)
    return call


for _name in ("add radd sub rsub mul rmul truediv rtruediv floordiv mod pow matmul rmatmul neg abs lt le gt ge getitem"
              ).split():
    setattr(PartitionedVariable, f"__{_name}__", _operator(f"__{_name}__"))
PartitionedVariable.__module__ = "tensorflow.python.ops.variables"


def _partitioned(store, name, shape, dtype, initializer, regularizer, reuse, trainable, collections, partitioner,
                 validate_shape, constraint):
    if isinstance(initializer, Tensor) and shape.rank is None:
        shape = initializer.shape
    if not shape.is_fully_defined():
        raise ValueError(f"Shape of a new partitioned variable ({name}) must be fully defined, but instead was {shape}.")
    if shape.rank == 0:
        return None
    found = store.partitioned.get(name)
    if found is not None and reuse:
        return found
    if found is not None:
        raise ValueError(f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or "
                         "reuse=tf.AUTO_REUSE in VarScope?")
    if reuse is True:
        raise ValueError(f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). Did you "
                         "mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?")
    parts = [int(p) for p in partitioner(shape=shape, dtype=dtype)]
    if len(parts) != shape.rank:
        raise ValueError(f"Partitioner returned a partition list that does not match the Variable's rank: {parts} vs. "
                         f"{shape}")
    if sum(p > 1 for p in parts) > 1:
        raise ValueError(f"Argument `partitioner` splits more than one dimension: {parts}")
    axis = next((i for i, p in enumerate(parts) if p > 1), 0)
    size, count = shape.as_list()[axis], parts[axis]
    lengths = [size // count + (1 if i < size % count else 0) for i in range(count)]
    variables, offset = [], 0
    for i, length in enumerate(lengths):
        part_shape, begin = shape.as_list(), [0] * shape.rank
        part_shape[axis], begin[axis] = length, offset
        init = initializer
        if isinstance(initializer, (Tensor, np.ndarray, list)):
            whole = convert_to_tensor(initializer, dtype)
            init = array.slice(whole, begin, part_shape)
        if init is None:
            init = _default_initializer(name, dtype)
        variable = _single(store, f"{name}/part_{i}", part_shape if callable(init) else None, dtype, init, regularizer,
                           reuse, trainable, collections, validate_shape, constraint,
                           _PartitionInfo(shape.as_list(), begin))
        variable._set_save_slice_info(Variable.SaveSliceInfo(name, shape.as_list(), begin, part_shape))
        variables.append(variable)
        offset += length
    made = PartitionedVariable(name, shape, dtype, variables, parts)
    store.partitioned[name] = made
    return made


def create_partitioned_variables(shape, slicing, initializer, dtype=dtypes.float32, trainable=True, collections=None,
                                 name=None, reuse=None):
    """Variables that are the parts of one."""
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        return _partitioned(_store(), get_variable_scope().name or "PartitionedVariable", as_shape(shape), as_dtype(dtype),
                            initializer, None, reuse, trainable, collections, lambda **_: slicing, True,
                            None)._get_variable_list()


class variable_scope:
    """`with variable_scope("layer") as scope:` variables and operations inside have names below this."""

    def __init__(self, name_or_scope, default_name=None, values=None, initializer=None, regularizer=None,
                 caching_device=None, partitioner=None, custom_getter=None, reuse=None, dtype=None, use_resource=None,
                 constraint=None, auxiliary_name_scope=True):
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse is False:  # the surrounding scope decides
            reuse = None
        if not (reuse is True or reuse is None or reuse is AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        self._target, self._default = name_or_scope, default_name
        self._given = {"initializer": initializer, "regularizer": regularizer, "caching_device": caching_device,
                       "partitioner": partitioner, "dtype": dtype, "use_resource": use_resource,
                       "constraint": constraint}
        self._getter, self._reuse, self._auxiliary = custom_getter, reuse, auxiliary_name_scope
        self._stack = []

    def __enter__(self):
        store = _store()
        before = store.scope
        contexts = contextlib.ExitStack()
        target = self._target
        graph = _core.current_graph()
        if target is None:  # a name that is not taken yet
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            base = f"{before.name}/{self._default}" if before.name else self._default
            name, count = base, 0
            while store.counts.get(name, 0):
                count += 1
                name = f"{base}_{count}"
            simple = self._default
        elif isinstance(target, VariableScope):
            name, simple = target.name, target.name.rsplit("/", 1)[-1]
        else:
            name = f"{before.name}/{target}" if before.name and target else (target or before.name)
            simple = target
        scope_name = before.original_name_scope
        if self._auxiliary and simple:
            scope_name = contexts.enter_context(name_scope(simple))
        elif graph is not None and not self._auxiliary:
            scope_name = graph.get_name_scope() + "/" if graph.get_name_scope() else ""
        parent = target if isinstance(target, VariableScope) else before
        made = VariableScope(
            self._reuse or (target.reuse if isinstance(target, VariableScope) else None) or before.reuse, name=name,
            initializer=parent.initializer, regularizer=parent.regularizer, caching_device=parent.caching_device,
            partitioner=parent.partitioner, custom_getter=parent.custom_getter, dtype=parent.dtype,
            use_resource=parent.use_resource, constraint=parent.constraint,
            name_scope=target.original_name_scope if isinstance(target, VariableScope) else scope_name)
        for key, value in self._given.items():
            if value is not None:
                setattr(made, "_" + key, as_dtype(value) if key == "dtype" else value)
        if self._getter is not None:
            made._custom_getter = _chain(self._getter, parent.custom_getter)
        counts = dict(store.counts) if isinstance(target, VariableScope) else None
        store.open(name)
        store.scope = made
        self._stack.append((store, before, contexts, counts, name))
        return made

    def __exit__(self, *error):
        store, before, contexts, counts, name = self._stack.pop()
        store.close_below(name)
        if counts is not None:
            store.counts = counts
        store.scope = before
        contexts.__exit__(*error)
        return False

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def call(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return call


variable_scope.__module__ = "tensorflow.python.ops.variable_scope"


def _chain(new, old):
    if old is None:
        return new
    return lambda getter, *args, **kwargs: new(lambda *a, **k: old(getter, *a, **k), *args, **kwargs)


def variable_op_scope(values, name_or_scope, default_name=None, **kwargs):
    """An older name of variable_scope."""
    return variable_scope(name_or_scope, default_name, values, **kwargs)


def _to_tensor(value, dtype=None, name=None, as_ref=False):
    return value.as_tensor()


def _register():
    from weir.framework.conversion import register_tensor_conversion_function
    register_tensor_conversion_function(PartitionedVariable, _to_tensor)


_register()
