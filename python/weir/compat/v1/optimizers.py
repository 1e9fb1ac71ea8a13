"""tf.train.*Optimizer of compat.v1: gradients applied by operations of the graph, with slots as variables."""

import contextlib

from weir import _core
from weir.compat.v1 import scopes
from weir.compat.v1.graph_ops import group
from weir.compat.v1.ref_variable import is_reference, variable_ops
from weir.eager import tape as tapes
from weir.framework import convert_to_tensor, dtypes, raw_ops
from weir.framework.graph import GraphKeys, executing_eagerly, get_default_graph, name_scope
from weir.framework.tensor import Tensor
from weir.ops import array, math
from weir.ops.indexed_slices import IndexedSlices
from weir.trackable import Trackable
from weir.variables import Variable, VariableV1

__all__ = ["Optimizer", "GradientDescentOptimizer", "MomentumOptimizer", "AdagradOptimizer", "AdamOptimizer",
           "RMSPropOptimizer", "AdadeltaOptimizer", "FtrlOptimizer", "ProximalGradientDescentOptimizer",
           "ProximalAdagradOptimizer", "AdagradDAOptimizer"]


def create_slot(primary, value, name):
    """A variable that belongs to another: its name begins with the other's."""
    base = primary.op.name if not executing_eagerly() else primary._shared_name
    graph = _core.current_graph()
    with scopes.variable_scope(None, base + "/" + name, auxiliary_name_scope=False) as scope, \
            graph.colocate_with(primary.op) if graph is not None else contextlib.nullcontext():
        if executing_eagerly():
            return VariableV1(value, trainable=False, name=scope.name)
        store = scopes._store()
        with graph.name_scope(None), graph.control_dependencies(None):
            slot = store.variables[scope.name] = VariableV1(value, trainable=False, name=scope.name,
                                                            use_resource=not is_reference(primary))
    info = primary._get_save_slice_info()
    if info is not None:
        own = slot.name[len(base) + 1:].split(":")[0]
        slot._set_save_slice_info(Variable.SaveSliceInfo(info.full_name + "/" + own, info.full_shape, info.var_offset,
                                                         info.var_shape))
    return slot


def _is_initialized(graph, variable):
    return graph is None or variable.graph is graph


def _flatten(variables):
    out = []
    for variable in variables:
        out.extend(variable._get_variable_list() if isinstance(variable, scopes.PartitionedVariable) else [variable])
    return out


