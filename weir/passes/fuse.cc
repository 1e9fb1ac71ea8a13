#include "weir/passes/fuse.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "weir/framework/fused_nodes.h"
#include "weir/graph/shape_inference.h"

namespace weir {
namespace {

constexpr std::string_view kActivations[] = {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"};
constexpr std::string_view kConvolutions[] = {"Conv2D", "_FusedConv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
constexpr char kConstantWeights[] = "_constant_weights";

bool IsFloat(const Node& node) { return node.num_outputs() > 0 && node.output_type(0) == DType::kFloat; }

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
  Fuser(Graph* graph, InferredShapes shapes) : graph_(*graph), consumers_(*graph), shapes_(std::move(shapes)) {}

  Status Run() {
    WEIR_ASSIGN_OR_RETURN(std::vector<NodeId> order, TopologicalOrder(graph_));
    for (NodeId id : order) {
      Node* node = graph_.node(id);
      const bool is_convolution = node->op() == "Conv2D";
      if (!(is_convolution || node->op() == "MatMul") || !IsFloat(*node) || !IsChannelsLast(*node)) continue;
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
  // The one node that takes the chain's result, if there is no other and it may be merged; `input` says where.
  Node* OnlyConsumer(const Chain& chain, int* input) const {
    std::span<const Consumers::Use> uses = consumers_.of(chain.last()->id);
    if (uses.size() != 1 || uses[0].output != 0 || uses[0].input < 0) return nullptr;
    Node* node = graph_.node(uses[0].consumer);
    if (node->requested_device != chain.contraction->requested_device || !IsPure(*node) || !IsFloat(*node)) {
      return nullptr;
    }
    if (taken_.contains(node->id)) return nullptr;  // the sum of two contractions belongs to one of them
    *input = uses[0].input;
    return node;
  }

  bool ExtendByColumns(Chain& chain, bool is_convolution) const {
    int input = 0;
    Node* node = OnlyConsumer(chain, &input);
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
    if (!is_training.ok() || *is_training || shapes_.of({node.id, 0}).shape.rank() != 4) return false;
    return std::ranges::all_of(consumers_.of(node.id), [](const Consumers::Use& use) { return use.output <= 0; });
  }

  void ExtendByAddition(Chain& chain) const {
    int input = 0;
    Node* node = OnlyConsumer(chain, &input);
    if (node == nullptr || (node->op() != "AddV2" && node->op() != "Add")) return;
    const Endpoint other = node->inputs[1 - input];
    if (!MayBeEqual(shapes_.of({chain.last()->id, 0}).shape, shapes_.of(other).shape)) return;
    chain.fused_ops.push_back("Add");
    chain.arguments.push_back(other);
    chain.rest.push_back(node);
  }

  void ExtendByActivation(Chain& chain) const {
    int input = 0;
    Node* node = OnlyConsumer(chain, &input);
    if (node == nullptr || std::ranges::find(kActivations, node->op()) == std::end(kActivations)) return;
    if (node->op() == "LeakyRelu") chain.alpha = node->Attr<float>("alpha").value_or(0.2f);
    chain.fused_ops.push_back(node->op());
    chain.rest.push_back(node);
  }

  // The last node becomes the fused one; the others are left without consumers.
  Status Replace(const Chain& chain, bool is_convolution, bool is_constant) {
    WEIR_ASSIGN_OR_RETURN(const OpSchema* schema,
                          graph_.ops().LookUp(is_convolution ? "_FusedConv2D" : "_FusedMatMul"));
    const Node& contraction = *chain.contraction;
    AttrMap attrs;
    attrs.Set("T", DType::kFloat);
    const int num_arguments = static_cast<int>(chain.arguments.size());
    attrs.Set("num_args", num_arguments);
    if (is_convolution) {
      attrs.Set("TArgs", AttrList{.type = std::vector<DType>(chain.arguments.size(), DType::kFloat)});
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
    return graph_.RefreshTypes(fused);
  }

  Graph& graph_;
  const Consumers consumers_;
  const InferredShapes shapes_;
  absl::flat_hash_set<NodeId> taken_;  // part of a chain already
};

}  // namespace

Status FuseContractions(Graph* graph) {
  const bool has_any = std::ranges::any_of(graph->nodes(), [](const auto& node) {
    return node != nullptr && (node->op() == "Conv2D" || node->op() == "MatMul");
  });
  if (!has_any) return OkStatus();
  // Shapes that contradict each other are for the step to complain about.
  StatusOr<InferredShapes> shapes = InferShapes(*graph);
  if (!shapes.ok()) return OkStatus();
  return Fuser(graph, *std::move(shapes)).Run();
}

void AllowWinograd(Graph* graph) {
  for (const auto& node : graph->nodes()) {
    if (node == nullptr || !IsFloat(*node)) continue;
    if (std::ranges::find(kConvolutions, node->op()) != std::end(kConvolutions)) node->attrs.Set("_winograd", true);
  }
}

}  // namespace weir
