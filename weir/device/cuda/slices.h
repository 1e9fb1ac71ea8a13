// Gathering and updating slices of a tensor that an index tensor names, on a GPU.
#ifndef WEIR_DEVICE_CUDA_SLICES_H_
#define WEIR_DEVICE_CUDA_SLICES_H_

#include <span>
#include <string_view>

#include "weir/device/cuda/launch.h"

namespace weir::cuda {

// out[b, o, i, :] = params[b, o, indices[b, i], :], of `inner` elements.
struct GatherSizes {
  int64_t batches = 1, outer = 1, limit = 0, inner = 1, count = 0;
};
// A bad index gives zeros, and fails the step with `bad_index` unless that is OK.
Status GatherRows(const KernelContext& ctx, const GatherSizes& sizes, const Tensor& params, const Tensor& indices,
                  const Status& bad_index, const Tensor& out);
// Each row of `indices` (all but its last dimension count rows) names a slice of `params` by its leading dimensions.
Status GatherSlices(const KernelContext& ctx, const Tensor& params, const Tensor& indices, const Status& bad_index,
                    const Tensor& out);

// What SliceUpdate does to a slice with each update of it.
struct SliceUpdate {
  std::string_view operation;       // "Assign", "AddV2", "Sub", "Mul", "RealDiv", "KeepLower", "Maximum", ...
  std::span<const int64_t> limits;  // of the numbers in a row of indices; their product is the number of slices
  int64_t rows = 0;                 // of indices
  int64_t slice_size = 1;           // elements
  Status bad_index;                 // the step's error for an index out of range; OK: such updates are left out
  bool skips_negative = false;      // negative indices are no error
  bool is_scalar = false;           // one number is the update of every element
  DType target = DType::kInvalid;   // if it is not the updates'
};
// Updates slices of `target`. Assignments, and all updates of a deterministic step, are made in the order of the rows.
Status UpdateSlices(KernelContext& ctx, const SliceUpdate& update, const Tensor& indices, const Tensor& updates,
                    DeviceAddress target);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_SLICES_H_
