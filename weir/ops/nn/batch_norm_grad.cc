// Gradients of batch normalisation.
#include "weir/autodiff/emit.h"
#include "weir/ops/nn/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

const std::vector<std::string_view> kAttrs = {"epsilon", "data_format", "is_training"};

// `op` is the gradient op; `has_reserve` where a third reserved output exists.
GradientFunction FusedGradient(const char* op, bool has_reserve) {
  return [op, has_reserve](G& g) -> Gradients {
    const bool training = g.Attr<bool>("is_training");
    // In inference the statistics are inputs.
    EmitArguments inputs = {g.grad(0), g.input(0), g.input(1), training ? g.output(3) : g.input(3),
                            training ? g.output(4) : g.input(4)};
    if (has_reserve) inputs.push_back(g.output(5));
    Values grads = g.OutputsLike(op, inputs, kAttrs);
    return {grads[0], grads[1], grads[2]};
  };
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterBatchNormGradients(GradientRegistry& r) {
  r.Add("FusedBatchNorm", emit::FusedGradient("FusedBatchNormGrad", false));
  r.Add("FusedBatchNormV2", emit::FusedGradient("FusedBatchNormGradV2", false));
  r.Add("FusedBatchNormV3", emit::FusedGradient("FusedBatchNormGradV3", true));
}

}  // namespace weir
