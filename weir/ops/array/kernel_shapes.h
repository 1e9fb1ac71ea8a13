// Shapes of array operations, checked alike on all devices.
#ifndef WEIR_OPS_ARRAY_KERNEL_SHAPES_H_
#define WEIR_OPS_ARRAY_KERNEL_SHAPES_H_

#include "weir/device/cpu/strided_copy.h"
#include "weir/framework/kernel.h"

namespace weir {

// OneHot; the depth is in the host's memory.
struct OneHotSizes {
  Shape shape;  // of the output: [prefix, depth, suffix]
  int64_t depth = 0, suffix = 1;
};
StatusOr<OneHotSizes> CheckOneHot(const KernelContext& ctx, int64_t axis);

// MatrixBandPart: how many diagonals below and above the main one stay, negative for all. In the host's memory.
struct BandLimits {
  int64_t lower = 0, upper = 0;
};
StatusOr<BandLimits> CheckBandPart(const KernelContext& ctx);

// MirrorPad and its gradient; paddings are in the host's memory. `skip` is 1 if the border is not repeated.
struct MirrorSizes {
  Shape padded, inner;
  Dims before;  // padding in front of each dimension
};
StatusOr<MirrorSizes> CheckMirrorPad(const KernelContext& ctx, int64_t skip);
StatusOr<MirrorSizes> CheckMirrorPadGrad(const KernelContext& ctx, int64_t skip);

Status CheckBound(const Shape& sorted, const Shape& values);

// InplaceUpdate, InplaceAdd, InplaceSub.
Status CheckInplace(const Shape& x, const Shape& i, const Shape& v);

// DynamicPartition.
Status CheckPartitions(const Shape& data, const Shape& partitions);

// DynamicStitch: the shape of a row, and the number of rows by the indices, which are in the host's memory.
struct StitchSizes {
  Shape row;
  int64_t rows = 0;
  std::vector<Dims> indices;
};
StatusOr<StitchSizes> CheckStitch(const KernelContext& ctx);

// "Inf and NaN": what CheckNumerics found; `is_signed` tells the infinities apart. REQUIRES: one of them.
std::string DescribeNumerics(bool nan, bool low, bool high, bool is_signed);

}  // namespace weir

#endif  // WEIR_OPS_ARRAY_KERNEL_SHAPES_H_
