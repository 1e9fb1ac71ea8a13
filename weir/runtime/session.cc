#include "weir/runtime/session.h"

#include "weir/graph/import.h"
#include "weir/proto/graph.pb.h"
#include "weir/runtime/local_session_internal.h"
#include "weir/runtime/step_waiter_internal.h"

namespace weir {
namespace {

Status NoParts() { return Unimplemented("Only sessions of this process can run parts of other sessions' steps"); }

Status NoConnector(const SessionOptions& options) {
  return Unimplemented("The environment has no session connector; the target '", options.target, "' needs one");
}

}  // namespace

Session::~Session() = default;

StatusOr<std::unique_ptr<Session>> Session::Create(std::shared_ptr<Environment> environment, SessionOptions options,
                                                   std::shared_ptr<RemoteTasks> remote) {
  if (options.target.empty()) {
    return LocalSession::Create(std::move(environment), std::move(options), std::move(remote));
  }
  if (environment->connector == nullptr) return NoConnector(options);
  return environment->connector->Connect(options);
}

Status Session::ExtendBytes(std::string_view graph_def) {
  GraphDef def;
  if (!def.ParseFromArray(graph_def.data(), static_cast<int>(graph_def.size()))) {
    return InvalidArgument("Not a serialized GraphDef");
  }
  return Extend(def);
}

Status Session::Extend(const Graph& graph) {
  GraphDef def;
  WEIR_RETURN_IF_ERROR(ExportGraphDef(graph, &def));
  return Extend(def);
}

Status Session::Extend(Graph&& graph) { return Extend(static_cast<const Graph&>(graph)); }

Status Session::Run(std::span<const Feed> feeds, std::span<const std::string> fetches,
                    std::span<const std::string> targets, std::vector<Tensor>* outputs) {
  return Run(StepOptions(), feeds, fetches, targets, outputs, nullptr);
}

Status Session::Run(const StepOptions& options, std::span<const Feed> feeds, std::span<const std::string> fetches,
                    std::span<const std::string> targets, std::vector<Tensor>* outputs, StepReport* report) {
  StepWaiter waiter;
  RunAsync(options, feeds, fetches, targets, report, waiter.Callback());
  return waiter.Await(outputs);
}

Status Session::RunCallable(Callable callable, std::span<const Tensor> feeds, std::vector<Tensor>* outputs,
                            StepReport* report) {
  StepWaiter waiter;
  RunCallableAsync(callable, feeds, nullptr, report, waiter.Callback());
  return waiter.Await(outputs);
}

Status Session::PartialRun(const std::string& handle, std::span<const Feed> feeds, std::span<const std::string> fetches,
                           std::vector<Tensor>* outputs) {
  StepWaiter waiter;
  PartialRunAsync(handle, StepOptions(), feeds, fetches, waiter.Callback());
  return waiter.Await(outputs);
}

StatusOr<Session::Part> Session::AddPart(const GraphDef&) { return NoParts(); }
void Session::RunPart(Part, int64_t, std::shared_ptr<Rendezvous>, const StepOptions&, StepReport*,
                      std::function<void(Status)> done) {
  done(NoParts());
}
Status Session::RemovePart(Part) { return NoParts(); }

void ResetContainers(Environment& environment, std::span<const std::string> containers) {
  for (const auto& device : environment.devices.devices()) {
    if (containers.empty()) device->resources().ClearContainer("");
    for (const std::string& container : containers) device->resources().ClearContainer(container);
  }
}

Status ResetContainers(Environment& environment, const SessionOptions& options,
                       std::span<const std::string> containers) {
  if (options.target.empty()) {
    ResetContainers(environment, containers);
    return OkStatus();
  }
  if (environment.connector == nullptr) return NoConnector(options);
  return environment.connector->Reset(options, containers);
}

}  // namespace weir