class Optimizer(Trackable):
    """Computes gradients of a loss and changes variables by them."""

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking, name):
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        self._slots = {}  # slot's name -> {variable's id: slot}
        self._owners = []  # variables that have slots, kept alive
        self._non_slots = {}  # (name, graph) -> variable
        self._prepared = {}

    def get_name(self):
        return self._name

    # Gradients.

    def minimize(self, loss, global_step=None, var_list=None, gate_gradients=1, aggregation_method=None,
                 colocate_gradients_with_ops=False, name=None, grad_loss=None):
        """One step: computes the gradients of `loss` and applies them."""
        pairs = self.compute_gradients(loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops,
                                       grad_loss)
        if not any(g is not None for g, _ in pairs):
            raise ValueError("No gradients provided for any variable, check your graph for ops that do not support "
                             f"gradients, between variables {[str(v) for _, v in pairs]} and loss {loss}.")
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(self, loss, var_list=None, gate_gradients=1, aggregation_method=None,
                          colocate_gradients_with_ops=False, grad_loss=None):
        """Pairs of gradient and variable; the gradient is None where the loss does not depend on the variable."""
        if callable(loss):
            with tapes.GradientTape() as tape:
                if var_list is not None:
                    tape.watch(_flatten(_list(var_list)))
                value = loss()
            variables = tape.watched_variables() if var_list is None else _flatten(_list(var_list))
            return list(zip(tape.gradient(value, list(variables), grad_loss), variables))
        if executing_eagerly():
            raise RuntimeError("`loss` passed to Optimizer.compute_gradients should be a function when eager execution is "
                               "enabled.")
        if gate_gradients not in (0, 1, 2):
            raise ValueError(f"gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                             f"Optimizer.GATE_GRAPH.  Not {gate_gradients}")
        if var_list is None:
            graph = get_default_graph()
            var_list = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
        variables = _flatten(_list(var_list))
        if not variables:
            raise ValueError("No variables to optimize.")
        gradients = tapes.gradients(loss, variables, grad_ys=grad_loss, gate_gradients=gate_gradients == 1)
        if gate_gradients == 2:
            from weir.compat.v1.graph_ops import tuple as tuple_
            given = [g for g in gradients if g is not None]
            gated = iter(tuple_(given))
            gradients = [None if g is None else next(gated) for g in gradients]
        return list(zip(gradients, variables))

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """The operation that changes the variables, and then counts `global_step` up."""
        pairs = [(g, v) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        with_gradients = [(g, v) for g, v in pairs if g is not None]
        if not with_gradients:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in pairs]}.")
        graph = _core.current_graph()
        with _outside_functions(graph):
            self._create_slots([v for _, v in with_gradients])
        with name_scope(name or self._name) as scope:
            self._prepare()
            updates = []
            for gradient, variable in with_gradients:
                short = "" if graph is None else "update_" + variable.op.name
                with name_scope(short or None) if graph is not None else contextlib.nullcontext(), \
                        graph.colocate_with(variable.op) if graph is not None else contextlib.nullcontext():
                    updates.append(self._update(gradient, variable))
            if graph is None:
                self._finish(updates, None)
                if global_step is not None:
                    global_step.assign_add(1)
                return None
            if global_step is None:
                done = self._finish(updates, scope.rstrip("/") if scope else None)
            else:
                finished = self._finish(updates, "update")
                with graph.control_dependencies([finished]), graph.colocate_with(getattr(global_step, "op", None)):
                    done = variable_ops.AssignAddVariableOp(resource=global_step.handle,
                                                       value=array.constant(1, global_step.dtype),
                                                       name=scope) if isinstance(global_step, Variable) else \
                        global_step.assign_add(1)
            done = done if not isinstance(done, Tensor) else done.op
        if not graph.building_function:
            collection = graph.get_collection_ref(GraphKeys.TRAIN_OP)
            if done not in collection:
                collection.append(done)
        return done

    def _update(self, gradient, variable):
        if isinstance(gradient, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            return self._apply_sparse_duplicate_indices(gradient, variable)
        done = self._apply_dense(convert_to_tensor(gradient, variable.dtype.base_dtype), variable)
        if variable.constraint is not None:
            graph = _core.current_graph()
            with graph.control_dependencies([done]) if graph is not None else contextlib.nullcontext():
                return variable.assign(variable.constraint(variable.read_value()), read_value=False)
        return done

    def _apply_sparse_duplicate_indices(self, gradient, variable):
        values, indices = _sum_equal_indices(gradient.values, gradient.indices)
        return self._apply_sparse(values, indices, variable)

    # Slots.

    def _slot_key(self, variable):
        return (id(variable.graph) if not executing_eagerly() else 0,
                variable.op.name if not executing_eagerly() else variable._unique_id)

    def get_slot(self, var, name):
        """The slot of this name that belongs to a variable, or None."""
        slots = self._slots.get(name)
        if slots is None:
            return None
        if isinstance(var, scopes.PartitionedVariable):
            parts = [self.get_slot(v, name) for v in var._get_variable_list()]
            return scopes.PartitionedVariable(name, var.shape, parts[0].dtype, parts, var._get_partitions())
        return slots.get(self._slot_key(var))

    def get_slot_names(self):
        return sorted(self._slots)

    def variables(self):
        """The slots and other variables that the optimizer has made, by name."""
        graph = _core.current_graph()
        own = [v for slots in self._slots.values() for v in slots.values() if _is_initialized(graph, v)]
        own += [v for v in self._non_slots.values() if _is_initialized(graph, v)]
        return sorted(own, key=lambda v: v.name)

    def _slot(self, variable, value, slot_name, op_name):
        slots = self._slots.setdefault(slot_name, {})
        key = self._slot_key(variable)
        if key not in slots:
            slots[key] = create_slot(variable, value, op_name)
            self._owners.append(variable)
        return slots[key]

    def _zeros_slot(self, variable, slot_name, op_name):
        return self._slot(variable, lambda: array.zeros(variable.shape, variable.dtype.base_dtype), slot_name, op_name)

    def _filled_slot(self, variable, number, slot_name, op_name):
        return self._slot(variable, lambda: array.fill(
            variable.shape.as_list(), array.constant(number, variable.dtype.base_dtype)), slot_name, op_name)

    def _create_non_slot_variable(self, initial_value, name, colocate_with):
        graph = _core.current_graph()
        key = (name, id(graph))
        if key not in self._non_slots:
            with graph.colocate_with(colocate_with.op) if graph is not None else contextlib.nullcontext():
                self._non_slots[key] = VariableV1(initial_value, name=name, trainable=False,
                                                  use_resource=not is_reference(colocate_with))
        return self._non_slots[key]

    def _get_non_slot_variable(self, name, graph=None):
        return self._non_slots.get((name, id(graph if graph is not None else _core.current_graph())))

    def _trackable_children(self, save_type="checkpoint", **kwargs):
        return {name: v for (name, _), v in self._non_slots.items()}

    # What kinds of optimizers fill in.

    def _create_slots(self, var_list):
        pass

    def _prepare(self):
        pass

    def _apply_dense(self, grad, var):
        raise NotImplementedError()

    def _apply_sparse(self, values, indices, var):
        raise NotImplementedError()

    def _resource_apply_dense(self, grad, handle):
        return self._apply_dense(grad, handle)

    def _finish(self, update_ops, name_scope_):
        return group(*update_ops, name=name_scope_ + "/" if name_scope_ and not name_scope_ == "update" else name_scope_)

    @staticmethod
    def _number(value, variable, name):
        if callable(value):
            value = value()
        if isinstance(value, Tensor) or hasattr(value, "handle"):
            return math.cast(convert_to_tensor(value), variable.dtype.base_dtype)
        value = convert_to_tensor(value, dtypes.float32, name=name)
        return value if variable.dtype.base_dtype == dtypes.float32 else math.cast(value, variable.dtype.base_dtype)


Optimizer.__module__ = "tensorflow.python.training.optimizer"


@contextlib.contextmanager
def _outside_functions(graph):
    from weir.framework.graph import init_scope
    if graph is not None and graph.building_function:
        with init_scope():
            yield
    else:
        yield


def _list(value):
    if isinstance(value, (list, tuple)):
        return list(value)
    return [value] if hasattr(value, "handle") or isinstance(value, scopes.PartitionedVariable) else list(value)


def _sum_equal_indices(values, indices):
    unique = raw_ops.Unique(x=indices, out_idx=dtypes.int32)
    summed = raw_ops.UnsortedSegmentSum(data=values, segment_ids=unique[1], num_segments=array.shape(unique[0])[0])
    return summed, unique[0]


class GradientDescentOptimizer(Optimizer):
    """The variable less the gradient times the learning rate."""

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _apply_dense(self, grad, var):
        return variable_ops.ResourceApplyGradientDescent(var=var.handle, alpha=self._number(self._learning_rate, var,
                                                                                      "learning_rate"),
                                                    delta=grad, use_locking=self._use_locking)

    def _apply_sparse_duplicate_indices(self, gradient, variable):
        rate = self._number(self._learning_rate, variable, "learning_rate")
        return variable_ops.ResourceScatterAdd(resource=variable.handle, indices=gradient.indices,
                                          updates=-gradient.values * rate)


class MomentumOptimizer(Optimizer):
    """Gradients add up in a slot that decays by `momentum`."""

    def __init__(self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False):
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum, self._use_nesterov = learning_rate, momentum, use_nesterov

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "momentum", self._name)

    def _arguments(self, var):
        return {"var": var.handle, "accum": self.get_slot(var, "momentum").handle,
                "lr": self._number(self._learning_rate, var, "learning_rate"),
                "momentum": self._number(self._momentum, var, "momentum"), "use_locking": self._use_locking,
                "use_nesterov": self._use_nesterov}

    def _apply_dense(self, grad, var):
        return variable_ops.ResourceApplyMomentum(grad=grad, **self._arguments(var))

    def _apply_sparse(self, values, indices, var):
        return variable_ops.ResourceSparseApplyMomentum(grad=values, indices=indices, **self._arguments(var))


