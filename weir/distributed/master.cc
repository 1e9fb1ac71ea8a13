// Creates, extends, lists and closes sessions. Steps are in master_step.cc.
#include "weir/distributed/master.h"

#include <algorithm>
#include <atomic>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "weir/base/logging.h"
#include "weir/distributed/collective_wire_internal.h"
#include "weir/distributed/device_wire_internal.h"
#include "weir/distributed/discovery_internal.h"
#include "weir/distributed/peers_internal.h"
#include "weir/distributed/remote_session_internal.h"
#include "weir/proto/master.pb.h"
#include "weir/proto/worker.pb.h"

namespace weir {

namespace {

constexpr int kThreads = 8;

Status SessionClosed() { return Cancelled("Step was cancelled by an explicit call to `Session::Close()`."); }

}  // namespace

Master::Master(std::shared_ptr<Environment> environment, const MasterOptions& options, Peers* peers)
    : environment_(std::move(environment)),
      options_(options),
      peers_(peers),
      sessions_(options.sessions),
      threads_("weir_master", kThreads) {}

Master::~Master() { CloseAllSessions(); }

void Master::CloseAllSessions() {
  for (auto& session : sessions_.RemoveAll()) session->Close(SessionClosed(), nullptr);
}

void Master::Serve(MasterMethod method, IncomingCall* call) {
  switch (method) {
    // These may read a large graph.
    case MasterMethod::kCreateSession:
      return threads_.Schedule([this, call] { CreateSession(call); });
    case MasterMethod::kExtendSession:
      return threads_.Schedule([this, call] { ExtendSession(call); });
    case MasterMethod::kPartialRunSetup:
      return threads_.Schedule([this, call] { PartialRunSetup(call); });
    case MasterMethod::kMakeCallable:
      return threads_.Schedule([this, call] { MakeCallable(call); });
    case MasterMethod::kCloseSession:
      return threads_.Schedule([this, call] { CloseSession(call); });
    case MasterMethod::kReset:
      return threads_.Schedule([this, call] { Reset(call); });
    case MasterMethod::kRunStep:
      return RunStep(call);
    case MasterMethod::kRunCallable:
      return RunCallable(call);
    case MasterMethod::kListDevices:
      return ListDevices(call);
    case MasterMethod::kReleaseCallable:
      return ReleaseCallable(call);
  }
}

StatusOr<std::shared_ptr<ServedSession>> Master::BeginCall(const std::string& handle) {
  std::shared_ptr<ServedSession> session = sessions_.Find(handle);
  if (session == nullptr) return Aborted("Session ", handle, " is not found.");
  WEIR_RETURN_IF_ERROR(session->BeginCall());
  return session;
}

// A session that is being created; kept alive while other tasks are asked for their devices.
struct Master::Creating {
  IncomingCall* call = nullptr;
  CreateSessionRequest request;
  SessionOptions options;
  std::shared_ptr<RemoteTasks> remote;
};

void Master::CreateSession(IncomingCall* call) {
  auto fresh = std::make_shared<Creating>();
  fresh->call = call;
  std::vector<std::shared_ptr<WorkerClient>> tasks;
  auto prepare = [&]() -> Status {
    WEIR_RETURN_IF_ERROR(sessions_.CheckRoom());
    WEIR_RETURN_IF_ERROR(ParseRequest(call, &fresh->request));
    SessionOptions defaults;
    defaults.max_graph_nodes = std::min(defaults.max_graph_nodes, options_.max_graph_nodes);
    defaults.spread_nodes = options_.spread_nodes;
    defaults.placer = options_.placer;
    defaults.costs = options_.costs;
    WEIR_ASSIGN_OR_RETURN(fresh->options, SessionOptions::FromConfig(fresh->request.config(), defaults));
    if (!HasPeers()) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(tasks, FilterTasks(peers_->others(), fresh->options.device_filters));
    return OkStatus();
  };
  Status status = prepare();
  if (!status.ok() || tasks.empty()) return FinishCreate(*fresh, status);
  absl::Time deadline = std::min(call->deadline, absl::Now() + fresh->options.operation_timeout);
  DiscoverDevices(tasks, deadline, &call->cancellation, [this, fresh](StatusOr<std::vector<FoundTask>> found) {
    if (!found.ok()) return FinishCreate(*fresh, found.status());
    fresh->remote = MakeRemote(*found, fresh->options);
    threads_.Schedule([this, fresh] { FinishCreate(*fresh, OkStatus()); });
  });
}

std::shared_ptr<RemoteTasks> Master::MakeRemote(const std::vector<FoundTask>& found, const SessionOptions& options) {
  for (const FoundTask& task : found) {
    for (const DeviceInfo& device : task.devices) {
      if (!device.description.starts_with(kWeirDevice)) has_foreign_ = true;
    }
  }
  RemoteSession::Options remote;
  remote.isolate_state = options.isolate_state;
  remote.master_incarnation = static_cast<int64_t>(environment_->devices.host()->info().incarnation);
  return std::make_shared<RemoteSession>(peers_, found, remote);
}

StatusOr<std::unique_ptr<Session>> Master::NewSession(SessionOptions options, absl::Duration timeout) {
  if (!HasPeers()) return Session::Create(environment_, std::move(options));
  WEIR_ASSIGN_OR_RETURN(auto tasks, FilterTasks(peers_->others(), options.device_filters));
  StatusOr<std::vector<FoundTask>> found;
  absl::Notification done;
  DiscoverDevices(tasks, absl::Now() + timeout, nullptr, [&](StatusOr<std::vector<FoundTask>> answer) {
    found = std::move(answer);
    done.Notify();
  });
  done.WaitForNotification();
  if (!found.ok()) return found.status();
  return Session::Create(environment_, options, MakeRemote(*found, options));
}

void Master::FinishCreate(Creating& fresh, const Status& status) {
  CreateSessionResponse response;
  auto create = [&]() -> Status {
    WEIR_RETURN_IF_ERROR(status);
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                          Session::Create(environment_, std::move(fresh.options), std::move(fresh.remote)));
    WEIR_RETURN_IF_ERROR(session->Extend(fresh.request.graph_def()));
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<ServedSession> served, sessions_.Add(std::move(session)));
    WEIR_LOG(DEBUG) << "session " << served->handle() << " of " << fresh.request.graph_def().node_size() << " nodes";
    response.set_session_handle(served->handle());
    return OkStatus();
  };
  Answer(fresh.call, create(), response);
}

