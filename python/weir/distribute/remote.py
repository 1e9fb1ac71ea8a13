"""Tasks of a cluster as the coordinator sees them: servers that keep variables and run functions.

A variable of a parameter server is, in this process, a handle without a value. Functions that use it are traced as
always; when they run, at a server, the handle is replaced by that of the server's variable.
"""

import contextlib
import functools
import itertools
import socket
import threading
import weakref

from weir import _core
from weir.eager import tape as tapes
from weir.eager.tape import variable_accessed
from weir.framework.tensor import EagerTensor
from weir.variables import Variable

__all__ = ["RemoteTask", "RemoteVariable", "variable_of"]

_numbers = itertools.count()
_variables = weakref.WeakValueDictionary()  # by the id of their handles


_tables = weakref.WeakValueDictionary()  # those that tasks get copies of, by the copies' names


def keep_table(table, prefix):
    """Notes a table that tasks get copies of; the name for them, and for the table itself."""
    name = f"{prefix}/table/{next(_numbers)}"
    _tables[name] = table
    return name


def table_of(handle):
    """(name, table) of a captured handle, or None."""
    return next(((name, table) for name, table in list(_tables.items()) if table.resource_handle is handle), None)


def variable_of(handle):
    """The remote variable that a captured handle belongs to, or None."""
    found = _variables.get(id(handle))
    return found if found is not None and found._handle is handle else None


class RemoteTask:
    """A server. It gets graphs bit by bit, and runs parts of them. Thread-safe."""

    def __init__(self, job, task, address):
        import weir as tf
        from weir.framework import protos
        self.name = f"/job:{job}/replica:0/task:{task}"
        # Other workers are no concern of this one: it works without them.
        filters = ["/job:ps"] + ([f"/job:{job}/task:{task}"] if job != "ps" else [])
        self._config = protos.message("ConfigProto")(device_filters=filters).SerializeToString()
        self.target = address if "://" in address else "grpc://" + address
        self._lock = threading.RLock()
        self._graph, self._session, self._known = tf.Graph(), None, 0
        self._steps = {}  # what was built, by key
        self._handles, self._tables = {}, set()

    def run(self, key, build, feeds):
        """Runs what `build` adds to the graph: it gives the placeholders, in the order of `feeds`, and what to fetch.
        It is built once for each key."""
        with self._lock:
            if key not in self._steps:
                with self._graph.as_default(), self._graph.device(self.name):
                    self._steps[key] = build(self)
            inputs, fetches, targets = self._steps[key]
            if self._session is None:
                self._session = _core.Session(self.target, self._config)
            count = self._graph._num_nodes()
            if count > self._known:
                self._session.extend_from(self._graph, self._known)
                self._known = count
            session = self._session
        fed = {tensor.name: value for tensor, value in zip(inputs, feeds)}
        return session.run(fed, [t.name for t in fetches], [t.name for t in targets])

    def close(self):
        """Ends what runs here."""
        from weir.framework import errors
        session = self._session
        if session is not None:
            with contextlib.suppress(errors.OpError):  # the server may be gone
                session.close()

    def handle(self, variable):
        """The handle of a variable, for functions that run here. While the graph is built."""
        import weir as tf
        found = self._handles.get(variable.remote_name)
        if found is None:
            with self._graph.device(variable.task.name):
                found = tf.raw_ops.VarHandleOp(shared_name=variable.remote_name, container="", dtype=variable.dtype,
                                               shape=variable.shape)
            self._handles[variable.remote_name] = found
        return found

    def call(self, concrete, tensors):
        """The flat results of a traced function."""
        self.copy_tables()
        inputs, feeds, resources = [], [], {}
        for i, tensor in enumerate([*tensors, *concrete.captured_inputs]):
            if isinstance(tensor, RemoteResource):
                resources[i] = tensor
            elif tensor.dtype.name in ("resource", "variant"):
                variable, table = variable_of(tensor), table_of(tensor)
                if table is not None:
                    resources[i] = RemoteResource(table[0], functools.partial(_add_table, *table))
                    continue
                if variable is None:
                    raise ValueError(
                        f"The function {concrete._name} uses a variable, dataset iterator or table of this process, which "
                        f"{self.name} cannot reach. Make variables and tables inside the strategy's scope, and datasets "
                        "with create_per_worker_dataset")
                resources[i] = variable
            else:
                inputs.append((i, tensor.dtype))
                feeds.append(tensor)
        names = tuple((i, r.remote_name) for i, r in resources.items())

        def build(task):
            import weir as tf
            args, placeholders = {}, []
            for i, dtype in inputs:
                args[i] = tf.compat.v1.placeholder(dtype)
                placeholders.append(args[i])
            for i, resource in resources.items():
                args[i] = task.handle(resource) if isinstance(resource, RemoteVariable) else resource.handle(task)
            call = tf.raw_ops.StatefulPartitionedCall(args=[args[i] for i in range(len(args))], f=concrete._name,
                                                      Tout=[t.dtype for t in concrete.outputs])
            outputs = list(call) if isinstance(call, (list, tuple)) else [call] if concrete.outputs else []
            task._graph._concrete = getattr(task._graph, "_concrete", [])
            task._graph._concrete.append(concrete)  # lives as long as what calls it
            return placeholders, outputs, [] if outputs else [task._graph.get_operations()[-1]]
        return self.run(("function", concrete._name, names), build, feeds)

    def copy_tables(self):
        """Makes the tables here that this task has not got yet. Handles of tables inside datasets are constants with
        the tables' names."""
        from weir.framework import errors
        for name, table in list(_tables.items()):
            with self._lock:
                if name in self._tables:
                    continue
                self._tables.add(name)

            def build(task, name=name, table=table):
                import types
                handle = task._handles[name] = _add_table(name, table)
                filled = table._initializer.initialize(types.SimpleNamespace(resource_handle=handle))
                return [], [], [filled]
            try:
                self.run(("table", name), build, [])
            except errors.FailedPreconditionError:
                pass  # it is full: an earlier connection to this server has made it

    def is_alive(self, seconds=10.0):
        """Whether something listens at the server's address."""
        host, _, port = self.target.partition("://")[2].rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), seconds).close()
            return True
        except OSError:
            return False