class AdagradOptimizer(Optimizer):
    """Divides by the root of the sum of squared gradients."""

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"):
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial_accumulator_value

    def _create_slots(self, var_list):
        for variable in var_list:
            self._filled_slot(variable, self._initial, "accumulator", self._name)

    def _arguments(self, var):
        return {"var": var.handle, "accum": self.get_slot(var, "accumulator").handle,
                "lr": self._number(self._learning_rate, var, "learning_rate"), "use_locking": self._use_locking}

    def _apply_dense(self, grad, var):
        return variable_ops.ResourceApplyAdagrad(grad=grad, **self._arguments(var))

    def _apply_sparse(self, values, indices, var):
        return variable_ops.ResourceSparseApplyAdagrad(grad=values, indices=indices, **self._arguments(var))


class AdamOptimizer(Optimizer):
    """Means of gradients and of their squares, corrected for their beginning at zero."""

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Adam"):
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon

    def _get_beta_accumulators(self):
        return self._get_non_slot_variable("beta1_power"), self._get_non_slot_variable("beta2_power")

    def _powers(self):
        graph = _core.current_graph()
        while graph is not None and graph.building_function and (("beta1_power", id(graph)) not in self._non_slots):
            graph = graph.outer_graph
        return self._non_slots["beta1_power", id(graph)], self._non_slots["beta2_power", id(graph)]

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda v: v.name)
        beta1 = self._beta1() if callable(self._beta1) else self._beta1
        beta2 = self._beta2() if callable(self._beta2) else self._beta2
        self._create_non_slot_variable(beta1, "beta1_power", first)
        self._create_non_slot_variable(beta2, "beta2_power", first)
        for variable in var_list:
            self._zeros_slot(variable, "m", self._name)
            self._zeros_slot(variable, "v", self._name)

    def _apply_dense(self, grad, var):
        first, second = self._powers()
        return variable_ops.ResourceApplyAdam(
            var=var.handle, m=self.get_slot(var, "m").handle, v=self.get_slot(var, "v").handle,
            beta1_power=math.cast(first._read(), var.dtype.base_dtype),
            beta2_power=math.cast(second._read(), var.dtype.base_dtype),
            lr=self._number(self._lr, var, "learning_rate"), beta1=self._number(self._beta1, var, "beta1"),
            beta2=self._number(self._beta2, var, "beta2"), epsilon=self._number(self._epsilon, var, "epsilon"), grad=grad,
            use_locking=self._use_locking)

    def _apply_sparse(self, values, indices, var):
        first, second = (math.cast(p._read(), var.dtype.base_dtype) for p in self._powers())
        beta1, beta2 = self._number(self._beta1, var, "beta1"), self._number(self._beta2, var, "beta2")
        rate = self._number(self._lr, var, "learning_rate") * math.sqrt(1 - second) / (1 - first)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        after = _after(m.assign(m.value() * beta1, read_value=False))
        with after:
            m_done = variable_ops.ResourceScatterAdd(resource=m.handle, indices=indices, updates=values * (1 - beta1))
        with _after(v.assign(v.value() * beta2, read_value=False)):
            v_done = variable_ops.ResourceScatterAdd(resource=v.handle, indices=indices, updates=values * values * (1 - beta2))
        with _after(m_done, v_done):
            change = rate * m.value() / (math.sqrt(v.value()) + self._number(self._epsilon, var, "epsilon"))
            return group(var.assign_sub(change, read_value=False)) if _core.current_graph() is not None else \
                var.assign_sub(change, read_value=False)

    def _finish(self, update_ops, name_scope_):
        first, second = self._powers()
        graph = _core.current_graph()
        with _after(*update_ops):
            done = [first.assign(first.value() * self._number(self._beta1, first, "beta1"), read_value=False),
                    second.assign(second.value() * self._number(self._beta2, second, "beta2"), read_value=False)]
        return None if graph is None else super()._finish(list(update_ops) + done, name_scope_)


