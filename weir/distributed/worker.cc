// The sessions and graphs of a worker. Steps are in worker_step.cc.
#include "weir/distributed/worker.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "weir/base/logging.h"
#include "weir/distributed/collective_service.h"
#include "weir/distributed/collective_wire_internal.h"
#include "weir/distributed/device_wire_internal.h"
#include "weir/proto/worker.pb.h"

namespace weir {
namespace {

constexpr int kWorkerThreads = 4;

Status SessionEnded() { return Cancelled("The session of the step was closed"); }

// A weir master sends the devices that it has seen. If this task no longer has them, the task has restarted.
Status CheckDevices(const CreateWorkerSessionRequest& request, const Environment& environment) {
  for (const DeviceAttributes& seen : request.cluster_device_attributes()) {
    if (!FromAbsl(seen.name()).starts_with(Cat(environment.task_name, "/"))) continue;
    const Device* device = environment.devices.Find(seen.name());
    if (device != nullptr && device->info().incarnation == seen.incarnation()) continue;
    return Aborted("The task ", environment.task_name, " has restarted: its device ", seen.name(),
                   " is not the one that the session began with");
  }
  return OkStatus();
}

}  // namespace

Worker::Worker(std::shared_ptr<Environment> environment, const WorkerOptions& options, RendezvousTable* steps)
    : environment_(std::move(environment)),
      options_(options),
      steps_(steps),
      sessions_(options.sessions),
      threads_("weir_worker", kWorkerThreads) {}

Worker::~Worker() { CloseAllSessions(); }

void Worker::CloseAllSessions() {
  for (auto& session : sessions_.RemoveAll()) session->Close(SessionEnded(), nullptr);
}

void Worker::Serve(WorkerMethod method, IncomingCall* call) {
  switch (method) {
    case WorkerMethod::kGetStatus:
      return GetStatus(call);
    case WorkerMethod::kCreateWorkerSession:
      return CreateWorkerSession(call);
    case WorkerMethod::kDeleteWorkerSession:
      return DeleteWorkerSession(call);
    case WorkerMethod::kRegisterGraph:
      return threads_.Schedule([this, call] { RegisterGraph(call); });
    case WorkerMethod::kDeregisterGraph:
      return threads_.Schedule([this, call] { DeregisterGraph(call); });
    case WorkerMethod::kRunGraph:
      return RunGraph(call);
    case WorkerMethod::kCleanupGraph:
      return CleanupGraph(call);
    case WorkerMethod::kCleanupAll:
      return threads_.Schedule([this, call] { CleanupAll(call); });
    case WorkerMethod::kRecvTensor:
      return RecvTensor(call);
    case WorkerMethod::kMarkRecvFinished:
      return MarkRecvFinished(call);
    case WorkerMethod::kLogging:  // not logged; a trace shows the Recv nodes
      return Answer(call, OkStatus(), LoggingResponse());
    case WorkerMethod::kTracing:
      return call->Finish(Unimplemented("Tracing is not supported; request a trace in the RunOptions of a step"), {});
    case WorkerMethod::kRecvBuf:
    case WorkerMethod::kCompleteGroup:
    case WorkerMethod::kCompleteInstance:
    case WorkerMethod::kGetStepSequence:
    case WorkerMethod::kJoinRound:
      if (options_.collectives != nullptr) return options_.collectives->Serve(method, call);
      return call->Finish(Unimplemented("Collective operations between tasks are not supported (",
                                        kWorkerMethodNames[static_cast<size_t>(method)], ")"),
                          {});
  }
}

StatusOr<std::shared_ptr<ServedSession>> Worker::BeginCall(const std::string& handle) {
  std::shared_ptr<ServedSession> session = sessions_.Find(handle);
  if (session == nullptr) {
    return Aborted("Session handle is not found: ", handle, ". Possibly this worker (\"", environment_->task_name,
                   "\") just restarted.");
  }
  WEIR_RETURN_IF_ERROR(session->BeginCall());
  return session;
}

void Worker::GetStatus(IncomingCall* call) {
  GetStatusResponse response;
  for (const auto& device : environment_->devices.devices()) {
    DeviceAttributes* attributes = response.add_device_attributes();
    ToProto(device->info(), attributes);
    if (device->info().description.empty()) attributes->set_physical_device_desc(std::string(kWeirDevice));
  }
  Answer(call, OkStatus(), response);
}

void Worker::DropSessionsOfEarlierMaster(const std::string& master, int64_t incarnation) {
  std::vector<std::string> old;
  {
    absl::MutexLock lock(&masters_mu_);
    MasterSessions& known = masters_[master];
    if (known.incarnation != incarnation) old = std::exchange(known.handles, {});
    known.incarnation = incarnation;
  }
  for (const std::string& handle : old) {
    if (auto session = sessions_.Remove(handle)) {
      WEIR_LOG(INFO) << "the master " << master << " has restarted; its session " << handle << " is closed here";
      session->Close(Aborted("The master ", master, " has restarted"), nullptr);
    }
  }
}

void Worker::CreateWorkerSession(IncomingCall* call) {
  auto create = [&]() -> Status {
    CreateWorkerSessionRequest request;
    WEIR_RETURN_IF_ERROR(ParseRequest(call, &request));
    if (request.session_handle().empty()) return InvalidArgument("A worker session needs a handle");
    WEIR_RETURN_IF_ERROR(sessions_.CheckRoom());
    WEIR_RETURN_IF_ERROR(CheckDevices(request, *environment_));
    const std::vector<std::string>& known = options_.masters;
    if (!known.empty() && !request.master_task().empty() &&
        std::find(known.begin(), known.end(), request.master_task()) == known.end()) {
      return Status(
          absl::StatusCode::kPermissionDenied,
          Cat("The master ", request.master_task(), " is not a task of the cluster of ", environment_->task_name));
    }
    if (!request.master_task().empty()) {
      DropSessionsOfEarlierMaster(request.master_task(), request.master_incarnation());
    }
    SessionOptions options;
    options.isolate_state = request.isolate_session_state();
    options.max_graph_nodes = options_.max_graph_nodes;
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(environment_, std::move(options)));
    WEIR_RETURN_IF_ERROR(sessions_.Add(std::move(session), request.session_handle()).status());
    if (request.master_task().empty()) return OkStatus();
    absl::MutexLock lock(&masters_mu_);
    masters_[request.master_task()].handles.push_back(request.session_handle());
    return OkStatus();
  };
  Answer(call, create(), CreateWorkerSessionResponse());
}

