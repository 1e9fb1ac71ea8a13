#include "weir/graph/function_fingerprint.h"

#include <deque>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "weir/base/fingerprint.h"
#include "weir/framework/node_fingerprint.h"

namespace weir {
namespace {

class FunctionHasher {
 public:
  explicit FunctionHasher(std::shared_ptr<FunctionLibrary> library) : library_(std::move(library)) {}

  StatusOr<uint64_t> OfFunction(const FunctionAttr& function) {
    // A function that calls itself stands there by its name.
    auto [found, fresh] = functions_.try_emplace(function.name, Hash64(function.name));
    if (!fresh) return found->second;
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionBody> body, library_->Instantiate(function, library_));
    uint64_t rets = 0, control_rets = 0;
    NodeHashes known;
    for (NodeId ret : body->rets) {
      WEIR_ASSIGN_OR_RETURN(uint64_t hash, OfRoot(body->graph, ret, known));
      rets = CombineFingerprints(rets, hash);
    }
    for (NodeId id : body->control_rets) {
      WEIR_ASSIGN_OR_RETURN(uint64_t hash, OfNodeAlone(*body->graph.node(id), /*with_functions=*/false));
      control_rets += hash;
    }
    return functions_[function.name] = CombineFingerprints(rets, control_rets);
  }

 private:
  using NodeHashes = absl::flat_hash_map<NodeId, uint64_t>;

  StatusOr<uint64_t> OfNodeAlone(const Node& node, bool with_functions) {
    FunctionFingerprints functions;
    if (with_functions) functions = [this](const FunctionAttr& function) { return OfFunction(function); };
    uint64_t op = Hash64(node.op());
    if (library_->Contains(node.op())) {
      op = 0;
      if (with_functions) {
        WEIR_ASSIGN_OR_RETURN(op, OfFunction({node.op(), node.attrs}));
      }
    }
    return NodeFingerprint(op, *node.schema, node.attrs, node.requested_device, TensorForm::kInFunction, functions);
  }

  // Nodes are found breadth first from the root; an edge to one that was found before does not count. That ends loops,
  // and gives every node its place in one tree.
  StatusOr<uint64_t> OfRoot(const Graph& graph, NodeId root, NodeHashes& known) {
    std::vector<NodeId> order;
    absl::flat_hash_map<NodeId, std::vector<Endpoint>> inputs;
    absl::flat_hash_map<NodeId, std::vector<NodeId>> controls;
    absl::flat_hash_set<NodeId> visited;
    std::deque<NodeId> pending{root};
    while (!pending.empty()) {
      const NodeId id = pending.front();
      pending.pop_front();
      if (!visited.insert(id).second) continue;
      order.push_back(id);
      for (const Endpoint& input : graph.node(id)->inputs) {
        if (visited.contains(input.node)) continue;
        inputs[id].push_back(input);
        pending.push_back(input.node);
      }
      for (NodeId control : graph.node(id)->control_inputs) {
        if (!visited.contains(control)) controls[id].push_back(control);
      }
    }
    // Inputs of a node that are visited at all come after it in the order.
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      if (known.contains(*id)) continue;
      WEIR_ASSIGN_OR_RETURN(uint64_t alone, OfNodeAlone(*graph.node(*id), /*with_functions=*/true));
      uint64_t control_hash = 0, input_hash = 0;
      for (NodeId control : controls[*id]) {
        WEIR_ASSIGN_OR_RETURN(uint64_t hash, OfNodeAlone(*graph.node(control), /*with_functions=*/false));
        control_hash += hash;
      }
      for (const Endpoint& input : inputs[*id]) input_hash = AddInput(input_hash, known[input.node], input.index);
      known[*id] = WithInputs(alone, control_hash, input_hash);
    }
    return known[root];
  }

  const std::shared_ptr<FunctionLibrary> library_;
  absl::flat_hash_map<std::string, uint64_t> functions_;
};

}  // namespace

StatusOr<uint64_t> FunctionFingerprint(const FunctionAttr& function, std::shared_ptr<FunctionLibrary> library) {
  return FunctionHasher(std::move(library)).OfFunction(function);
}

}  // namespace weir