def _after(*operations):
    graph = _core.current_graph()
    if graph is None:
        return contextlib.nullcontext()
    return graph.control_dependencies(list(operations))


class RMSPropOptimizer(Optimizer):
    """Divides by the root of the decaying mean of squared gradients."""

    def __init__(self, learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False,
                 name="RMSProp"):
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum, self._epsilon = learning_rate, decay, momentum, epsilon
        self._centered = centered

    def _create_slots(self, var_list):
        for variable in var_list:
            self._filled_slot(variable, 1.0, "rms", self._name)
            if self._centered:
                self._zeros_slot(variable, "mg", self._name)
            self._zeros_slot(variable, "momentum", self._name)

    def _arguments(self, var):
        out = {"var": var.handle, "ms": self.get_slot(var, "rms").handle, "mom": self.get_slot(var, "momentum").handle,
               "lr": self._number(self._learning_rate, var, "learning_rate"),
               "rho": self._number(self._decay, var, "decay"), "momentum": self._number(self._momentum, var, "momentum"),
               "epsilon": self._number(self._epsilon, var, "epsilon"), "use_locking": self._use_locking}
        if self._centered:
            out["mg"] = self.get_slot(var, "mg").handle
        return out

    def _apply_dense(self, grad, var):
        op = variable_ops.ResourceApplyCenteredRMSProp if self._centered else variable_ops.ResourceApplyRMSProp
        return op(grad=grad, **self._arguments(var))

    def _apply_sparse(self, values, indices, var):
        op = variable_ops.ResourceSparseApplyCenteredRMSProp if self._centered else variable_ops.ResourceSparseApplyRMSProp
        return op(grad=values, indices=indices, **self._arguments(var))


