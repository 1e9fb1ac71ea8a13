// Error reporting for nodes that replace several original nodes.
//
// A pass that fuses nodes keeps their names in the attribute kFusedNodes. The fused kernel, which nodes with other
// names may share, reports the index of the original node that failed; the executor knows the name.
#ifndef WEIR_FRAMEWORK_FUSED_NODES_H_
#define WEIR_FRAMEWORK_FUSED_NODES_H_

#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "weir/base/status.h"

namespace weir {

inline constexpr char kFusedNodes[] = "_fused_nodes";
inline constexpr char kFusedNodePayload[] = "weir/fused_node";

// An error of the original node with this index.
inline Status OfFusedNode(Status status, size_t index) {
  if (!status.ok()) status.SetPayload(kFusedNodePayload, absl::Cord(Cat(index)));
  return status;
}

// The index that the status carries, if any.
inline std::optional<size_t> FusedNodeOf(const Status& status) {
  const auto payload = status.GetPayload(kFusedNodePayload);
  size_t index = 0;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &index)) return std::nullopt;
  return index;
}

}  // namespace weir

#endif  // WEIR_FRAMEWORK_FUSED_NODES_H_
