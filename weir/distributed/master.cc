// Sessions: making, extending, listing and ending them. Steps are in master_step.cc.
#include "weir/distributed/master.h"

#include <google/protobuf/io/zero_copy_stream.h>

#include <atomic>

#include "weir/base/logging.h"
#include "weir/distributed/master_internal.h"
#include "weir/proto/master.pb.h"

namespace weir {

using master_internal::Answer;
using master_internal::Parse;

namespace {

constexpr int kThreads = 8;

void FillDevice(const DeviceInfo& info, DeviceAttributes* out) {
  out->set_name(info.name);
  out->set_device_type(info.device_type);
  out->set_memory_limit(info.memory_limit);
  out->mutable_locality();
  out->set_incarnation(info.incarnation);
  out->set_physical_device_desc(info.description);
  out->set_xla_global_id(-1);
}

Status SessionClosed() { return Cancelled("Step was cancelled by an explicit call to `Session::Close()`."); }

}  // namespace

namespace master_internal {

Status Parse(IncomingCall* call, google::protobuf::MessageLite* message) {
  if (message->ParseFromZeroCopyStream(call->request())) return OkStatus();
  return InvalidArgument("Malformed ", std::string_view(message->GetTypeName()).substr(5));
}

void Answer(IncomingCall* call, const Status& status, const google::protobuf::MessageLite& message) {
  WireBuffer bytes;
  if (status.ok()) bytes.Append(message.SerializeAsString());
  call->Finish(status, std::move(bytes));
}

}  // namespace master_internal

Master::Master(std::shared_ptr<Environment> environment, const MasterOptions& options)
    : environment_(std::move(environment)),
      options_(options),
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

void Master::CreateSession(IncomingCall* call) {
  CreateSessionResponse response;
  auto create = [&]() -> Status {
    WEIR_RETURN_IF_ERROR(sessions_.CheckRoom());
    CreateSessionRequest request;
    WEIR_RETURN_IF_ERROR(Parse(call, &request));
    SessionOptions options = SessionOptions::FromConfig(request.config());
    options.max_graph_nodes = std::min(options.max_graph_nodes, options_.max_graph_nodes);
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(environment_, std::move(options)));
    WEIR_RETURN_IF_ERROR(session->Extend(request.graph_def()));
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<ServedSession> served, sessions_.Add(std::move(session)));
    WEIR_LOG(DEBUG) << "session " << served->handle() << " of " << request.graph_def().node_size() << " nodes";
    response.set_session_handle(served->handle());
    return OkStatus();
  };
  Answer(call, create(), response);
}

void Master::ExtendSession(IncomingCall* call) {
  ExtendSessionResponse response;
  auto extend = [&]() -> Status {
    ExtendSessionRequest request;
    WEIR_RETURN_IF_ERROR(Parse(call, &request));
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
  Status status = Parse(call, &request);
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
  ListDevicesResponse response;
  auto list = [&]() -> Status {
    ListDevicesRequest request;
    WEIR_RETURN_IF_ERROR(Parse(call, &request));
    if (request.session_handle().empty()) {
      for (const auto& device : environment_->devices.devices())
        FillDevice(device->info(), response.add_local_device());
      return OkStatus();
    }
    std::shared_ptr<ServedSession> session = sessions_.Find(request.session_handle());
    if (session == nullptr) {
      return InvalidArgument("Session ", request.session_handle(),
                             " is not found. Possibly, this master has restarted.");
    }
    for (const DeviceInfo& info : session->session().ListDevices()) FillDevice(info, response.add_local_device());
    return OkStatus();
  };
  Answer(call, list(), response);
}

void Master::Reset(IncomingCall* call) {
  ResetRequest request;
  Status status = Parse(call, &request);
  if (!status.ok()) return Answer(call, status, ResetResponse());
  std::vector<std::string> containers(request.container().begin(), request.container().end());
  std::vector<std::shared_ptr<ServedSession>> all = sessions_.RemoveAll();
  // Containers are emptied when the last step has ended: a step must not lose its variables half-way.
  auto left = std::make_shared<std::atomic<size_t>>(all.size() + 1);
  auto one_ended = [this, left, call, containers] {
    if (left->fetch_sub(1) != 1) return;
    ResetContainers(*environment_, containers);
    Answer(call, OkStatus(), ResetResponse());
  };
  for (auto& session : all) session->Close(SessionClosed(), one_ended);
  one_ended();
}

}  // namespace weir