void Master::ExtendSession(IncomingCall* call) {
  ExtendSessionResponse response;
  auto extend = [&]() -> Status {
    ExtendSessionRequest request;
    WEIR_RETURN_IF_ERROR(ParseRequest(call, &request));
    WEIR_ASSIGN_OR_RETURN(auto session, BeginCall(request.session_handle()));
    StatusOr<int64_t> version = session->Extend(request.graph_def(), request.current_graph_version());
    session->EndCall();
    if (!version.ok()) return version.status();
    response.set_new_graph_version(*version);
    return OkStatus();
  };
  Answer(call, extend(), response);
}

void Master::CloseSession(IncomingCall* call) {
  CloseSessionRequest request;
  Status status = ParseRequest(call, &request);
  std::shared_ptr<ServedSession> session;
  if (status.ok()) {
    session = sessions_.Remove(request.session_handle());
    if (session == nullptr) {
      status = Aborted("Session ", request.session_handle(), " is not found. Possibly, this master has restarted.");
    }
  }
  if (!status.ok()) return Answer(call, status, CloseSessionResponse());
  session->Close(SessionClosed(), [call] { Answer(call, OkStatus(), CloseSessionResponse()); });
}

void Master::ListDevices(IncomingCall* call) {
  auto response = std::make_shared<ListDevicesResponse>();
  ListDevicesRequest request;
  Status status = ParseRequest(call, &request);
  std::shared_ptr<ServedSession> session;
  if (status.ok() && !request.session_handle().empty()) {
    session = sessions_.Find(request.session_handle());
    if (session == nullptr) {
      status =
          InvalidArgument("Session ", request.session_handle(), " is not found. Possibly, this master has restarted.");
    }
  }
  if (!status.ok()) return Answer(call, status, *response);
  if (session != nullptr) {
    for (const DeviceInfo& info : session->session().ListDevices()) {
      const bool local = environment_->devices.Find(info.name) != nullptr;
      ToProto(info, local ? response->add_local_device() : response->add_remote_device());
    }
    return Answer(call, OkStatus(), *response);
  }
  for (const auto& device : environment_->devices.devices()) ToProto(device->info(), response->add_local_device());
  if (!HasPeers()) return Answer(call, OkStatus(), *response);
  DiscoverDevices(peers_->others(), call->deadline, &call->cancellation,
                  [call, response](const StatusOr<std::vector<FoundTask>>& found) {
                    if (!found.ok()) return Answer(call, found.status(), *response);
                    for (const FoundTask& task : *found) {
                      for (const DeviceInfo& info : task.devices) ToProto(info, response->add_remote_device());
                    }
                    Answer(call, OkStatus(), *response);
                  });
}

