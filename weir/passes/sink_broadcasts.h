// Broadcasts that need not be made: elementwise operations broadcast by themselves.
#ifndef WEIR_PASSES_SINK_BROADCASTS_H_
#define WEIR_PASSES_SINK_BROADCASTS_H_

#include "weir/passes/rewrite_context.h"

namespace weir {

// Consumers of a BroadcastTo take what is broadcast, where that changes nothing: an operation whose other operand has
// the full shape already broadcasts by itself; one that has no larger operand is done before the broadcast, which moves
// behind it; a term of an AddN is added at the end. Only where shapes are known. The gradients of means and sums have
// such broadcasts.
Status SinkBroadcasts(RewriteContext& context);

}  // namespace weir

#endif  // WEIR_PASSES_SINK_BROADCASTS_H_
