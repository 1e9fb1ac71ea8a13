// What a mask of bools is made of: conditions that all must hold.
#ifndef WEIR_PASSES_MASK_FACTORS_H_
#define WEIR_PASSES_MASK_FACTORS_H_

#include <vector>

#include "weir/passes/rewrite_context.h"

namespace weir {

// One condition of a mask.
struct MaskFactor {
  enum class Kind {
    kTrue,     // holds always
    kNoLater,  // holds where the last dimension's place is not behind that of the one before it
    kOther,
  };
  Kind kind = Kind::kOther;
  Endpoint tensor{kNoNode, 0};
  std::vector<int64_t> expansions;  // axes of the ExpandDims that lead from the tensor to the mask, the first one first
};

// The conditions whose conjunction the mask is, the trivial ones among them; the mask itself if it is nothing else.
// Conditions broadcast to each other, and may be smaller than the mask.
std::vector<MaskFactor> FactorsOfMask(RewriteContext& context, Endpoint mask);

// The mask without conditions that always hold, as far as they are joined to it last.
Endpoint WithoutTrivialFactors(RewriteContext& context, Endpoint mask);

// Whether a constant of bools says of the last two dimensions what kNoLater does, and nothing of others.
bool SaysNoLater(const Tensor& mask);

}  // namespace weir

#endif  // WEIR_PASSES_MASK_FACTORS_H_
