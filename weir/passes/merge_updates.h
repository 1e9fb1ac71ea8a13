// Merges the updates of many small variables into a few nodes, for devices on which launching work costs more than the
// work itself.
#ifndef WEIR_PASSES_MERGE_UPDATES_H_
#define WEIR_PASSES_MERGE_UPDATES_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "weir/passes/rewrite_context.h"

namespace weir {

struct MergeUpdatesOptions {
  // Whether the kernel of _ResourceApplyMany implements the update rule of this op.
  std::function<bool(std::string_view op)> has_rule;
  // Larger variables keep an update of their own, so that it need not wait for the gradients of all others.
  int64_t most_elements = 1 << 20;
};

// Merges updates (ResourceApplyMomentum and the like) with the same rule, scalars and attributes into one
// _ResourceApplyMany, which runs when the last of their gradients is available. Updates that depend on each other stay
// separate, and so do updates that may be dead independently of each other. If mixed precision casts a gradient to
// float32 only for its update, the update takes the uncast gradient; this applies to large variables, too. Does nothing
// if the registry does not have that op.
Status MergeUpdates(RewriteContext& context, const MergeUpdatesOptions& options);

}  // namespace weir

#endif  // WEIR_PASSES_MERGE_UPDATES_H_
