#include "weir/device/cpu/rewrites/fuse_norms.h"

#include <algorithm>
#include <map>

namespace weir {
namespace {

bool IsNorm(const Node& node) { return node.op() == "FusedBatchNormV2" || node.op() == "FusedBatchNormV3"; }
bool IsNormGradient(const Node& node) {
  return node.op() == "FusedBatchNormGradV2" || node.op() == "FusedBatchNormGradV3";
}

class NormFuser {
 public:
  NormFuser(RewriteContext& context, const std::vector<DType>& types, bool recomputes)
      : context_(context),
        graph_(context.graph()),
        types_(types),
        recomputes_(recomputes),
        consumers_(context.consumers()),
        waits_(context.waits()) {}

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
    return std::ranges::count(types_, node.output_type(0)) > 0 && format.ok() && *format == "NHWC" &&
           context_.MayRewrite(node) && context_.ShapeOf({node.id, 0}).rank() == 4;
  }

  // The one node that takes the first output, if nothing else has to happen before it.
  Node* NextOf(const Node& producer) const {
    Node* consumer = context_.OnlyConsumer({producer.id, 0});
    return consumer != nullptr && consumer->control_inputs.empty() ? consumer : nullptr;
  }

  Status FuseForward(Node* norm, Replacements& replacements) {
    Node* next = NextOf(*norm);
    if (next == nullptr) return OkStatus();
    std::vector<Endpoint> side;
    if (next->op() == "AddV2" || next->op() == "Add") {
      const Endpoint other = next->inputs[next->inputs[0].node == norm->id ? 1 : 0];
      if (!MayAdd(*norm, other)) return OkStatus();
      side = {other};
      next = NextOf(*next);
      if (next == nullptr) return OkStatus();
    }
    if (next->op() != "Relu") return OkStatus();
    WEIR_ASSIGN_OR_RETURN(norm->schema, graph_.ops().LookUp("_FusedBatchNormEx"));
    norm->attrs.Set("activation_mode", "Relu");
    norm->attrs.Set("num_side_inputs", static_cast<int64_t>(side.size()));
    for (Endpoint image : side) {
      norm->inputs.push_back(image);
      const NodeId joined[] = {norm->id, next->id};
      waits_.Join(joined);
      waiting_.emplace(image.node, norm->id);
      last_side_ = std::max(last_side_, position_[image.node]);
    }
    replacements.Replace(Endpoint{next->id, 0}, Endpoint{norm->id, 0});
    return context_.Changed(norm);
  }

  // Whether the norm, all of it, may wait for the other image: it has the same shape and does not come of the norm.
  bool MayAdd(const Node& norm, Endpoint other) {
    if (other.node == norm.id || waits_.MayBeDead(norm.id) || waits_.MayBeDead(other.node)) return false;
    const PartialShape& shape = context_.ShapeOf({norm.id, 0});
    if (!shape.IsFullyDefined() || !(context_.ShapeOf(other) == shape)) return false;
    for (const Consumers::Use& use : consumers_.of(norm.id)) {
      if (use.output != 0 && !waits_.MayDelay(use.consumer, norm.id, other.node)) return false;
    }
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
    if (relu.op() != "ReluGrad" || !relu.control_inputs.empty() || NextOf(relu) != gradient) return OkStatus();
    const Endpoint dy = relu.inputs[0], y = relu.inputs[1];
    if (graph_.type(dy) != gradient->input_type(0)) return OkStatus();
    if (recomputes_) return FuseRecomputing(gradient, dy, y);
    WEIR_ASSIGN_OR_RETURN(gradient->schema, graph_.ops().LookUp("_FusedBatchNormGradEx"));
    gradient->attrs.Set("activation_mode", "Relu");
    gradient->attrs.Set("num_side_inputs", 0);
    gradient->inputs[0] = dy;
    // The third reserved space and the offset are for other devices.
    if (gradient->inputs.size() < 6) gradient->inputs.push_back(gradient->inputs[4]);
    gradient->inputs.push_back(gradient->inputs[2]);
    gradient->inputs.push_back(y);
    return context_.Changed(gradient);
  }

  Status FuseRecomputing(Node* gradient, Endpoint dy, Endpoint y) {
    const Node* norm = NormBefore(y);
    if (norm != nullptr && norm->inputs[0] != gradient->inputs[1]) norm = nullptr;
    std::vector<Endpoint> inputs(gradient->inputs.begin(), gradient->inputs.begin() + 5);
    inputs[0] = dy;
    inputs.push_back(norm != nullptr ? norm->inputs[2] : gradient->inputs[2]);
    if (norm == nullptr) inputs.push_back(y);
    AttrMap attrs;
    attrs.Set("T", graph_.type(dy));
    attrs.Set("has_output", int64_t{norm == nullptr});
    for (const char* name : {"epsilon", "data_format", "is_training"}) attrs.Set(name, *gradient->attrs.Find(name));
    for (const char* name : {"_class", "_kernel"}) {
      if (const Attribute* value = gradient->attrs.Find(name)) attrs.Set(name, *value);
    }
    WEIR_ASSIGN_OR_RETURN(gradient->schema, graph_.ops().LookUp("_BatchNormReluGrad"));
    gradient->attrs = std::move(attrs);
    gradient->inputs = std::move(inputs);
    return context_.Redefined(gradient);
  }
  // The norm whose rectified output `y` is, if nothing was added in between.
  const Node* NormBefore(Endpoint y) const {
    const Node& relu = *graph_.node(y.node);
    if (relu.op() != "Relu") return nullptr;
    const Node& norm = *graph_.node(relu.inputs[0].node);
    if (relu.inputs[0].index != 0) return nullptr;
    if (IsNorm(norm)) return &norm;
    const bool is_fused = norm.op() == "_FusedBatchNormEx" && norm.Attr<int64_t>("num_side_inputs").value_or(1) == 0;
    return is_fused ? &norm : nullptr;
  }

  RewriteContext& context_;
  Graph& graph_;
  const std::vector<DType>& types_;
  const bool recomputes_;
  const Consumers& consumers_;
  WaitAnalysis waits_;  // as it is after what was fused so far
  std::vector<int> position_;
  std::multimap<NodeId, NodeId> waiting_;  // images, and the norms that wait for them by now
  int last_side_ = 0;                      // the last of these images' positions
};

Status Fuse(RewriteContext& context, const std::vector<DType>& types, bool recomputes) {
  const bool has_any = std::ranges::any_of(context.graph().nodes(), [](const auto& node) {
    return node != nullptr && (IsNorm(*node) || IsNormGradient(*node));
  });
  if (!has_any || !context.ShapesAgree()) return OkStatus();
  return NormFuser(context, types, recomputes).Run();
}

}  // namespace

Status FuseNorms(RewriteContext& context) { return Fuse(context, {DType::kFloat}, /*recomputes=*/false); }

Status FuseNorms(RewriteContext& context, const std::vector<DType>& types) {
  return Fuse(context, types, /*recomputes=*/true);
}

}  // namespace weir
