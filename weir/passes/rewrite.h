// Small graph changes that the rewriting passes share.
#ifndef WEIR_PASSES_REWRITE_H_
#define WEIR_PASSES_REWRITE_H_

#include <functional>
#include <span>
#include <vector>

#include "weir/base/export.h"
#include "weir/graph/graph.h"

namespace WEIR_PUBLIC weir {

// Computes a node's outputs from its inputs, on the CPU. An error means that the node cannot be evaluated now.
using NodeEvaluator = std::function<StatusOr<std::vector<Tensor>>(const Node&, std::span<const Tensor>)>;

// True if the node's outputs depend only on its inputs and attributes and it has no side effects: it is not stateful,
// has no reference inputs, and is no control flow, `_Arg`, `_Retval`, placeholder or function call.
bool IsPure(const Node& node);
// True if the client requested a device.
inline bool IsPinned(const Node& node) { return !node.requested_device.empty(); }

// Adds a control input, unless the node has it already or is the input itself.
void AddControlInput(Node* node, NodeId input);

// Turns the node into a Const of the same name that runs after `control_inputs`.
Status TurnIntoConst(Graph* graph, Node* node, Tensor value, std::vector<NodeId> control_inputs);
// Turns the node into an Identity of `input`; its control inputs stay.
Status TurnIntoIdentity(Graph* graph, Node* node, Endpoint input);

// Adds a node on the device of `like`, named after `like` and the op.
StatusOr<Node*> AddBeside(Graph* graph, const Node& like, std::string_view op, std::vector<Endpoint> inputs,
                          AttrMap attrs);

// Collects replacements of tensors and applies them all at once.
class Replacements {
 public:
  explicit Replacements(Graph* graph) : graph_(*graph), node_(graph->num_node_ids(), kNoNode) {}
  // Consumers of `from` take the same outputs of `to` instead; control edges move too.
  void Replace(NodeId from, NodeId to) { node_[from] = to, any_ = true; }
  // The same for a single tensor; control edges stay.
  void Replace(Endpoint from, Endpoint to) { tensor_[from] = to, any_ = true; }
  Endpoint Find(Endpoint tensor) const;
  NodeId Find(NodeId node) const;
  // Applies the replacements to the inputs of one node.
  void Update(Node* node) const;
  // Applies the replacements to all nodes. Returns whether there were any.
  bool Apply();

 private:
  Graph& graph_;
  std::vector<NodeId> node_;
  absl::flat_hash_map<Endpoint, Endpoint> tensor_;
  bool any_ = false;
};

// Removes dead nodes: those that no `_Arg`, `_Retval`, stateful node or node of `keep` depends on. Returns how many
// were removed.
int RemoveUnused(Graph* graph, std::span<const NodeId> keep);

}  // namespace weir

#endif  // WEIR_PASSES_REWRITE_H_
