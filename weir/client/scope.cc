#include "weir/client/scope.h"

#include <algorithm>

#include "weir/client/environment.h"
#include "weir/client/scope_internal.h"
#include "weir/graph/shape_inference.h"
#include "weir/passes/recompute_options.h"

namespace weir {
namespace {

// A name that neither a node nor a scope has: `name`, `name_1`, ...; and marks it as used.
std::string MakeUnique(StringMap<int>& names, const Graph& graph, const std::string& name) {
  auto used = [&](const std::string& candidate) {
    return names.contains(candidate) || graph.Find(candidate) != nullptr;
  };
  std::string unique = name;
  int next = std::max(names[name], graph.Find(name) != nullptr ? 1 : 0);  // also how often it was asked for
  for (bool taken = next > 0; taken; taken = used(unique)) unique = Cat(name, "_", next++);
  names[name] = std::max(next, 1);
  names[unique] = std::max(names[unique], 1);
  return unique;
}

// "/job:a/device:CPU:1" over "/job:b": what the inner one names replaces the outer's.
std::string MergeDevices(const std::string& outer, const std::string& inner) {
  if (inner.empty() || outer.empty()) return inner;
  std::string out;
  for (size_t begin = 0; begin < outer.size();) {
    size_t end = std::min(outer.find('/', begin + 1), outer.size());
    std::string part = outer.substr(begin, end - begin);
    std::string key = part.substr(0, part.find(':') + 1);
    if (inner.find(key) == std::string::npos) out += part;
    begin = end;
  }
  return out + inner;
}

}  // namespace

Status ScopeState::InferNode(NodeId id) {
  const Node* node = graph.node(id);
  if (node == nullptr) return OkStatus();
  std::vector<InferredTensor> inputs, outputs;
  for (Endpoint input : node->inputs) {
    // A loop's back edge comes from a later node: nothing is known of it.
    const bool known = input.node < inferred.size() && input.index < inferred[input.node].size();
    inputs.push_back(known ? inferred[input.node][input.index] : InferredTensor());
  }
  Status status = weir::InferNode(graph, *node, std::move(inputs), &outputs);
  outputs.resize(node->num_outputs());
  if (IsConstant(*node)) {
    if (auto value = node->Attr<Tensor>("value"); value.ok()) outputs[0].value = *value;
  }
  inferred[id] = std::move(outputs);
  return status;
}

Status ScopeState::InferNew() {
  while (inferred.size() < graph.num_node_ids()) {
    inferred.emplace_back();
    WEIR_RETURN_IF_ERROR(InferNode(static_cast<NodeId>(inferred.size()) - 1));
  }
  return OkStatus();
}

Status ScopeState::InferChanged() {
  for (NodeId id = 0; id < inferred.size(); ++id) {
    const Node* node = graph.node(id);
    if (node != nullptr && inferred[id].size() != node->num_outputs()) WEIR_RETURN_IF_ERROR(InferNode(id));
  }
  return OkStatus();
}

Output ScopeState::Import(const Output& output) {
  if (!output.has_scope() || output.scope().state() == this) return output;
  if (!capture || outer == nullptr) return Output();
  Output around = outer->state()->Import(output);
  return around.has_value() ? capture(around) : Output();
}

Output ScopeState::Import(const EagerTensor& tensor) {
  if (capture_eager) return capture_eager(tensor);
  if (!capture || outer == nullptr) return Output();
  Output around = outer->state()->Import(tensor);
  return around.has_value() ? capture(around) : Output();
}

Scope Scope::NewRoot(std::shared_ptr<Environment> environment) {
  if (environment == nullptr) environment = DefaultEnvironment();
  auto place = std::make_shared<ScopePlace>();
  place->state = std::make_shared<ScopeState>(std::move(environment));
  place->state->graph.versions().producer = kGraphDefVersion;
  return Scope(std::move(place));
}

ScopePlace Scope::Copy() const { return *place_; }
ScopeState* Scope::state() const { return place_->state.get(); }
Graph& Scope::graph() const { return state()->graph; }
const std::shared_ptr<Environment>& Scope::environment() const { return state()->environment; }
const std::string& Scope::prefix() const { return place_->prefix; }
Status Scope::status() const { return place_->frame != nullptr ? place_->frame->status : state()->status; }

void Scope::Fail(Status error) const {
  Status& status = place_->frame != nullptr ? place_->frame->status : state()->status;
  if (status.ok()) status = std::move(error);
}

std::string Scope::UniqueName(std::string_view name) const {
  std::string full = prefix().empty() ? std::string(name) : Cat(prefix(), "/", name);
  return MakeUnique(state()->names, graph(), full);
}

Scope Scope::SubScope(std::string_view name) const {
  ScopePlace place = Copy();
  place.prefix = UniqueName(name);
  place.name.clear();
  return Scope(std::make_shared<const ScopePlace>(std::move(place)));
}

Scope Scope::WithPrefix(std::string_view prefix) const {
  ScopePlace place = Copy();
  place.prefix = std::string(prefix);
  place.name.clear();
  return Scope(std::make_shared<const ScopePlace>(std::move(place)));
}

Scope Scope::WithName(std::string_view name) const {
  ScopePlace place = Copy();
  place.name = std::string(name);
  return Scope(std::make_shared<const ScopePlace>(std::move(place)));
}

Scope Scope::WithoutName() const { return place_->name.empty() ? *this : WithName(""); }

Scope Scope::WithDevice(std::string_view device) const {
  ScopePlace place = Copy();
  place.device = MergeDevices(place.device, std::string(device));
  return Scope(std::make_shared<const ScopePlace>(std::move(place)));
}

Scope Scope::ColocateWith(const Operation& op) const {
  ScopePlace place = Copy();
  place.colocation = op.name();
  return Scope(std::make_shared<const ScopePlace>(std::move(place)));
}

Scope Scope::WithControlDependencies(std::span<const Operation> before) const {
  ScopePlace place = Copy();
  for (const Operation& op : before) {
    if (op.has_value()) place.control.push_back(op.node_id());
  }
  return Scope(std::make_shared<const ScopePlace>(std::move(place)));
}

Scope Scope::WithControlDependencies(std::initializer_list<Operation> before) const {
  return WithControlDependencies(std::span<const Operation>(before.begin(), before.size()));
}

Scope Scope::WithoutControlDependencies() const {
  ScopePlace place = Copy();
  place.control.clear();
  return Scope(std::make_shared<const ScopePlace>(std::move(place)));
}

Scope Scope::WithRecomputation() const {
  ScopePlace place = Copy();
  if (place.recomputed_block == 0) place.recomputed_block = ++state()->recomputed_blocks;
  return Scope(std::make_shared<const ScopePlace>(std::move(place)));
}

NodeId Scope::AddNode(Graph::NodeSpec spec) const {
  if (place_->frame != nullptr) Fail(Internal("nodes cannot be added where operations are executed eagerly"));
  if (!ok()) return kNoNode;
  if (spec.name.empty()) spec.name = UniqueName(place_->name.empty() ? spec.op : place_->name);
  if (spec.device.empty()) spec.device = place_->device;
  if (!place_->colocation.empty() && spec.attrs.Find("_class") == nullptr) {
    AttrList list;
    list.s.push_back(Cat("loc:@", place_->colocation));
    spec.attrs.Set("_class", Attribute(std::move(list)));
  }
  if (place_->recomputed_block != 0) spec.attrs.Set(kRecomputeHint, place_->recomputed_block);
  for (NodeId id : place_->control) {
    auto& control = spec.control_inputs;
    if (std::find(control.begin(), control.end(), id) == control.end()) control.push_back(id);
  }
  StatusOr<Node*> node = graph().AddNode(std::move(spec));
  if (!node.ok()) return Fail(node.status()), kNoNode;
  if (Status status = state()->InferNew(); !status.ok()) return Fail(status), kNoNode;
  return (*node)->id;
}

Status Scope::NoticeNewNodes() const {
  Status status = state()->InferChanged();
  if (status.ok()) status = state()->InferNew();
  if (!status.ok()) Fail(status);
  return status;
}

PartialShape Scope::shape(Endpoint tensor) const {
  const auto& inferred = state()->inferred;
  if (tensor.node < 0 || tensor.node >= inferred.size() || tensor.index >= inferred[tensor.node].size()) return {};
  return inferred[tensor.node][tensor.index].shape;
}

Tensor Scope::constant_value(Endpoint tensor) const {
  const auto& inferred = state()->inferred;
  if (tensor.node < 0 || tensor.node >= inferred.size() || tensor.index >= inferred[tensor.node].size()) return {};
  return inferred[tensor.node][tensor.index].value;
}

Operation::Operation(const Scope& scope, NodeId node)
    : scope_(std::make_shared<const Scope>(scope.WithoutName())), node_(node) {}

std::string Operation::name() const { return has_value() ? scope_->graph().node(node_)->name : ""; }
int Operation::num_outputs() const { return has_value() ? scope_->graph().node(node_)->num_outputs() : 0; }
Output Operation::output(int index) const {
  if (index < 0 || index >= num_outputs()) return Output(scope_, Endpoint());
  return Output(scope_, {node_, index});
}

Output::Output(const Scope& scope, Endpoint endpoint)
    : scope_(std::make_shared<const Scope>(scope.WithoutName())), endpoint_(endpoint) {}

Operation Output::op() const { return has_value() ? Operation(*scope_, endpoint_.node) : Operation(); }
DType Output::dtype() const { return has_value() ? scope_->graph().type(endpoint_) : DType::kInvalid; }
PartialShape Output::shape() const { return has_value() ? scope_->shape(endpoint_) : PartialShape(); }
std::string Output::name() const { return has_value() ? scope_->graph().TensorName(endpoint_) : ""; }

}  // namespace weir
