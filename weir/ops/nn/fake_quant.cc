#include "weir/ops/nn/fake_quant.h"

#include <cmath>

namespace weir::nn {

FakeQuantLevels::FakeQuantLevels(float min, float max, int lowest, int highest) {
  is_empty = min == 0.0f && max == 0.0f;
  if (is_empty) return;
  scale = (max - min) / static_cast<float>(highest - lowest);
  const float zero = static_cast<float>(lowest) - min / scale;
  float level = std::round(zero);
  if (zero < static_cast<float>(lowest)) level = static_cast<float>(lowest);
  if (zero > static_cast<float>(highest)) level = static_cast<float>(highest);
  low = (static_cast<float>(lowest) - level) * scale;
  high = (static_cast<float>(highest) - level) * scale;
}

StatusOr<FakeQuant> FakeQuant::Read(const KernelInit& init) {
  FakeQuant out;
  const std::string_view op = init.schema().name;
  out.is_gradient = op.ends_with("Gradient");
  out.range = op.find("PerChannel") != std::string_view::npos ? Range::kPerChannel
              : op.find("Vars") != std::string_view::npos     ? Range::kVars
                                                              : Range::kArgs;
  WEIR_ASSIGN_OR_RETURN(int64_t bits, init.Attr<int64_t>("num_bits"));
  WEIR_ASSIGN_OR_RETURN(bool narrow, init.Attr<bool>("narrow_range"));
  if (bits < 2 || bits > 16) return InvalidArgument("num_bits must be between 2 and 16, inclusive");
  out.lowest = narrow ? 1 : 0;
  out.highest = (1 << bits) - 1;
  if (out.range != Range::kArgs) return out;
  WEIR_ASSIGN_OR_RETURN(out.min, init.Attr<float>("min"));
  WEIR_ASSIGN_OR_RETURN(out.max, init.Attr<float>("max"));
  if (!(out.min < out.max)) {
    return InvalidArgument("min has to be smaller than max, was: ", out.min, " >= ", out.max);
  }
  return out;
}

StatusOr<std::vector<FakeQuantLevels>> FakeQuant::ReadLevels(const KernelContext& ctx) const {
  const Tensor& x = ctx.input(x_input());
  if (is_gradient && ctx.input(0).shape() != x.shape()) {
    return InvalidArgument("gradient and input must be the same size");
  }
  if (range == Range::kArgs) return std::vector<FakeQuantLevels>{FakeQuantLevels(min, max, lowest, highest)};
  const Tensor &mins = ctx.input(x_input() + 1), &maxs = ctx.input(x_input() + 2);
  const int rank = range == Range::kVars ? 0 : 1;
  if (mins.rank() != rank) return InvalidArgument("`min` must be rank ", rank, " but is rank ", mins.rank());
  if (maxs.rank() != rank) return InvalidArgument("`max` must be rank ", rank, " but is rank ", maxs.rank());
  int64_t channels = 1;
  if (rank == 1) {
    if (x.rank() == 0) return InvalidArgument("input must be at least 1 dimensional");
    channels = x.dim(x.rank() - 1);
    if (mins.dim(0) != channels) {
      return InvalidArgument("min has incorrect size, expected ", channels, " was ", mins.dim(0));
    }
    if (maxs.dim(0) != channels) {
      return InvalidArgument("max has incorrect size, expected ", channels, " was ", maxs.dim(0));
    }
  }
  std::vector<FakeQuantLevels> out;
  for (int64_t i = 0; i < channels; ++i) {
    out.emplace_back(mins.data<float>()[i], maxs.data<float>()[i], lowest, highest);
  }
  return out;
}

}  // namespace weir::nn
