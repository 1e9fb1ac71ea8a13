// Small steps that the rewriting passes share.
#ifndef WEIR_PASSES_REWRITE_H_
#define WEIR_PASSES_REWRITE_H_

#include <functional>
#include <span>
#include <vector>

#include "weir/graph/graph.h"

namespace weir {

// Computes a node's outputs from its inputs, on the CPU. An error means that it cannot be done now.
using NodeEvaluator = std::function<StatusOr<std::vector<Tensor>>(const Node&, std::span<const Tensor>)>;

// True if the node's outputs depend on its inputs and attributes alone and it does nothing else: not stateful, no
// control flow, no reference, no end of the graph, no placeholder, no call.
bool IsPure(const Node& node);
// True if the client asked for a certain device.
inline bool IsPinned(const Node& node) { return !node.requested_device.empty(); }

// Adds a control input unless it is there or is the node itself.
void AddControlInput(Node* node, NodeId input);

// Makes the node another of the same name: a Const that runs after `control_inputs`.
Status TurnIntoConst(Graph* graph, Node* node, Tensor value, std::vector<NodeId> control_inputs);
// ... or an Identity of `input`, with the control inputs it has.
Status TurnIntoIdentity(Graph* graph, Node* node, Endpoint input);

// A new node beside `like`: on its device, and named after it and the operation.
StatusOr<Node*> AddBeside(Graph* graph, const Node& like, std::string_view op, std::vector<Endpoint> inputs,
                          AttrMap attrs);

// Replaces tensors by others, all at once at the end.
class Replacements {
 public:
  explicit Replacements(Graph* graph) : graph_(*graph), node_(graph->num_node_ids(), kNoNode) {}
  // Consumers of `from` take the same outputs of `to` instead; control edges move too.
  void Replace(NodeId from, NodeId to) { node_[from] = to, any_ = true; }
  // As above for one tensor only; control edges stay.
  void Replace(Endpoint from, Endpoint to) { tensor_[from] = to, any_ = true; }
  Endpoint Find(Endpoint tensor) const;
  NodeId Find(NodeId node) const;
  // Brings the inputs of one node up to date.
  void Update(Node* node) const;
  // Of all nodes. Returns whether anything was replaced.
  bool Apply();

 private:
  Graph& graph_;
  std::vector<NodeId> node_;
  absl::flat_hash_map<Endpoint, Endpoint> tensor_;
  bool any_ = false;
};

// Removes the nodes that nothing needs: what no `_Arg`, `_Retval`, stateful node or node of `keep` depends on. Returns
// how many went.
int RemoveUnused(Graph* graph, std::span<const NodeId> keep);

}  // namespace weir

#endif  // WEIR_PASSES_REWRITE_H_
