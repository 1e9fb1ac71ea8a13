"""Loss scales: losses multiplied so that gradients in half precision do not vanish, and an optimizer that uses one."""

import weir as tf
from weir.compat.v1.optimizers import Optimizer
from weir.framework.graph import executing_eagerly

__all__ = ["DynamicLossScale", "FixedLossScale", "LossScale", "MixedPrecisionLossScaleOptimizer",
           "disable_mixed_precision_graph_rewrite", "enable_mixed_precision_graph_rewrite"]


class LossScale:
    """A factor for losses; `update` is told the gradients, and says whether they are fit to be applied."""

    def __call__(self):
        raise NotImplementedError

    def update(self, grads):
        """(operation that changes the factor, whether the gradients may be applied)"""
        raise NotImplementedError

    def get_config(self):
        raise NotImplementedError

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class FixedLossScale(LossScale):
    """A factor that stays."""

    def __init__(self, loss_scale_value):
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError("loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._value = float(loss_scale_value)

    def __call__(self):
        return tf.convert_to_tensor(self._value)

    def update(self, grads):
        del grads
        return tf.no_op(), True

    def __repr__(self):
        return f"FixedLossScale({self._value})"

    def get_config(self):
        return {"loss_scale_value": self._value}


class DynamicLossScale(LossScale):
    """A factor that grows after `increment_period` steps with finite gradients, and shrinks after one without."""

    def __init__(self, initial_loss_scale=2 ** 15, increment_period=2000, multiplier=2.0):
        self._initial, self._period, self._multiplier = float(initial_loss_scale), int(increment_period), float(multiplier)
        make = lambda value, dtype, name: tf.compat.v1.Variable(  # noqa: E731
            value, trainable=False, dtype=dtype, name=name, use_resource=True)
        self._current = make(self._initial, tf.float32, "current_loss_scale")
        self._good_steps = make(0, tf.int64, "good_steps")

    initial_loss_scale = property(lambda self: self._initial)
    increment_period = property(lambda self: self._period)
    multiplier = property(lambda self: self._multiplier)

    def __call__(self):
        return tf.convert_to_tensor(self._current)

    def update(self, grads):
        finite = [tf.reduce_all(tf.math.is_finite(tf.convert_to_tensor(g))) for g in tf.nest.flatten(grads) if g is not None]
        all_finite = tf.reduce_all(tf.stack(finite)) if finite else tf.constant(True)
        larger, smaller = self._current * self._multiplier, tf.maximum(self._current / self._multiplier, 1.0)
        due = self._good_steps + 1 >= self._period
        grown = tf.where(due & tf.math.is_finite(larger), larger, tf.convert_to_tensor(self._current))
        scale = tf.where(all_finite, grown, smaller)
        steps = tf.where(all_finite & ~due, self._good_steps + 1, tf.zeros_like(self._good_steps))
        update = tf.group(self._current.assign(scale), self._good_steps.assign(steps))
        return update, all_finite

    def __repr__(self):
        if executing_eagerly():
            return (f"DynamicLossScale(current_loss_scale={self._current.numpy()}, num_good_steps={self._good_steps.numpy()}, "
                    f"initial_loss_scale={self._initial}, increment_period={self._period}, multiplier={self._multiplier})")
        return (f"DynamicLossScale(initial_loss_scale={self._initial}, increment_period={self._period}, "
                f"multiplier={self._multiplier})")

    def get_config(self):
        return {"initial_loss_scale": self._initial, "increment_period": self._period, "multiplier": self._multiplier}


def _loss_scale(given):
    if isinstance(given, (int, float)):
        return FixedLossScale(given)
    if given == "dynamic":
        return DynamicLossScale()
    if not isinstance(given, LossScale):
        raise ValueError(f"Could not interpret loss scale identifier: {given}")
    return given


class MixedPrecisionLossScaleOptimizer(Optimizer):
    """An optimizer around another: the loss is scaled, its gradients are not, and steps without finite ones are left out."""

    def __init__(self, opt, loss_scale):
        if not isinstance(opt, Optimizer):
            raise ValueError('"opt" must be an instance of Optimizer, but got: %s' % type(opt))
        super().__init__(opt._use_locking, opt.get_name())
        self._optimizer, self._loss_scale = opt, _loss_scale(loss_scale)

    def compute_gradients(self, loss, var_list=None, gate_gradients=1, aggregation_method=None,
                          colocate_gradients_with_ops=False, grad_loss=None):
        scale = self._loss_scale()
        scaled = (lambda: loss() * tf.cast(scale, loss().dtype)) if callable(loss) else loss * tf.cast(scale, loss.dtype)
        pairs = self._optimizer.compute_gradients(scaled, var_list, gate_gradients, aggregation_method,
                                                  colocate_gradients_with_ops, grad_loss)
        return [(None if g is None else self._unscaled(g, 1.0 / scale), v) for g, v in pairs]

    @staticmethod
    def _unscaled(gradient, factor):
        if isinstance(gradient, tf.IndexedSlices):
            return tf.IndexedSlices(gradient.values * tf.cast(factor, gradient.values.dtype), gradient.indices,
                                    gradient.dense_shape)
        return gradient * tf.cast(factor, gradient.dtype)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        pairs = list(grads_and_vars)
        update, fit = self._loss_scale.update([g for g, _ in pairs])

        def apply():
            done = self._optimizer.apply_gradients(pairs, global_step, name)
            return tf.no_op() if done is None else done
        if fit is True:
            return tf.group(apply(), *[] if update is None else [update])
        if executing_eagerly():
            return apply() if bool(fit) else None
        self._optimizer._create_slots([v for _, v in pairs])  # not inside the conditional
        self._optimizer._prepare()

        def applied():
            with tf.control_dependencies([apply()]):
                return tf.constant(True)
        return tf.group(tf.cond(fit, applied, lambda: tf.constant(False)), update)

    def variables(self):
        scale = [self._loss_scale._current, self._loss_scale._good_steps] if isinstance(
            self._loss_scale, DynamicLossScale) else []
        return scale + self._optimizer.variables()


def enable_mixed_precision_graph_rewrite(opt, loss_scale="dynamic"):
    """The optimizer with a loss scale; operations run in half precision where the device gains by it."""
    if isinstance(opt, MixedPrecisionLossScaleOptimizer):
        raise ValueError('"opt" must not already be an instance of a MixedPrecisionLossScaleOptimizer.')
    if not isinstance(opt, Optimizer):
        raise ValueError('"opt" must be an instance of a tf.train.Optimizer or a tf.keras.optimizers.Optimizer, but got: '
                         f"{opt}")
    tf.config.optimizer.set_experimental_options({"auto_mixed_precision": True})
    return MixedPrecisionLossScaleOptimizer(opt, loss_scale)


def disable_mixed_precision_graph_rewrite():
    """Operations run in their own precision again."""
    tf.config.optimizer.set_experimental_options({"auto_mixed_precision": False})


LossScale.__module__ = FixedLossScale.__module__ = DynamicLossScale.__module__ = "tensorflow.python.training.experimental.loss_scale"
