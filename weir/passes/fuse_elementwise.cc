#include "weir/passes/fuse_elementwise.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::string_view kUnaryOps[] = {"Abs",      "Ceil",  "Cos",    "Elu",     "Erf",  "Exp",        "Expm1",
                                          "Floor",    "Inv",   "Log",    "Log1p",   "Neg",  "Reciprocal", "Relu",
                                          "Relu6",    "Rsqrt", "Selu",   "Sigmoid", "Sign", "Sin",        "Softplus",
                                          "Softsign", "Sqrt",  "Square", "Tanh"};
constexpr std::string_view kBinaryOps[] = {"Add",
                                           "AddV2",
                                           "Div",
                                           "DivNoNan",
                                           "InvGrad",
                                           "Maximum",
                                           "Minimum",
                                           "Mul",
                                           "Pow",
                                           "RealDiv",
                                           "ReciprocalGrad",
                                           "RsqrtGrad",
                                           "SigmoidGrad",
                                           "SqrtGrad",
                                           "SquaredDifference",
                                           "Sub",
                                           "TanhGrad"};
// Beyond this a program's blocks leave the nearest cache.
constexpr size_t kMostMembers = 16;

// Stateful operations that never wait for another part of the step.
constexpr std::string_view kPromptOps[] = {
    "_Arg",     "_Retval", "Apply",           "Assign",    "LogUniform", "Random",           "ReadVar",
    "Resource", "Scatter", "StatelessRandom", "Truncated", "VarHandle",  "VarIsInitialized", "Variable"};

bool IsFusible(const Node& node) {
  auto has = [&](std::span<const std::string_view> ops) { return std::ranges::find(ops, node.op()) != ops.end(); };
  return node.num_outputs() == 1 && node.output_type(0) == DType::kFloat && (has(kUnaryOps) || has(kBinaryOps)) &&
         IsPure(node) && node.attrs.Find("_class") == nullptr && node.attrs.Find("_kernel") == nullptr;
}

// Whether the node makes it matter when, or whether, a value is there before others: it passes values on that may be
// dead, it may wait for what another node does, or it is an argument that arrives late.
bool MakesOrderMatter(const Node& node) {
  if (IsSwitch(node) || IsMerge(node) || node.attrs.Find(kLateArgument) != nullptr) return true;
  return node.schema->is_stateful &&
         std::ranges::none_of(kPromptOps, [&](std::string_view prefix) { return node.op().starts_with(prefix); });
}

// Groups of nodes that become one. A group grows along the topological order, and a node joins only if everybody else
// who looks at the group comes after it in that order: then putting the group at its last node's place leaves the
// order one, so no cycle can arise.
class ElementwiseFuser {
 public:
  ElementwiseFuser(Graph* graph, const OpSchema* schema) : graph_(*graph), schema_(schema), consumers_(*graph) {}

