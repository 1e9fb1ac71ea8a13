#include "weir/autodiff/graph_emitter.h"

namespace weir {
namespace {

constexpr std::string_view kColocation = "loc:@";

// The value of `_class` that places a node with `node`.
Attribute ColocationOf(const Node& node) {
  AttrList list;
  if (const Attribute* attr = node.attrs.Find("_class"); attr != nullptr && attr->get_if<AttrList>() != nullptr) {
    for (const std::string& each : attr->get_if<AttrList>()->s) {
      if (each.starts_with(kColocation)) list.s.push_back(each);
    }
  }
  if (list.s.empty()) list.s.push_back(Cat(kColocation, node.name));
  return Attribute(std::move(list));
}

}  // namespace

GraphShapes::GraphShapes(const Graph& graph) : graph_(graph) {
  StatusOr<InferredShapes> shapes = InferShapes(graph);
  if (shapes.ok()) shapes_ = *std::move(shapes);
  shapes_.outputs.resize(graph.num_node_ids());
  for (NodeId id = 0; id < graph.num_node_ids(); ++id) {
    const Node* node = graph.node(id);
    if (node != nullptr) shapes_.outputs[id].resize(node->num_outputs());
  }
}

void GraphShapes::Forget(NodeId node) {
  if (node < static_cast<NodeId>(shapes_.outputs.size())) {
    shapes_.outputs[node].resize(graph_.node(node)->num_outputs());
  }
}

const InferredTensor& GraphShapes::Of(Endpoint tensor) {
  for (NodeId id = static_cast<NodeId>(shapes_.outputs.size()); id <= tensor.node; ++id) Infer(id);
  return shapes_.of(tensor);
}

void GraphShapes::Infer(NodeId id) {
  std::vector<InferredTensor>& outputs = shapes_.outputs.emplace_back();
  const Node* node = graph_.node(id);
  if (node == nullptr) return;
  std::vector<InferredTensor> inputs, inferred;
  bool known = true;
  for (Endpoint input : node->inputs) {
    // A Merge of a loop has an input that is added later.
    known &= input.node < id;
    if (known) inputs.push_back(shapes_.of(input));
  }
  if (known && !IsMerge(*node) && InferNode(graph_, *node, std::move(inputs), &inferred).ok()) {
    outputs = std::move(inferred);
  }
  outputs.resize(node->num_outputs());
}

Endpoint GraphEmitter::ToEndpoint(Value value) {
  if (!value) return {};
  StatusOr<Value> own = Own(value);
  if (own.ok()) return {own->node(), own->index()};
  Fail(own.status());
  return {};
}

StatusOr<Node*> GraphEmitter::AddNode(std::string_view op, std::vector<Endpoint> inputs, AttrMap attrs,
                                      std::vector<NodeId> control_inputs) {
  Graph::NodeSpec spec;
  spec.op = op;
  // Names of internal ops begin with '_', which no node's name may.
  const std::string_view plain = op.substr(std::min(op.find_first_not_of('_'), op.size() - 1));
  spec.name = graph_.UniqueName(scope_.empty() ? std::string(plain) : Cat(scope_, "/", plain));
  spec.inputs = std::move(inputs);
  spec.control_inputs = std::move(control_inputs);
  spec.attrs = std::move(attrs);
  if (pivot_ != kNoNode && spec.inputs.empty() && spec.control_inputs.empty()) spec.control_inputs.push_back(pivot_);
  if (colocation_ != nullptr) {
    spec.attrs.Set("_class", ColocationOf(*colocation_));
    spec.device = colocation_->requested_device;
  }
  return graph_.AddNode(std::move(spec));
}

StatusOr<std::vector<Value>> GraphEmitter::AddOp(const OpSchema& schema, std::vector<Value> inputs, AttrMap attrs) {
  std::vector<Endpoint> endpoints;
  for (const Value& input : inputs) endpoints.push_back({input.node(), input.index()});
  WEIR_ASSIGN_OR_RETURN(Node * node, AddNode(schema.name, std::move(endpoints), std::move(attrs)));
  std::vector<Value> outputs;
  for (int i = 0; i < node->num_outputs(); ++i) outputs.emplace_back(this, node->id, i);
  return outputs;
}

StatusOr<Value> GraphEmitter::Import(Value) {
  return Internal("A value of another graph cannot be used in ", scope_.empty() ? "this graph" : scope_);
}

}  // namespace weir
