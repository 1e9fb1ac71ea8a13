#include "weir/device/cpu/rewrites/sink_reshapes.h"

#include <algorithm>
#include <optional>

namespace weir {
namespace {

bool IsSum(const Node& node) { return node.op() == "AddV2" || node.op() == "Add"; }
bool IsBias(const Node& node) { return node.op() == "BiasAdd" || node.op() == "BiasAddV1"; }

class ReshapeSinker {
 public:
  explicit ReshapeSinker(RewriteContext& context)
      : context_(context), graph_(context.graph()), num_known_(context.graph().num_node_ids()) {}

  Status Run() {
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph_));
    for (NodeId id : order) {
      Node* node = graph_.node(id);
      if (!IsSum(*node) || node->output_type(0) != DType::kFloat || !context_.MayRewrite(*node)) continue;
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
  std::optional<Shape> ShapeOf(Endpoint tensor) const { return context_.KnownShape(tensor); }

  // The producer of `tensor` if `consumer` alone takes it and nothing has to happen before; null otherwise, and for
  // nodes that this pass has added.
  const Node* OnlyFor(const Node& consumer, Endpoint tensor) const {
    if (tensor.node >= num_known_ || tensor.index != 0) return nullptr;
    const Node& node = *graph_.node(tensor.node);
    if (!node.control_inputs.empty() || !context_.MayRewrite(node)) return nullptr;
    return context_.OnlyConsumer(tensor) == &consumer ? &node : nullptr;
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
    WEIR_ASSIGN_OR_RETURN(Node * shape, context_.AddBeside(*node, "Const", {}, std::move(constant)));
    AddControlInput(shape, other.node);  // in the frame of the loop in which the sum is, if any
    type.Set("T", DType::kFloat);
    type.Set("Tshape", DType::kInt64);
    WEIR_ASSIGN_OR_RETURN(Node * flat, context_.AddBeside(*node, "Reshape", {other, {shape->id, 0}}, std::move(type)));
    std::vector<Endpoint> terms = {layer, {flat->id, 0}};
    if (side == 1) std::swap(terms[0], terms[1]);
    WEIR_ASSIGN_OR_RETURN(Node * sum, context_.AddBeside(*node, node->op(), std::move(terms), node->attrs));
    sum->control_inputs = std::move(node->control_inputs);
    node->schema = reshape.schema;
    node->attrs = reshape.attrs;
    node->inputs = {{sum->id, 0}, reshape.inputs[1]};
    node->control_inputs.clear();
    return context_.Changed(node);
  }

  RewriteContext& context_;
  Graph& graph_;
  const NodeId num_known_;
};

}  // namespace

Status SinkReshapes(RewriteContext& context) {
  bool has_product = false, has_reshape = false;
  for (const auto& node : context.graph().nodes()) {
    if (node == nullptr) continue;
    has_product |= node->op() == "MatMul";
    has_reshape |= node->op() == "Reshape";
  }
  if (!has_product || !has_reshape || !context.ShapesAgree()) return OkStatus();
  return ReshapeSinker(context).Run();
}

}  // namespace weir
