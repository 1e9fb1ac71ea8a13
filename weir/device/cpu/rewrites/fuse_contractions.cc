#include "weir/device/cpu/rewrites/fuse_contractions.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "weir/device/cpu/fused_activations.h"
#include "weir/framework/fused_nodes.h"

namespace weir {
namespace {

constexpr char kConstantWeights[] = "_constant_weights";

bool IsOf(const std::vector<DType>& types, const Node& node) {
  return node.num_outputs() > 0 && std::ranges::count(types, node.output_type(0)) > 0;
}

bool IsChannelsLast(const Node& node) {
  auto format = node.Attr<std::string>("data_format");
  return !format.ok() || !format->starts_with("NC");
}

// Sizes that come with the step's feeds are not known yet; should one of them make the sum a broadcast after all, the
// fused kernel adds in a loop of its own.
bool MayBeEqual(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.dim(i) >= 0 && b.dim(i) >= 0 && a.dim(i) != b.dim(i)) return false;
  }
  return true;
}

// A contraction and the nodes after it that become part of it.
struct Chain {
  Node* contraction = nullptr;
  std::vector<Node*> rest;
  std::vector<std::string> fused_ops;
  std::vector<Endpoint> arguments;
  float epsilon = 0.0001f;
  float alpha = 0.2f;
  Node* last() const { return rest.empty() ? contraction : rest.back(); }
};

class Fuser {
 public:
  Fuser(RewriteContext& context, const std::vector<DType>& types)
      : context_(context), graph_(context.graph()), types_(types) {}

