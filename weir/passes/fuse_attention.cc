#include "weir/passes/fuse_attention.h"

#include <algorithm>

#include "weir/passes/attention_pattern.h"
#include "weir/passes/loop_constants.h"

namespace weir {
namespace {

class AttentionFuser {
 public:
  AttentionFuser(RewriteContext& context, const FuseAttentionOptions& options)
      : context_(context), graph_(context.graph()), options_(options) {}

  Status Run() {
    const int num_nodes = graph_.num_node_ids();
    for (NodeId id = 0; id < num_nodes; ++id) {
      const Node* node = graph_.node(id);
      if (node == nullptr || node->op() != "Softmax") continue;
      const std::optional<AttentionPattern> pattern = FindAttention(context_, *node);
      if (!pattern || !options_.pays(pattern->dtype, ExtentOf(*pattern)) || !MayWait(*pattern)) continue;
      WEIR_RETURN_IF_ERROR(Put(*pattern));
      context_.ForgetConsumers();
    }
    return OkStatus();
  }

 private:
  AttentionExtent ExtentOf(const AttentionPattern& p) {
    auto dim = [&](const AttentionOperand& operand, char axis) -> int64_t {
      const size_t at = operand.axes.find(axis);
      return at == std::string::npos ? 1 : context_.ShapeOf(operand.tensor).dim(static_cast<int>(at));
    };
    return {dim(p.query, 'b'), dim(p.query, 'h'), dim(p.query, 'q'), dim(p.key, 'k'), dim(p.query, 'd')};
  }

  // The gradient of the values needs the values now, and comes with the others: whether they are there without it.
  bool MayWait(const AttentionPattern& p) {
    if (!p.gradient) return true;
    const AttentionGradient& g = *p.gradient;
    const NodeId last = g.query != kNoNode ? g.query : g.key;
    for (NodeId id : {g.query, g.key, g.value}) {
      if (id != kNoNode && context_.waits().MayBeDead(id)) return false;
    }
    if (g.value == kNoNode) return true;
    for (const Consumers::Use& use : context_.consumers().of(g.value)) {
      if (!context_.waits().MayDelay(use.consumer, g.value, last)) return false;
    }
    return !DependsOn(p.value.tensor.node, g.value);
  }
  bool DependsOn(NodeId id, NodeId on) const {
    std::vector<bool> visited(static_cast<size_t>(graph_.num_node_ids()), false);
    std::vector<NodeId> stack = {id};
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      if (at == on) return true;
      if (visited[static_cast<size_t>(at)]) continue;
      visited[static_cast<size_t>(at)] = true;
      const Node& node = *graph_.node(at);
      for (Endpoint input : node.inputs) stack.push_back(input.node);
      stack.insert(stack.end(), node.control_inputs.begin(), node.control_inputs.end());
    }
    return false;
  }

  // --- the order of axes that the operation takes: the one for which less is transposed
  static std::string Order(const AttentionPattern& p, bool heads_first, char time) {
    if (!p.has_heads()) return {'b', time, 'd'};
    return heads_first ? std::string{'b', 'h', time, 'd'} : std::string{'b', time, 'h', 'd'};
  }
  static int Cost(const AttentionOperand& operand, const std::string& order) {
    return operand.base_axes == order ? 0 : 1;
  }
  int Cost(NodeId result, const std::string& axes, const std::string& order) {
    if (result == kNoNode || axes == order) return 0;
    return std::ranges::all_of(context_.consumers().of(result),
                               [&](const Consumers::Use& use) {
                                 return use.input == 0 && AxesAfter(*graph_.node(use.consumer), axes) == order;
                               })
               ? 0
               : 1;
  }
  // The axes of a Transpose's result; empty if it is none, or its order is not known.
  std::string AxesAfter(const Node& node, const std::string& axes) {
    if (node.op() != "Transpose" || !context_.MayRewrite(node)) return {};
    const Tensor& order = context_.ValueOf(node.inputs[1]);
    if (!order.has_value() || order.num_elements() != std::ssize(axes)) return {};
    std::string after;
    for (int64_t i = 0; i < order.num_elements(); ++i) {
      int64_t at = order.dtype() == DType::kInt32 ? order.data<int32_t>()[i] : order.data<int64_t>()[i];
      if (at < 0) at += std::ssize(axes);
      if (at < 0 || at >= std::ssize(axes)) return {};
      after += axes[static_cast<size_t>(at)];
    }
    return after;
  }
  bool ChooseHeadsFirst(const AttentionPattern& p) {
    if (!p.has_heads()) return true;
    int costs[2];
    for (bool heads_first : {false, true}) {
      const std::string q = Order(p, heads_first, 'q'), k = Order(p, heads_first, 'k');
      int cost = Cost(p.query, q) + Cost(p.key, k) + Cost(p.value, k) + Cost(p.output, p.output_axes, q);
      if (p.gradient) {
        const AttentionGradient& g = *p.gradient;
        cost += Cost(g.flow, q) + Cost(g.query, g.query_axes, q) + Cost(g.key, g.key_axes, k) +
                Cost(g.value, g.value_axes, k);
      }
      costs[heads_first] = cost;
    }
    return costs[true] < costs[false];
  }

