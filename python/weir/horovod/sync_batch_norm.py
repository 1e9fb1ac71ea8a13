"""Batch normalization over the batches of all processes together."""

import keras

from weir.horovod.collectives import Sum, grouped_allreduce
from weir.horovod.process import is_initialized, size

__all__ = ["SyncBatchNormalization"]


@keras.saving.register_keras_serializable("weir.horovod")
class SyncBatchNormalization(keras.layers.BatchNormalization):
    """keras.layers.BatchNormalization with the mean and variance of all processes' examples."""

    def __init__(self, fused=False, **kwargs):
        if fused:
            raise ValueError("SyncBatchNormalization does not support fused=True.")
        super().__init__(**kwargs)

    def _moments(self, inputs, mask):
        import weir as tf
        if not is_initialized() or size() == 1 or not isinstance(inputs, tf.Tensor):
            return super()._moments(inputs, mask)
        weights = tf.ones_like(inputs)
        if mask is not None:
            weights = weights * tf.expand_dims(tf.cast(mask, inputs.dtype), -1)
        axes = list(self._reduction_axes)
        # Counts differ where processes have batches of different sizes.
        total, squares, count = grouped_allreduce(
            [tf.reduce_sum(v, axis=axes) for v in (inputs * weights, inputs * inputs * weights, weights)], op=Sum)
        mean = tf.math.divide_no_nan(total, count)
        return mean, tf.maximum(tf.math.divide_no_nan(squares, count) - mean * mean, 0.0)
