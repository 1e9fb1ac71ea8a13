// What gathers from a resource variable check on all devices.
#ifndef WEIR_OPS_STATE_VARIABLE_GATHER_H_
#define WEIR_OPS_STATE_VARIABLE_GATHER_H_

#include "weir/framework/kernel.h"

namespace weir::state {

// The value of the variable in input 0, which later updates do not change.
StatusOr<Tensor> ReadForGather(KernelContext& ctx, DType dtype);

// ResourceGather's number of batch dimensions, at least 0.
StatusOr<int> GatherBatchDims(const Shape& params, const Shape& indices, int64_t given);

// Of ResourceGatherNd.
Status CheckGatherSlices(const Shape& params, const Shape& indices);

}  // namespace weir::state

#endif  // WEIR_OPS_STATE_VARIABLE_GATHER_H_
