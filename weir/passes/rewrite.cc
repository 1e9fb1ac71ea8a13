#include "weir/passes/rewrite.h"

#include <algorithm>

#include "weir/graph/function_library.h"

namespace weir {

bool IsPure(const Node& node) {
  if (node.schema->is_stateful || node.num_outputs() == 0 || IsControlFlow(node) || IsPlaceholder(node) ||
      IsSend(node) || IsRecv(node) || node.op() == "_Arg" || node.op() == "_Retval") {
    return false;
  }
  for (DType type : node.types->inputs) {
    if (IsRef(type)) return false;
  }
  for (DType type : node.types->outputs) {
    if (IsRef(type)) return false;
  }
  for (const auto& [name, value] : node.attrs) {
    if (value.get_if<FunctionAttr>() != nullptr) return false;
    if (const AttrList* list = value.get_if<AttrList>(); list != nullptr && !list->func.empty()) return false;
  }
  return true;
}

void AddControlInput(Node* node, NodeId input) {
  if (input == node->id) return;
  auto& inputs = node->control_inputs;
  if (std::ranges::find(inputs, input) == inputs.end()) inputs.push_back(input);
}

Status TurnIntoConst(Graph* graph, Node* node, Tensor value, std::vector<NodeId> control_inputs) {
  WEIR_ASSIGN_OR_RETURN(const OpSchema* schema, graph->ops().LookUp("Const"));
  node->schema = schema;
  node->attrs = AttrMap();
  node->attrs.Set("dtype", value.dtype());
  node->attrs.Set("value", std::move(value));
  node->inputs.clear();
  node->control_inputs = std::move(control_inputs);
  return graph->RefreshTypes(node);
}

Status TurnIntoIdentity(Graph* graph, Node* node, Endpoint input) {
  WEIR_ASSIGN_OR_RETURN(const OpSchema* schema, graph->ops().LookUp("Identity"));
  node->schema = schema;
  node->attrs = AttrMap();
  node->attrs.Set("T", BaseType(graph->type(input)));
  node->inputs = {input};
  return graph->RefreshTypes(node);
}

NodeId Replacements::Find(NodeId node) const {
  while (node < static_cast<NodeId>(node_.size()) && node_[node] != kNoNode) node = node_[node];
  return node;
}

StatusOr<Node*> AddBeside(Graph* graph, const Node& like, std::string_view op, std::vector<Endpoint> inputs,
                          AttrMap attrs) {
  Graph::NodeSpec spec;
  spec.name = graph->UniqueName(Cat(like.name, "/", op));
  spec.op = op;
  spec.attrs = std::move(attrs);
  spec.inputs = std::move(inputs);
  spec.device = like.requested_device;
  std::string assigned = like.assigned_device;
  WEIR_ASSIGN_OR_RETURN(Node * node, graph->AddNode(std::move(spec)));
  node->assigned_device = std::move(assigned);
  return node;
}

Endpoint Replacements::Find(Endpoint tensor) const {
  // Chains are short and end: a node is only replaced by one that the pass has already dealt with.
  for (size_t steps = 0; steps <= node_.size() + tensor_.size(); ++steps) {
    if (auto it = tensor_.find(tensor); it != tensor_.end()) {
      tensor = it->second;
    } else if (NodeId node = Find(tensor.node); node != tensor.node) {
      tensor.node = node;
    } else {
      break;
    }
  }
  return tensor;
}

void Replacements::Update(Node* node) const {
  if (!any_) return;
  for (Endpoint& input : node->inputs) input = Find(input);
  bool moved = false;
  for (NodeId& input : node->control_inputs) {
    NodeId found = Find(input);
    moved |= found != input;
    input = found;
  }
  if (!moved) return;
  std::vector<NodeId> unique;
  for (NodeId input : node->control_inputs) {
    if (input != node->id && std::ranges::find(unique, input) == unique.end()) unique.push_back(input);
  }
  node->control_inputs = std::move(unique);
}

bool Replacements::Apply() {
  if (!any_) return false;
  for (const auto& node : graph_.nodes()) {
    if (node) Update(node.get());
  }
  return true;
}

int RemoveUnused(Graph* graph, std::span<const NodeId> keep) {
  std::vector<bool> kept(graph->num_node_ids(), false);
  std::vector<NodeId> stack;
  auto visit = [&](NodeId id) {
    if (kept[id]) return;
    kept[id] = true;
    stack.push_back(id);
  };
  for (NodeId id : keep) {
    if (graph->node(id) != nullptr) visit(id);
  }
  for (const auto& node : graph->nodes()) {
    if (node && (node->schema->is_stateful || node->op() == "_Arg" || node->op() == "_Retval")) visit(node->id);
  }
  while (!stack.empty()) {
    const Node& node = *graph->node(stack.back());
    stack.pop_back();
    for (Endpoint input : node.inputs) visit(input.node);
    for (NodeId input : node.control_inputs) visit(input);
  }
  int removed = 0;
  for (NodeId id = 0; id < graph->num_node_ids(); ++id) {
    if (kept[id] || graph->node(id) == nullptr) continue;
    graph->RemoveNode(id);
    ++removed;
  }
  return removed;
}

}  // namespace weir