def _add_table(name, table):
    from weir.framework import raw_ops
    return raw_ops.HashTableV2(container="localhost", shared_name=name, key_dtype=table.key_dtype,
                               value_dtype=table.value_dtype)


class RemoteResource:
    """A resource of a worker, such as an iterator: `handle(task)` adds the operation that finds it."""

    def __init__(self, remote_name, make):
        self.remote_name, self._make = remote_name, make

    def handle(self, task):
        found = task._handles.get(self.remote_name)
        if found is None:
            found = task._handles[self.remote_name] = self._make()
        return found


class RemoteVariable(Variable):
    """A variable that a parameter server keeps. Eager reads and updates are calls to the server."""

    def __init__(self, task, strategy, initial_value, **kwargs):
        import weir as tf
        self.task = task
        self._strategy = strategy
        self.remote_name = f"{strategy._prefix}/{next(_numbers)}"
        name, dtype = kwargs.pop("name", None), kwargs.pop("dtype", None)
        with tf.init_scope():
            value = tf.convert_to_tensor(initial_value() if callable(initial_value) else initial_value, dtype)
            if not isinstance(value, EagerTensor):
                raise ValueError("Variables of ParameterServerStrategy are made in eager code")
            kept = {key: kwargs[key] for key in ("trainable", "constraint", "synchronization", "aggregation") if
                    key in kwargs}
            shape = kwargs.get("shape")
            super().__init__(value, name=name, shape=shape, **kept)
            _variables[id(self._handle)] = self
            self._at_server("AssignVariableOp", value=value)
            raw = tf.raw_ops.DestroyResourceOp  # the handle here needs no value
            raw(resource=self._handle, ignore_lookup_error=True)

    distribute_strategy = property(lambda self: self._strategy)
    device = property(lambda self: self.task.name + "/device:CPU:0")

    def _is_here(self):
        """Whether a graph is being built, in which the variable is used as any other."""
        return _core.current_graph() is not None

    def _at_server(self, op, resource="resource", attrs=None, **tensors):
        import weir as tf
        values = [tf.convert_to_tensor(v) for v in tensors.values()]
        attrs = attrs or {}

        def build(task):
            inputs = {k: tf.compat.v1.placeholder(v.dtype) for k, v in zip(tensors, values)}
            made = getattr(tf.raw_ops, op)(**{resource: task.handle(self)}, **inputs, **attrs)
            is_tensor = isinstance(made, tf.Tensor)
            return list(inputs.values()), [made] if is_tensor else [], [] if is_tensor else [made]
        settings = tuple(sorted((k, str(v)) for k, v in attrs.items()))
        key = (op, self.remote_name, tuple(v.dtype.name for v in values), settings)
        out = self.task.run(key, build, values)
        return out[0] if out else None

    def _read(self):
        if self._is_here():
            return super()._read()
        if self._trainable:
            variable_accessed(self)
        value = self._at_server("ReadVariableOp", attrs={"dtype": self._dtype})
        if self._dtype.is_floating:
            _core.record([value], [self._handle], lambda gradient: [gradient])
        return value

    def _read_for_saving(self):
        return self._read()

    def _restore_from_tensors(self, restored_tensors):
        if self._is_here():
            return super()._restore_from_tensors(restored_tensors)
        return self._at_server("AssignVariableOp", value=restored_tensors["VARIABLE_VALUE"])

    def is_initialized(self, name=None):
        return super().is_initialized(name) if self._is_here() else self._at_server("VarIsInitializedOp")

    def sparse_read(self, indices, name=None):
        if self._is_here():
            return super().sparse_read(indices, name)
        if tapes._TAPES:
            import weir as tf
            return tf.gather(self._read(), indices)
        return self._at_server("ResourceGather", attrs={"dtype": self._dtype}, indices=indices)

    def gather_nd(self, indices, name=None):
        if self._is_here():
            return super().gather_nd(indices, name)
        if tapes._TAPES:
            import weir as tf
            return tf.gather_nd(self._read(), indices)
        return self._at_server("ResourceGatherNd", attrs={"dtype": self._dtype}, indices=indices)

    def _update(self, op, value):
        import weir as tf
        value = tf.convert_to_tensor(value, self._dtype)
        if op == "AssignVariableOp":
            self._check(value)
        self._at_server(op, value=value)
        return self

    def assign(self, value, use_locking=None, name=None, read_value=True):
        if self._is_here():
            return super().assign(value, use_locking, name, read_value)
        return self._update("AssignVariableOp", value)

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        if self._is_here():
            return super().assign_add(delta, use_locking, name, read_value)
        return self._update("AssignAddVariableOp", delta)

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        if self._is_here():
            return super().assign_sub(delta, use_locking, name, read_value)
        return self._update("AssignSubVariableOp", delta)

    def _scatter(self, op, sparse_delta, name):
        import weir as tf
        if self._is_here():
            return super()._scatter(op, sparse_delta, name)
        self._at_server(op.__name__, indices=sparse_delta.indices,
                        updates=tf.convert_to_tensor(sparse_delta.values, self._dtype))
        return self

    def scatter_nd_update(self, indices, updates, name=None):
        if self._is_here():
            return super().scatter_nd_update(indices, updates, name)
        self._at_server("ResourceScatterNdUpdate", resource="ref", indices=indices, updates=updates)
        return self

    def scatter_nd_add(self, indices, updates, name=None):
        if self._is_here():
            return super().scatter_nd_add(indices, updates, name)
        self._at_server("ResourceScatterNdAdd", resource="ref", indices=indices, updates=updates)
        return self

    def scatter_nd_sub(self, indices, updates, name=None):
        if self._is_here():
            return super().scatter_nd_sub(indices, updates, name)
        self._at_server("ResourceScatterNdSub", resource="ref", indices=indices, updates=updates)
        return self

    def __repr__(self):
        if self._is_here():
            return super().__repr__()
        from weir.framework.tensor import _numpy_text
        text = _numpy_text(self._read(), True)
        separator = "\n" if "\n" in text else ""
        return f"<tf.Variable '{self._handle_name}' shape={self._shape} dtype={self._dtype.name}, numpy={separator}{text}>"
