#include "weir/passes/sink_broadcasts.h"

#include <algorithm>
#include <optional>

#include "weir/graph/shape_inference.h"

namespace weir {
namespace {

constexpr std::string_view kBinaryOps[] = {"Add", "AddV2", "Div",     "Maximum",           "Minimum",
                                           "Mul", "Pow",   "RealDiv", "SquaredDifference", "Sub"};
constexpr std::string_view kUnaryOps[] = {"Abs", "Exp", "Inv", "Log", "Neg", "Reciprocal", "Rsqrt", "Sqrt", "Square"};

bool IsOneOf(const Node& node, std::span<const std::string_view> ops) {
  return std::ranges::find(ops, node.op()) != ops.end();
}

class BroadcastSinker {
 public:
  BroadcastSinker(Graph* graph, const InferredShapes& shapes) : graph_(*graph) {
    for (const auto& outputs : shapes.outputs) {
      shapes_.push_back(outputs.empty() ? PartialShape() : outputs[0].shape);
    }
  }

  Status Run() {
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph_));
    for (NodeId id : order) {
      Node* node = graph_.node(id);
      if (!IsPure(*node) || node->num_outputs() != 1 || node->attrs.Find("_class") != nullptr) continue;
      if (IsOneOf(*node, kUnaryOps) || IsOneOf(*node, kBinaryOps)) {
        WEIR_RETURN_IF_ERROR(SinkThrough(node));
      } else if (node->op() == "AddN") {
        WEIR_RETURN_IF_ERROR(AddLast(node));
      }
    }
    return OkStatus();
  }

 private:
  // The shape of a tensor, if it is known.
  std::optional<Shape> ShapeOf(Endpoint tensor) const {
    return tensor.index == 0 ? shapes_[tensor.node].ToShape() : std::nullopt;
  }
  // What `tensor` broadcasts, if all of that is known and nothing has to happen before.
  std::optional<Endpoint> Source(Endpoint tensor, const Node& consumer) const {
    const Node& node = *graph_.node(tensor.node);
    if (node.op() != "BroadcastTo" || !node.control_inputs.empty() || !ShapeOf(node.inputs[0])) return std::nullopt;
    if (node.requested_device != consumer.requested_device || node.output_type(0) != DType::kFloat) return std::nullopt;
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
        return MoveBehind(node, static_cast<int>(i), std::move(inputs), *shape);
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

  // The operation is done on `inputs`, and the node broadcasts its result.
  Status MoveBehind(Node* node, int input, std::vector<Endpoint> inputs, const Shape& shape) {
    const Node broadcast = *graph_.node(node->inputs[input].node);
    WEIR_ASSIGN_OR_RETURN(Node * small, Add(*node, node->op(), std::move(inputs), node->attrs, shape));
    small->control_inputs = node->control_inputs;
    node->schema = broadcast.schema;
    node->attrs = broadcast.attrs;
    node->inputs = {{small->id, 0}, broadcast.inputs[1]};
    node->control_inputs.clear();
    return graph_.RefreshTypes(node);
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
        WEIR_ASSIGN_OR_RETURN(Node * others, Add(*node, "AddN", std::move(rest), std::move(fewer), *whole));
        sum = {others->id, 0};
      }
      WEIR_ASSIGN_OR_RETURN(node->schema, graph_.ops().LookUp("AddV2"));
      node->attrs = std::move(attrs);
      node->inputs = {sum, *source};
      return graph_.RefreshTypes(node);
    }
    return OkStatus();
  }

  StatusOr<Node*> Add(const Node& like, std::string_view op, std::vector<Endpoint> inputs, AttrMap attrs,
                      const Shape& shape) {
    WEIR_ASSIGN_OR_RETURN(Node * node, AddBeside(&graph_, like, op, std::move(inputs), std::move(attrs)));
    shapes_.resize(graph_.num_node_ids());
    shapes_[node->id] = shape;
    return node;
  }

  Graph& graph_;
  std::vector<PartialShape> shapes_;  // of first outputs
};

}  // namespace

Status SinkBroadcasts(Graph* graph) {
  const bool has_any = std::ranges::any_of(
      graph->nodes(), [](const auto& node) { return node != nullptr && node->op() == "BroadcastTo"; });
  if (!has_any) return OkStatus();
  // Shapes that contradict each other are for the step to complain about.
  StatusOr<InferredShapes> shapes = InferShapes(*graph);
  if (!shapes.ok()) return OkStatus();
  return BroadcastSinker(graph, *shapes).Run();
}

}  // namespace weir
