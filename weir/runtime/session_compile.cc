// From a signature to plans: prune, rewrite, place, partition, compile.
#include "weir/graph/import.h"
#include "weir/runtime/session_impl.h"

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

// Lets a tensor of the graph take the place of a feed: argument `first_arg + i` is replaced by what result `first_ret + i`
// would have been.
Status Connect(Graph* graph, int first_arg, int first_ret, int count) {
  std::vector<Node*> args = FindEnds(*graph, "_Arg", first_arg, count);
  std::vector<Node*> rets = FindEnds(*graph, "_Retval", first_ret, count);
  for (int i = 0; i < count; ++i) {
    if (args[i] == nullptr || rets[i] == nullptr) return Internal("A connection was lost");
    Endpoint source = rets[i]->inputs[0];
    if (BaseType(graph->type(source)) != args[i]->output_type(0)) {
      return InvalidArgument("Tensor connection ", i, " joins ", Name(graph->type(source)), " to ",
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

StatusOr<Graph> Session::Impl::PrepareGraph(const StepSignature& signature, const Connections& connections) const {
  StepSignature extended = signature;
  for (const auto& [from, to] : connections) {
    extended.feeds.push_back(to);
    extended.fetches.push_back(from);
  }
  StatusOr<Graph> pruned = [&] {
    absl::ReaderMutexLock lock(&graph_mu_);
    return PruneGraph(graph_, extended);
  }();
  if (pruned.ok() && !connections.empty()) {
    WEIR_RETURN_IF_ERROR(Connect(&*pruned, static_cast<int>(signature.feeds.size()),
                                 static_cast<int>(signature.fetches.size()), static_cast<int>(connections.size())));
    // A connection may close a cycle.
    WEIR_RETURN_IF_ERROR(TopologicalOrder(*pruned).status());
  }
  return pruned;
}

StatusOr<std::shared_ptr<CompiledStep>> Session::Impl::Compile(const StepSignature& signature,
                                                               const Connections& connections, bool late_args) {
  WEIR_ASSIGN_OR_RETURN(Graph graph, PrepareGraph(signature, connections));
  return CompileGraph(std::move(graph), signature, connections, late_args);
}

Status Session::Impl::RewriteGraph(Graph* graph) { return OkStatus(); }

StatusOr<std::vector<Session::Impl::Partition>> Session::Impl::PartitionOverDevices(Graph graph) {
  WEIR_RETURN_IF_ERROR(RewriteGraph(&graph));
  std::vector<Partition> out;
  for (const auto& node : graph.nodes()) {
    if (node != nullptr) node->assigned_device = devices_.host()->name();
  }
  out.push_back({devices_.host(), std::move(graph)});
  return out;
}

StatusOr<std::shared_ptr<CompiledStep>> Session::Impl::CompileGraph(Graph graph, const StepSignature& signature,
                                                                    const Connections& connections, bool late_args) {
  auto compiled = std::make_shared<CompiledStep>();
  compiled->feed_names = signature.feeds;
  compiled->num_fetches = signature.fetches.size();
  compiled->feed_types.assign(signature.feeds.size(), DType::kInvalid);
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || node->op() != "_Arg") continue;
    WEIR_ASSIGN_OR_RETURN(int64_t index, node->Attr<int64_t>("index"));
    WEIR_ASSIGN_OR_RETURN(compiled->feed_types[index], node->Attr<DType>("T"));
  }
  WEIR_ASSIGN_OR_RETURN(std::vector<Partition> partitions, PartitionOverDevices(std::move(graph)));
  for (const Partition& partition : partitions) {
    PlanOptions options;
    options.device = partition.device;
    options.late_args = late_args;
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<const ExecutionPlan> plan, CompilePlan(partition.graph, *kernels_, options));
    std::vector<int>& rets = compiled->plan_rets.emplace_back();
    for (size_t i = 0; i < plan->ret_types.size(); ++i) {
      if (plan->ret_types[i] != DType::kInvalid) rets.push_back(static_cast<int>(i));
    }
    compiled->plans.push_back(std::move(plan));
  }
  compiled->export_partitions = [this, signature, connections]() -> std::vector<std::string> {
    std::vector<std::string> out;
    StatusOr<Graph> again = PrepareGraph(signature, connections);
    if (!again.ok()) return out;
    auto parts = PartitionOverDevices(*std::move(again));
    if (!parts.ok()) return out;
    for (const Partition& partition : *parts) {
      StatusOr<std::string> bytes = ExportGraphDefBytes(partition.graph);
      if (bytes.ok()) out.push_back(*std::move(bytes));
    }
    return out;
  };
  return compiled;
}

}  // namespace weir
