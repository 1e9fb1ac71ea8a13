// Shapes of math operations, checked alike on all devices.
#ifndef WEIR_OPS_MATH_KERNEL_SHAPES_H_
#define WEIR_OPS_MATH_KERNEL_SHAPES_H_

#include "weir/framework/kernel.h"

namespace weir {

// A tensor as [outer, n, inner], of which the axis n is worked along.
struct AxisSizes {
  int64_t outer = 1, n = 1, inner = 1;
};

// Of Cumsum and its like; the axis is in the host's memory.
StatusOr<AxisSizes> ScanAxis(const KernelContext& ctx);

// Of ArgMax and ArgMin; `shape` is the output's.
StatusOr<AxisSizes> ArgExtremeAxis(const KernelContext& ctx, Shape& shape);

// AddN: all inputs are of one shape.
Status CheckAddends(const KernelContext& ctx);

// Select: the condition's shape as it broadcasts to that of the values.
StatusOr<Shape> SelectConditionShape(const Shape& condition, const Shape& then_shape, const Shape& else_shape);

Status CheckCross(const Shape& a, const Shape& b);

// Bincount (`flat`) and DenseBincount: rows of `width` values, each counted in `size` bins, which are in the host's
// memory.
struct BincountSizes {
  Shape shape;  // of the output
  int64_t rows = 1, width = 0, size = 0;
};
StatusOr<BincountSizes> CheckBincount(const KernelContext& ctx, bool flat);

// HistogramFixedWidth; range and number of bins are in the host's memory.
struct HistogramSizes {
  int64_t bins = 0;
  double low = 0, high = 0;
};
StatusOr<HistogramSizes> CheckHistogram(const KernelContext& ctx);

}  // namespace weir

#endif  // WEIR_OPS_MATH_KERNEL_SHAPES_H_
