// Merges the updates of many small variables into a few nodes, for devices where giving work costs more than the work.
#ifndef WEIR_PASSES_MERGE_UPDATES_H_
#define WEIR_PASSES_MERGE_UPDATES_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "weir/passes/rewrite_context.h"

namespace weir {

struct MergeUpdatesOptions {
  // Whether the kernel of _ResourceApplyMany knows the rule of this op.
  std::function<bool(std::string_view op)> has_rule;
  // Larger variables keep a node of their own: their gradients need not wait for all others.
  int64_t most_elements = 1 << 20;
};

// Turns updates (ResourceApplyMomentum and its kin) of one rule, with the same scalars and attributes, into one
// _ResourceApplyMany, which runs once the last of their gradients is there. Updates that depend on each other stay
// apart, and so do those that may be dead at different times. Gradients that mixed precision casts to float32 for an
// update alone are taken as they were, also by an update of a large variable. Does nothing in a registry without that
// op.
Status MergeUpdates(RewriteContext& context, const MergeUpdatesOptions& options);

}  // namespace weir

#endif  // WEIR_PASSES_MERGE_UPDATES_H_
