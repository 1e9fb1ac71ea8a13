// Sizes of gathers, with the checks that all devices make.
#ifndef WEIR_OPS_ARRAY_GATHER_H_
#define WEIR_OPS_ARRAY_GATHER_H_

#include "weir/framework/kernel.h"

namespace weir {

// out[b, o, i, :] = params[b, o, indices[b, i], :], of `inner` elements.
struct GatherPlan {
  Shape shape;  // of the output
  int64_t batches, outer, limit, inner, count;
};
// Of Gather and GatherV2: params, indices and, in the host's memory, the axis.
StatusOr<GatherPlan> PlanGather(const KernelContext& ctx, int64_t batch_dims);

// The shape of GatherNd's output.
StatusOr<Shape> GatherNdShape(const Shape& params, const Shape& indices);

}  // namespace weir

#endif  // WEIR_OPS_ARRAY_GATHER_H_