  Status Run() {
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph_));
    position_.assign(graph_.num_node_ids(), 0);
    group_of_.assign(graph_.num_node_ids(), kNoGroup);
    for (size_t i = 0; i < order.size(); ++i) position_[order[i]] = static_cast<int>(i);
    order_matters_ = std::ranges::any_of(graph_.nodes(),
                                         [](const auto& node) { return node != nullptr && MakesOrderMatter(*node); });
    for (NodeId id : order) {
      if (IsFusible(*graph_.node(id))) Join(id);
    }
    Replacements replacements(&graph_);
    for (const std::vector<NodeId>& members : groups_) {
      if (members.size() > 1) WEIR_RETURN_IF_ERROR(Fuse(members, replacements));
    }
    replacements.Apply();
    return OkStatus();
  }

 private:
  static constexpr int kNoGroup = -1;

  // Makes a group of the node and of those its operands are in, as far as they may be.
  void Join(NodeId id) {
    const int group = static_cast<int>(groups_.size());
    groups_.push_back({id});
    group_of_[id] = group;
    for (Endpoint input : graph_.node(id)->inputs) {
      const int other = group_of_[input.node];
      if (other == kNoGroup || other == group || !MayJoin(other, id)) continue;
      for (NodeId member : groups_[other]) group_of_[member] = group;
      groups_[group].insert(groups_[group].end(), groups_[other].begin(), groups_[other].end());
      groups_[other].clear();
    }
    std::ranges::sort(groups_[group], {}, [&](NodeId member) { return position_[member]; });
  }

  bool MayJoin(int other, NodeId id) const {
    const std::vector<NodeId>& members = groups_[other];
    if (members.size() + groups_[group_of_[id]].size() > kMostMembers) return false;
    for (NodeId member : members) {
      if (graph_.node(member)->requested_device != graph_.node(id)->requested_device) return false;
      for (const Consumers::Use& use : consumers_.of(member)) {
        if (IsInside(use, other, group_of_[id])) continue;
        if (order_matters_ || position_[use.consumer] < position_[id]) return false;
      }
    }
    return true;
  }
  bool IsInside(const Consumers::Use& use, int a, int b) const {
    const int group = group_of_[use.consumer];
    return use.input >= 0 && (group == a || group == b);
  }

  // The last member becomes the fused node; what others take of the rest becomes its further outputs.
  Status Fuse(const std::vector<NodeId>& members, Replacements& replacements) {
    Node* fused = graph_.node(members.back());
    const int group = group_of_[fused->id];
    std::vector<Endpoint> inputs;
    std::vector<NodeId> control;
    for (NodeId id : members) {
      const Node& node = *graph_.node(id);
      for (Endpoint input : node.inputs) {
        if (group_of_[input.node] != group && std::ranges::find(inputs, input) == inputs.end()) inputs.push_back(input);
      }
      control.insert(control.end(), node.control_inputs.begin(), node.control_inputs.end());
    }
    AttrList ops, operands, results;
    auto number_of = [&](Endpoint value) {
      if (group_of_[value.node] != group) return std::ranges::find(inputs, value) - inputs.begin();
      return static_cast<std::ptrdiff_t>(inputs.size()) + (std::ranges::find(members, value.node) - members.begin());
    };
    for (NodeId id : members) {
      const Node& node = *graph_.node(id);
      ops.s.push_back(node.op());
      operands.i.push_back(number_of(node.inputs[0]));
      operands.i.push_back(node.inputs.size() > 1 ? number_of(node.inputs[1]) : -1);
    }
    results.i.push_back(static_cast<int64_t>(members.size()) - 1);
    for (size_t i = 0; i + 1 < members.size(); ++i) {
      if (IsSeen(members[i], group)) {
        replacements.Replace(Endpoint{members[i], 0}, Endpoint{fused->id, static_cast<int>(results.i.size())});
        results.i.push_back(static_cast<int64_t>(i));
      }
      replacements.Replace(members[i], fused->id);
    }
    AttrMap attrs;
    attrs.Set("T", DType::kFloat);
    attrs.Set("N", static_cast<int64_t>(inputs.size()));
    attrs.Set("M", static_cast<int64_t>(results.i.size()));
    attrs.Set("ops", std::move(ops));
    attrs.Set("operands", std::move(operands));
    attrs.Set("results", std::move(results));
    fused->schema = schema_;
    fused->attrs = std::move(attrs);
    fused->inputs = std::move(inputs);
    fused->control_inputs.clear();
    for (NodeId id : control) {
      if (group_of_[id] != group) AddControlInput(fused, id);
    }
    return graph_.RefreshTypes(fused);
  }

  // Whether somebody outside the group takes the node's value.
  bool IsSeen(NodeId id, int group) const {
    return std::ranges::any_of(consumers_.of(id), [&](const Consumers::Use& use) {
      return use.input >= 0 && group_of_[use.consumer] != group;
    });
  }

  Graph& graph_;
  const OpSchema* const schema_;
  const Consumers consumers_;
  bool order_matters_ = false;
  std::vector<int> position_;  // in the topological order
  std::vector<int> group_of_;
  std::vector<std::vector<NodeId>> groups_;
};

}  // namespace

Status FuseElementwise(Graph* graph) {
  auto schema = graph->ops().LookUp("_FusedElementwise");
  if (!schema.ok()) return OkStatus();  // a registry with other operations only
  return ElementwiseFuser(graph, *schema).Run();
}

std::vector<std::string_view> FusibleElementwiseOps() {
  std::vector<std::string_view> ops(std::begin(kUnaryOps), std::end(kUnaryOps));
  ops.insert(ops.end(), std::begin(kBinaryOps), std::end(kBinaryOps));
  return ops;
}

}  // namespace weir