// A Reset in progress: the containers of all chosen tasks are cleared concurrently.
struct Master::Resetting {
  IncomingCall* call = nullptr;
  std::vector<std::string> containers;
  bool own_task = true;
  std::vector<std::shared_ptr<WorkerClient>> others;
  std::atomic<size_t> left{1};  // sessions with running steps, then tasks that are still clearing containers
  absl::Mutex mu;
  Status status ABSL_GUARDED_BY(mu);

  void OneEmptied(const Status& outcome) {
    {
      absl::MutexLock lock(&mu);
      if (status.ok()) status = outcome;
    }
    if (left.fetch_sub(1) != 1) return;
    absl::MutexLock lock(&mu);
    Answer(call, status, ResetResponse());
  }
};

void Master::Reset(IncomingCall* call) {
  auto resetting = std::make_shared<Resetting>();
  resetting->call = call;
  ResetRequest request;
  Status status = ParseRequest(call, &request);
  std::vector<std::string> filters(request.device_filters().begin(), request.device_filters().end());
  resetting->containers.assign(request.container().begin(), request.container().end());
  if (status.ok() && HasPeers()) {
    auto chosen = FilterTasks(peers_->others(), filters);
    status = chosen.status();
    if (chosen.ok()) resetting->others = *std::move(chosen);
    if (status.ok()) resetting->own_task = *IsAllowed(environment_->task_name, filters);
  }
  if (!status.ok()) return Answer(call, status, ResetResponse());
  std::vector<std::shared_ptr<ServedSession>> all = sessions_.RemoveAll();
  // Containers are cleared after the last step has ended: a running step must not lose its variables.
  resetting->left = all.size() + 1;
  auto one_ended = [this, resetting] {
    if (resetting->left.fetch_sub(1) == 1) EmptyContainers(resetting);
  };
  for (auto& session : all) session->Close(SessionClosed(), one_ended);
  one_ended();
}

void Master::EmptyContainers(const std::shared_ptr<Resetting>& resetting) {
  resetting->left = resetting->others.size() + 1;
  CleanupAllRequest request;
  for (const std::string& container : resetting->containers) request.add_container(container);
  WorkerClient::Options options;
  options.cancellation = &resetting->call->cancellation;
  for (const auto& task : resetting->others) {
    task->Call(WorkerMethod::kCleanupAll, request, std::make_shared<CleanupAllResponse>(), options,
               [resetting](const Status& status) { resetting->OneEmptied(status); });
  }
  if (resetting->own_task) ResetContainers(*environment_, resetting->containers);
  resetting->OneEmptied(OkStatus());
}

bool Master::HasPeers() const { return peers_ != nullptr && !peers_->others().empty(); }

}  // namespace weir
