// Compiles signatures into plans.
#include <algorithm>

#include "weir/base/logging.h"
#include "weir/graph/import.h"
#include "weir/passes/wait_analysis.h"
#include "weir/runtime/cost_graph.h"
#include "weir/runtime/local_session_internal.h"
#include "weir/runtime/recordable.h"

namespace weir {
namespace {

// The argument or result node of each index from `first` on.
std::vector<Node*> FindEnds(const Graph& graph, std::string_view op, int first, int count) {
  std::vector<Node*> out(count, nullptr);
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || node->op() != op) continue;
    int64_t index = *node->Attr<int64_t>("index") - first;
    if (index >= 0 && index < count) out[index] = node.get();
  }
  return out;
}

// Replaces a feed by a tensor of the graph: consumers of argument `first_arg + i` read the tensor that result
// `first_ret + i` would have returned.
Status Connect(Graph* graph, int first_arg, int first_ret, int count) {
  std::vector<Node*> args = FindEnds(*graph, "_Arg", first_arg, count);
  std::vector<Node*> rets = FindEnds(*graph, "_Retval", first_ret, count);
  for (int i = 0; i < count; ++i) {
    if (args[i] == nullptr || rets[i] == nullptr) return Internal("A connection was lost");
    Endpoint source = rets[i]->inputs[0];
    if (BaseType(graph->type(source)) != args[i]->output_type(0)) {
      return InvalidArgument("Tensor connection ", i, " connects ", Name(graph->type(source)), " to ",
                             Name(args[i]->output_type(0)));
    }
    for (const auto& node : graph->nodes()) {
      if (node == nullptr) continue;
      for (Endpoint& input : node->inputs) {
        if (input.node == args[i]->id) input = source;
      }
    }
  }
  for (int i = 0; i < count; ++i) {
    graph->RemoveNode(rets[i]->id);
    graph->RemoveNode(args[i]->id);
  }
  return OkStatus();
}

}  // namespace

StatusOr<Graph> LocalSession::PrepareGraph(const StepSignature& signature, const Connections& connections,
                                           FeedShapes shapes) {
  StepSignature extended = signature;
  for (const auto& [from, to] : connections) {
    extended.feeds.push_back(to);
    extended.fetches.push_back(from);
  }
  StatusOr<Graph> pruned = [&] {
    absl::ReaderMutexLock lock(&graph_mu_);
    return PruneGraph(graph_, extended);
  }();
  if (pruned.ok()) WEIR_RETURN_IF_ERROR(RestoreTaken(&*pruned));
  if (pruned.ok() && shapes == FeedShapes::kAny) {
    for (const auto& node : pruned->nodes()) {
      if (node != nullptr && node->op() == "_Arg") node->attrs.Erase(kDeclaredShapes);
    }
  }
  if (pruned.ok() && !connections.empty()) {
    WEIR_RETURN_IF_ERROR(Connect(&*pruned, static_cast<int>(signature.feeds.size()),
                                 static_cast<int>(signature.fetches.size()), static_cast<int>(connections.size())));
    // A connection may close a cycle.
    WEIR_RETURN_IF_ERROR(TopologicalOrder(*pruned).status());
  }
  if (pruned.ok() && compiler_->HasAccelerators()) SendHome(&*pruned);
  return pruned;
}

void LocalSession::SendHome(Graph* graph) {
  std::optional<Graph> whole;
  int64_t version = 0;
  {
    absl::ReaderMutexLock lock(&graph_mu_);
    version = version_;
    if (homes_version_ != version_) whole = graph_.Clone();
  }
  StringMap<std::string> found;
  if (whole.has_value()) {
    // A graph that cannot be placed as a whole may have parts that can.
    StatusOr<StringMap<std::string>> homes = compiler_->PlaceState(*std::move(whole));
    if (homes.ok()) found = *std::move(homes);
  }
  absl::MutexLock lock(&graph_mu_);
  for (auto& [name, device] : found) homes_.try_emplace(name, std::move(device));
  homes_version_ = std::max(homes_version_, version);
  if (homes_.empty()) return;
  for (const auto& node : graph->nodes()) {
    if (node == nullptr) continue;
    if (auto home = homes_.find(node->name); home != homes_.end()) node->assigned_device = home->second;
  }
}

StatusOr<std::shared_ptr<CompiledStep>> LocalSession::Compile(const StepSignature& signature,
                                                              const Connections& connections, bool late_args) {
  // The shapes of feeds that arrive during the step cannot be checked before it starts.
  const FeedShapes shapes = late_args ? FeedShapes::kAny : FeedShapes::kAsDeclared;
  WEIR_ASSIGN_OR_RETURN(std::shared_ptr<CompiledStep> compiled,
                        CompileGraph(signature, connections, late_args, shapes));
  compiled->compile_for_any_shape = [this, signature, connections, late_args] {
    return CompileGraph(signature, connections, late_args, FeedShapes::kAny);
  };
  return compiled;
}

