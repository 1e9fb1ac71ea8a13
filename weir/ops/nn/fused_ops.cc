#include "weir/ops/nn/fused_ops.h"

#include <algorithm>

#include "weir/ops/nn/convolution.h"

namespace weir::nn {
namespace {

Status UnknownFusion(const KernelInit& init, const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += Cat(list.empty() ? "" : ",", name);
  return Unimplemented("Fusion is not implemented: [", list, "] in ", init.schema().name);
}

}  // namespace

StatusOr<FusedOps> FusedOps::Read(const KernelInit& init, bool allows_norm) {
  constexpr std::string_view kActivations[] = {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"};
  FusedOps fused;
  WEIR_ASSIGN_OR_RETURN(std::vector<std::string> names, init.Attr<std::vector<std::string>>("fused_ops"));
  WEIR_ASSIGN_OR_RETURN(fused.epsilon, init.Attr<float>("epsilon"));
  WEIR_ASSIGN_OR_RETURN(fused.alpha, init.Attr<float>("leakyrelu_alpha"));
  fused.library_activates = !names.empty() && names.back() == "Relu" && HasConstantWeights(init);
  size_t i = 0;
  fused.has_norm = allows_norm && !names.empty() && names[0] == "FusedBatchNorm";
  if (names.empty() || (!fused.has_norm && names[0] != "BiasAdd")) return UnknownFusion(init, names);
  ++i;
  if (i < names.size() && names[i] == "Add") {
    fused.has_addend = true;
    ++i;
  }
  if (i < names.size()) {
    if (std::ranges::count(kActivations, names[i]) == 0) return UnknownFusion(init, names);
    fused.activation = names[i];
    ++i;
  }
  if (i < names.size()) return UnknownFusion(init, names);
  if (init.num_inputs() != 2 + (fused.has_norm ? 4 : 1) + fused.has_addend) {
    return InvalidArgument(init.schema().name, " has ", init.num_inputs(), " inputs, which do not fit its fused_ops");
  }
  return fused;
}

Status FusedOps::CheckVectors(const KernelContext& ctx, const Shape& shape, int axis) const {
  constexpr const char* kNames[] = {"scale", "offset", "mean", "variance"};
  const int64_t channels = shape.dim(axis);
  for (int i = 0; i < (has_norm ? 4 : 1); ++i) {
    const Shape& vector = ctx.input(2 + i).shape();
    if (!vector.IsVector()) {
      if (!has_norm) return InvalidArgument("Biases must be 1D: ", vector.ToString());
      return InvalidArgument(kNames[i], " must be 1-dimensional", vector.ToString());
    }
    if (vector.dim(0) == channels) continue;
    if (!has_norm) {
      return InvalidArgument("Must provide as many biases as the last dimension of the input tensor: ",
                             vector.ToString(), " vs. ", shape.ToString());
    }
    return InvalidArgument(kNames[i], " must have the same number of elements as the channels of x, got ",
                           vector.dim(0), " and ", channels);
  }
  return OkStatus();
}

Status CheckFusedMatMul(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b) {
  if (a.rank() != b.rank()) {
    return InvalidArgument("In[0] and In[1] has different ndims: ", a.ToString(), " vs. ", b.ToString());
  }
  if (a.rank() != 2) return InvalidArgument("In[0] is not a matrix. Instead it has shape ", a.ToString());
  if (b.dim(transpose_b) == a.dim(!transpose_a)) return OkStatus();
  return InvalidArgument("Matrix size-incompatible: In[0]: ", a.ToString(), ", In[1]: ", b.ToString());
}

}  // namespace weir::nn
