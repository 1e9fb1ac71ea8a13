// Fusing what follows a batch norm into it.
#ifndef WEIR_DEVICE_CPU_REWRITES_FUSE_NORMS_H_
#define WEIR_DEVICE_CPU_REWRITES_FUSE_NORMS_H_

#include <vector>

#include "weir/passes/rewrite_context.h"

namespace weir {

// FusedBatchNorm of channels-last float images, then perhaps the sum with another image, then Relu become
// _FusedBatchNormEx; the gradient of the norm after that of the Relu becomes _FusedBatchNormGradEx.
Status FuseNorms(RewriteContext& context);
// The same for tensors of other types, for devices with kernels for them.
Status FuseNorms(RewriteContext& context, const std::vector<DType>& types);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_REWRITES_FUSE_NORMS_H_
