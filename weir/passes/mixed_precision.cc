#include "weir/passes/mixed_precision.h"

#include <algorithm>

#include "weir/tensor/number.h"

namespace weir {
namespace {

constexpr std::string_view kTypeAttr = "T";

// For each input or output tensor of a node, whether its type is the attribute `T`.
StatusOr<std::vector<bool>> FollowsType(const std::vector<ArgSchema>& args, const AttrMap& attrs, size_t count) {
  std::vector<bool> follows(count, false);
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].type_attr != kTypeAttr) continue;
    WEIR_ASSIGN_OR_RETURN(ArgRange range, ResolveArgRange(args, attrs, static_cast<int>(i)));
    for (int k = range.begin; k < range.end; ++k) follows[k] = true;
  }
  return follows;
}

class PrecisionMixer {
 public:
  PrecisionMixer(RewriteContext& context, const DeviceRewriteOptions& options)
      : context_(context), graph_(context.graph()), options_(options), small_(options.mixed_precision) {}

  Status Run() {
    parts_.resize(graph_.num_node_ids());
    for (const auto& node : graph_.nodes()) {
      if (node != nullptr) WEIR_RETURN_IF_ERROR(Consider(*node));
    }
    if (std::ranges::none_of(parts_, [](const Part& part) { return part.is_small; })) return OkStatus();
    Connect();
    SpreadDenial();
    JoinWhatLiesBetween();
    JoinClearNeighbours();
    JoinSums();
    JoinBiases();
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr || !parts_[node->id].is_small) continue;
      node->attrs.Set(kTypeAttr, small_);
      WEIR_RETURN_IF_ERROR(context_.Redefined(node.get()));
    }
    return CastWhereTypesMeet();
  }

 private:
  using Kind = MixedPrecision;
  // What is known about a node. Nodes that cannot change are kUnsaid.
  struct Part {
    Kind kind = Kind::kUnsaid;
    bool can_be_small = false;
    bool is_small = false;
    bool is_denied = false;
    std::vector<bool> input_follows, output_follows;
    std::vector<NodeId> before, after;  // producers and consumers of the tensors of type `T`
  };

  Status Consider(const Node& node) {
    Part& part = parts_[node.id];
    const OpSchema& schema = *node.schema;
    if (schema.mixed_precision == Kind::kUnsaid) return OkStatus();
    const Attribute* type = node.attrs.Find(kTypeAttr);
    const DType* dtype = type != nullptr ? type->get_if<DType>() : nullptr;
    if (dtype == nullptr || *dtype != DType::kFloat) return OkStatus();
    // A cast could read the reference at another time.
    for (Endpoint input : node.inputs) {
      if (IsRef(graph_.type(input))) return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(part.input_follows, FollowsType(schema.inputs, node.attrs, node.inputs.size()));
    WEIR_ASSIGN_OR_RETURN(part.output_follows,
                          FollowsType(schema.outputs, node.attrs, static_cast<size_t>(node.num_outputs())));
    part.kind = schema.mixed_precision;
    part.is_denied = part.kind == Kind::kDeny;
    part.can_be_small = !part.is_denied && CanBeSmall(node);
    part.is_small = part.kind == Kind::kAllow && part.can_be_small;
    return OkStatus();
  }
  bool CanBeSmall(const Node& node) const {
    const AttrSchema* type = node.schema->FindAttr(kTypeAttr);
    if (type == nullptr || !CheckAttr(*type, Attribute(small_)).ok()) return false;
    if (node.attrs.Find("_kernel") != nullptr) return false;
    AttrMap attrs = node.attrs;
    attrs.Set(kTypeAttr, small_);
    return options_.supports(node.op(), attrs);
  }

  void Connect() {
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr || parts_[node->id].kind == Kind::kUnsaid) continue;
      Part& part = parts_[node->id];
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        const Endpoint from = node->inputs[i];
        Part& producer = parts_[from.node];
        if (!part.input_follows[i] || producer.kind == Kind::kUnsaid || !producer.output_follows[from.index]) continue;
        part.before.push_back(from.node);
        producer.after.push_back(node->id);
      }
    }
  }

  // Visits the nodes that can be reached from `start` through nodes that `enters` accepts. `enters` must accept each
  // node at most once.
  template <typename Enter>
  void Walk(NodeId start, bool forward, bool backward, Enter enters) {
    std::vector<NodeId> stack = {start};
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      const Part& part = parts_[id];
      auto step = [&](const std::vector<NodeId>& next) {
        for (NodeId other : next) {
          if (enters(other)) stack.push_back(other);
        }
      };
      if (forward) step(part.after);
      if (backward) step(part.before);
    }
  }
  template <typename Predicate>
  std::vector<NodeId> Those(Predicate is_one) const {
    std::vector<NodeId> ids;
    for (size_t id = 0; id < parts_.size(); ++id) {
      if (is_one(parts_[id])) ids.push_back(static_cast<NodeId>(id));
    }
    return ids;
  }
  bool IsBetweenKind(NodeId id) const { return parts_[id].kind == Kind::kInfer || parts_[id].kind == Kind::kClear; }

  // Denies the `infer` nodes that depend on a denied node, and the `clear` nodes on the way from a `deny` node to one
  // of these or to another `deny` node.
  void SpreadDenial() {
    std::vector<bool> leads_on(parts_.size(), false);
    for (NodeId id : Those([](const Part& p) { return p.kind == Kind::kDeny || p.kind == Kind::kInfer; })) {
      leads_on[id] = true;
      Walk(id, /*forward=*/false, /*backward=*/true, [&](NodeId other) -> bool {
        if (leads_on[other] || parts_[other].kind != Kind::kClear) return false;
        return leads_on[other] = true;
      });
    }
    for (NodeId id : Those([](const Part& part) { return part.kind == Kind::kDeny; })) {
      Walk(id, /*forward=*/true, /*backward=*/false, [&](NodeId other) -> bool {
        if (parts_[other].is_denied || !leads_on[other]) return false;
        return parts_[other].is_denied = true;
      });
    }
  }

  bool MayJoin(NodeId id) const {
    const Part& part = parts_[id];
    return part.can_be_small && !part.is_small && !part.is_denied && IsBetweenKind(id);
  }
  void JoinWhatLiesBetween() {
    const std::vector<NodeId> allowed = Those([](const Part& part) { return part.is_small; });
    std::vector<bool> is_behind(parts_.size(), false), lies_between(parts_.size(), false);
    for (NodeId id : allowed) {
      Walk(id, /*forward=*/true, /*backward=*/false, [&](NodeId other) -> bool {
        if (is_behind[other] || !MayJoin(other)) return false;
        return is_behind[other] = true;
      });
    }
    for (NodeId id : allowed) {
      Walk(id, /*forward=*/false, /*backward=*/true, [&](NodeId other) -> bool {
        if (lies_between[other] || !is_behind[other]) return false;
        return lies_between[other] = true;
      });
    }
    for (size_t id = 0; id < parts_.size(); ++id) parts_[id].is_small = parts_[id].is_small || lies_between[id];
  }
  void JoinClearNeighbours() {
    for (NodeId id : Those([](const Part& part) { return part.is_small; })) {
      Walk(id, /*forward=*/true, /*backward=*/true, [&](NodeId other) -> bool {
        if (!MayJoin(other) || parts_[other].kind != Kind::kClear) return false;
        return parts_[other].is_small = true;
      });
    }
  }
  // Adds `infer` nodes whose inputs are in the small type and much larger than their outputs.
  void JoinSums() {
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr || !MayJoin(node->id) || parts_[node->id].kind != Kind::kInfer) continue;
      Part& part = parts_[node->id];
      int64_t read = 0, written = 0;
      bool all_small = true;
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        if (!part.input_follows[i]) continue;
        const Endpoint from = node->inputs[i];
        const Part& producer = parts_[from.node];
        all_small = all_small && producer.is_small && producer.output_follows[from.index];
        read += NumElements(from);
      }
      for (int i = 0; i < node->num_outputs(); ++i) written += NumElements({node->id, i});
      if (all_small && read > 2 * written && written > 0) part.is_small = true;
    }
  }
  // A bias goes with the product that it is added to, and its gradient with the gradient of that product, whatever
  // comes after: TensorFlow would add it in float before a loss.
  void JoinBiases() {
    auto is_product = [&](NodeId id) { return parts_[id].is_small && parts_[id].kind == Kind::kAllow; };
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr || (node->op() != "BiasAdd" && node->op() != "BiasAddGrad")) continue;
      Part& part = parts_[node->id];
      if (part.is_small || !part.can_be_small) continue;
      const Endpoint value = node->inputs[0];
      const std::vector<NodeId>& takers = parts_[value.node].after;
      part.is_small = node->op() == "BiasAdd" ? is_product(value.node) : std::ranges::any_of(takers, is_product);
    }
  }
  int64_t NumElements(Endpoint tensor) {
    const std::optional<Shape> shape = context_.KnownShape(tensor);
    return shape ? shape->num_elements() : 0;
  }

  Status CastWhereTypesMeet() {
    const int num_nodes = graph_.num_node_ids();
    for (NodeId id = 0; id < num_nodes; ++id) {
      Node* node = graph_.node(id);
      if (node == nullptr) continue;
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        const DType have = graph_.type(node->inputs[i]), want = node->input_type(static_cast<int>(i));
        const bool meet = (have == small_ && want == DType::kFloat) || (have == DType::kFloat && want == small_);
        if (!meet) continue;
        WEIR_ASSIGN_OR_RETURN(const Endpoint cast, CastOnce(node->inputs[i], have, want));
        node->inputs[i] = cast;
      }
    }
    return OkStatus();
  }
  StatusOr<Endpoint> CastOnce(Endpoint tensor, DType from, DType to) {
    auto [known, is_new] = casts_.try_emplace(tensor);
    if (!is_new) return known->second;
    const Tensor* constant = context_.ConstantOf(tensor);
    WEIR_ASSIGN_OR_RETURN(Node * node, constant != nullptr ? AddConstant(*graph_.node(tensor.node), *constant)
                                                           : AddCast(tensor, from, to));
    return casts_[tensor] = Endpoint{node->id, 0};
  }
  StatusOr<Node*> AddCast(Endpoint tensor, DType from, DType to) {
    const Node& producer = *graph_.node(tensor.node);
    if (to == small_ && producer.op() == "Enter" && producer.Attr<bool>("is_constant").value_or(false)) {
      return AddCastBeforeLoop(producer, from, to);
    }
    AttrMap attrs;
    attrs.Set("SrcT", from);
    attrs.Set("DstT", to);
    attrs.Set("Truncate", false);
    return context_.AddBeside(*graph_.node(tensor.node), "Cast", {tensor}, std::move(attrs));
  }
  // Casts a loop invariant once, before the loop.
  StatusOr<Node*> AddCastBeforeLoop(const Node& enter, DType from, DType to) {
    WEIR_ASSIGN_OR_RETURN(const Endpoint outside, CastOnce(enter.inputs[0], from, to));
    AttrMap attrs = enter.attrs;
    attrs.Set(kTypeAttr, to);
    WEIR_ASSIGN_OR_RETURN(Node * node, context_.AddBeside(enter, "Enter", {outside}, std::move(attrs)));
    for (NodeId id : enter.control_inputs) AddControlInput(node, id);
    return node;
  }
  StatusOr<Node*> AddConstant(const Node& like, const Tensor& value) {
    WEIR_ASSIGN_OR_RETURN(Tensor cast, Tensor::Zeros(small_, value.shape()));
    DispatchDType(small_, TypeList<Half, BFloat16>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::ranges::transform(value.span<float>(), cast.span<T>().begin(), [](float x) { return T(x); });
    });
    AttrMap attrs;
    attrs.Set("dtype", small_);
    attrs.Set("value", std::move(cast));
    return context_.AddBeside(like, "Const", {}, std::move(attrs));
  }

  RewriteContext& context_;
  Graph& graph_;
  const DeviceRewriteOptions& options_;
  const DType small_;
  std::vector<Part> parts_;  // by node id
  absl::flat_hash_map<Endpoint, Endpoint> casts_;
};

}  // namespace

Status MixPrecision(RewriteContext& context, const DeviceRewriteOptions& options) {
  if (options.mixed_precision == DType::kInvalid) return OkStatus();
  if (options.mixed_precision != DType::kBFloat16 && options.mixed_precision != DType::kHalf) {
    return InvalidArgument("Mixed precision needs bfloat16 or half, not ", Name(options.mixed_precision));
  }
  return PrecisionMixer(context, options).Run();
}

}  // namespace weir
