"""SyncReplicasOptimizer: gradients of several workers are gathered and applied together."""

from weir.compat.v1 import graph_ops
from weir.compat.v1.hooks import SessionRunHook
from weir.compat.v1.optimizers import Optimizer
from weir.compat.v1.queues import FIFOQueue, QueueRunner
from weir.framework import convert_to_tensor, dtypes, raw_ops
from weir.framework.graph import GraphKeys, get_default_graph, name_scope
from weir.ops import array, math
from weir.ops.indexed_slices import IndexedSlices
from weir.variables import VariableV1

__all__ = ["SyncReplicasOptimizer"]


class SyncReplicasOptimizer(Optimizer):
    """Workers put gradients into accumulators; the chief applies the mean of `replicas_to_aggregate` of them and hands
    each worker a token with the new step. Gradients of older steps are dropped."""

    def __init__(self, opt, replicas_to_aggregate, total_num_replicas=None, variable_averages=None,
                 variables_to_average=None, use_locking=False, name="sync_replicas"):
        super().__init__(use_locking, name)
        self._opt, self._replicas = opt, replicas_to_aggregate
        self._total = total_num_replicas if total_num_replicas is not None else replicas_to_aggregate
        self._tokens_per_step = max(self._total, replicas_to_aggregate)
        self._averages, self._to_average = variable_averages, variables_to_average
        self._applied = False
        self._accumulators = []
        self._global_step = None

    def compute_gradients(self, *args, **kwargs):
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """What a worker runs: hands in its gradients, then waits for the chief to have applied them."""
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        graph = get_default_graph()
        self._global_step = global_step
        with graph.colocate_with(global_step.op):
            self._local_step = VariableV1(convert_to_tensor(0, global_step.dtype), trainable=False, name="sync_rep_local_step",
                                          collections=[GraphKeys.LOCAL_VARIABLES])
        self.local_step_init_op = self._local_step.assign(global_step.read_value(), read_value=False)
        chief_ops = [self.local_step_init_op]
        self.ready_for_local_init_op = graph_ops.report_uninitialized_variables(graph_ops.global_variables())
        train_ops, averaged, variables = [], [], []
        with name_scope(self._name):
            for gradient, variable in grads_and_vars:
                variables.append(variable)
                with graph.device(variable.device or None) if variable.device else name_scope(None):
                    if gradient is None:
                        averaged.append(None)
                        continue
                    train_ops.append(self._hand_in(graph, gradient, variable))
                    averaged.append(self._taken(variable))
            pairs = list(zip(averaged, variables))
            with graph.device(global_step.device or None) if global_step.device else name_scope(None):
                update = self._opt.apply_gradients(pairs, global_step)
            with graph.device(global_step.device or None) if global_step.device else name_scope(None):
                self._token_queue = FIFOQueue(-1, [global_step.dtype.base_dtype], shapes=[()], name="sync_token_q",
                                              shared_name="sync_token_q")
                dummy = FIFOQueue(1, [dtypes.int32], shapes=[()], name="dummy_queue", shared_name="dummy_queue")
            with graph.control_dependencies(train_ops):
                token = self._token_queue.dequeue()
            train_op = self._local_step.assign(token)
            with graph.control_dependencies([update]):
                tokens = array.fill([self._tokens_per_step], global_step.read_value())
                sync = self._token_queue.enqueue_many((tokens,))
            if self._averages is not None:
                with graph.control_dependencies([sync]):
                    sync = self._averages.apply(self._to_average)
            self._runner = QueueRunner(dummy, [sync])
            for accumulator, _ in self._accumulators:
                with graph.colocate_with(accumulator.op):
                    chief_ops.append(raw_ops.ResourceAccumulatorSetGlobalStep(
                        handle=accumulator, new_global_step=math.cast(global_step.read_value(), dtypes.int64)))
            self.chief_init_op = graph_ops.group(*chief_ops)
            self._applied = True
            return train_op

    def _hand_in(self, graph, gradient, variable):
        name = variable.op.name + "/grad_accum"
        step = math.cast(self._local_step.read_value(), dtypes.int64)
        if isinstance(gradient, IndexedSlices):
            gradient = convert_to_tensor(gradient)  # one accumulator for both kinds
        handle = raw_ops.ResourceConditionalAccumulator(dtype=variable.dtype, shape=variable.shape, shared_name=name,
                                                        container="", reduction_type="MEAN")
        self._accumulators.append((handle, variable))
        return raw_ops.ResourceAccumulatorApplyGradient(handle=handle, local_step=step, gradient=gradient)

    def _taken(self, variable):
        handle = self._accumulators[-1][0]
        value = raw_ops.ResourceAccumulatorTakeGradient(handle=handle, num_required=self._replicas, dtype=variable.dtype)
        value.set_shape(variable.shape)
        return value

    def get_chief_queue_runner(self):
        """The threads of the chief, which apply gradients."""
        if not self._applied:
            raise ValueError("Should be called after apply_gradients().")
        return self._runner

    def get_init_tokens_op(self, num_tokens=-1):
        """Tokens with which the workers begin."""
        if not self._applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas - self._total
        if num_tokens == -1:
            num_tokens = self._replicas
        elif num_tokens < needed:
            raise ValueError(f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)")
        if num_tokens <= 0:
            return graph_ops.no_op(name="no_init_tokens")
        with get_default_graph().device(self._global_step.device or None) if self._global_step.device else name_scope(None):
            tokens = array.fill([num_tokens], self._global_step.read_value())
            return self._token_queue.enqueue_many((tokens,))

    def get_slot(self, *args, **kwargs):
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._opt.variables()

    def make_session_run_hook(self, is_chief, num_tokens=-1):
        """The hook that initializes steps and starts the chief's threads."""
        return _Hook(self, is_chief, num_tokens)


class _Hook(SessionRunHook):
    def __init__(self, optimizer, is_chief, num_tokens):
        self._optimizer, self._is_chief, self._num_tokens = optimizer, is_chief, num_tokens

    def begin(self):
        if not self._optimizer._applied:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        if self._is_chief:
            self._local_init = self._optimizer.chief_init_op
            self._ready = self._optimizer.ready_for_local_init_op
            self._runner = self._optimizer.get_chief_queue_runner()
            self._tokens = self._optimizer.get_init_tokens_op(self._num_tokens)
        else:
            self._local_init = self._optimizer.local_step_init_op
            self._ready = self._optimizer.ready_for_local_init_op
            self._runner = self._tokens = None

    def after_create_session(self, session, coord):
        missing = session.run(self._ready)
        if len(missing):
            raise RuntimeError(f"Init operations did not make model ready for local_init. Not initialized: {list(missing)}")
        session.run(self._local_init)
        if self._tokens is not None:
            session.run(self._tokens)
        if self._runner is not None:
            self._runner.create_threads(session, coord=coord, daemon=True, start=True)


SyncReplicasOptimizer.__module__ = "tensorflow.python.training.sync_replicas_optimizer"
