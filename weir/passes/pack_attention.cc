#include "weir/passes/pack_attention.h"

#include <array>
#include <cmath>

#include "weir/passes/dimension_sources.h"

namespace weir {
namespace {

// What the three operands are parts of.
struct Packed {
  Endpoint tensor;
  int64_t heads = 0, size = 0;
};

class Packer {
 public:
  explicit Packer(RewriteContext& context) : context_(context), graph_(context.graph()), sources_(context) {}

  Status Run() {
    const int num_nodes = graph_.num_node_ids();
    // Gradients first: they are found by the operands that the attention has now.
    for (NodeId id = 0; id < num_nodes; ++id) {
      const Node* node = graph_.node(id);
      if (node != nullptr && node->op() == "_AttentionGrad") WEIR_RETURN_IF_ERROR(PackGradient(*node));
    }
    for (NodeId id = 0; id < num_nodes; ++id) {
      Node* node = graph_.node(id);
      if (node != nullptr && node->op() == "_Attention") WEIR_RETURN_IF_ERROR(PackForward(node));
    }
    return OkStatus();
  }

 private:
  Status PackForward(Node* node) {
    const std::optional<Packed> packed = FindPacked(*node);
    if (!packed) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(AttrMap attrs, AttrsFor(*node, *packed));
    for (const char* name : {"_class", "_kernel"}) {
      if (const Attribute* value = node->attrs.Find(name)) attrs.Set(name, *value);
    }
    WEIR_ASSIGN_OR_RETURN(node->schema, graph_.ops().LookUp("_PackedAttention"));
    node->attrs = std::move(attrs);
    node->inputs = {packed->tensor};
    return context_.Changed(node);
  }

  Status PackGradient(const Node& node) {
    const std::optional<Packed> packed = FindPacked(node);
    Node* whole = packed ? ConcatenationOf(node) : nullptr;
    if (whole == nullptr) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(AttrMap attrs, AttrsFor(node, *packed));
    WEIR_ASSIGN_OR_RETURN(
        Node * gradient,
        context_.AddBeside(*whole, "_PackedAttentionGrad",
                           {packed->tensor, node.inputs[3], node.inputs[4], node.inputs[5]}, std::move(attrs)));
    gradient->control_inputs = node.control_inputs;
    return context_.TurnIntoIdentity(whole, {gradient->id, 0});
  }

  StatusOr<AttrMap> AttrsFor(const Node& node, const Packed& packed) {
    AttrMap attrs;
    attrs.Set("T", graph_.type(packed.tensor));
    attrs.Set("heads", packed.heads);
    WEIR_ASSIGN_OR_RETURN(const bool causal, node.Attr<bool>("causal"));
    WEIR_ASSIGN_OR_RETURN(const float scale, node.Attr<float>("scale"));
    attrs.Set("causal", causal);
    attrs.Set("scale", scale != 0 ? scale : 1 / std::sqrt(static_cast<float>(packed.size)));
    return attrs;
  }

  std::optional<Packed> FindPacked(const Node& node) {
    const DType dtype = graph_.type(node.inputs[0]);
    if ((dtype != DType::kHalf && dtype != DType::kBFloat16) || !context_.MayRewrite(node) ||
        node.Attr<int64_t>("masks").value_or(1) != 0 || node.Attr<bool>("heads_first").value_or(true)) {
      return std::nullopt;
    }
    Packed packed;
    for (int i = 0; i < 3; ++i) {
      const std::optional<Packed> part = FindPart(node, node.inputs[static_cast<size_t>(i)], i);
      if (!part || (i > 0 && (part->tensor != packed.tensor || part->heads != packed.heads))) return std::nullopt;
      packed = *part;
    }
    return packed;
  }
  // `heads` as [batch, times, heads, size] of part `i` of [batch, times, 3 * heads * size].
  std::optional<Packed> FindPart(const Node& like, Endpoint heads, int i) {
    const Node& reshape = *graph_.node(heads.node);
    if (!MayPassBy(like, reshape, "Reshape")) return std::nullopt;
    const Endpoint part = reshape.inputs[0];
    const Node& split = *graph_.node(part.node);
    if (!MayPassBy(like, split, "Split") || part.index != i || split.num_outputs() != 3) return std::nullopt;
    const Endpoint whole = split.inputs[1];
    if (!IsLastOfThree(split.inputs[0])) return std::nullopt;
    const PartialShape shape = context_.ShapeOf(heads), packed = context_.ShapeOf(whole);
    if (shape.rank() != 4 || packed.rank() != 3 || shape.dim(2) <= 0 || shape.dim(3) <= 0 ||
        packed.dim(2) != 3 * shape.dim(2) * shape.dim(3) || !sources_.AreEqual(heads, 1, whole, 1)) {
      return std::nullopt;
    }
    const int64_t size = shape.dim(3);
    if (size % 16 != 0 || size > 128) return std::nullopt;
    return Packed{whole, shape.dim(2), size};
  }
  bool MayPassBy(const Node& like, const Node& node, std::string_view op) const {
    return node.op() == op && context_.MayRewrite(node) && context_.AreTogether(like, node) &&
           node.control_inputs.empty();
  }
  // Whether a constant names the last of three dimensions.
  bool IsLastOfThree(Endpoint axis) {
    const Tensor& value = context_.ValueOf(axis);
    if (!value.has_value() || value.num_elements() != 1 || value.dtype() != DType::kInt32) return false;
    const int32_t at = value.data<int32_t>()[0];
    return at == 2 || at == -1;
  }

  // The concatenation, along the last dimension, of the reshaped results, if nothing else takes those.
  Node* ConcatenationOf(const Node& node) {
    Node* whole = nullptr;
    std::array<bool, 3> is_found = {};
    for (const Consumers::Use& use : context_.consumers().of(node.id)) {
      const Node& reshape = *graph_.node(use.consumer);
      if (use.input != 0 || !MayPassBy(node, reshape, "Reshape") || is_found[static_cast<size_t>(use.output)]) {
        return nullptr;
      }
      int input = -1;
      Node* next = context_.OnlyConsumer({reshape.id, 0}, &input);
      if (next == nullptr || next->op() != "ConcatV2" || input != use.output || next->inputs.size() != 4 ||
          (whole != nullptr && next != whole) || context_.ShapeOf({reshape.id, 0}).rank() != 3 ||
          !sources_.AreEqual({reshape.id, 0}, 1, {node.id, use.output}, 1)) {
        return nullptr;
      }
      whole = next;
      is_found[static_cast<size_t>(use.output)] = true;
    }
    if (whole == nullptr || !is_found[0] || !is_found[1] || !is_found[2] || !IsLastOfThree(whole->inputs[3])) {
      return nullptr;
    }
    return context_.MayRewrite(*whole) && context_.AreTogether(node, *whole) ? whole : nullptr;
  }

  RewriteContext& context_;
  Graph& graph_;
  DimensionSources sources_;
};

}  // namespace

Status PackAttention(RewriteContext& context) {
  const OpRegistry& ops = context.graph().ops();
  if (ops.Find("_PackedAttention") == nullptr || !context.ShapesAgree()) return OkStatus();
  return Packer(context).Run();
}

}  // namespace weir
