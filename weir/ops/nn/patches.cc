#include "weir/ops/nn/patches.h"

#include <algorithm>

namespace weir::nn {
namespace {

StatusOr<PatchAxis> MakeAxis(int64_t input, int64_t size, int64_t stride, int64_t rate, bool same) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (size <= 0 || stride <= 0 || std::max({input, size, stride, rate}) >= kLimit) {
    return InvalidArgument("Sizes and strides of a window must be positive");
  }
  PatchAxis axis{input, size, stride, rate, 0, 0};
  const int64_t reach = (size - 1) * rate + 1;
  axis.output = same ? (input + stride - 1) / stride : (input - reach + stride) / stride;
  if (axis.output < 0) {
    return InvalidArgument("Computed output size would be negative: ", axis.output, " [input_size: ", input,
                           ", effective_filter_size: ", reach, ", stride: ", stride, "]");
  }
  if (same) axis.before = ((axis.output - 1) * stride + reach - input) / 2;
  return axis;
}

Status ReadWindow(const KernelInit& init, std::string_view name, int rank, std::vector<int64_t>& out) {
  WEIR_ASSIGN_OR_RETURN(out, init.Attr<std::vector<int64_t>>(name));
  if (static_cast<int>(out.size()) != rank) {
    return InvalidArgument("Sliding window ", name, " field must specify ", rank, " dimensions");
  }
  if (out.front() != 1 || out.back() != 1) return Unimplemented("Only support ", name, " across space.");
  for (int64_t value : out) {
    if (value < 1 || value > INT32_MAX) return OutOfRange(name, " is out of range.");
  }
  return OkStatus();
}

}  // namespace

StatusOr<PatchOptions> PatchOptions::Read(const KernelInit& init) {
  PatchOptions out;
  out.rank = init.HasAttr("rates") ? 4 : 5;
  out.rates.assign(static_cast<size_t>(out.rank), 1);
  WEIR_RETURN_IF_ERROR(ReadWindow(init, "ksizes", out.rank, out.sizes));
  WEIR_RETURN_IF_ERROR(ReadWindow(init, "strides", out.rank, out.strides));
  if (init.HasAttr("rates")) WEIR_RETURN_IF_ERROR(ReadWindow(init, "rates", out.rank, out.rates));
  WEIR_ASSIGN_OR_RETURN(std::string padding, init.Attr<std::string>("padding"));
  out.same = padding == "SAME";
  return out;
}

StatusOr<PatchSizes> PatchOptions::SizesOf(const Shape& input) const {
  if (input.rank() != rank) return InvalidArgument("input must be ", rank, "-dimensional", input.ToString());
  PatchSizes out;
  out.shape = Shape({input.dim(0)});
  for (int i = 1; i < rank - 1; ++i) {
    WEIR_ASSIGN_OR_RETURN(PatchAxis axis, MakeAxis(input.dim(i), sizes[i], strides[i], rates[i], same));
    WEIR_RETURN_IF_ERROR(out.shape.AddDim(axis.output));
    // Where strides leave something over, the patches of a volume are in its middle, those of an image are not.
    if (rank == 4) axis.before = std::max<int64_t>(axis.before, 0);
    out.window *= axis.size;
    out.axes[static_cast<size_t>(i + 4 - rank)] = axis;
  }
  auto depth = CheckedMultiply(out.window, input.dim(rank - 1));
  if (!depth) return InvalidArgument("Patches are too large");
  WEIR_RETURN_IF_ERROR(out.shape.AddDim(*depth));
  return out;
}

}  // namespace weir::nn
