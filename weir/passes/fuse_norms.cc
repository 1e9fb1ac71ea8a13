#include "weir/passes/fuse_norms.h"

#include <algorithm>
#include <map>

#include "weir/graph/shape_inference.h"
#include "weir/passes/fuse_elementwise.h"

namespace weir {
namespace {

bool IsNorm(const Node& node) { return node.op() == "FusedBatchNormV2" || node.op() == "FusedBatchNormV3"; }
bool IsNormGradient(const Node& node) {
  return node.op() == "FusedBatchNormGradV2" || node.op() == "FusedBatchNormGradV3";
}

class NormFuser {
 public:
  NormFuser(Graph* graph, const InferredShapes& shapes)
      : graph_(*graph), shapes_(shapes), consumers_(*graph), order_matters_(OrderMatters(*graph)) {}

  Status Run() {
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph_));
    position_.assign(graph_.num_node_ids(), 0);
    for (size_t i = 0; i < order.size(); ++i) position_[order[i]] = static_cast<int>(i);
    Replacements replacements(&graph_);
    for (NodeId id : order) {
      Node* node = graph_.node(id);
      if (!IsImages(*node)) continue;
      if (IsNorm(*node)) WEIR_RETURN_IF_ERROR(FuseForward(node, replacements));
      if (IsNormGradient(*node)) WEIR_RETURN_IF_ERROR(FuseBackward(node));
    }
    replacements.Apply();
    return OkStatus();
  }

 private:
  // Floats, channels last, four dimensions.
  bool IsImages(const Node& node) const {
    if (!IsNorm(node) && !IsNormGradient(node)) return false;
    auto format = node.Attr<std::string>("data_format");
    return node.output_type(0) == DType::kFloat && format.ok() && *format == "NHWC" && IsPure(node) &&
           node.attrs.Find("_class") == nullptr && shapes_.of({node.id, 0}).shape.rank() == 4;
  }

  // The one node that takes the first output, if there is no other.
  Node* OnlyConsumer(const Node& producer) const {
    Node* consumer = nullptr;
    for (const Consumers::Use& use : consumers_.of(producer.id)) {
      if (use.output > 0) continue;
      if (consumer != nullptr || use.input < 0) return nullptr;
      consumer = graph_.node(use.consumer);
    }
    if (consumer == nullptr || !IsPure(*consumer) || !consumer->control_inputs.empty() ||
        consumer->requested_device != producer.requested_device) {
      return nullptr;
    }
    return consumer;
  }

  Status FuseForward(Node* norm, Replacements& replacements) {
    Node* next = OnlyConsumer(*norm);
    if (next == nullptr) return OkStatus();
    std::vector<Endpoint> side;
    if (next->op() == "AddV2" || next->op() == "Add") {
      const Endpoint other = next->inputs[next->inputs[0].node == norm->id ? 1 : 0];
      if (!MayAdd(*norm, other)) return OkStatus();
      side = {other};
      next = OnlyConsumer(*next);
      if (next == nullptr) return OkStatus();
    }
    if (next->op() != "Relu") return OkStatus();
    WEIR_ASSIGN_OR_RETURN(norm->schema, graph_.ops().LookUp("_FusedBatchNormEx"));
    norm->attrs.Set("activation_mode", "Relu");
    norm->attrs.Set("num_side_inputs", static_cast<int64_t>(side.size()));
    for (Endpoint image : side) {
      norm->inputs.push_back(image);
      waiting_.emplace(image.node, norm->id);
      last_side_ = std::max(last_side_, position_[image.node]);
    }
    replacements.Replace(Endpoint{next->id, 0}, Endpoint{norm->id, 0});
    return graph_.RefreshTypes(norm);
  }

  // Whether the norm, all of it, may wait for the other image: it has the same shape and does not come of the norm.
  bool MayAdd(const Node& norm, Endpoint other) {
    if (order_matters_ || other.node == norm.id) return false;
    const PartialShape& shape = shapes_.of({norm.id, 0}).shape;
    if (!shape.IsFullyDefined() || !(shapes_.of(other).shape == shape)) return false;
    const int limit = std::max(last_side_, position_[other.node]);
    std::vector<NodeId> stack{norm.id};
    std::vector<bool> visited(graph_.num_node_ids());
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (id == other.node) return false;
      if (visited[id] || position_[id] > limit) continue;
      visited[id] = true;
      for (const Consumers::Use& use : consumers_.of(id)) stack.push_back(use.consumer);
      auto [begin, end] = waiting_.equal_range(id);
      for (auto it = begin; it != end; ++it) stack.push_back(it->second);
    }
    return true;
  }

  Status FuseBackward(Node* gradient) {
    const Node& relu = *graph_.node(gradient->inputs[0].node);
    if (relu.op() != "ReluGrad" || !relu.control_inputs.empty() || OnlyConsumer(relu) != gradient) return OkStatus();
    const Endpoint dy = relu.inputs[0], y = relu.inputs[1];
    if (graph_.type(dy) != DType::kFloat) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(gradient->schema, graph_.ops().LookUp("_FusedBatchNormGradEx"));
    gradient->attrs.Set("activation_mode", "Relu");
    gradient->attrs.Set("num_side_inputs", 0);
    gradient->inputs[0] = dy;
    // The third reserved space and the offset are for other devices.
    if (gradient->inputs.size() < 6) gradient->inputs.push_back(gradient->inputs[4]);
    gradient->inputs.push_back(gradient->inputs[2]);
    gradient->inputs.push_back(y);
    return graph_.RefreshTypes(gradient);
  }

  Graph& graph_;
  const InferredShapes& shapes_;
  const Consumers consumers_;
  const bool order_matters_;
  std::vector<int> position_;
  std::multimap<NodeId, NodeId> waiting_;  // images, and the norms that wait for them by now
  int last_side_ = 0;                      // the last of these images' positions
};

}  // namespace

Status FuseNorms(Graph* graph) {
  const bool has_any = std::ranges::any_of(
      graph->nodes(), [](const auto& node) { return node != nullptr && (IsNorm(*node) || IsNormGradient(*node)); });
  if (!has_any) return OkStatus();
  // Shapes that contradict each other are for the step to complain about.
  StatusOr<InferredShapes> shapes = InferShapes(*graph);
  if (!shapes.ok()) return OkStatus();
  return NormFuser(graph, *shapes).Run();
}

}  // namespace weir
