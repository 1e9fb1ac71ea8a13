// Removes BroadcastTo nodes whose consumers broadcast implicitly.
#ifndef WEIR_PASSES_SINK_BROADCASTS_H_
#define WEIR_PASSES_SINK_BROADCASTS_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// Lets consumers of a BroadcastTo read its input where the result stays the same: an elementwise operation whose other
// operand has the full shape broadcasts implicitly; one without a larger operand runs before the broadcast, which moves
// after it; a broadcast term of an AddN is added last. Applies only if shapes are known. Gradients of means and sums
// contain such broadcasts.
Status SinkBroadcasts(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_SINK_BROADCASTS_H_
