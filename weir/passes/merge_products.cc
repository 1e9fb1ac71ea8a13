#include "weir/passes/merge_products.h"

#include <algorithm>
#include <map>

namespace weir {
namespace {

// With fewer terms, concatenating the operands may cost as much as it saves.
constexpr size_t kFewestTerms = 4;

class ProductMerger {
 public:
  explicit ProductMerger(RewriteContext& context)
      : context_(context), graph_(context.graph()), consumers_(context.consumers()) {}

  Status Run() {
    std::vector<Node*> sums;
    for (const auto& node : graph_.nodes()) {
      if (node != nullptr && node->op() == "AddN" && context_.MayRewrite(*node)) sums.push_back(node.get());
    }
    // Products first: they create the operands that the sums of columns share.
    for (Node* sum : sums) WEIR_RETURN_IF_ERROR(MergeProductsOf(sum));
    for (Node* sum : sums) WEIR_RETURN_IF_ERROR(MergeColumnsOf(sum));
    return OkStatus();
  }

 private:
  // The terms that only this sum reads, in an order that does not depend on the sum.
  template <typename Fits>
  std::vector<NodeId> Terms(const Node& sum, Fits fits) const {
    std::vector<NodeId> terms;
    for (Endpoint input : sum.inputs) {
      if (input.node >= num_known_) continue;  // added by this pass
      const Node& term = *graph_.node(input.node);
      if (consumers_.of(term.id).size() == 1 && term.control_inputs.empty() && context_.MayRewrite(term) &&
          context_.AreTogether(term, sum) && fits(term)) {
        terms.push_back(term.id);
      }
    }
    std::ranges::sort(terms);
    return terms;
  }

  static bool HasFlag(const Node& node, const char* name) { return node.Attr<bool>(name).value_or(false); }

  Status MergeProductsOf(Node* sum) {
    const std::vector<NodeId> terms = Terms(*sum, [](const Node& term) {
      return term.op() == "MatMul" && HasFlag(term, "transpose_a") && !HasFlag(term, "transpose_b");
    });
    if (terms.size() < kFewestTerms) return OkStatus();
    std::vector<Endpoint> operands;
    for (size_t side : {0, 1}) {
      std::vector<Endpoint> parts;
      for (NodeId term : terms) parts.push_back(graph_.node(term)->inputs[side]);
      WEIR_ASSIGN_OR_RETURN(Endpoint operand, PutTogether(*sum, std::move(parts)));
      operands.push_back(operand);
    }
    return ReplaceTerms(sum, terms, std::move(operands));
  }

  // Only merges columns whose tensors a merged product has concatenated, because those are known to be matrices.
  Status MergeColumnsOf(Node* sum) {
    const std::vector<NodeId> terms = Terms(*sum, [](const Node& term) { return term.op() == "BiasAddGrad"; });
    if (terms.size() < kFewestTerms) return OkStatus();
    std::vector<Endpoint> parts;
    for (NodeId term : terms) parts.push_back(graph_.node(term)->inputs[0]);
    std::ranges::sort(parts, {}, [](Endpoint part) { return std::pair(part.node, part.index); });
    for (const auto& [known, operand] : together_) {
      std::vector<Endpoint> sorted = known;
      std::ranges::sort(sorted, {}, [](Endpoint part) { return std::pair(part.node, part.index); });
      if (sorted == parts) return ReplaceTerms(sum, terms, {operand});
    }
    return OkStatus();
  }

  // Concatenates the tensors along the first dimension.
  StatusOr<Endpoint> PutTogether(const Node& sum, std::vector<Endpoint> parts) {
    for (const auto& [known, operand] : together_) {
      if (known == parts) return operand;
    }
    const DType type = BaseType(graph_.type(parts[0]));
    AttrMap zero;
    zero.Set("dtype", DType::kInt32);
    zero.Set("value", Tensor::Scalar<int32_t>(0));
    WEIR_ASSIGN_OR_RETURN(Node * axis, context_.AddBeside(sum, "Const", {}, std::move(zero)));
    std::vector<Endpoint> inputs = parts;
    inputs.push_back({axis->id, 0});
    AttrMap attrs;
    attrs.Set("T", type);
    attrs.Set("N", static_cast<int64_t>(parts.size()));
    attrs.Set("Tidx", DType::kInt32);
    WEIR_ASSIGN_OR_RETURN(Node * node, context_.AddBeside(sum, "ConcatV2", std::move(inputs), std::move(attrs)));
    together_.emplace_back(std::move(parts), Endpoint{node->id, 0});
    return Endpoint{node->id, 0};
  }

  // Replaces terms of the sum by one node of their kind with the given operands.
  Status ReplaceTerms(Node* sum, const std::vector<NodeId>& terms, std::vector<Endpoint> operands) {
    const Node& pattern = *graph_.node(terms[0]);
    WEIR_ASSIGN_OR_RETURN(Node * merged, context_.AddBeside(*sum, pattern.op(), std::move(operands), pattern.attrs));
    std::erase_if(sum->inputs, [&](Endpoint input) { return std::ranges::binary_search(terms, input.node); });
    if (sum->inputs.empty()) return context_.TurnIntoIdentity(sum, {merged->id, 0});
    sum->inputs.push_back({merged->id, 0});
    sum->attrs.Set("N", static_cast<int64_t>(sum->inputs.size()));
    return context_.Changed(sum);
  }

  RewriteContext& context_;
  Graph& graph_;
  const Consumers& consumers_;
  const NodeId num_known_ = graph_.num_node_ids();
  std::vector<std::pair<std::vector<Endpoint>, Endpoint>> together_;
};

}  // namespace

Status MergeProducts(RewriteContext& context) { return ProductMerger(context).Run(); }

}  // namespace weir
