// Fusing elementwise operations: what would pass over memory several times passes over it once.
#ifndef WEIR_DEVICE_CPU_REWRITES_FUSE_ELEMENTWISE_H_
#define WEIR_DEVICE_CPU_REWRITES_FUSE_ELEMENTWISE_H_

#include <functional>
#include <string_view>
#include <vector>

#include "weir/passes/rewrite_context.h"

namespace weir {

// Elementwise operations on floats that feed each other become _FusedElementwise nodes, each named as the last of its
// operations was, with sums, means and softmax along the last dimension where shapes are known well enough. A value
// that other nodes consume too becomes a further output, unless it would then depend on a value that may be dead or
// that waits for one of those consumers (passes/wait_analysis.h). A cheap value made of one other is computed again by
// each group that takes it instead of being stored. Shapes need not be known for elementwise operations: the kernel
// sees them.
Status FuseElementwise(RewriteContext& context);

// The same for a device with loops of its own.
struct FuseElementwiseOptions {
  bool rows = true;                            // sums, means and softmax too
  std::vector<DType> types = {DType::kFloat};  // of programs whose values all have the same
  std::function<bool(std::string_view op)>
      has_loop;  // whether the device's kernel knows an operation; null: the host's
  // Whether an elementwise node may be in a program whose values have types of their own (_FusedMixedElementwise), as
  // casts and comparisons are, or a bias along rows in any program; null: there are no such programs.
  std::function<bool(const Node& node)> mixes;
};
Status FuseElementwise(RewriteContext& context, const FuseElementwiseOptions& options);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_REWRITES_FUSE_ELEMENTWISE_H_
