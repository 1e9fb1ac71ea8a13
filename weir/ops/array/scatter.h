// What ScatterNd and TensorScatter* check on all devices.
#ifndef WEIR_OPS_ARRAY_SCATTER_H_
#define WEIR_OPS_ARRAY_SCATTER_H_

#include "weir/framework/kernel.h"

namespace weir {

// By the attribute bad_indices_policy.
StatusOr<bool> IgnoresBadIndices(const KernelInit& init);

// The shape of ScatterNd's output, which is in the host's memory. The other inputs fit it.
StatusOr<Shape> ScatterNdShape(const KernelContext& ctx);

Status CheckTensorScatter(const Shape& shape, const Tensor& indices, const Tensor& updates);

}  // namespace weir

#endif  // WEIR_OPS_ARRAY_SCATTER_H_
