#include "weir/ops/nn/rounding.h"

#include "weir/device/cpu/index_input.h"

namespace weir::nn {
namespace {

// Without an axis the range is two scalars, not vectors of one element.
Status CheckScalars(const KernelContext& ctx, int64_t axis, int first, std::string_view end) {
  for (int i = first; axis < 0 && i < first + 2; ++i) {
    if (ctx.input(i).rank() == 0) continue;
    return InvalidArgument(ctx.node().schema->inputs[i].name, " must be a scalar", end);
  }
  return OkStatus();
}

}  // namespace

StatusOr<Rounding> Rounding::Read(const KernelInit& init) {
  Rounding out;
  WEIR_ASSIGN_OR_RETURN(out.is_signed, init.Attr<bool>("signed_input"));
  WEIR_ASSIGN_OR_RETURN(out.range_given, init.Attr<bool>("range_given"));
  WEIR_ASSIGN_OR_RETURN(out.is_narrow, init.Attr<bool>("narrow_range"));
  WEIR_ASSIGN_OR_RETURN(out.axis, init.Attr<int64_t>("axis"));
  if (init.HasAttr("round_mode")) {
    WEIR_ASSIGN_OR_RETURN(std::string mode, init.Attr<std::string>("round_mode"));
    out.half_up = mode == "HALF_UP";
  }
  if (out.axis < -1) return InvalidArgument("Axis must be at least -1. Found ", out.axis);
  if (!init.HasAttr("num_bits")) return out;
  WEIR_ASSIGN_OR_RETURN(out.bits, init.Attr<int64_t>("num_bits"));
  WEIR_RETURN_IF_ERROR(out.CheckBits(out.bits));
  return out;
}

Status Rounding::CheckBits(int64_t number) const {
  if (number > 0 && number < (is_signed ? 62 : 63)) return OkStatus();
  return InvalidArgument("num_bits is out of range: ", number, " with signed_input_ ", int{is_signed});
}

StatusOr<int64_t> Rounding::Bits(const KernelContext& ctx) const {
  if (bits >= 0) return bits;
  WEIR_ASSIGN_OR_RETURN(int64_t number, IntScalar(ctx.input(3), "num_bits"));
  WEIR_RETURN_IF_ERROR(CheckBits(number));
  return number;
}

StatusOr<Slices> Rounding::SlicesOf(const KernelContext& ctx) const {
  // A range that is not used may be anything.
  WEIR_ASSIGN_OR_RETURN(Slices slices, SlicesAlong(ctx, 0, axis, range_given ? 1 : -1));
  if (range_given && bits >= 0) {
    WEIR_RETURN_IF_ERROR(CheckScalars(ctx, axis, 1, "."));
    // Only the version with num_bits as an input has ranges of slices.
    if (axis >= 0) return InvalidArgument("input_min must be a scalar.");
  }
  return slices;
}

StatusOr<Slices> RoundingGradSlices(const KernelContext& ctx, int64_t axis) {
  if (ctx.input(0).shape() != ctx.input(1).shape()) {
    return InvalidArgument("gradient and input must be the same size");
  }
  WEIR_RETURN_IF_ERROR(CheckScalars(ctx, axis, 2, " if axis is unspecified"));
  return SlicesAlong(ctx, 1, axis, 2);
}

}  // namespace weir::nn
