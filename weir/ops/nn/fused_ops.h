// What _FusedConv2D and _FusedMatMul do after their contraction: what the kernels of all devices share.
#ifndef WEIR_OPS_NN_FUSED_OPS_H_
#define WEIR_OPS_NN_FUSED_OPS_H_

#include <string>

#include "weir/framework/kernel.h"

namespace weir::nn {

// The attribute fused_ops: BiasAdd or FusedBatchNorm, perhaps Add, perhaps an activation.
struct FusedOps {
  bool has_norm = false;
  bool has_addend = false;
  std::string activation;  // "Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu", or empty
  // Whether the library may do the activation itself. Its Relu makes 0 of NaN: where weights are constants that is what
  // TensorFlow's fused operations give too; a model that trains must show when it has come to nothing.
  bool library_activates = false;
  float epsilon = 0;
  float alpha = 0;  // of LeakyRelu

  static StatusOr<FusedOps> Read(const KernelInit& init, bool allows_norm);
  // Checks the vectors along the channels (inputs 2 and, for a norm, 3 to 5) of a result of shape `shape`, whose
  // dimension `axis` is the channels.
  Status CheckVectors(const KernelContext& ctx, const Shape& shape, int axis) const;
};

// Checks the operands of _FusedMatMul.
Status CheckFusedMatMul(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b);

}  // namespace weir::nn

#endif  // WEIR_OPS_NN_FUSED_OPS_H_
