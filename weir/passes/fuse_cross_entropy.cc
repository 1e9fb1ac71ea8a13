#include "weir/passes/fuse_cross_entropy.h"

#include <algorithm>

#include "weir/passes/dimension_sources.h"

namespace weir {
namespace {

// What takes the gradient of the logits: a product with a number for each row, and casts of that.
struct Scaled {
  Node* product = nullptr;
  Endpoint factors;  // [rows, 1]
  std::vector<Node*> casts;
};

class CrossEntropyFuser {
 public:
  explicit CrossEntropyFuser(RewriteContext& context)
      : context_(context), graph_(context.graph()), consumers_(context.consumers()), sources_(context) {}

  Status Run() {
    const int num_nodes = graph_.num_node_ids();
    for (NodeId id = 0; id < num_nodes; ++id) {
      Node* node = graph_.node(id);
      if (node == nullptr || node->op() != "SparseSoftmaxCrossEntropyWithLogits" || !context_.MayRewrite(*node) ||
          node->input_type(0) != DType::kFloat) {
        continue;
      }
      std::optional<Scaled> scaled;
      if (FindGradient(*node, scaled)) WEIR_RETURN_IF_ERROR(Put(node, scaled));
    }
    return OkStatus();
  }

 private:
  // False if the gradient is needed as it is.
  bool FindGradient(const Node& node, std::optional<Scaled>& scaled) {
    for (const Consumers::Use& use : consumers_.of(node.id)) {
      if (use.output != 1) continue;
      Node* taker = graph_.node(use.consumer);
      if (scaled || taker->op() != "Mul" || !context_.MayRewrite(*taker) || !context_.AreTogether(node, *taker)) {
        return false;
      }
      const Endpoint factors = taker->inputs[static_cast<size_t>(1 - use.input)];
      const PartialShape shape = context_.ShapeOf(factors);
      if (shape.rank() != 2 || shape.dim(1) != 1 || !IsOneForEachRow(node, factors)) return false;
      scaled = Scaled{.product = taker, .factors = factors, .casts = {}};
    }
    if (scaled) FindCasts(node, *scaled);
    return true;
  }
  // There are as many labels as rows of logits, or the operation fails.
  bool IsOneForEachRow(const Node& node, Endpoint factors) {
    return sources_.AreEqual(factors, 0, node.inputs[0], 0) || sources_.AreEqual(factors, 0, node.inputs[1], 0);
  }
  // Only if nobody wants the product as it is.
  void FindCasts(const Node& node, Scaled& scaled) {
    const DType small = graph_.type(FeaturesOf(node));
    std::vector<Node*> casts;
    for (const Consumers::Use& use : consumers_.of(scaled.product->id)) {
      Node* cast = graph_.node(use.consumer);
      if (use.input < 0 || cast->op() != "Cast" || cast->output_type(0) != small || !context_.MayRewrite(*cast) ||
          !context_.AreTogether(node, *cast) || cast->Attr<bool>("Truncate").value_or(false)) {
        return;
      }
      casts.push_back(cast);
    }
    if (small != DType::kFloat) scaled.casts = std::move(casts);
  }
  // The logits before a cast to float.
  Endpoint FeaturesOf(const Node& node) const {
    const Endpoint logits = node.inputs[0];
    const Node& cast = *graph_.node(logits.node);
    if (cast.op() != "Cast" || !context_.MayRewrite(cast) || !cast.control_inputs.empty() ||
        !context_.AreTogether(cast, node)) {
      return logits;
    }
    const DType dtype = graph_.type(cast.inputs[0]);
    return dtype == DType::kHalf || dtype == DType::kBFloat16 ? cast.inputs[0] : logits;
  }

  Status Put(Node* node, const std::optional<Scaled>& scaled) {
    const Endpoint features = FeaturesOf(*node), labels = node->inputs[1];
    AttrMap attrs;
    attrs.Set("T", graph_.type(features));
    attrs.Set("Tlabels", BaseType(graph_.type(labels)));
    WEIR_ASSIGN_OR_RETURN(Node * loss, context_.AddBeside(*node, "_SparseCrossEntropy", {features, labels}, attrs));
    loss->control_inputs = node->control_inputs;
    WEIR_RETURN_IF_ERROR(Redirect({node->id, 0}, {loss->id, 0}));
    if (!scaled) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(const Endpoint factors, AsVector(*scaled->product, scaled->factors));
    attrs.Set("U", scaled->casts.empty() ? DType::kFloat : graph_.type(features));
    WEIR_ASSIGN_OR_RETURN(Node * gradient,
                          context_.AddBeside(*scaled->product, "_SparseCrossEntropyGrad",
                                             {features, labels, Endpoint{loss->id, 1}, factors}, std::move(attrs)));
    gradient->control_inputs = scaled->product->control_inputs;
    if (scaled->casts.empty()) return context_.TurnIntoIdentity(scaled->product, {gradient->id, 0});
    for (Node* cast : scaled->casts) WEIR_RETURN_IF_ERROR(context_.TurnIntoIdentity(cast, {gradient->id, 0}));
    return OkStatus();
  }
  StatusOr<Endpoint> AsVector(const Node& like, Endpoint factors) {
    AttrMap attrs;
    attrs.Set("T", graph_.type(factors));
    attrs.Set("squeeze_dims", AttrList{.i = {1}});
    WEIR_ASSIGN_OR_RETURN(Node * node, context_.AddBeside(like, "Squeeze", {factors}, std::move(attrs)));
    return Endpoint{node->id, 0};
  }
  // Control edges stay: whoever waits for the node then waits for what it was.
  Status Redirect(Endpoint from, Endpoint to) {
    for (const Consumers::Use& use : consumers_.of(from.node)) {
      if (use.input < 0 || use.output != from.index) continue;
      Node* taker = graph_.node(use.consumer);
      taker->inputs[static_cast<size_t>(use.input)] = to;
      WEIR_RETURN_IF_ERROR(context_.Changed(taker));
    }
    return OkStatus();
  }

  RewriteContext& context_;
  Graph& graph_;
  const Consumers& consumers_;
  DimensionSources sources_;
};

}  // namespace

Status FuseCrossEntropy(RewriteContext& context) {
  const OpRegistry& ops = context.graph().ops();
  if (ops.Find("_SparseCrossEntropy") == nullptr || ops.Find("_SparseCrossEntropyGrad") == nullptr ||
      !context.ShapesAgree()) {
    return OkStatus();
  }
  return CrossEntropyFuser(context).Run();
}

}  // namespace weir
