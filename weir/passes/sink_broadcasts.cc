#include "weir/passes/sink_broadcasts.h"

#include <algorithm>
#include <optional>

namespace weir {
namespace {

// Whether the node broadcasts its operands itself.
bool BroadcastsByItself(const Node& node) {
  if (!node.schema->is_elementwise || (node.inputs.size() > 1 && !node.schema->broadcasts)) return false;
  auto is_float = [](DType type) { return type == DType::kFloat; };
  return std::ranges::all_of(node.types->inputs, is_float) && std::ranges::all_of(node.types->outputs, is_float);
}

class BroadcastSinker {
 public:
  explicit BroadcastSinker(RewriteContext& context) : context_(context), graph_(context.graph()) {}

  Status Run() {
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph_));
    for (NodeId id : order) {
      Node* node = graph_.node(id);
      if (!context_.MayRewrite(*node) || node->num_outputs() != 1) continue;
      if (BroadcastsByItself(*node)) {
        WEIR_RETURN_IF_ERROR(SinkThrough(node));
      } else if (node->op() == "AddN") {
        WEIR_RETURN_IF_ERROR(AddLast(node));
      }
    }
    return OkStatus();
  }

 private:
  std::optional<Shape> ShapeOf(Endpoint tensor) const { return context_.KnownShape(tensor); }
  // The input of the BroadcastTo that computes `tensor`, if the shapes are known and it has no control inputs.
  std::optional<Endpoint> Source(Endpoint tensor, const Node& consumer) const {
    const Node& node = *graph_.node(tensor.node);
    if (node.op() != "BroadcastTo" || !node.control_inputs.empty() || !ShapeOf(node.inputs[0])) return std::nullopt;
    if (!context_.AreTogether(node, consumer) || node.output_type(0) != DType::kFloat) return std::nullopt;
    return node.inputs[0];
  }

  Status SinkThrough(Node* node) {
    const std::optional<Shape> whole = ShapeOf({node->id, 0});
    if (!whole) return OkStatus();
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const std::optional<Endpoint> source = Source(node->inputs[i], *node);
      if (!source) continue;
      std::vector<Endpoint> inputs = node->inputs;
      inputs[i] = *source;
      const std::optional<Shape> shape = BroadcastOf(inputs);
      if (!shape) continue;
      if (*shape == *whole) {
        node->inputs = std::move(inputs);
      } else if (shape->num_elements() < whole->num_elements() && *whole == ShapeOf(node->inputs[i])) {
        return MoveBehind(node, static_cast<int>(i), std::move(inputs));
      }
    }
    return OkStatus();
  }
  std::optional<Shape> BroadcastOf(std::span<const Endpoint> inputs) const {
    std::optional<Shape> shape;
    for (Endpoint input : inputs) {
      const std::optional<Shape> next = ShapeOf(input);
      if (!next) return std::nullopt;
      if (!shape) {
        shape = next;
        continue;
      }
      StatusOr<PartialShape> both = BroadcastShapes(*shape, *next);
      if (!both.ok()) return std::nullopt;
      shape = both->ToShape();
    }
    return shape;
  }

  // Computes the operation from `inputs`, then turns the node into a broadcast of the result.
  Status MoveBehind(Node* node, int input, std::vector<Endpoint> inputs) {
    const Node broadcast = *graph_.node(node->inputs[input].node);
    WEIR_ASSIGN_OR_RETURN(Node * small, context_.AddBeside(*node, node->op(), std::move(inputs), node->attrs));
    small->control_inputs = node->control_inputs;
    node->schema = broadcast.schema;
    node->attrs = broadcast.attrs;
    node->inputs = {{small->id, 0}, broadcast.inputs[1]};
    node->control_inputs.clear();
    return context_.Changed(node);
  }

  // AddN(a, broadcast b, c) = AddN(a, c) + b.
  Status AddLast(Node* node) {
    const std::optional<Shape> whole = ShapeOf({node->id, 0});
    if (!whole || node->inputs.size() < 2) return OkStatus();
    for (size_t i = node->inputs.size(); i-- > 0;) {
      const std::optional<Endpoint> source = Source(node->inputs[i], *node);
      if (!source) continue;
      std::vector<Endpoint> rest = node->inputs;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      if (!(BroadcastOf(rest) == whole)) continue;
      AttrMap attrs;
      attrs.Set("T", node->output_type(0));
      Endpoint sum = rest[0];
      if (rest.size() > 1) {
        AttrMap fewer = node->attrs;
        fewer.Set("N", static_cast<int64_t>(rest.size()));
        WEIR_ASSIGN_OR_RETURN(Node * others, context_.AddBeside(*node, "AddN", std::move(rest), std::move(fewer)));
        sum = {others->id, 0};
      }
      WEIR_ASSIGN_OR_RETURN(node->schema, graph_.ops().LookUp("AddV2"));
      node->attrs = std::move(attrs);
      node->inputs = {sum, *source};
      return context_.Changed(node);
    }
    return OkStatus();
  }

  RewriteContext& context_;
  Graph& graph_;
};

}  // namespace

Status SinkBroadcasts(RewriteContext& context) {
  const bool has_any = std::ranges::any_of(
      context.graph().nodes(), [](const auto& node) { return node != nullptr && node->op() == "BroadcastTo"; });
  if (!has_any || !context.ShapesAgree()) return OkStatus();
  return BroadcastSinker(context).Run();
}

}  // namespace weir
