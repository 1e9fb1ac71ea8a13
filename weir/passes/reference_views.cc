#include "weir/passes/reference_views.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

// Ops whose results are their first input's memory.
bool HandsOn(const Node& node) {
  static constexpr std::array<std::string_view, 8> kOps = {"Enter",   "ExpandDims", "Identity",     "PreventGradient",
                                                           "Reshape", "Squeeze",    "StopGradient", "Switch"};
  return std::ranges::binary_search(kOps, std::string_view(node.op()));
}

}  // namespace

NodeId ReferenceBehind(const Graph& graph, Endpoint tensor) {
  // Merge and NextIteration hand nothing on, so the way back has an end.
  while (tensor.index >= 0) {
    const Node& node = *graph.node(tensor.node);
    if (IsRef(node.output_type(tensor.index))) return node.id;
    if (!HandsOn(node) || node.inputs.empty()) return kNoNode;
    tensor = node.inputs[0];
  }
  return kNoNode;
}

}  // namespace weir