  Status Run() {
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph_));
    for (NodeId id : order) {
      Node* node = graph_.node(id);
      const bool is_convolution = node->op() == "Conv2D";
      if (!(is_convolution || node->op() == "MatMul") || !IsOf(types_, *node) || !IsChannelsLast(*node)) continue;
      if (!context_.MayRewrite(*node)) continue;
      Chain chain{node};
      if (ExtendByColumns(chain, is_convolution)) {
        ExtendByAddition(chain);
        ExtendByActivation(chain);
      }
      const bool is_constant = IsConstant(*graph_.node(node->inputs[1].node));
      if (!chain.rest.empty()) {
        WEIR_RETURN_IF_ERROR(Replace(chain, is_convolution, is_constant));
      } else if (is_constant) {
        node->attrs.Set(kConstantWeights, true);
      }
    }
    return OkStatus();
  }

 private:
  // The one node that takes the chain's result, if it may become part of the chain; `input` says where it takes it.
  Node* NextOf(const Chain& chain, int* input) const {
    Node* node = context_.OnlyConsumer({chain.last()->id, 0}, input);
    // The sum of two contractions belongs to one of them.
    return node != nullptr && IsOf(types_, *node) && !taken_.contains(node->id) ? node : nullptr;
  }

  bool ExtendByColumns(Chain& chain, bool is_convolution) const {
    int input = 0;
    Node* node = NextOf(chain, &input);
    if (node == nullptr || input != 0 || !IsChannelsLast(*node)) return false;
    if (node->op() == "BiasAdd" || node->op() == "BiasAddV1") {
      chain.fused_ops = {"BiasAdd"};
    } else if (is_convolution && IsFixedNorm(*node)) {
      chain.fused_ops = {"FusedBatchNorm"};
      chain.epsilon = node->Attr<float>("epsilon").value_or(0.0001f);
    } else {
      return false;
    }
    chain.arguments.assign(node->inputs.begin() + 1, node->inputs.end());
    chain.rest.push_back(node);
    return true;
  }

  // With statistics that are given, and of which only the normalised image is used.
  bool IsFixedNorm(const Node& node) const {
    if (node.op() != "FusedBatchNorm" && node.op() != "FusedBatchNormV2" && node.op() != "FusedBatchNormV3") {
      return false;
    }
    auto is_training = node.Attr<bool>("is_training");
    if (!is_training.ok() || *is_training || context_.ShapeOf({node.id, 0}).rank() != 4) return false;
    return std::ranges::all_of(context_.consumers().of(node.id),
                               [](const Consumers::Use& use) { return use.output <= 0; });
  }

  void ExtendByAddition(Chain& chain) const {
    int input = 0;
    Node* node = NextOf(chain, &input);
    if (node == nullptr || (node->op() != "AddV2" && node->op() != "Add")) return;
    const Endpoint other = node->inputs[1 - input];
    if (!MayBeEqual(context_.ShapeOf({chain.last()->id, 0}), context_.ShapeOf(other))) return;
    chain.fused_ops.push_back("Add");
    chain.arguments.push_back(other);
    chain.rest.push_back(node);
  }

  void ExtendByActivation(Chain& chain) const {
    int input = 0;
    Node* node = NextOf(chain, &input);
    if (node == nullptr || !node->schema->is_activation || !HasFusedActivation(node->op())) return;
    if (node->op() == "LeakyRelu") chain.alpha = node->Attr<float>("alpha").value_or(0.2f);
    chain.fused_ops.push_back(node->op());
    chain.rest.push_back(node);
  }

  // The last node becomes the fused one; the others are left without consumers.
  Status Replace(const Chain& chain, bool is_convolution, bool is_constant) {
    const Node& contraction = *chain.contraction;
    const bool is_bfloat16 = contraction.output_type(0) == DType::kBFloat16;
    const char* op = !is_convolution ? "_FusedMatMul" : is_bfloat16 ? "_FusedConv2DOfBFloat16" : "_FusedConv2D";
    WEIR_ASSIGN_OR_RETURN(const OpSchema* schema, graph_.ops().LookUp(op));
    AttrMap attrs;
    attrs.Set("T", contraction.output_type(0));
    const int num_arguments = static_cast<int>(chain.arguments.size());
    attrs.Set("num_args", num_arguments);
    if (is_convolution) {
      AttrList types;
      for (const Endpoint& argument : chain.arguments) types.type.push_back(BaseType(graph_.type(argument)));
      attrs.Set("TArgs", std::move(types));
      attrs.Set("num_host_args", 0);
      attrs.Set("filter_format", "HWIO");
    }
    for (const char* name : {"strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu",
                             "transpose_a", "transpose_b"}) {
      if (const Attribute* value = contraction.attrs.Find(name)) attrs.Set(name, *value);
    }
    attrs.Set("fused_ops", AttrList{.s = chain.fused_ops});
    attrs.Set("epsilon", chain.epsilon);
    attrs.Set("leakyrelu_alpha", chain.alpha);
    if (is_constant) attrs.Set(kConstantWeights, true);
    AttrList names{.s = {contraction.name}};
    for (const Node* node : chain.rest) names.s.push_back(node->name);
    attrs.Set(kFusedNodes, std::move(names));

    std::vector<NodeId> control = contraction.control_inputs;
    for (const Node* node : chain.rest) {
      control.insert(control.end(), node->control_inputs.begin(), node->control_inputs.end());
      taken_.insert(node->id);
    }
    Node* fused = chain.last();
    fused->schema = schema;
    fused->attrs = std::move(attrs);
    fused->inputs = contraction.inputs;
    fused->inputs.insert(fused->inputs.end(), chain.arguments.begin(), chain.arguments.end());
    fused->control_inputs.clear();
    for (NodeId id : control) AddControlInput(fused, id);
    return context_.Changed(fused);
  }

  RewriteContext& context_;
  Graph& graph_;
  const std::vector<DType>& types_;
  absl::flat_hash_set<NodeId> taken_;  // part of a chain already
};

}  // namespace

Status FuseContractions(RewriteContext& context) { return FuseContractions(context, {DType::kFloat}); }

Status FuseContractions(RewriteContext& context, const std::vector<DType>& types) {
  const bool has_any = std::ranges::any_of(context.graph().nodes(), [](const auto& node) {
    return node != nullptr && (node->op() == "Conv2D" || node->op() == "MatMul");
  });
  if (!has_any || !context.ShapesAgree()) return OkStatus();
  return Fuser(context, types).Run();
}

void AllowWinograd(RewriteContext& context) {
  for (const auto& node : context.graph().nodes()) {
    if (node == nullptr || !IsOf({DType::kFloat}, *node) || node->schema->contraction != Contraction::kConvolution)
      continue;
    node->attrs.Set("_winograd", true);
  }
}

}  // namespace weir
