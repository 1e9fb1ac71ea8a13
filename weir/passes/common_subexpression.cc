#include "weir/passes/common_subexpression.h"

#include <algorithm>

namespace weir {
namespace {

// Hashing the bytes of a larger constant costs more than it is likely to save.
constexpr size_t kMostBytesToCompare = 1 << 16;

bool IsCandidate(const Node& node) {
  if (!IsPure(node)) return false;
  if (!IsConstant(node)) return true;
  const Tensor* value = node.attrs.Find("value")->get_if<Tensor>();
  return value != nullptr && value->total_bytes() <= kMostBytesToCompare;
}

struct Key {
  const Node* node;
  std::vector<Endpoint> inputs;  // sorted if the op commutes
  std::vector<NodeId> control_inputs;
  uint64_t hash = 0;

  explicit Key(const Node& n) : node(&n), inputs(n.inputs), control_inputs(n.control_inputs) {
    if (n.schema->is_commutative && inputs.size() == 2) {
      std::ranges::sort(inputs,
                        [](Endpoint a, Endpoint b) { return a.node != b.node ? a.node < b.node : a.index < b.index; });
    }
    std::ranges::sort(control_inputs);
    hash = absl::HashOf(n.schema, Hash(n.attrs), inputs, control_inputs);
  }
  bool operator==(const Key& other) const {
    return hash == other.hash && node->schema == other.node->schema && inputs == other.inputs &&
           control_inputs == other.control_inputs && node->requested_device == other.node->requested_device &&
           node->attrs == other.node->attrs;
  }
};
struct KeyHash {
  size_t operator()(const Key& key) const { return key.hash; }
};

}  // namespace

Status EliminateCommonSubexpressions(RewriteContext& context) {
  Graph* const graph = &context.graph();
  WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(*graph));
  Replacements replacements(graph);
  absl::flat_hash_set<Key, KeyHash> seen;
  seen.reserve(order.size());
  for (NodeId id : order) {
    Node* node = graph->node(id);
    replacements.Update(node);
    if (!IsCandidate(*node)) continue;
    auto [it, fresh] = seen.emplace(*node);
    if (!fresh) replacements.Replace(id, it->node->id);
  }
  replacements.Apply();
  return OkStatus();
}

}  // namespace weir
