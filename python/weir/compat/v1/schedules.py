"""Learning rates that change with the global step (tf.train.exponential_decay and its kin), and moving averages."""

import math as _math

from weir import _core
from weir.compat.v1 import scopes
from weir.compat.v1.graph_ops import group
from weir.compat.v1.optimizers import create_slot
from weir.framework import convert_to_tensor, dtypes, raw_ops
from weir.framework.graph import GraphKeys, executing_eagerly, get_default_graph, name_scope
from weir.ops import array, control_flow, math
from weir.variables import Variable, VariableV1

__all__ = ["cosine_decay", "cosine_decay_restarts", "exponential_decay", "inverse_time_decay", "linear_cosine_decay",
           "natural_exp_decay", "noisy_linear_cosine_decay", "piecewise_constant", "piecewise_constant_decay",
           "polynomial_decay", "ExponentialMovingAverage"]


def _rate(name, compute):
    def now():
        with name_scope(name):
            return compute()
    return now if executing_eagerly() else now()


def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate * decay_rate ** (global_step / decay_steps)"""
    if global_step is None:
        raise ValueError("global_step is required for exponential_decay.")

    def compute():
        rate = convert_to_tensor(learning_rate)
        steps = math.cast(global_step, rate.dtype) / math.cast(decay_steps, rate.dtype)
        return rate * math.pow(math.cast(decay_rate, rate.dtype), math.floor(steps) if staircase else steps)
    return _rate(name or "ExponentialDecay", compute)


def natural_exp_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate * exp(-decay_rate * global_step / decay_steps)"""
    def compute():
        rate = convert_to_tensor(learning_rate)
        steps = math.cast(global_step, rate.dtype) / math.cast(decay_steps, rate.dtype)
        return rate * math.exp(-math.cast(decay_rate, rate.dtype) * (math.floor(steps) if staircase else steps))
    return _rate(name or "NaturalExpDecay", compute)


def inverse_time_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """learning_rate / (1 + decay_rate * global_step / decay_steps)"""
    def compute():
        rate = convert_to_tensor(learning_rate)
        steps = math.cast(global_step, rate.dtype) / math.cast(decay_steps, rate.dtype)
        return rate / (1 + math.cast(decay_rate, rate.dtype) * (math.floor(steps) if staircase else steps))
    return _rate(name or "InverseTimeDecay", compute)


def polynomial_decay(learning_rate, global_step, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False, name=None):
    """From learning_rate to end_learning_rate in decay_steps steps."""
    def compute():
        rate = convert_to_tensor(learning_rate)
        step, steps = math.cast(global_step, rate.dtype), math.cast(decay_steps, rate.dtype)
        if cycle:
            times = array.where(math.equal(step, 0), array.ones_like(step), math.ceil(step / steps))
            steps = steps * times
        else:
            step = raw_ops.Minimum(x=step, y=steps)
        end = math.cast(end_learning_rate, rate.dtype)
        return (rate - end) * math.pow(1 - step / steps, math.cast(power, rate.dtype)) + end
    return _rate(name or "PolynomialDecay", compute)


def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    """Half a wave of the cosine, from learning_rate to alpha times it."""
    def compute():
        rate = convert_to_tensor(learning_rate)
        steps = math.cast(decay_steps, rate.dtype)
        part = raw_ops.Minimum(x=math.cast(global_step, rate.dtype), y=steps) / steps
        return rate * ((1 - alpha) * 0.5 * (1.0 + raw_ops.Cos(x=part * _math.pi)) + alpha)
    return _rate(name or "CosineDecay", compute)


def cosine_decay_restarts(learning_rate, global_step, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name=None):
    """Waves of the cosine, each `t_mul` times as long and `m_mul` times as high as the one before."""
    def compute():
        rate = convert_to_tensor(learning_rate)
        done = math.cast(global_step, rate.dtype) / math.cast(first_decay_steps, rate.dtype)
        if t_mul == 1.0:
            wave = math.floor(done)
            part = done - wave
        else:
            wave = math.floor(raw_ops.Log(x=1.0 - done * (1.0 - t_mul)) / _math.log(t_mul))
            begin = (1.0 - math.pow(math.cast(t_mul, rate.dtype), wave)) / (1.0 - t_mul)
            part = (done - begin) / math.pow(math.cast(t_mul, rate.dtype), wave)
        height = math.pow(math.cast(m_mul, rate.dtype), wave)
        return rate * ((1 - alpha) * 0.5 * height * (1.0 + raw_ops.Cos(x=_math.pi * part)) + alpha)
    return _rate(name or "SGDRDecay", compute)


def linear_cosine_decay(learning_rate, global_step, decay_steps, num_periods=0.5, alpha=0.0, beta=0.001, name=None):
    def compute():
        rate = convert_to_tensor(learning_rate)
        steps = math.cast(decay_steps, rate.dtype)
        step = raw_ops.Minimum(x=math.cast(global_step, rate.dtype), y=steps)
        wave = 0.5 * (1.0 + raw_ops.Cos(x=_math.pi * (2.0 * num_periods * step / steps)))
        return rate * ((alpha + (steps - step) / steps) * wave + beta)
    return _rate(name or "LinearCosineDecay", compute)


