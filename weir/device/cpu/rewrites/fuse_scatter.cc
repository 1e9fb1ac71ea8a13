#include "weir/device/cpu/rewrites/fuse_scatter.h"

#include <algorithm>

namespace weir {
namespace {

constexpr int kUpdates = 2;  // which input of the scatter

bool IsScalarConstant(const Node& node) {
  if (!IsConstant(node)) return false;
  const Tensor* value = node.attrs.Find("value")->get_if<Tensor>();
  return value != nullptr && value->rank() == 0;
}

bool IsScatter(const Node& node) {
  return node.op() == "ResourceScatterSub" && node.input_type(kUpdates) == DType::kFloat;
}

}  // namespace

Status FuseScatters(RewriteContext& context) {
  Graph& graph = context.graph();
  if (std::ranges::none_of(graph.nodes(), [](const auto& node) { return node != nullptr && IsScatter(*node); })) {
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(const OpSchema* schema, graph.ops().LookUp("_ScaledResourceScatterSub"));
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || !IsScatter(*node)) continue;
    const Node& product = *graph.node(node->inputs[kUpdates].node);
    if (product.op() != "Mul" || !context.MayRewrite(product) || !context.AreTogether(product, *node) ||
        context.consumers().of(product.id).size() != 1) {
      continue;
    }
    const bool is_first = IsScalarConstant(*graph.node(product.inputs[0].node));
    if (!is_first && !IsScalarConstant(*graph.node(product.inputs[1].node))) continue;
    if (IsRef(graph.type(product.inputs[is_first ? 1 : 0]))) continue;  // to be read when the product was
    node->schema = schema;
    node->inputs[kUpdates] = product.inputs[is_first ? 1 : 0];
    node->inputs.push_back(product.inputs[is_first ? 0 : 1]);
    for (NodeId id : product.control_inputs) AddControlInput(node.get(), id);
    WEIR_RETURN_IF_ERROR(context.Changed(node.get()));
  }
  return OkStatus();
}

}  // namespace weir