  // --- nodes
  StatusOr<Endpoint> AddInts(const Node& like, const std::vector<int32_t>& values, bool is_scalar = false) {
    WEIR_ASSIGN_OR_RETURN(Tensor value,
                          Tensor::Allocate(DType::kInt32, is_scalar ? Shape() : Shape({std::ssize(values)})));
    std::ranges::copy(values, value.data<int32_t>());
    WEIR_ASSIGN_OR_RETURN(Node * node, AddConstant(context_, like, std::move(value), anchor_));
    return Endpoint{node->id, 0};
  }
  static std::vector<int32_t> Permutation(const std::string& from, const std::string& to) {
    std::vector<int32_t> order;
    for (char axis : to) order.push_back(static_cast<int32_t>(from.find(axis)));
    return order;
  }
  StatusOr<Endpoint> AddTranspose(const Node& like, Endpoint x, const std::string& from, const std::string& to) {
    if (from == to) return x;
    WEIR_ASSIGN_OR_RETURN(const Endpoint order, AddInts(like, Permutation(from, to)));
    AttrMap attrs;
    attrs.Set("T", graph_.type(x));
    attrs.Set("Tperm", DType::kInt32);
    WEIR_ASSIGN_OR_RETURN(Node * node, context_.AddBeside(like, "Transpose", {x, order}, std::move(attrs)));
    return Endpoint{node->id, 0};
  }
  StatusOr<Endpoint> AddExpandDims(const Node& like, Endpoint x, int32_t at) {
    WEIR_ASSIGN_OR_RETURN(const Endpoint axis, AddInts(like, {at}, /*is_scalar=*/true));
    AttrMap attrs;
    attrs.Set("T", graph_.type(x));
    attrs.Set("Tdim", DType::kInt32);
    WEIR_ASSIGN_OR_RETURN(Node * node, context_.AddBeside(like, "ExpandDims", {x, axis}, std::move(attrs)));
    return Endpoint{node->id, 0};
  }
  // An operand in this order, with an axis for one head if there is none for heads.
  StatusOr<Endpoint> Arrange(const Node& like, const AttentionOperand& operand, const std::string& order) {
    const bool is_there = operand.axes == order && operand.base_axes != order;
    WEIR_ASSIGN_OR_RETURN(Endpoint x, is_there ? StatusOr<Endpoint>(operand.tensor)
                                               : AddTranspose(like, operand.base, operand.base_axes, order));
    if (order.size() == 4) return x;
    return AddExpandDims(like, x, 1);
  }
  // The mask with as many dimensions as the scores of all heads, saying what stays.
  StatusOr<Endpoint> ArrangeMask(const Node& like, const AttentionPattern& p) {
    Endpoint mask = p.mask;
    if (p.is_mask_inverted) {
      WEIR_ASSIGN_OR_RETURN(Node * node, context_.AddBeside(like, "LogicalNot", {mask}, {}));
      mask = {node->id, 0};
    }
    for (int64_t axis : p.mask_expansions) {
      WEIR_ASSIGN_OR_RETURN(mask, AddExpandDims(like, mask, static_cast<int32_t>(axis)));
    }
    const PartialShape shape = context_.ShapeOf(mask);
    std::vector<int32_t> dims(4, 1);
    for (int i = 1; i <= shape.rank(); ++i) {
      // Without heads there is nothing between the batch and the queries.
      const int at = p.has_heads() || i < 3 ? 4 - i : 0;
      dims[static_cast<size_t>(at)] = static_cast<int32_t>(shape.dim(shape.rank() - i));
    }
    if (shape.rank() == 4) return mask;
    WEIR_ASSIGN_OR_RETURN(const Endpoint size, AddInts(like, dims));
    AttrMap attrs;
    attrs.Set("T", graph_.type(mask));
    attrs.Set("Tshape", DType::kInt32);
    WEIR_ASSIGN_OR_RETURN(Node * node, context_.AddBeside(like, "Reshape", {mask, size}, std::move(attrs)));
    return Endpoint{node->id, 0};
  }

