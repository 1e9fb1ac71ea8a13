// Running sums on a GPU.
#ifndef WEIR_DEVICE_CUDA_SCAN_H_
#define WEIR_DEVICE_CUDA_SCAN_H_

#include <string_view>

#include "weir/device/cuda/launch.h"

namespace weir::cuda {

// `operation` is a struct of device_code/scan.cuh: "ScanSum", "ScanProd", "ScanLogSumExp".
struct ScanOptions {
  std::string_view operation = "ScanSum";
  bool exclusive = false, reverse = false;
};

// Scans each of outer * inner lines of `length` elements that are `inner` apart. `out` may be `in`. The order of sums
// depends on the sizes alone.
Status ScanLines(KernelContext& ctx, const ScanOptions& options, DType dtype, int64_t outer, int64_t length,
                 int64_t inner, DeviceAddress in, DeviceAddress out);

// out[i] = in[0] + ... + in[i - 1]: counts become places. With one zero more at the end, the last place is the total.
inline Status ExclusiveSum(KernelContext& ctx, const Tensor& in, const Tensor& out) {
  return ScanLines(ctx, {.exclusive = true}, in.dtype(), 1, in.num_elements(), 1, Address(in), Address(out));
}

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_SCAN_H_
