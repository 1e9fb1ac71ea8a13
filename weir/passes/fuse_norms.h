// Fusing what follows a batch norm into it.
#ifndef WEIR_PASSES_FUSE_NORMS_H_
#define WEIR_PASSES_FUSE_NORMS_H_

#include "weir/passes/rewrite.h"

namespace weir {

// FusedBatchNorm of channels-last float images, then perhaps the sum with another image, then Relu become
// _FusedBatchNormEx; the gradient of the norm after that of the Relu becomes _FusedBatchNormGradEx. REQUIRES: all nodes
// run on the host.
Status FuseNorms(Graph* graph);

}  // namespace weir

#endif  // WEIR_PASSES_FUSE_NORMS_H_