  // What takes `node` takes `value` instead.
  Status Become(Node* node, Endpoint value) {
    const std::vector<Consumers::Use> uses(context_.consumers().of(node->id).begin(),
                                           context_.consumers().of(node->id).end());
    WEIR_RETURN_IF_ERROR(context_.TurnIntoIdentity(node, value));
    if (!node->control_inputs.empty()) return OkStatus();
    for (const Consumers::Use& use : uses) {
      if (use.input < 0) continue;
      Node* taker = graph_.node(use.consumer);
      if (taker->inputs[static_cast<size_t>(use.input)] != Endpoint{node->id, 0}) continue;
      taker->inputs[static_cast<size_t>(use.input)] = value;
      WEIR_RETURN_IF_ERROR(context_.Changed(taker));
    }
    return OkStatus();
  }
  // A product whose result in `axes` is now `value` in `order`.
  Status Replace(NodeId product, const std::string& axes, Endpoint value, const std::string& order) {
    Node* node = graph_.node(product);
    if (order.size() == 3) {
      AttrMap attrs;
      attrs.Set("T", graph_.type(value));
      attrs.Set("squeeze_dims", AttrList{.i = {1}});
      WEIR_ASSIGN_OR_RETURN(Node * squeeze, context_.AddBeside(*node, "Squeeze", {value}, std::move(attrs)));
      value = {squeeze->id, 0};
    }
    for (const Consumers::Use& use : context_.consumers().of(product)) {
      Node* taker = graph_.node(use.consumer);
      if (use.input == 0 && AxesAfter(*taker, axes) == order) WEIR_RETURN_IF_ERROR(Become(taker, value));
    }
    WEIR_ASSIGN_OR_RETURN(const Endpoint arranged, AddTranspose(*node, value, order, axes));
    return Become(node, arranged);
  }

  Status Put(const AttentionPattern& p) {
    anchor_ = p.query.tensor.node;
    const bool heads_first = ChooseHeadsFirst(p);
    const std::string q = Order(p, heads_first, 'q'), k = Order(p, heads_first, 'k');
    const Node& like = *graph_.node(p.output);
    std::vector<Endpoint> inputs(3);
    WEIR_ASSIGN_OR_RETURN(inputs[0], Arrange(like, p.query, q));
    WEIR_ASSIGN_OR_RETURN(inputs[1], Arrange(like, p.key, k));
    WEIR_ASSIGN_OR_RETURN(inputs[2], Arrange(like, p.value, k));
    AttrMap attrs;
    attrs.Set("T", p.dtype);
    attrs.Set("causal", p.is_causal);
    attrs.Set("scale", p.scale);
    attrs.Set("mask_value", p.mask_value);
    attrs.Set("heads_first", heads_first);
    const bool has_mask = p.mask.node != kNoNode;
    attrs.Set("masks", static_cast<int64_t>(has_mask));
    attrs.Set("M", has_mask ? graph_.type(p.mask) : DType::kBool);
    Endpoint mask;
    if (has_mask) {
      WEIR_ASSIGN_OR_RETURN(mask, ArrangeMask(like, p));
      inputs.push_back(mask);
    }
    WEIR_ASSIGN_OR_RETURN(Node * attention, context_.AddBeside(like, "_Attention", inputs, attrs));
    if (p.gradient) {
      const AttentionGradient& g = *p.gradient;
      const Node& first = *graph_.node(g.query != kNoNode ? g.query : g.key);
      WEIR_ASSIGN_OR_RETURN(const Endpoint flow, Arrange(first, g.flow, q));
      inputs.resize(3);
      inputs.insert(inputs.end(), {Endpoint{attention->id, 0}, Endpoint{attention->id, 1}, flow});
      if (has_mask) inputs.push_back(mask);
      WEIR_ASSIGN_OR_RETURN(Node * gradient,
                            context_.AddBeside(first, "_AttentionGrad", std::move(inputs), std::move(attrs)));
      if (g.query != kNoNode) WEIR_RETURN_IF_ERROR(Replace(g.query, g.query_axes, {gradient->id, 0}, q));
      if (g.key != kNoNode) WEIR_RETURN_IF_ERROR(Replace(g.key, g.key_axes, {gradient->id, 1}, k));
      if (g.value != kNoNode) WEIR_RETURN_IF_ERROR(Replace(g.value, g.value_axes, {gradient->id, 2}, k));
    }
    return Replace(p.output, p.output_axes, {attention->id, 0}, q);
  }

  RewriteContext& context_;
  Graph& graph_;
  const FuseAttentionOptions& options_;
  NodeId anchor_ = kNoNode;  // a node that stays, in the loop of the attention
};

}  // namespace

Status FuseAttention(RewriteContext& context, const FuseAttentionOptions& options) {
  Graph& graph = context.graph();
  const bool has_softmax =
      std::ranges::any_of(graph.nodes(), [](const auto& node) { return node != nullptr && node->op() == "Softmax"; });
  if (!has_softmax || graph.ops().Find("_Attention") == nullptr || graph.ops().Find("_AttentionGrad") == nullptr ||
      !context.ShapesAgree()) {
    return OkStatus();
  }
  return AttentionFuser(context, options).Run();
}

}  // namespace weir