void Worker::DeleteWorkerSession(IncomingCall* call) {
  DeleteWorkerSessionRequest request;
  Status status = ParseRequest(call, &request);
  std::shared_ptr<ServedSession> session;
  if (status.ok()) {
    session = sessions_.Remove(request.session_handle());
    absl::MutexLock lock(&masters_mu_);
    for (auto& [master, sessions] : masters_) std::erase(sessions.handles, request.session_handle());
  }
  // An unknown session is gone already, as requested.
  if (session == nullptr) return Answer(call, status, DeleteWorkerSessionResponse());
  session->Close(SessionEnded(), [call] { Answer(call, OkStatus(), DeleteWorkerSessionResponse()); });
}

void Worker::RegisterGraph(IncomingCall* call) {
  RegisterGraphResponse response;
  auto add = [&]() -> Status {
    RegisterGraphRequest request;
    WEIR_RETURN_IF_ERROR(ParseRequest(call, &request));
    WEIR_ASSIGN_OR_RETURN(auto session, BeginCall(request.session_handle()));
    StatusOr<Session::Part> part = session->session().AddPart(request.graph_def());
    session->EndCall();
    if (!part.ok()) return part.status();
    response.set_graph_handle(absl::StrFormat("%016x", *part));
    return OkStatus();
  };
  Answer(call, add(), response);
}

void Worker::DeregisterGraph(IncomingCall* call) {
  auto remove = [&]() -> Status {
    DeregisterGraphRequest request;
    WEIR_RETURN_IF_ERROR(ParseRequest(call, &request));
    WEIR_ASSIGN_OR_RETURN(auto session, BeginCall(request.session_handle()));
    Session::Part part = 0;
    Status removed = absl::SimpleHexAtoi(request.graph_handle(), &part)
                         ? session->session().RemovePart(part)
                         : Aborted("Graph handle is not found: ", request.graph_handle());
    session->EndCall();
    return removed;
  };
  Answer(call, remove(), DeregisterGraphResponse());
}

void Worker::CleanupAll(IncomingCall* call) {
  CleanupAllRequest request;
  Status status = ParseRequest(call, &request);
  if (status.ok()) {
    std::vector<std::string> containers(request.container().begin(), request.container().end());
    ResetContainers(*environment_, containers);
  }
  Answer(call, status, CleanupAllResponse());
}

}  // namespace weir
