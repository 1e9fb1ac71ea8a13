#include "weir/ops/array/kernel_shapes.h"

#include <algorithm>

#include "weir/device/cpu/index_input.h"
#include "weir/ops/array/paddings.h"

namespace weir {
namespace {

// Whether a tensor of shape `inner` can be mirrored so far.
Status CheckMirror(const Paddings& paddings, const Shape& inner, int64_t skip) {
  for (int d = 0; d < inner.rank(); ++d) {
    const auto [before, after] = paddings[d];
    if (before < 0 || after < 0) return InvalidArgument("paddings must be non-negative: ", before, " ", after);
    const int64_t most = inner.dim(d) - skip;
    if (before > most || after > most) {
      return InvalidArgument("paddings must be ", skip ? "less than" : "no greater than",
                             " the dimension size: ", before, ", ", after, skip ? " not less than " : " greater than ",
                             inner.dim(d));
    }
  }
  return OkStatus();
}

Shape RowShape(const KernelContext& ctx, int i, int count) {
  const Shape& data = ctx.input(count + i).shape();
  return data.Slice(std::min(ctx.input(i).rank(), data.rank()), data.rank());
}

}  // namespace

StatusOr<OneHotSizes> CheckOneHot(const KernelContext& ctx, int64_t given) {
  const Tensor &indices = ctx.input(0), &on = ctx.input(2), &off = ctx.input(3);
  const int rank = indices.rank();
  if (given != -1 && (given < 0 || given > rank)) {
    return InvalidArgument("Expected axis to be -1 or between [0, ", rank + 1, ").  But received: ", given);
  }
  if (!ctx.input(1).shape().IsScalar()) {
    return InvalidArgument("depth must be a scalar, but got: ", ctx.input(1).shape().ToString());
  }
  if (!on.shape().IsScalar()) return InvalidArgument("on_value must be a scalar, but got: ", on.shape().ToString());
  if (!off.shape().IsScalar()) return InvalidArgument("off_value must be a scalar, but got: ", off.shape().ToString());
  WEIR_ASSIGN_OR_RETURN(int64_t depth, IntScalar(ctx.input(1), "depth"));
  if (depth < 0) return InvalidArgument("depth must be non-negative, got: ", depth);
  const int axis = given == -1 ? rank : static_cast<int>(given);
  Shape shape = indices.shape();
  WEIR_RETURN_IF_ERROR(shape.InsertDim(axis, depth));
  return OneHotSizes{shape, depth, indices.shape().Slice(axis, rank).num_elements()};
}

StatusOr<BandLimits> CheckBandPart(const KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  if (x.rank() < 2) return InvalidArgument("input must be at least 2-dim, received shape: ", x.shape().ToString());
  const int64_t rows = x.dim(x.rank() - 2), columns = x.dim(x.rank() - 1);
  int64_t limits[2];
  for (int i = 0; i < 2; ++i) {
    const char* name = i == 0 ? "num_lower" : "num_upper";
    if (!ctx.input(1 + i).shape().IsScalar()) {
      return InvalidArgument(name, " must be scalar, got shape ", ctx.input(1 + i).shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(limits[i], IntScalar(ctx.input(1 + i), name));
    const int64_t most = i == 0 ? rows : columns;
    if (limits[i] > most) {
      return InvalidArgument(name, " must be negative or less or equal to number of ", i == 0 ? "rows" : "columns",
                             " (", most, ") got: ", limits[i]);
    }
  }
  return BandLimits{limits[0], limits[1]};
}

StatusOr<MirrorSizes> CheckMirrorPad(const KernelContext& ctx, int64_t skip) {
  MirrorSizes sizes;
  sizes.inner = ctx.input(0).shape();
  WEIR_ASSIGN_OR_RETURN(Paddings paddings, ReadPaddings(ctx.input(1), sizes.inner));
  WEIR_RETURN_IF_ERROR(CheckMirror(paddings, sizes.inner, skip));
  WEIR_ASSIGN_OR_RETURN(sizes.padded, PaddedShape(sizes.inner, paddings));
  for (const Padding& padding : paddings) sizes.before.push_back(padding.before);
  return sizes;
}

StatusOr<MirrorSizes> CheckMirrorPadGrad(const KernelContext& ctx, int64_t skip) {
  const Shape& x = ctx.input(0).shape();
  WEIR_ASSIGN_OR_RETURN(Paddings paddings, ReadPaddings(ctx.input(1), x));
  Dims dims;
  for (int d = 0; d < x.rank(); ++d) {
    const auto [before, after] = paddings[d];
    if (before < 0 || after < 0) return InvalidArgument("Paddings must be non-negative: ", before, ", ", after);
    if (before > x.dim(d) || after > x.dim(d) - before) {
      return InvalidArgument("paddings of dimension ", d, " are larger than the gradient: ", before, ", ", after);
    }
    dims.push_back(x.dim(d) - before - after);
  }
  WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
  WEIR_RETURN_IF_ERROR(CheckMirror(paddings, shape, skip));
  MirrorSizes sizes;
  sizes.padded = x;
  sizes.inner = shape;
  for (const Padding& padding : paddings) sizes.before.push_back(padding.before);
  return sizes;
}

Status CheckBound(const Shape& sorted, const Shape& values) {
  if (sorted.rank() != 2) return InvalidArgument("sorted input argument must be a matrix");
  if (values.rank() != 2) return InvalidArgument("values argument must be a matrix");
  if (sorted.dim(0) != values.dim(0)) {
    return InvalidArgument("Leading dim_size of both tensors must match.");
  }
  return OkStatus();
}

Status CheckInplace(const Shape& x, const Shape& i, const Shape& v) {
  if (x.rank() != v.rank() || x.rank() < 1) {
    return InvalidArgument("x and v shape doesn't match (ranks differ): ", x.ToString(), " vs. ", v.ToString());
  }
  if (!(x.Slice(1, x.rank()) == v.Slice(1, v.rank()))) {
    return InvalidArgument("x and v shape doesn't match at index 1: ", x.ToString(), " vs. ", v.ToString());
  }
  if (!i.IsVector() || i.dim(0) != v.dim(0)) {
    return InvalidArgument("i and x shape doesn't match at index 0: ", i.ToString(), " vs. ", v.ToString());
  }
  return OkStatus();
}

Status CheckPartitions(const Shape& data, const Shape& partitions) {
  const int outer = partitions.rank();
  if (data.rank() < outer || !(data.Slice(0, outer) == partitions)) {
    return InvalidArgument("data.shape must start with partitions.shape, got data.shape = ", data.ToString(),
                           ", partitions.shape = ", partitions.ToString());
  }
  return OkStatus();
}

StatusOr<StitchSizes> CheckStitch(const KernelContext& ctx) {
  const int count = ctx.num_inputs() / 2;
  int64_t rows = 0;
  std::vector<Dims> indices(count);
  const Shape first_row = RowShape(ctx, 0, count);
  for (int i = 0; i < count; ++i) {
    const Shape &index_shape = ctx.input(i).shape(), &data_shape = ctx.input(count + i).shape();
    if (data_shape.rank() < index_shape.rank() || !(data_shape.Slice(0, index_shape.rank()) == index_shape)) {
      return InvalidArgument("data[", i, "].shape = ", data_shape.ToString(), " does not start with indices[", i,
                             "].shape = ", index_shape.ToString());
    }
    if (!(RowShape(ctx, i, count) == first_row)) {
      return InvalidArgument("Need data[0].shape[", ctx.input(0).rank(), ":] = data[", i, "].shape[",
                             index_shape.rank(), ":], got data[0].shape = ", ctx.input(count).shape().ToString(),
                             ", data[", i, "].shape = ", data_shape.ToString(),
                             ", indices[0].shape = ", ctx.input(0).shape().ToString(), ", indices[", i,
                             "].shape = ", index_shape.ToString());
    }
    WEIR_ASSIGN_OR_RETURN(indices[i], IntElements(ctx.input(i), "indices"));
    for (size_t k = 0; k < indices[i].size(); ++k) {
      if (indices[i][k] < 0) return InvalidArgument("indices[", k, "] is out of range");
      rows = std::max(rows, indices[i][k] + 1);
    }
  }
  return StitchSizes{first_row, rows, std::move(indices)};
}

std::string DescribeNumerics(bool nan, bool low, bool high, bool is_signed) {
  std::vector<std::string_view> bad;
  if (is_signed) {
    if (low) bad.push_back("-Inf");
    if (high) bad.push_back("+Inf");
  } else if (low || high) {
    bad.push_back("Inf");
  }
  if (nan) bad.push_back("NaN");
  std::string listed(bad[0]);
  for (size_t i = 1; i < bad.size(); ++i) {
    const char* separator = i + 1 < bad.size() ? ", " : bad.size() > 2 ? ", and " : " and ";
    listed += Cat(separator, bad[i]);
  }
  return listed;
}

}  // namespace weir
