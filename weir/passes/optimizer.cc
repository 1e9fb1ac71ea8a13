#include "weir/passes/optimizer.h"

#include "weir/passes/arithmetic.h"
#include "weir/passes/common_subexpression.h"
#include "weir/passes/constant_folding.h"
#include "weir/passes/dependency.h"
#include "weir/passes/inline_functions.h"
#include "weir/passes/merge_products.h"
#include "weir/passes/pool_gradients.h"
#include "weir/passes/recompute.h"
#include "weir/passes/settle_sizes.h"
#include "weir/passes/sink_broadcasts.h"

namespace weir {

Status OptimizeGraph(RewriteContext& context, const OptimizeOptions& options, const NodeEvaluator& evaluate) {
  auto run = [&](Status (*pass)(RewriteContext&)) {
    Status status = pass(context);
    if (status.ok()) context.EndPass();
    return status;
  };
  InlineOptions inlining{.inline_calls = options.inline_functions, .lower_control_flow = options.lower_control_flow};
  WEIR_RETURN_IF_ERROR(InlineFunctions(&context.graph(), inlining));
  context.EndPass();
  auto fold = [&] {
    ConstantFoldingOptions folding{.max_bytes = options.max_folded_constant_bytes};
    Status status = options.constant_folding ? FoldConstants(context, evaluate, folding) : OkStatus();
    if (status.ok() && options.constant_folding) context.EndPass();
    return status;
  };
  WEIR_RETURN_IF_ERROR(fold());
  if (options.arithmetic) {
    WEIR_ASSIGN_OR_RETURN(const bool changed, SettleSizes(context));
    context.EndPass();
    if (changed) WEIR_RETURN_IF_ERROR(fold());
  }
  if (options.common_subexpressions) WEIR_RETURN_IF_ERROR(run(EliminateCommonSubexpressions));
  if (options.arithmetic) {
    for (auto pass : {MultiplyByReciprocals, SimplifyArithmetic, MergeProducts, SinkBroadcasts, MoveReluGradients}) {
      WEIR_RETURN_IF_ERROR(run(pass));
    }
  }
  if (options.dependencies) WEIR_RETURN_IF_ERROR(run(SimplifyDependencies));
  if (options.recompute.what != Recomputation::kNone) {
    WEIR_RETURN_IF_ERROR(RecomputeActivations(context, options.recompute));
    context.EndPass();
  }
  return OkStatus();
}

}  // namespace weir