class AdadeltaOptimizer(Optimizer):
    """Steps as long as earlier ones were, by decaying means of squares."""

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"):
        super().__init__(use_locking, name)
        self._lr, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "accum", self._name)
            self._zeros_slot(variable, "accum_update", self._name)

    def _arguments(self, var):
        return {"var": var.handle, "accum": self.get_slot(var, "accum").handle,
                "accum_update": self.get_slot(var, "accum_update").handle, "lr": self._number(self._lr, var, "lr"),
                "rho": self._number(self._rho, var, "rho"), "epsilon": self._number(self._epsilon, var, "epsilon"),
                "use_locking": self._use_locking}

    def _apply_dense(self, grad, var):
        return variable_ops.ResourceApplyAdadelta(grad=grad, **self._arguments(var))

    def _apply_sparse(self, values, indices, var):
        return variable_ops.ResourceSparseApplyAdadelta(grad=values, indices=indices, **self._arguments(var))


class FtrlOptimizer(Optimizer):
    """Follow the regularized leader: variables that matter little become zero."""

    def __init__(self, learning_rate, learning_rate_power=-0.5, initial_accumulator_value=0.1,
                 l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False, name="Ftrl",
                 accum_name=None, linear_name=None, l2_shrinkage_regularization_strength=0.0, beta=None):
        super().__init__(use_locking, name)
        if initial_accumulator_value < 0.0:
            raise ValueError(f"initial_accumulator_value {initial_accumulator_value} needs to be be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        self._learning_rate, self._power, self._initial = learning_rate, learning_rate_power, initial_accumulator_value
        self._l1, self._l2, self._shrinkage = (l1_regularization_strength, l2_regularization_strength,
                                               l2_shrinkage_regularization_strength)
        self._accum_name, self._linear_name, self._beta = accum_name, linear_name, 0.0 if beta is None else beta

    def _create_slots(self, var_list):
        for variable in var_list:
            self._filled_slot(variable, self._initial, "accum", self._accum_name or self._name)
            self._zeros_slot(variable, "linear", self._linear_name or self._name)

    def _arguments(self, var):
        rate = self._number(self._learning_rate, var, "learning_rate")
        out = {"var": var.handle, "accum": self.get_slot(var, "accum").handle,
               "linear": self.get_slot(var, "linear").handle, "lr": rate, "l1": self._number(self._l1, var, "l1"),
               "l2": self._number(self._l2, var, "l2") + self._number(self._beta, var, "beta") / (2.0 * rate),
               "lr_power": self._number(self._power, var, "lr_power"), "use_locking": self._use_locking}
        if self._shrinkage > 0.0:
            out["l2_shrinkage"] = self._number(self._shrinkage, var, "l2_shrinkage")
        return out

    def _apply_dense(self, grad, var):
        op = variable_ops.ResourceApplyFtrlV2 if self._shrinkage > 0.0 else variable_ops.ResourceApplyFtrl
        return op(grad=grad, **self._arguments(var))

    def _apply_sparse(self, values, indices, var):
        op = variable_ops.ResourceSparseApplyFtrlV2 if self._shrinkage > 0.0 else variable_ops.ResourceSparseApplyFtrl
        return op(grad=values, indices=indices, **self._arguments(var))


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent with exact steps for the penalties."""

    def __init__(self, learning_rate, l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False,
                 name="ProximalGradientDescent"):
        super().__init__(use_locking, name)
        self._learning_rate, self._l1, self._l2 = learning_rate, l1_regularization_strength, l2_regularization_strength

    def _arguments(self, var):
        return {"var": var.handle, "alpha": self._number(self._learning_rate, var, "learning_rate"),
                "l1": self._number(self._l1, var, "l1"), "l2": self._number(self._l2, var, "l2"),
                "use_locking": self._use_locking}

    def _apply_dense(self, grad, var):
        return variable_ops.ResourceApplyProximalGradientDescent(delta=grad, **self._arguments(var))

    def _apply_sparse(self, values, indices, var):
        return variable_ops.ResourceSparseApplyProximalGradientDescent(grad=values, indices=indices, **self._arguments(var))


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad with exact steps for the penalties."""

    def __init__(self, learning_rate, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, use_locking=False, name="ProximalAdagrad"):
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial = learning_rate, initial_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _create_slots(self, var_list):
        for variable in var_list:
            self._filled_slot(variable, self._initial, "accumulator", self._name)

    def _arguments(self, var):
        return {"var": var.handle, "accum": self.get_slot(var, "accumulator").handle,
                "lr": self._number(self._learning_rate, var, "learning_rate"), "l1": self._number(self._l1, var, "l1"),
                "l2": self._number(self._l2, var, "l2"), "use_locking": self._use_locking}

    def _apply_dense(self, grad, var):
        return variable_ops.ResourceApplyProximalAdagrad(grad=grad, **self._arguments(var))

    def _apply_sparse(self, values, indices, var):
        return variable_ops.ResourceSparseApplyProximalAdagrad(grad=values, indices=indices, **self._arguments(var))


class AdagradDAOptimizer(Optimizer):
    """Adagrad by dual averaging; `global_step` says how many steps there were."""

    def __init__(self, learning_rate, global_step, initial_gradient_squared_accumulator_value=0.1,
                 l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False, name="AdagradDA"):
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(f"initial_gradient_squared_accumulator_value must be positive: "
                             f"{initial_gradient_squared_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._global_step = learning_rate, global_step
        self._initial = initial_gradient_squared_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _create_slots(self, var_list):
        for variable in var_list:
            self._zeros_slot(variable, "gradient_accumulator", self._name)
            self._filled_slot(variable, self._initial, "gradient_squared_accumulator", self._name)

    def _arguments(self, var):
        return {"var": var.handle, "gradient_accumulator": self.get_slot(var, "gradient_accumulator").handle,
                "gradient_squared_accumulator": self.get_slot(var, "gradient_squared_accumulator").handle,
                "lr": self._number(self._learning_rate, var, "learning_rate"), "l1": self._number(self._l1, var, "l1"),
                "l2": self._number(self._l2, var, "l2"),
                "global_step": math.cast(convert_to_tensor(self._global_step), dtypes.int64) + 1,
                "use_locking": self._use_locking}

    def _apply_dense(self, grad, var):
        return variable_ops.ResourceApplyAdagradDA(grad=grad, **self._arguments(var))

    def _apply_sparse(self, values, indices, var):
        return variable_ops.ResourceSparseApplyAdagradDA(grad=values, indices=indices, **self._arguments(var))
