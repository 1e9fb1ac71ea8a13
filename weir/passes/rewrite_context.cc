#include "weir/passes/rewrite_context.h"

namespace weir {

RewriteContext::RewriteContext(Graph* graph, Stage stage) : graph_(*graph), stage_(stage) {
  for (const auto& node : graph_.nodes()) {
    if (node && consumers().of(node->id).empty()) keep_.push_back(node->id);
  }
}

const Consumers& RewriteContext::consumers() {
  if (!consumers_) consumers_.emplace(graph_);
  return *consumers_;
}

const WaitAnalysis& RewriteContext::waits() {
  if (!waits_) waits_.emplace(graph_, consumers());
  return *waits_;
}

bool RewriteContext::ShapesAgree() {
  if (!shapes_) shapes_ = InferShapes(graph_);
  return shapes_->ok();
}

const InferredTensor& RewriteContext::Inferred(Endpoint tensor) {
  static const InferredTensor unknown;
  if (!ShapesAgree()) return unknown;
  const auto& outputs = (*shapes_)->outputs;
  if (static_cast<size_t>(tensor.node) >= outputs.size()) return unknown;
  const std::vector<InferredTensor>& known = outputs[tensor.node];
  return static_cast<size_t>(tensor.index) < known.size() ? known[tensor.index] : unknown;
}

const PartialShape& RewriteContext::ShapeOf(Endpoint tensor) { return Inferred(tensor).shape; }
const Tensor& RewriteContext::ValueOf(Endpoint tensor) { return Inferred(tensor).value; }

void RewriteContext::Infer(const Node& node) {
  if (!shapes_ || !shapes_->ok()) return;  // all shapes are inferred together on first use
  std::vector<InferredTensor> inputs, outputs(node.num_outputs());
  for (Endpoint input : node.inputs) inputs.push_back(Inferred(input));
  if (!InferNode(graph_, node, std::move(inputs), &outputs).ok()) outputs.assign(node.num_outputs(), {});
  auto& all = (*shapes_)->outputs;
  if (all.size() <= static_cast<size_t>(node.id)) all.resize(node.id + 1);
  all[node.id] = std::move(outputs);
}

bool RewriteContext::MayRewrite(const Node& node) const {
  if (!IsPure(node) || node.attrs.Find("_kernel") != nullptr) return false;
  return stage_ == Stage::kPlaced || node.attrs.Find("_class") == nullptr;
}

bool RewriteContext::AreTogether(const Node& a, const Node& b) const {
  return stage_ == Stage::kPlaced || a.requested_device == b.requested_device;
}

Node* RewriteContext::OnlyConsumer(Endpoint tensor, int* input) {
  const Consumers::Use* only = nullptr;
  for (const Consumers::Use& use : consumers().of(tensor.node)) {
    if (use.output >= 0 && use.output != tensor.index) continue;
    if (only != nullptr || use.input < 0) return nullptr;
    only = &use;
  }
  if (only == nullptr) return nullptr;
  Node* node = graph_.node(only->consumer);
  if (node == nullptr || !MayRewrite(*node) || !AreTogether(*graph_.node(tensor.node), *node)) return nullptr;
  if (input != nullptr) *input = only->input;
  return node;
}

const Tensor* RewriteContext::ConstantOf(Endpoint tensor) const {
  const Node& node = *graph_.node(tensor.node);
  if (!IsConstant(node) || !node.control_inputs.empty()) return nullptr;
  return node.attrs.Find("value")->get_if<Tensor>();
}

Status RewriteContext::Changed(Node* node) {
  WEIR_RETURN_IF_ERROR(graph_.RefreshTypes(node));
  if (!shapes_ || !shapes_->ok()) return OkStatus();
  const auto& all = (*shapes_)->outputs;
  if (static_cast<size_t>(node->id) >= all.size() || all[node->id].size() != static_cast<size_t>(node->num_outputs())) {
    Infer(*node);
  }
  return OkStatus();
}

Status RewriteContext::Redefined(Node* node) {
  WEIR_RETURN_IF_ERROR(graph_.RefreshTypes(node));
  Infer(*node);
  return OkStatus();
}

Status RewriteContext::TurnIntoIdentity(Node* node, Endpoint input) {
  WEIR_RETURN_IF_ERROR(weir::TurnIntoIdentity(&graph_, node, input));
  return Changed(node);
}

StatusOr<Node*> RewriteContext::AddBeside(const Node& like, std::string_view op, std::vector<Endpoint> inputs,
                                          AttrMap attrs) {
  WEIR_ASSIGN_OR_RETURN(Node * node, weir::AddBeside(&graph_, like, op, std::move(inputs), std::move(attrs)));
  Infer(*node);
  return node;
}

void RewriteContext::EndPass() {
  RemoveUnused(&graph_, keep_);
  ForgetConsumers();
}

void RewriteContext::ForgetConsumers() {
  waits_.reset();  // refers to the consumers
  consumers_.reset();
}

}  // namespace weir
