// Reductions on a GPU, for the reduction ops and for kernels that need sums on the way.
#ifndef WEIR_DEVICE_CUDA_REDUCTION_H_
#define WEIR_DEVICE_CUDA_REDUCTION_H_

#include <string_view>
#include <vector>

#include "weir/device/cuda/launch.h"

namespace weir::cuda {

// Reduces the axes of `in` that `reduced` marks into `out`, which has one element for each place along the other axes.
// `operation` is a template of ops/math/cuda/reduction.cu: "Sum", "Mean", "Max", ... The order of the sum depends on
// the shape alone, so results are the same in every run.
Status Reduce(KernelContext& ctx, std::string_view operation, const Tensor& in, const std::vector<bool>& reduced,
              const Tensor& out);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_REDUCTION_H_
