#include "weir/runtime/session_parts.h"

#include "weir/graph/import.h"
#include "weir/proto/graph.pb.h"
#include "weir/runtime/local_session_internal.h"

namespace weir {

StatusOr<std::shared_ptr<CompiledStep>> LocalSession::CompilePart(const GraphDef& def) {
  WEIR_RETURN_IF_ERROR(steps_->closed());
  ImportLimits limits;
  limits.max_nodes = options_.max_graph_nodes;
  limits.allow_internal_names = true;
  Graph graph(environment_->ops);
  {
    absl::MutexLock lock(&graph_mu_);  // the library of functions is the session's
    graph.set_functions(graph_.functions());
    WEIR_RETURN_IF_ERROR(ImportGraphDef(def, &graph, limits));
  }
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || devices_.Find(node->requested_device) == nullptr) continue;
    node->assigned_device = node->requested_device;
  }
  auto compiled = std::make_shared<CompiledStep>();
  WEIR_ASSIGN_OR_RETURN(std::vector<DeviceGraph> partitions, compiler_->CompilePlaced(std::move(graph)));
  WEIR_RETURN_IF_ERROR(CompileParts(partitions, /*late_args=*/false, compiled.get()));
  for (const auto& plan : compiled->plans) {
    if (!plan->arg_types.empty() || !plan->ret_types.empty()) {
      return InvalidArgument(
          "The part of a step has arguments or results; only Send and Recv may connect it to the rest");
    }
  }
  compiled->export_partitions = [] { return std::vector<std::string>(); };
  compiled->export_costs = [](const std::vector<DeviceStats>&) { return std::string(); };
  return compiled;
}

Session::Part SessionParts::Add(std::shared_ptr<CompiledStep> compiled) {
  absl::MutexLock lock(&mu_);
  parts_.emplace(next_, std::move(compiled));
  return next_++;
}

StatusOr<std::shared_ptr<CompiledStep>> SessionParts::Find(Session::Part part) const {
  absl::ReaderMutexLock lock(&mu_);
  auto found = parts_.find(part);
  if (found == parts_.end()) return Aborted("Graph handle is not found: ", part);
  return found->second;
}

Status SessionParts::Remove(Session::Part part) {
  absl::MutexLock lock(&mu_);
  if (parts_.erase(part) == 0) return Aborted("Graph handle is not found: ", part);
  return OkStatus();
}

}  // namespace weir
