#include "weir/passes/sink_reshapes.h"

#include <algorithm>
#include <optional>

#include "weir/graph/shape_inference.h"

namespace weir {
namespace {

bool IsSum(const Node& node) { return node.op() == "AddV2" || node.op() == "Add"; }
bool IsBias(const Node& node) { return node.op() == "BiasAdd" || node.op() == "BiasAddV1"; }

class ReshapeSinker {
 public:
  ReshapeSinker(Graph* graph, const InferredShapes& shapes) : graph_(*graph), consumers_(*graph), shapes_(shapes) {}

  Status Run() {
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph_));
    for (NodeId id : order) {
      Node* node = graph_.node(id);
      if (!IsSum(*node) || node->output_type(0) != DType::kFloat || node->attrs.Find("_class") != nullptr) continue;
      for (int side = 0; side < 2; ++side) {
        const Node* reshape = ReshapeOfLayer(*node, side);
        if (reshape == nullptr) continue;
        WEIR_RETURN_IF_ERROR(Sink(node, side, *reshape));
        break;
      }
    }
    return OkStatus();
  }

 private:
  std::optional<Shape> ShapeOf(Endpoint tensor) const { return shapes_.of(tensor).shape.ToShape(); }

  // `tensor`'s node if it gives nothing else to anybody else, and was there before.
  const Node* OnlyFor(const Node& consumer, Endpoint tensor) const {
    if (static_cast<size_t>(tensor.node) >= shapes_.outputs.size()) return nullptr;
    const Node& node = *graph_.node(tensor.node);
    std::span<const Consumers::Use> uses = consumers_.of(node.id);
    if (uses.size() != 1 || uses[0].output != 0 || uses[0].input < 0) return nullptr;
    return node.requested_device == consumer.requested_device && node.control_inputs.empty() ? &node : nullptr;
  }

  // The Reshape that the sum takes, if it is one of a dense layer's result and the sum does not broadcast.
  const Node* ReshapeOfLayer(const Node& sum, int side) const {
    const std::optional<Shape> whole = ShapeOf({sum.id, 0}), other = ShapeOf(sum.inputs[1 - side]);
    if (!whole || !(whole == other)) return nullptr;
    const Node* reshape = OnlyFor(sum, sum.inputs[side]);
    if (reshape == nullptr || reshape->op() != "Reshape" || !(ShapeOf({reshape->id, 0}) == whole)) return nullptr;
    const Node* bias = OnlyFor(*reshape, reshape->inputs[0]);
    if (bias == nullptr || !IsBias(*bias) || !ShapeOf({bias->id, 0})) return nullptr;
    const Node* product = OnlyFor(*bias, bias->inputs[0]);
    return product != nullptr && product->op() == "MatMul" ? reshape : nullptr;
  }

  Status Sink(Node* node, int side, const Node& reshape) {
    const Endpoint layer = reshape.inputs[0], other = node->inputs[1 - side];
    AttrMap constant, type;
    constant.Set("dtype", DType::kInt64);
    constant.Set("value", Tensor::Vector<int64_t>(ShapeOf(layer)->dims()));
    WEIR_ASSIGN_OR_RETURN(Node * shape, AddBeside(&graph_, *node, "Const", {}, std::move(constant)));
    AddControlInput(shape, other.node);  // in the frame of the loop in which the sum is, if any
    type.Set("T", DType::kFloat);
    type.Set("Tshape", DType::kInt64);
    WEIR_ASSIGN_OR_RETURN(Node * flat, AddBeside(&graph_, *node, "Reshape", {other, {shape->id, 0}}, std::move(type)));
    std::vector<Endpoint> terms = {layer, {flat->id, 0}};
    if (side == 1) std::swap(terms[0], terms[1]);
    WEIR_ASSIGN_OR_RETURN(Node * sum, AddBeside(&graph_, *node, node->op(), std::move(terms), node->attrs));
    sum->control_inputs = std::move(node->control_inputs);
    node->schema = reshape.schema;
    node->attrs = reshape.attrs;
    node->inputs = {{sum->id, 0}, reshape.inputs[1]};
    node->control_inputs.clear();
    return graph_.RefreshTypes(node);
  }

  Graph& graph_;
  const Consumers consumers_;
  const InferredShapes& shapes_;
};

}  // namespace

Status SinkReshapes(Graph* graph) {
  bool has_product = false, has_reshape = false;
  for (const auto& node : graph->nodes()) {
    if (node == nullptr) continue;
    has_product |= node->op() == "MatMul";
    has_reshape |= node->op() == "Reshape";
  }
  if (!has_product || !has_reshape) return OkStatus();
  // Shapes that contradict each other are for the step to complain about.
  StatusOr<InferredShapes> shapes = InferShapes(*graph);
  if (!shapes.ok()) return OkStatus();
  return ReshapeSinker(graph, *shapes).Run();
}

}  // namespace weir
