#include "weir/passes/move_reshapes.h"

#include <algorithm>

namespace weir {
namespace {

class ReshapeMover {
 public:
  explicit ReshapeMover(RewriteContext& context)
      : context_(context), graph_(context.graph()), num_known_(graph_.num_node_ids()) {}

  Status Run() {
    WEIR_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph_));
    for (NodeId id : order) {
      Node* node = graph_.node(id);
      if (!context_.MayRewrite(*node) || !node->control_inputs.empty()) continue;
      if (node->op() == "Reshape" && GoesToLoops(*node)) {
        WEIR_RETURN_IF_ERROR(Raise(node));
      } else if (node->op() == "Cast") {
        WEIR_RETURN_IF_ERROR(Sink(node));
      }
    }
    return OkStatus();
  }

 private:
  static bool IsLoop(const Node& node) {
    return node.schema->is_elementwise || node.schema->is_rowwise || node.schema->is_reduction ||
           node.schema->is_aggregate;
  }
  bool GoesToLoops(const Node& node) {
    return std::ranges::any_of(context_.consumers().of(node.id), [&](const Consumers::Use& use) {
      return use.input >= 0 && IsLoop(*graph_.node(use.consumer));
    });
  }
  bool IsOnlyFor(Endpoint tensor, NodeId taker) {
    if (tensor.node >= num_known_) return false;
    const Node& node = *graph_.node(tensor.node);
    const Node* only = context_.OnlyConsumer(tensor);
    return context_.MayRewrite(node) && node.control_inputs.empty() && only != nullptr && only->id == taker;
  }
  // Whether the operation is the same for every row, so that it does not matter how rows are counted.
  bool IsAlike(const Node& node, const PartialShape& before, const PartialShape& after) {
    if (node.op() == "Cast") return true;
    if (node.op() != "BiasAdd" || node.Attr<std::string>("data_format").value_or("NHWC") != "NHWC") return false;
    if (before.rank() < 2 || after.rank() < 2) return false;
    const int64_t row = after.dim(after.rank() - 1);
    return row >= 0 && row == before.dim(before.rank() - 1);
  }

  // The casts and biases before a Reshape, the last one first, move behind it.
  Status Raise(Node* reshape) {
    const PartialShape after = context_.ShapeOf({reshape->id, 0});
    std::vector<Node*> chain;
    NodeId taker = reshape->id;
    for (Endpoint from = reshape->inputs[0]; IsOnlyFor(from, taker);) {
      Node* node = graph_.node(from.node);
      if (!IsAlike(*node, context_.ShapeOf(from), after)) break;
      chain.push_back(node);
      taker = node->id;
      from = node->inputs[0];
    }
    // What is made by a loop stays beside that.
    if (chain.empty() || IsLoop(*graph_.node(chain.back()->inputs[0].node))) return OkStatus();
    AttrMap attrs = reshape->attrs;
    attrs.Set("T", graph_.type(chain.back()->inputs[0]));
    WEIR_ASSIGN_OR_RETURN(
        Node * moved,
        context_.AddBeside(*reshape, "Reshape", {chain.back()->inputs[0], reshape->inputs[1]}, std::move(attrs)));
    Endpoint value{moved->id, 0};
    for (size_t i = chain.size(); i-- > 1;) {
      std::vector<Endpoint> inputs = chain[i]->inputs;
      inputs[0] = value;
      WEIR_ASSIGN_OR_RETURN(Node * copy, context_.AddBeside(*reshape, chain[i]->op(), inputs, chain[i]->attrs));
      value = {copy->id, 0};
    }
    reshape->schema = chain[0]->schema;
    reshape->attrs = chain[0]->attrs;
    reshape->inputs = chain[0]->inputs;
    reshape->inputs[0] = value;
    return context_.Changed(reshape);
  }

  Status Sink(Node* cast) {
    const Node& reshape = *graph_.node(cast->inputs[0].node);
    if (reshape.op() != "Reshape" || !context_.MayRewrite(reshape) || !reshape.control_inputs.empty() ||
        !context_.AreTogether(reshape, *cast) || !IsLoop(*graph_.node(reshape.inputs[0].node))) {
      return OkStatus();
    }
    const Endpoint shape = reshape.inputs[1];
    AttrMap attrs = reshape.attrs;
    attrs.Set("T", cast->output_type(0));
    WEIR_ASSIGN_OR_RETURN(Node * moved, context_.AddBeside(*cast, "Cast", {reshape.inputs[0]}, cast->attrs));
    cast->schema = reshape.schema;
    cast->attrs = std::move(attrs);
    cast->inputs = {{moved->id, 0}, shape};
    return context_.Changed(cast);
  }

  RewriteContext& context_;
  Graph& graph_;
  const NodeId num_known_;
};

}  // namespace

Status MoveReshapes(RewriteContext& context) {
  const bool has_reshape = std::ranges::any_of(
      context.graph().nodes(), [](const auto& node) { return node != nullptr && node->op() == "Reshape"; });
  return has_reshape && context.ShapesAgree() ? ReshapeMover(context).Run() : OkStatus();
}

}  // namespace weir
