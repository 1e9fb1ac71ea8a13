// Reductions of rows by segment on a GPU.
#ifndef WEIR_DEVICE_CUDA_SEGMENTS_H_
#define WEIR_DEVICE_CUDA_SEGMENTS_H_

#include <string_view>

#include "weir/device/cuda/launch.h"

namespace weir::cuda {

// For ids that are to be read back and should not fall: an int64 vector of the last id, whether any is negative, and
// whether any is lower than the one before. REQUIRES: there are ids.
StatusOr<Tensor> CheckSegmentIds(KernelContext& ctx, const Tensor& ids);
// The error for such a report, in TensorFlow's words; OK if there is none.
Status SegmentIdError(const Tensor& report);

// Where each segment begins among ids that do not fall, and at last where all end: an int64 vector.
StatusOr<Tensor> SegmentBegins(KernelContext& ctx, const Tensor& ids, int64_t segments);

// Puts the rows of each segment together into a row of `out`, by an operation of device_code/segments.cuh. With `rows`
// the segments are runs of that vector, which names rows of `data`; those out of range are left out, and fail the step
// with `bad_row` unless that is OK. The order depends on the sizes alone.
Status ReduceSegments(KernelContext& ctx, std::string_view operation, const Tensor& data, const Tensor* rows,
                      const Tensor& begins, const Status& bad_row, const Tensor& out);

// Elements in another type: 16-bit floats and float.
Status ConvertElements(KernelContext& ctx, const Tensor& from, const Tensor& to);

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_SEGMENTS_H_
