// What stands for oneDNN in a build without it.
#include "weir/device/cpu/contraction.h"
#include "weir/framework/constant_taker.h"

namespace weir {

std::string ContractionLibrary() { return "built without oneDNN"; }

class PackedWeights {};
std::shared_ptr<PackedWeights> MakePackedWeights() { return nullptr; }
std::optional<TakenConstant> TakeWeights(const std::shared_ptr<PackedWeights>&, const Tensor&) { return std::nullopt; }
const float* PlainElements(const Weights& weights) { return weights.tensor->data<float>(); }

bool MultiplyMatrices(const KernelContext&, const ProductShape&, const MatrixOperand&, const MatrixOperand&,
                      const Epilogue&, float*, const Weights*) {
  return false;
}
bool MultiplyStridedMatrices(const KernelContext&, const StridedProduct&, const float*, const float*, float*) {
  return false;
}
bool Convolve(const KernelContext&, const ConvolutionShape&, const float*, const Weights&, const Epilogue&, float*) {
  return false;
}
bool ConvolveBackwardInput(const KernelContext&, const ConvolutionShape&, const float*, const float*, float*) {
  return false;
}
bool ConvolveBackwardFilter(const KernelContext&, const ConvolutionShape&, const float*, const float*, float*) {
  return false;
}

}  // namespace weir
