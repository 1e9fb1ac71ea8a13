"""Accumulators: gradients gathered from several workers, taken as a mean when there are enough."""

from weir.framework import as_dtype, convert_to_tensor, dtypes, raw_ops
from weir.framework.shapes import as_shape
from weir.ops import math
from weir.ops.indexed_slices import IndexedSlices

__all__ = ["AggregationMethod", "ConditionalAccumulatorBase", "ConditionalAccumulator", "SparseConditionalAccumulator"]


class AggregationMethod:
    """How gradients that meet are added; all give the same sums here."""
    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


class ConditionalAccumulatorBase:
    """What both kinds share."""

    def __init__(self, dtype, shape, accumulator_ref):
        self._dtype, self._shape, self._ref = as_dtype(dtype), as_shape(shape), accumulator_ref

    accumulator_ref = property(lambda self: self._ref)
    dtype = property(lambda self: self._dtype)
    name = property(lambda self: self._ref.op.name)


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Gathers dense gradients; those of old steps are dropped."""

    def __init__(self, dtype, shape=None, shared_name=None, name="conditional_accumulator", reduction_type="MEAN"):
        made = raw_ops.ResourceConditionalAccumulator(dtype=as_dtype(dtype), shape=as_shape(shape),
                                                      shared_name=shared_name or "", reduction_type=reduction_type,
                                                      name=name)
        super().__init__(dtype, shape, made)

    def apply_grad(self, grad, local_step=0, name=None):
        return raw_ops.ResourceAccumulatorApplyGradient(handle=self._ref, local_step=math.cast(local_step, dtypes.int64),
                                                        gradient=convert_to_tensor(grad, self._dtype), name=name)

    def take_grad(self, num_required, name=None):
        value = raw_ops.ResourceAccumulatorTakeGradient(handle=self._ref, num_required=num_required, dtype=self._dtype,
                                                        name=name)
        value.set_shape(self._shape)
        return value

    def num_accumulated(self, name=None):
        return raw_ops.ResourceAccumulatorNumAccumulated(handle=self._ref, name=name)

    def set_global_step(self, new_global_step, name=None):
        return raw_ops.ResourceAccumulatorSetGlobalStep(handle=self._ref, new_global_step=math.cast(
            new_global_step, dtypes.int64), name=name)


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Gathers gradients of some rows."""

    def __init__(self, dtype, shape=None, shared_name=None, name="sparse_conditional_accumulator",
                 reduction_type="MEAN"):
        made = raw_ops.SparseConditionalAccumulator(dtype=as_dtype(dtype), shape=as_shape(shape),
                                                    shared_name=shared_name or "", reduction_type=reduction_type, name=name)
        super().__init__(dtype, shape, made)

    def apply_indexed_slices_grad(self, grad, local_step=0, name=None):
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(self, grad_indices, grad_values, grad_shape=None, local_step=0, name=None):
        shape = [] if grad_shape is None else grad_shape
        return raw_ops.SparseAccumulatorApplyGradient(
            handle=self._ref, local_step=math.cast(local_step, dtypes.int64),
            gradient_indices=math.cast(grad_indices, dtypes.int64), gradient_values=grad_values,
            gradient_shape=math.cast(convert_to_tensor(shape, dtypes.int64 if grad_shape is None else None), dtypes.int64),
            has_known_shape=grad_shape is not None, name=name)

    def take_grad(self, num_required, name=None):
        return raw_ops.SparseAccumulatorTakeGradient(handle=self._ref, num_required=num_required, dtype=self._dtype,
                                                     name=name)

    def take_indexed_slices_grad(self, num_required, name=None):
        taken = self.take_grad(num_required, name)
        return IndexedSlices(indices=taken[0], values=taken[1], dense_shape=taken[2])

    def num_accumulated(self, name=None):
        return raw_ops.AccumulatorNumAccumulated(handle=self._ref, name=name)

    def set_global_step(self, new_global_step, name=None):
        return raw_ops.AccumulatorSetGlobalStep(handle=self._ref, new_global_step=math.cast(new_global_step, dtypes.int64),
                                                name=name)
