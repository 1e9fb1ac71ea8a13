#include "weir/passes/optimizer.h"

#include "weir/passes/arithmetic.h"
#include "weir/passes/common_subexpression.h"
#include "weir/passes/constant_folding.h"
#include "weir/passes/dependency.h"
#include "weir/passes/fold_transposes.h"
#include "weir/passes/fuse.h"
#include "weir/passes/fuse_elementwise.h"
#include "weir/passes/fuse_norms.h"
#include "weir/passes/fuse_pool.h"
#include "weir/passes/fuse_scatter.h"
#include "weir/passes/inline_functions.h"
#include "weir/passes/merge_products.h"
#include "weir/passes/pool_gradients.h"
#include "weir/passes/sink_broadcasts.h"
#include "weir/passes/sink_reshapes.h"

namespace weir {
namespace {

// What nothing consumes is what the step asked for.
std::vector<NodeId> Sinks(const Graph& graph) {
  Consumers consumers(graph);
  std::vector<NodeId> sinks;
  for (const auto& node : graph.nodes()) {
    if (node && consumers.of(node->id).empty()) sinks.push_back(node->id);
  }
  return sinks;
}

}  // namespace

Status OptimizeGraph(Graph* graph, const OptimizeOptions& options, const NodeEvaluator& evaluate) {
  const std::vector<NodeId> keep = Sinks(*graph);
  InlineOptions inlining{.inline_calls = options.inline_functions, .lower_control_flow = options.lower_control_flow};
  WEIR_RETURN_IF_ERROR(InlineFunctions(graph, inlining));
  ConstantFoldingOptions folding{.max_bytes = options.max_folded_constant_bytes};
  if (options.constant_folding) WEIR_RETURN_IF_ERROR(FoldConstants(graph, evaluate, folding));
  RemoveUnused(graph, keep);
  if (options.common_subexpressions) WEIR_RETURN_IF_ERROR(EliminateCommonSubexpressions(graph));
  if (options.arithmetic) {
    WEIR_RETURN_IF_ERROR(MultiplyByReciprocals(graph));
    WEIR_RETURN_IF_ERROR(SimplifyArithmetic(graph));
    WEIR_RETURN_IF_ERROR(MergeProducts(graph));
    WEIR_RETURN_IF_ERROR(SinkBroadcasts(graph));
    WEIR_RETURN_IF_ERROR(MoveReluGradients(graph));
  }
  if (options.dependencies) WEIR_RETURN_IF_ERROR(SimplifyDependencies(graph));
  RemoveUnused(graph, keep);
  if (options.fusion) {
    WEIR_RETURN_IF_ERROR(SinkReshapes(graph));
    RemoveUnused(graph, keep);
    WEIR_RETURN_IF_ERROR(FuseContractions(graph));
    WEIR_RETURN_IF_ERROR(FuseNorms(graph));
    WEIR_RETURN_IF_ERROR(FusePaddedPools(graph));
    if (options.scatter_fusion) WEIR_RETURN_IF_ERROR(FuseScatters(graph));
    if (options.view_products) WEIR_RETURN_IF_ERROR(FoldTransposes(graph));
    if (options.arithmetic) AllowWinograd(graph);
    RemoveUnused(graph, keep);
  }
  if (options.elementwise_fusion) {
    WEIR_RETURN_IF_ERROR(FuseElementwise(graph));
    RemoveUnused(graph, keep);
  }
  return OkStatus();
}

}  // namespace weir
