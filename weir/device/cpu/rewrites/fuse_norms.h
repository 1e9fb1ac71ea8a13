// Fusing what follows a batch norm into it.
#ifndef WEIR_DEVICE_CPU_REWRITES_FUSE_NORMS_H_
#define WEIR_DEVICE_CPU_REWRITES_FUSE_NORMS_H_

#include <vector>

#include "weir/passes/rewrite_context.h"

namespace weir {

// FusedBatchNorm of channels-last float images, then perhaps the sum with another image, then Relu become
// _FusedBatchNormEx; the gradient of the norm after that of the Relu becomes _FusedBatchNormGradEx.
Status FuseNorms(RewriteContext& context);
// The same for devices with kernels for `types` of images, and for the gradient _BatchNormReluGrad. That does not read
// the output of a Relu right after the norm.
Status FuseNorms(RewriteContext& context, const std::vector<DType>& types);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_REWRITES_FUSE_NORMS_H_
