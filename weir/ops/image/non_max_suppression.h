// What all kernels of NonMaxSuppression check first.
#ifndef WEIR_OPS_IMAGE_NON_MAX_SUPPRESSION_H_
#define WEIR_OPS_IMAGE_NON_MAX_SUPPRESSION_H_

#include <limits>

#include "weir/framework/kernel.h"

namespace weir {

struct SuppressionLimits {
  int64_t max_output = 0;
  float overlap = 0.5f;
  float score = std::numeric_limits<float>::lowest();
  float sigma = 0;  // above 0: overlap lowers scores instead of removing boxes
};

// From inputs 2 and on, in the host's memory. With `by_matrix` input 0 are overlaps, not boxes. `overlap` is what holds
// where there is no input for it.
StatusOr<SuppressionLimits> ReadSuppressionLimits(KernelContext& ctx, bool by_matrix, float overlap);
Status CheckSuppression(const Shape& boxes, const Shape& scores, bool by_matrix);

}  // namespace weir

#endif  // WEIR_OPS_IMAGE_NON_MAX_SUPPRESSION_H_
