#include "weir/graph/graph.h"

#include <algorithm>
#include <charconv>

#include "weir/graph/function_library.h"
#include "weir/graph/node_check.h"

namespace weir {

Graph::Graph(const OpRegistry& ops, std::shared_ptr<FunctionLibrary> functions)
    : ops_(&ops), functions_(functions ? std::move(functions) : std::make_shared<FunctionLibrary>(ops)) {}

Graph Graph::Clone() const {
  Graph copy(*ops_, functions_);
  copy.versions_ = versions_;
  copy.Reserve(nodes_.size());
  copy.num_nodes_ = num_nodes_;
  copy.last_types_ = last_types_;
  for (const auto& node : nodes_) {
    copy.nodes_.push_back(node ? std::make_unique<Node>(*node) : nullptr);
    if (node) copy.by_name_.emplace(copy.nodes_.back()->name, node->id);
  }
  return copy;
}

void Graph::Reserve(size_t num_nodes) {
  nodes_.reserve(num_nodes);
  by_name_.reserve(num_nodes);
}

StatusOr<const OpSchema*> Graph::FindSchema(std::string_view op) const {
  if (const OpSchema* schema = ops_->Find(op)) return schema;
  if (const OpSchema* schema = functions_->FindSchema(op)) return schema;
  return ops_->LookUp(op);
}

StatusOr<Node*> Graph::AddNode(NodeSpec spec) {
  Node node;
  node.name = spec.name.empty() ? UniqueName(spec.op) : std::move(spec.name);
  WEIR_ASSIGN_OR_RETURN(node.schema, FindSchema(spec.op));
  node.attrs = std::move(spec.attrs);
  WEIR_RETURN_IF_ERROR(CompleteAttrs(node));
  WEIR_ASSIGN_OR_RETURN(ArgTypes types, ResolveTypes(node));
  node.types = Share(node.schema, std::move(types));
  node.inputs = std::move(spec.inputs);
  node.control_inputs = std::move(spec.control_inputs);
  node.requested_device = std::move(spec.device);
  auto exists = [this](NodeId id) { return id >= 0 && id < num_node_ids() && nodes_[id] != nullptr; };
  for (NodeId id : node.control_inputs) {
    if (!exists(id)) return InvalidArgument("Node '", node.name, "': Unknown input node with id ", id);
  }
  if (node.inputs.size() != node.types->inputs.size()) return WrongInputCount(node, node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!exists(node.inputs[i].node)) {
      return InvalidArgument("Node '", node.name, "': Unknown input node with id ", node.inputs[i].node);
    }
    WEIR_RETURN_IF_ERROR(CheckInput(node, static_cast<int>(i), *nodes_[node.inputs[i].node], node.inputs[i].index));
  }
  return AddUnchecked(std::move(node));
}

StatusOr<Node*> Graph::AddUnchecked(Node node) {
  if (by_name_.contains(node.name)) return InvalidArgument("Node '", node.name, "' is not unique");
  node.id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::make_unique<Node>(std::move(node)));
  Node* added = nodes_.back().get();
  by_name_.emplace(added->name, added->id);
  ++num_nodes_;
  return added;
}

std::shared_ptr<const ArgTypes> Graph::Share(const OpSchema* schema, ArgTypes types) {
  std::shared_ptr<const ArgTypes>& last = last_types_[schema];
  if (!last || last->inputs != types.inputs || last->outputs != types.outputs) {
    last = std::make_shared<const ArgTypes>(std::move(types));
  }
  return last;
}

void Graph::RemoveNode(NodeId id) {
  by_name_.erase(nodes_[id]->name);
  nodes_[id] = nullptr;
  --num_nodes_;
}

std::string Graph::UniqueName(std::string_view prefix) const {
  if (!by_name_.contains(prefix)) return std::string(prefix);
  // Gallop to a free number, then halve back to the first of a run of used ones.
  auto used = [&](int64_t n) { return by_name_.contains(Cat(prefix, "_", n)); };
  int64_t taken = 0, free = 1;
  while (used(free)) {
    taken = free;
    free *= 2;
  }
  while (free - taken > 1) {
    int64_t middle = taken + (free - taken) / 2;
    (used(middle) ? taken : free) = middle;
  }
  return Cat(prefix, "_", free);
}

Status Graph::RefreshTypes(Node* node) {
  WEIR_RETURN_IF_ERROR(CompleteAttrs(*node));
  WEIR_ASSIGN_OR_RETURN(ArgTypes types, ResolveTypes(*node));
  node->types = Share(node->schema, std::move(types));
  if (node->inputs.size() != node->types->inputs.size()) return WrongInputCount(*node, node->inputs.size());
  return OkStatus();
}

Node* Graph::Find(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : nodes_[it->second].get();
}

Status Graph::Rename(Node* node, std::string_view name) {
  if (node->name == name) return OkStatus();
  if (by_name_.contains(name)) return InvalidArgument("Node '", name, "' is not unique");
  by_name_.erase(node->name);
  node->name = std::string(name);
  by_name_.emplace(node->name, node->id);
  return OkStatus();
}

std::string Graph::TensorName(Endpoint tensor) const { return Cat(nodes_[tensor.node]->name, ":", tensor.index); }

std::optional<TensorId> ParseTensorName(std::string_view text) {
  if (text.starts_with('^')) {
    text.remove_prefix(1);
    if (text.empty() || text.find(':') != std::string_view::npos) return std::nullopt;
    return TensorId{text, -1};
  }
  size_t colon = text.rfind(':');
  TensorId id{text.substr(0, colon), 0};
  if (id.node.empty() || id.node.find(':') != std::string_view::npos) return std::nullopt;
  if (colon == std::string_view::npos) return id;
  std::string_view digits = text.substr(colon + 1);
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id.index);
  if (error != std::errc() || end != digits.data() + digits.size() || id.index < 0) return std::nullopt;
  return id;
}

bool IsSwitch(const Node& node) { return node.op() == "Switch" || node.op() == "RefSwitch"; }
bool IsMerge(const Node& node) { return node.op() == "Merge" || node.op() == "RefMerge"; }
bool IsEnter(const Node& node) { return node.op() == "Enter" || node.op() == "RefEnter"; }
bool IsExit(const Node& node) { return node.op() == "Exit" || node.op() == "RefExit"; }
bool IsNextIteration(const Node& node) { return node.op() == "NextIteration" || node.op() == "RefNextIteration"; }
bool IsLoopCond(const Node& node) { return node.op() == "LoopCond"; }
bool IsControlTrigger(const Node& node) { return node.op() == "ControlTrigger"; }
bool IsSend(const Node& node) { return node.op() == "_Send" || node.op() == "_HostSend" || node.op() == "Send"; }
bool IsRecv(const Node& node) { return node.op() == "_Recv" || node.op() == "_HostRecv" || node.op() == "Recv"; }
bool IsConstant(const Node& node) { return node.op() == "Const"; }
bool IsPlaceholder(const Node& node) {
  return node.op() == "Placeholder" || node.op() == "PlaceholderV2" || node.op() == "PlaceholderWithDefault";
}
bool IsControlFlow(const Node& node) {
  return IsSwitch(node) || IsMerge(node) || IsEnter(node) || IsExit(node) || IsNextIteration(node) || IsLoopCond(node);
}

}  // namespace weir
