#include "weir/passes/constant_folding.h"

#include <algorithm>

namespace weir {
namespace {

bool IsMeasure(const Node& node) { return node.op() == "Shape" || node.op() == "Size" || node.op() == "Rank"; }

class Folder {
 public:
  Folder(RewriteContext& context, const NodeEvaluator& evaluate, const ConstantFoldingOptions& options)
      : context_(context),
        graph_(context.graph()),
        evaluate_(evaluate),
        options_(options),
        replacements_(&context.graph()) {}

  Status Run() {
    WEIR_RETURN_IF_ERROR(FoldMeasures());
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph_));
    for (NodeId id : order) {
      Node* node = graph_.node(id);
      replacements_.Update(node);
      if (IsFoldable(*node)) WEIR_RETURN_IF_ERROR(Fold(node));
    }
    replacements_.Apply();
    return OkStatus();
  }

 private:
  Status FoldMeasures() {
    bool any = std::ranges::any_of(graph_.nodes(), [](const auto& node) { return node && IsMeasure(*node); });
    if (!any || !context_.ShapesAgree()) return OkStatus();
    for (const auto& node : graph_.nodes()) {
      if (!node || !IsMeasure(*node) || IsPinned(*node)) continue;
      // As a control input, a Switch would run the constant on both sides.
      if (IsSwitch(*graph_.node(node->inputs[0].node))) continue;
      const Tensor value = context_.ValueOf({node->id, 0});
      if (!value.has_value() || value.dtype() != node->output_type(0)) continue;
      std::vector<NodeId> waits = node->control_inputs;
      NodeId measured = node->inputs[0].node;
      if (std::ranges::find(waits, measured) == waits.end()) waits.push_back(measured);
      WEIR_RETURN_IF_ERROR(TurnIntoConst(&graph_, node.get(), value, std::move(waits)));
    }
    return OkStatus();
  }

  bool IsFoldable(const Node& node) const {
    if (node.inputs.empty() || IsPinned(node) || !IsPure(node)) return false;
    for (DType type : node.types->outputs) {
      if (!IsPlain(type) && type != DType::kString) return false;
    }
    return std::ranges::all_of(node.inputs, [this](Endpoint input) {
      const Node& producer = *graph_.node(input.node);
      return IsConstant(producer) && !IsPinned(producer);
    });
  }

  // Checked before memory is allocated, if the shapes are known.
  bool IsTooLarge(const Node& node, const std::vector<Tensor>& inputs) const {
    std::vector<InferredTensor> known(inputs.size()), outputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      known[i].shape = inputs[i].shape();
      known[i].value = inputs[i];
    }
    if (!InferNode(graph_, node, std::move(known), &outputs).ok()) return false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      int64_t limit = options_.max_bytes / static_cast<int64_t>(std::max<size_t>(SizeOf(node.output_type(i)), 1));
      if (outputs[i].shape.num_elements() > limit) return true;
    }
    return false;
  }

  Status Fold(Node* node) {
    std::vector<Tensor> inputs;
    std::vector<NodeId> waits = node->control_inputs;
    for (Endpoint input : node->inputs) {
      const Node& constant = *graph_.node(input.node);
      const Tensor* value = constant.attrs.Find("value")->get_if<Tensor>();
      if (value == nullptr) return OkStatus();
      inputs.push_back(*value);
      for (NodeId id : constant.control_inputs) {
        if (std::ranges::find(waits, id) == waits.end()) waits.push_back(id);
      }
    }
    if (IsTooLarge(*node, inputs)) return OkStatus();
    StatusOr<std::vector<Tensor>> results = evaluate_(*node, inputs);
    if (!results.ok() || results->size() != static_cast<size_t>(node->num_outputs())) return OkStatus();
    for (size_t i = 0; i < results->size(); ++i) {
      const Tensor& result = (*results)[i];
      if (!result.has_value() || result.dtype() != node->output_type(static_cast<int>(i))) return OkStatus();
      if (static_cast<int64_t>(result.total_bytes()) > options_.max_bytes) return OkStatus();
    }
    if (results->size() == 1) return TurnIntoConst(&graph_, node, std::move(results->front()), std::move(waits));
    for (size_t i = 0; i < results->size(); ++i) {
      Graph::NodeSpec spec{.name = graph_.UniqueName(Cat(node->name, "/folded_", i)), .op = "Const"};
      spec.attrs.Set("dtype", (*results)[i].dtype());
      spec.attrs.Set("value", (*results)[i]);
      spec.control_inputs = waits;
      WEIR_ASSIGN_OR_RETURN(Node * constant, graph_.AddNode(std::move(spec)));
      replacements_.Replace(Endpoint{node->id, static_cast<int32_t>(i)}, Endpoint{constant->id, 0});
    }
    return OkStatus();
  }

  RewriteContext& context_;
  Graph& graph_;
  const NodeEvaluator& evaluate_;
  const ConstantFoldingOptions& options_;
  Replacements replacements_;
};

}  // namespace

Status FoldConstants(RewriteContext& context, const NodeEvaluator& evaluate, const ConstantFoldingOptions& options) {
  if (!evaluate) return OkStatus();
  WEIR_RETURN_IF_ERROR(Folder(context, evaluate, options).Run());
  context.ForgetShapes();
  return OkStatus();
}

}  // namespace weir
