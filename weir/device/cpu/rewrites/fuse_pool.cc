#include "weir/device/cpu/rewrites/fuse_pool.h"

#include <algorithm>

namespace weir {
namespace {

// Nothing in the node's first output is below zero.
bool IsNotNegative(const Node& node) {
  if (node.op() == "Relu" || node.op() == "Relu6" || node.op() == "Sigmoid") return true;
  if (node.op() != "_FusedConv2D" && node.op() != "_FusedMatMul") return false;
  auto fused = node.Attr<std::vector<std::string>>("fused_ops");
  return fused.ok() && !fused->empty() && (fused->back() == "Relu" || fused->back() == "Relu6");
}

// The constant paddings of a Pad of images, channels last, by rows and columns only: before and after each dimension.
// Empty if they are not such.
std::vector<int64_t> ImagePaddings(const Graph& graph, const Node& pad) {
  const Node& constant = *graph.node(pad.inputs[1].node);
  const Tensor* value = IsConstant(constant) ? constant.attrs.Find("value")->get_if<Tensor>() : nullptr;
  if (value == nullptr || value->dtype() != DType::kInt32 || value->shape() != Shape({4, 2})) return {};
  const std::span<const int32_t> numbers = value->span<int32_t>();
  if (std::ranges::any_of(numbers, [](int32_t n) { return n < 0; })) return {};
  if (numbers[0] != 0 || numbers[1] != 0 || numbers[6] != 0 || numbers[7] != 0) return {};
  return {numbers.begin(), numbers.end()};
}

// Whether every window sees some of the image, too.
bool AreSmallerThanWindows(const std::vector<int64_t>& paddings, const Node& pool) {
  auto sizes = pool.Attr<std::vector<int64_t>>("ksize");
  if (!sizes.ok() || sizes->size() != 4) return false;
  for (size_t i = 0; i < paddings.size(); ++i) {
    if (paddings[i] >= (*sizes)[i / 2]) return false;
  }
  return true;
}

bool IsPlainPool(const Node& node) {
  return node.op() == "MaxPool" && node.output_type(0) == DType::kFloat &&
         node.Attr<std::string>("padding").value_or("") == "VALID" &&
         node.Attr<std::string>("data_format").value_or("") == "NHWC";
}

}  // namespace

Status FusePaddedPools(RewriteContext& context) {
  Graph& graph = context.graph();
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || !IsPlainPool(*node) || !context.MayRewrite(*node)) continue;
    const Node& pad = *graph.node(node->inputs[0].node);
    if (pad.op() != "Pad" || !context.MayRewrite(pad) || context.OnlyConsumer({pad.id, 0}) != node.get()) continue;
    if (pad.inputs[0].index != 0 || !IsNotNegative(*graph.node(pad.inputs[0].node))) continue;
    const std::vector<int64_t> paddings = ImagePaddings(graph, pad);
    if (paddings.empty() || !AreSmallerThanWindows(paddings, *node)) continue;
    node->attrs.Set("padding", "EXPLICIT");
    node->attrs.Set("explicit_paddings", AttrList{.i = paddings});
    node->inputs[0] = pad.inputs[0];
    for (NodeId id : pad.control_inputs) AddControlInput(node.get(), id);
    WEIR_RETURN_IF_ERROR(context.Changed(node.get()));
  }
  return OkStatus();
}

}  // namespace weir
