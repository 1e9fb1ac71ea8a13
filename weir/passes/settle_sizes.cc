#include "weir/passes/settle_sizes.h"

#include <algorithm>

#include "weir/passes/dimension_sources.h"
#include "weir/passes/loop_constants.h"
#include "weir/passes/mask_factors.h"

namespace weir {
namespace {

class ShapeSettler {
 public:
  explicit ShapeSettler(RewriteContext& context) : context_(context), graph_(context.graph()), sources_(context) {}

  StatusOr<bool> Run() {
    Replacements replacements(&graph_);
    const int num_nodes = graph_.num_node_ids();
    for (NodeId id = 0; id < num_nodes; ++id) {
      Node* node = graph_.node(id);
      if (node == nullptr) continue;
      if (node->op() == "StridedSlice" || node->op() == "Pack") WEIR_RETURN_IF_ERROR(SettleSize(node));
      if (node->op() == "SelectV2") WEIR_RETURN_IF_ERROR(SettleMask(node));
      if (node->op() != "Reshape" || !context_.MayRewrite(*node) || context_.ValueOf(node->inputs[1]).has_value()) {
        continue;
      }
      if (IsIdle(*node)) {
        replacements.Replace(Endpoint{id, 0}, graph_.node(node->inputs[0].node)->inputs[0]);
      } else {
        WEIR_RETURN_IF_ERROR(SettleReshape(node));
      }
    }
    return replacements.Apply() || has_changed_;
  }

 private:
  bool IsIdle(const Node& node) {
    const Node& sum = *graph_.node(node.inputs[0].node);
    // Sums of known axes are no question of shapes.
    return sum.op() == "Sum" && context_.MayRewrite(sum) && sum.control_inputs.empty() && node.control_inputs.empty() &&
           !context_.ValueOf(sum.inputs[1]).has_value() && !context_.consumers().of(node.id).empty() &&
           !context_.waits().MayBeDead(node.id) && context_.AreTogether(*graph_.node(sum.inputs[0].node), node) &&
           sources_.HaveOneShape(sum.inputs[0], {node.id, 0});
  }

  Status SettleSize(Node* node) {
    const DType dtype = node->output_type(0);
    if ((dtype != DType::kInt32 && dtype != DType::kInt64) || !context_.MayRewrite(*node) ||
        context_.waits().MayBeDead(node->id)) {
      return OkStatus();
    }
    const Tensor value = context_.ValueOf({node->id, 0});
    if (!value.has_value() || value.dtype() != dtype) return OkStatus();
    std::vector<NodeId> after = node->control_inputs;
    if (HasLoops(graph_)) after.push_back(node->inputs[0].node);  // stays in its loop
    WEIR_RETURN_IF_ERROR(TurnIntoConst(&graph_, node, value, std::move(after)));
    has_changed_ = true;
    return context_.Changed(node);
  }

  Status SettleMask(Node* node) {
    if (!context_.MayRewrite(*node) || context_.waits().MayBeDead(node->id)) return OkStatus();
    const Endpoint mask = WithoutTrivialFactors(context_, node->inputs[0]);
    if (mask == node->inputs[0]) return OkStatus();
    if (!sources_.HaveOneShape({node->id, 0}, node->inputs[1]) &&
        !sources_.HaveOneShape({node->id, 0}, node->inputs[2])) {
      return OkStatus();
    }
    node->inputs[0] = mask;
    has_changed_ = true;
    return context_.Changed(node);
  }

  Status SettleReshape(Node* node) {
    const PartialShape shape = context_.ShapeOf({node->id, 0});
    if (!shape.has_rank() || std::ranges::count(shape.dims(), PartialShape::kUnknown) != 1 ||
        std::ranges::count(shape.dims(), 0) > 0 || context_.waits().MayBeDead(node->id)) {
      return OkStatus();
    }
    const auto axis = std::ranges::find(shape.dims(), PartialShape::kUnknown) - shape.dims().begin();
    if (!sources_.IsLeftOver(*node, static_cast<int>(axis))) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(const DType dtype, node->Attr<DType>("Tshape"));
    WEIR_ASSIGN_OR_RETURN(Tensor value, Tensor::Allocate(dtype, Shape({shape.rank()})));
    for (int i = 0; i < shape.rank(); ++i) {
      if (dtype == DType::kInt32) {
        value.data<int32_t>()[i] = static_cast<int32_t>(shape.dim(i));
      } else {
        value.data<int64_t>()[i] = shape.dim(i);
      }
    }
    WEIR_ASSIGN_OR_RETURN(Node * constant, AddConstant(context_, *node, std::move(value), node->inputs[0].node));
    node->inputs[1] = {constant->id, 0};
    has_changed_ = true;
    return context_.Changed(node);
  }

  RewriteContext& context_;
  Graph& graph_;
  DimensionSources sources_;
  bool has_changed_ = false;
};

}  // namespace

StatusOr<bool> SettleSizes(RewriteContext& context) {
  if (!context.ShapesAgree()) return false;
  return ShapeSettler(context).Run();
}

}  // namespace weir
