#include "weir/ops/math/kernel_shapes.h"

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"

namespace weir {

StatusOr<AxisSizes> ScanAxis(const KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  if (!ctx.input(1).shape().IsScalar()) {
    return InvalidArgument("ScanOp: axis must be a scalar, not ", ctx.input(1).shape().ToString());
  }
  WEIR_ASSIGN_OR_RETURN(int64_t given, IntScalar(ctx.input(1), "axis"));
  const int rank = x.rank();
  if (given < -rank || given >= rank) {
    return InvalidArgument("ScanOp: Expected scan axis in the range [", -rank, ", ", rank, "), but got ", given);
  }
  const int axis = static_cast<int>(given < 0 ? given + rank : given);
  return AxisSizes{x.shape().Slice(0, axis).num_elements(), x.dim(axis),
                   x.shape().Slice(axis + 1, rank).num_elements()};
}

StatusOr<AxisSizes> ArgExtremeAxis(const KernelContext& ctx, Shape& shape) {
  const Tensor& x = ctx.input(0);
  if (!ctx.input(1).shape().IsScalar()) {
    return InvalidArgument("dim must be a scalar, but received tensor of shape: ", ctx.input(1).shape().ToString());
  }
  WEIR_ASSIGN_OR_RETURN(int64_t given, IntScalar(ctx.input(1), "dimension"));
  const int rank = x.rank();
  if (given < -rank || given >= rank) {
    return InvalidArgument("Expected dimension in the range [", -rank, ", ", rank, "), but got ", given);
  }
  const int axis = static_cast<int>(given < 0 ? given + rank : given);
  if (x.dim(axis) == 0) {
    return InvalidArgument("Reduction axis ", given, " is empty in shape ", x.shape().ToString());
  }
  shape = x.shape();
  shape.RemoveDim(axis);
  return AxisSizes{x.shape().Slice(0, axis).num_elements(), x.dim(axis),
                   x.shape().Slice(axis + 1, rank).num_elements()};
}

Status CheckAddends(const KernelContext& ctx) {
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    if (!(ctx.input(0).shape() == ctx.input(i).shape())) {
      return InvalidArgument("Inputs to operation ", ctx.node_name(), " of type ", ctx.node().schema->name,
                             " must have the same size and shape.  Input 0: ", ctx.input(0).shape().ToString(),
                             " != input ", i, ": ", ctx.input(i).shape().ToString());
    }
  }
  return OkStatus();
}

StatusOr<Shape> SelectConditionShape(const Shape& c, const Shape& t, const Shape& e) {
  if (!(t == e)) {
    return InvalidArgument("'then' and 'else' must have the same size.  but received: ", t.ToString(), " vs. ",
                           e.ToString());
  }
  if (c == t || c.IsScalar()) return c;
  if (!c.IsVector()) {
    return InvalidArgument("'cond' must be a vector, but saw shape: ", c.ToString());
  }
  if (t.rank() < 1) return InvalidArgument("'then' must be at least a vector, but saw shape: ", t.ToString());
  if (t.dim(0) != c.dim(0)) {
    return InvalidArgument("Number of batches of 'then' must match size of 'cond', but saw: ", t.dim(0), " vs. ",
                           c.dim(0));
  }
  Shape rows = c;
  while (rows.rank() < t.rank()) WEIR_RETURN_IF_ERROR(rows.AddDim(1));
  return rows;
}

Status CheckCross(const Shape& a, const Shape& b) {
  if (!(a == b)) {
    return InvalidArgument("Both inputs must be of same shape: ", a.ToString(), " vs. ", b.ToString());
  }
  if (a.rank() < 1) return InvalidArgument("Input must be at least 1D", a.ToString());
  if (a.dim(a.rank() - 1) != 3) {
    return FailedPrecondition("Cross-products are only defined for 3-element vectors.");
  }
  return OkStatus();
}

StatusOr<BincountSizes> CheckBincount(const KernelContext& ctx, bool flat) {
  const Tensor &x = ctx.input(0), &weights = ctx.input(2);
  if (!ctx.input(1).shape().IsScalar()) {
    return InvalidArgument("Shape must be rank 0 but is rank ", ctx.input(1).rank());
  }
  WEIR_ASSIGN_OR_RETURN(Dims sizes, IntElements(ctx.input(1), "size"));
  const int64_t size = sizes[0];
  if (size < 0) return InvalidArgument("size (", size, ") must be non-negative");
  if (!flat && x.rank() > 2) return InvalidArgument("Shape must be at most rank 2 but is rank ", x.rank());
  if (weights.num_elements() > 0 && !(weights.shape() == x.shape())) {
    return InvalidArgument(
        "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts "
        "as all weights equal to 1. Received ",
        weights.shape().ToString());
  }
  BincountSizes out;
  const bool has_rows = !flat && x.rank() == 2;
  out.size = size;
  out.rows = has_rows ? x.dim(0) : 1;
  out.width = has_rows ? x.dim(1) : x.num_elements();
  WEIR_ASSIGN_OR_RETURN(out.shape, has_rows ? Shape::Make(Dims{out.rows, size}) : Shape::Make(Dims{size}));
  return out;
}

StatusOr<HistogramSizes> CheckHistogram(const KernelContext& ctx) {
  const Tensor& range = ctx.input(1);
  if (!range.shape().IsVector() || range.num_elements() != 2) {
    return InvalidArgument("value_range should be a vector of 2 elements.");
  }
  if (!ctx.input(2).shape().IsScalar()) return InvalidArgument("nbins should be a scalar.");
  WEIR_ASSIGN_OR_RETURN(int64_t bins, IntScalar(ctx.input(2), "nbins"));
  if (bins <= 0) return InvalidArgument("nbins should be a positive number, but got '", bins, "'");
  HistogramSizes out;
  out.bins = bins;
  DispatchDType(range.dtype(), RealTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    out.low = static_cast<double>(Widen(range.data<T>()[0]));
    out.high = static_cast<double>(Widen(range.data<T>()[1]));
  });
  if (!(out.low < out.high)) {
    return InvalidArgument("value_range should satisfy value_range[0] < value_range[1], but got '[", out.low, ", ",
                           out.high, "]'");
  }
  return out;
}

}  // namespace weir