def noisy_linear_cosine_decay(learning_rate, global_step, decay_steps, initial_variance=1.0, variance_decay=0.55,
                              num_periods=0.5, alpha=0.0, beta=0.001, name=None):
    def compute():
        from weir.ops import random
        rate = convert_to_tensor(learning_rate)
        steps = math.cast(decay_steps, rate.dtype)
        step = raw_ops.Minimum(x=math.cast(global_step, rate.dtype), y=steps)
        deviation = math.sqrt(initial_variance / math.pow(1.0 + step, variance_decay))
        linear = (steps - step) / steps + random.normal(array.shape(step), stddev=deviation)
        wave = 0.5 * (1.0 + raw_ops.Cos(x=_math.pi * (2.0 * num_periods * step / steps)))
        return rate * ((alpha + linear) * wave + beta)
    return _rate(name or "NoisyLinearCosineDecay", compute)


def piecewise_constant(x, boundaries, values, name=None):
    """values[0] up to the first boundary, values[1] up to the second, ..."""
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")

    def compute():
        step = convert_to_tensor(x)
        rates = [convert_to_tensor(v) for v in values]
        limits = [convert_to_tensor(b, step.dtype) for b in boundaries]
        pairs = [(step <= limits[0], lambda: rates[0]), (step > limits[-1], lambda: rates[-1])]
        for low, high, rate in zip(limits[:-1], limits[1:], rates[1:-1]):
            pairs.append(((step > low) & (step <= high), lambda rate=rate: rate))
        return control_flow.case(pairs, lambda: rates[0], exclusive=True)
    return _rate(name or "PiecewiseConstant", compute)


piecewise_constant_decay = piecewise_constant


class ExponentialMovingAverage:
    """Means of variables that forget: shadow = decay * shadow + (1 - decay) * value."""

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        self._decay, self._num_updates, self._zero_debias, self._name = decay, num_updates, zero_debias, name
        self._averages = {}
        self._kept = []

    name = property(lambda self: self._name)

    @staticmethod
    def _key(var):
        if isinstance(var, Variable):
            return ("v", var._unique_id)
        return ("t", id(var.graph), var.name)

    def apply(self, var_list=None):
        """The operation that brings the averages up to date; makes them at the first call."""
        graph = _core.current_graph()
        if var_list is None:
            var_list = get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)
        for var in var_list:
            if not var.dtype.base_dtype.is_floating and not var.dtype.is_complex:
                raise TypeError(f"The variables must be half, float, or double: {var.name}")
            key = self._key(var)
            if key in self._averages:
                continue
            self._kept.append(var)
            if isinstance(var, Variable):
                first = var.initial_value if graph is not None else var.read_value()
                if self._zero_debias:
                    first = array.zeros_like(first)
                average = create_slot(var, first, self._name)
                if graph is not None:
                    graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
            else:
                with scopes.variable_scope(None, var.op.name + "/" + self._name, auxiliary_name_scope=False) as scope, \
                        graph.name_scope(None):
                    average = VariableV1(array.zeros(var.shape, var.dtype), trainable=False, name=scope.name)
            self._averages[key] = average
        with name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, dtypes.float32)
            if self._num_updates is not None:
                count = math.cast(self._num_updates, dtypes.float32)
                decay = raw_ops.Minimum(x=decay, y=(1.0 + count) / (10.0 + count))
            updates = []
            for var in var_list:
                average = self._averages[self._key(var)]
                value = var.read_value() if isinstance(var, Variable) else var
                rest = math.cast(1.0 - decay, average.dtype)
                debias = self._zero_debias or not isinstance(var, Variable)
                if debias:
                    updates.append(_debiased(average, value, rest))
                else:
                    updates.append(average.assign_sub((average.value() - value) * rest, read_value=False))
            return group(*updates, name=scope) if graph is not None else None

    def average(self, var):
        """The variable that holds the average of `var`, or None."""
        return self._averages.get(self._key(var))

    def average_name(self, var):
        """The name of that variable in checkpoints."""
        found = self.average(var)
        if found is not None:
            return found.op.name if not executing_eagerly() else found._shared_name
        return (var.op.name if not executing_eagerly() else var._shared_name) + "/" + self._name

    def variables_to_restore(self, moving_avg_variables=None):
        """Names in checkpoints by which a Saver restores averages into the variables themselves."""
        graph = get_default_graph()
        if moving_avg_variables is None:
            moving_avg_variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES) + graph.get_collection(
                GraphKeys.MOVING_AVERAGE_VARIABLES)
        averaged = {id(v): v for v in moving_avg_variables}
        out = {self.average_name(v): v for v in averaged.values()}
        for var in graph.get_collection(GraphKeys.GLOBAL_VARIABLES):
            if id(var) not in averaged and var.op.name not in out:
                out[var.op.name] = var
        return out


def _debiased(average, value, rest):
    """Averages that begin at zero are divided by how much of them is known."""
    base = average.op.name if not executing_eagerly() else average._shared_name
    graph = _core.current_graph()
    with graph.name_scope(None) if graph is not None else name_scope(None):
        biased = VariableV1(array.zeros(average.shape, average.dtype), trainable=False, name=base + "/biased")
        steps = VariableV1(array.zeros([], average.dtype), trainable=False, name=base + "/local_step")
    change = (biased.value() - value) * rest
    first = biased.assign_sub(change, read_value=False)
    second = steps.assign_add(1.0, read_value=False)
    with graph.control_dependencies([first, second]) if graph is not None else name_scope(None):
        return average.assign(biased.value() / (1 - math.pow(1.0 - rest, steps.value())), read_value=False)
