// Gradients of the CudnnRNN family: each version has a backward op of its own.
#include "weir/autodiff/emit.h"
#include "weir/ops/nn/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

const std::vector<std::string_view> kAttrs = {"rnn_mode", "input_mode", "direction", "dropout", "seed", "seed2"};
const std::vector<std::string_view> kAttrsV3 = {"rnn_mode", "input_mode", "direction", "dropout",
                                                "seed",     "seed2",      "num_proj",  "time_major"};

// (input, input_h, input_c, params[, sequence_lengths]) -> (output, output_h, output_c, reserve_space[, host_reserved])
GradientFunction CudnnRnnGradient(const char* op, const std::vector<std::string_view>& attrs) {
  return [op, &attrs](G& g) -> Gradients {
    EmitArguments inputs;
    for (int i = 0; i < g.num_inputs(); ++i) inputs.push_back(g.input(i));
    for (int i = 0; i < 3; ++i) inputs.push_back(g.output(i));
    for (int i = 0; i < 3; ++i) inputs.push_back(g.grad(i));
    for (int i = 3; i < g.num_outputs(); ++i) inputs.push_back(g.output(i));
    Values grads = g.OutputsLike(op, inputs, attrs);
    return {grads[0], grads[1], grads[2], grads[3]};
  };
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterCudnnRnnGradients(GradientRegistry& r) {
  r.Add("CudnnRNN", emit::CudnnRnnGradient("CudnnRNNBackprop", emit::kAttrs));
  r.Add("CudnnRNNV2", emit::CudnnRnnGradient("CudnnRNNBackpropV2", emit::kAttrs));
  r.Add("CudnnRNNV3", emit::CudnnRnnGradient("CudnnRNNBackpropV3", emit::kAttrsV3));
}

}  // namespace weir
