// Nodes that stand for several: an error is told of the one that it belongs to.
//
// A pass that makes one node of several keeps their names in the attribute kFusedNodes. Their kernel, which nodes with
// other names may share, says by number which of them failed; the executor knows the names.
#ifndef WEIR_FRAMEWORK_FUSED_NODES_H_
#define WEIR_FRAMEWORK_FUSED_NODES_H_

#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "weir/base/status.h"

namespace weir {

inline constexpr char kFusedNodes[] = "_fused_nodes";
inline constexpr char kFusedNodePayload[] = "weir/fused_node";

// `status` of the index-th node.
inline Status OfFusedNode(Status status, size_t index) {
  if (!status.ok()) status.SetPayload(kFusedNodePayload, absl::Cord(Cat(index)));
  return status;
}

// The index, if `status` has one.
inline std::optional<size_t> FusedNodeOf(const Status& status) {
  const auto payload = status.GetPayload(kFusedNodePayload);
  size_t index = 0;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &index)) return std::nullopt;
  return index;
}

}  // namespace weir

#endif  // WEIR_FRAMEWORK_FUSED_NODES_H_
