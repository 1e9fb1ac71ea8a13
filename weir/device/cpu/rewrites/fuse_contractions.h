// Fusing: a contraction and what is done to each of its results become one node.
#ifndef WEIR_DEVICE_CPU_REWRITES_FUSE_CONTRACTIONS_H_
#define WEIR_DEVICE_CPU_REWRITES_FUSE_CONTRACTIONS_H_

#include <vector>

#include "weir/passes/rewrite_context.h"

namespace weir {

// Conv2D and MatMul of floats, followed by a BiasAdd (or, after a convolution, a batch norm with fixed statistics), an
// addition of a tensor that may well have the same shape, and an activation, become _FusedConv2D and _FusedMatMul,
// which are named as the last node was. Only what nobody else looks at is fused. Contractions whose second operand is a
// constant are marked, so that their kernels keep it in the order they like best.
Status FuseContractions(RewriteContext& context);
// The same for tensors of other types, for devices with kernels for them.
Status FuseContractions(RewriteContext& context, const std::vector<DType>& types);

// Marks convolutions of floats and their gradients, so that their kernels may use other arithmetic than a
// plain sum (weir/device/cpu/winograd.h).
void AllowWinograd(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_REWRITES_FUSE_CONTRACTIONS_H_
