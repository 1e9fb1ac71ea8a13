#include "weir/passes/fuse_column_sums.h"

#include <algorithm>

namespace weir {
namespace {

class ColumnSumFuser {
 public:
  ColumnSumFuser(RewriteContext& context) : context_(context), graph_(context.graph()) {}

  Status Run() {
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr || (node->op() != "_FusedElementwise" && node->op() != "_FusedMixedElementwise")) continue;
      if (context_.MayRewrite(*node) && HasRows(*node)) WEIR_RETURN_IF_ERROR(Fuse(node.get()));
    }
    return OkStatus();
  }

 private:
  static bool HasRows(const Node& node) {
    const auto ops = node.Attr<std::vector<std::string>>("ops");
    return ops.ok() && std::ranges::any_of(*ops, [](const std::string& op) {
             return op == "Sum" || op == "Mean" || op == "Max" || op == "Softmax";
           });
  }

  Status Fuse(Node* node) {
    std::vector<int64_t> sums;
    std::vector<Node*> taken;
    for (int i = 0; i < node->num_outputs(); ++i) {
      Node* sum = SumOf(*node, i);
      if (sum == nullptr) continue;
      sums.push_back(i);
      taken.push_back(sum);
    }
    if (sums.empty()) return OkStatus();
    node->attrs.Set("column_sums", AttrList{.i = sums});
    WEIR_RETURN_IF_ERROR(context_.Redefined(node));
    for (size_t i = 0; i < sums.size(); ++i) {
      WEIR_RETURN_IF_ERROR(context_.TurnIntoIdentity(taken[i], {node->id, static_cast<int>(sums[i])}));
    }
    return OkStatus();
  }

  // The sum over all dimensions but the last that alone takes this output; null if there is none.
  Node* SumOf(const Node& node, int output) {
    Node* sum = nullptr;
    for (const Consumers::Use& use : context_.consumers().of(node.id)) {
      if (use.output != output || use.input < 0) continue;
      Node* taker = graph_.node(use.consumer);
      if (sum != nullptr || use.input != 0 || taker->op() != "Sum") return nullptr;
      sum = taker;
    }
    if (sum == nullptr || sum->output_type(0) != DType::kFloat || !context_.MayRewrite(*sum) ||
        !context_.AreTogether(node, *sum) || !sum->control_inputs.empty() ||
        sum->Attr<bool>("keep_dims").value_or(true)) {
      return nullptr;
    }
    // Fused nodes' shapes are not inferred; the sum's is known from before.
    const PartialShape columns = context_.ShapeOf({sum->id, 0});
    if (!columns.has_rank() || columns.rank() != 1 || columns.dim(0) < 2) return nullptr;
    return IsOverAllButLast(context_.ValueOf(sum->inputs[1])) ? sum : nullptr;
  }
  static bool IsOverAllButLast(const Tensor& axes) {
    if (!axes.has_value() || axes.num_elements() == 0) return false;
    const auto rank = static_cast<int>(axes.num_elements()) + 1;
    std::vector<bool> is_summed(static_cast<size_t>(rank), false);
    for (int64_t i = 0; i < axes.num_elements(); ++i) {
      int64_t axis = axes.dtype() == DType::kInt32 ? axes.data<int32_t>()[i] : axes.data<int64_t>()[i];
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank - 1) return false;
      is_summed[static_cast<size_t>(axis)] = true;
    }
    return std::ranges::count(is_summed, true) == rank - 1;
  }

  RewriteContext& context_;
  Graph& graph_;
};

}  // namespace

Status FuseColumnSums(RewriteContext& context) {
  return context.ShapesAgree() ? ColumnSumFuser(context).Run() : OkStatus();
}

}  // namespace weir