void LocalSession::GiveUpTaken(const Graph& compiled, const ExecutionPlan& plan) {
  absl::MutexLock lock(&graph_mu_);
  for (const ExecutionPlan::Taken& taken : plan.taken) {
    Node* own = graph_.Find(taken.node);
    const Node* used = compiled.Find(taken.node);
    if (own == nullptr || used == nullptr || !IsConstant(*own) || !IsConstant(*used)) continue;
    const Tensor* value = own->attrs.Find("value")->get_if<Tensor>();
    const Tensor* same = used->attrs.Find("value")->get_if<Tensor>();
    // A rewritten graph may have another constant of the same name.
    if (value == nullptr || same == nullptr || !value->SharesBufferWith(*same)) continue;
    own->attrs.Set("value", taken.constant.absent);
    taken_.insert_or_assign(taken.node, taken.constant);
  }
}

Status LocalSession::RestoreTaken(Graph* graph) const {
  for (const auto& node : graph->nodes()) {
    if (node == nullptr || !IsConstant(*node)) continue;
    const Tensor* value = node->attrs.Find("value")->get_if<Tensor>();
    if (value == nullptr || !IsAbsent(*value)) continue;
    std::function<StatusOr<Tensor>()> restore;
    {
      absl::ReaderMutexLock lock(&graph_mu_);
      auto taken = taken_.find(node->name);
      if (taken == taken_.end()) return Internal("The constant ", node->name, " is lost");
      restore = taken->second.restore;
    }
    WEIR_ASSIGN_OR_RETURN(Tensor restored, restore());
    node->attrs.Set("value", std::move(restored));
  }
  return OkStatus();
}

Status LocalSession::CompileParts(const std::vector<DeviceGraph>& partitions, bool late_args, CompiledStep* compiled) {
  for (size_t i = 0; i < partitions.size(); ++i) {
    const DeviceGraph& partition = partitions[i];
    if (IsRemote(*partition.device)) {
      WEIR_ASSIGN_OR_RETURN(auto part, remote_->AddPart(*partition.device, partition.graph));
      compiled->remote_parts.push_back(std::move(part));
      continue;
    }
    PlanOptions options;
    options.device = partition.device;
    options.late_args = late_args;
    options.may_record = !late_args && partition.device->can_record() && ReceivesBeforeItSends(partitions, i);
    if (!options.may_record && partition.device->can_record()) {
      WEIR_LOG(DEBUG) << partition.device->name() << " runs a step node by node because it waits for itself";
    }
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<const ExecutionPlan> plan, CompilePlan(partition.graph, *kernels_, options));
    std::vector<int>& rets = compiled->plan_rets.emplace_back();
    for (size_t ret = 0; ret < plan->ret_types.size(); ++ret) {
      if (plan->ret_types[ret] != DType::kInvalid) rets.push_back(static_cast<int>(ret));
    }
    GiveUpTaken(partition.graph, *plan);
    compiled->plans.push_back(std::move(plan));
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<CompiledStep>> LocalSession::CompileGraph(const StepSignature& signature,
                                                                   const Connections& connections, bool late_args,
                                                                   FeedShapes shapes) {
  WEIR_ASSIGN_OR_RETURN(Graph graph, PrepareGraph(signature, connections, shapes));
  auto compiled = std::make_shared<CompiledStep>();
  compiled->feed_names = signature.feeds;
  compiled->num_fetches = signature.fetches.size();
  compiled->feed_types.assign(signature.feeds.size(), DType::kInvalid);
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || node->op() != "_Arg") continue;
    WEIR_ASSIGN_OR_RETURN(int64_t index, node->Attr<int64_t>("index"));
    WEIR_ASSIGN_OR_RETURN(compiled->feed_types[index], node->Attr<DType>("T"));
    if (late_args) node->attrs.Set(kLateArgument, true);
    auto declared = node->Attr<std::vector<PartialShape>>(kDeclaredShapes);
    if (!declared.ok() || declared->size() != 1) continue;
    compiled->feed_shapes.resize(signature.feeds.size());
    compiled->feed_shapes[index] = declared->front();
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<DeviceGraph> partitions,
                        compiler_->Compile(std::move(graph), *kernels_, late_args));
  WEIR_RETURN_IF_ERROR(CompileParts(partitions, late_args, compiled.get()));
  compiled->export_partitions = [this, signature, connections, late_args, shapes]() -> std::vector<std::string> {
    std::vector<std::string> out;
    StatusOr<Graph> again = PrepareGraph(signature, connections, shapes);
    if (!again.ok()) return out;
    auto parts = compiler_->Compile(*std::move(again), *kernels_, late_args);
    if (!parts.ok()) return out;
    for (const DeviceGraph& partition : *parts) {
      StatusOr<std::string> bytes = ExportGraphDefBytes(partition.graph);
      if (bytes.ok()) out.push_back(*std::move(bytes));
    }
    return out;
  };
  compiled->export_costs = [this, signature, connections, late_args,
                            shapes](const std::vector<DeviceStats>& stats) -> std::string {
    StatusOr<Graph> again = PrepareGraph(signature, connections, shapes);
    if (!again.ok()) return "";
    auto parts = compiler_->Compile(*std::move(again), *kernels_, late_args);
    if (!parts.ok()) return "";
    std::vector<const Graph*> graphs;
    for (const DeviceGraph& partition : *parts) graphs.push_back(&partition.graph);
    return BuildCostGraph(graphs, stats);
  };
  return compiled;
}

}  // namespace weir
