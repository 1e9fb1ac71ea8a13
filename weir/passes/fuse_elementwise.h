// Fusing elementwise operations: what would pass over memory several times passes over it once.
#ifndef WEIR_PASSES_FUSE_ELEMENTWISE_H_
#define WEIR_PASSES_FUSE_ELEMENTWISE_H_

#include "weir/passes/rewrite.h"

namespace weir {

// Elementwise operations on floats that feed each other become _FusedElementwise nodes, each named as the last of its
// operations was, with sums, means and softmax along the last dimension where shapes are known well enough. A value
// that others want, too, becomes a further output, unless the graph has dead values, waits within a step, or late
// arguments: there only what nobody else looks at is fused. A value that is quickly made of one other is made again by
// whoever takes it. For the elements themselves shapes need not be known: the kernel sees them. REQUIRES: all nodes run
// on the host.
Status FuseElementwise(Graph* graph);

// Whether the graph has values that may be dead, waits within a step, or late arguments: a value must then not wait for
// others that it does not need.
bool OrderMatters(const Graph& graph);

// An attribute of `_Arg` nodes whose values arrive while the step runs.
inline constexpr char kLateArgument[] = "_late";

// The operations that may be fused.
std::vector<std::string_view> FusibleElementwiseOps();

}  // namespace weir

#endif  // WEIR_PASSES_FUSE_ELEMENTWISE_H_
