#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>

#include "absl/time/clock.h"
#include "weir/distributed/device_wire_internal.h"
#include "weir/distributed/grpc_session_internal.h"
#include "weir/distributed/peers_internal.h"
#include "weir/distributed/wire/step_client_messages.h"
#include "weir/proto/master.pb.h"

namespace weir {
namespace {

// The server ends a step at its deadline and says what it waited for; this limit is for a server that does not react.
constexpr absl::Duration kAnswerTime = absl::Seconds(5);
// A caller that closes a session does not wait longer for a server that does not answer.
constexpr absl::Duration kCloseTime = absl::Seconds(10);
// For calls that have no deadline from a step.
constexpr absl::Duration kCallTime = absl::Minutes(10);

Status ClosedStatus() { return Cancelled("Session has been closed."); }

template <typename Strings>
void AddAll(std::span<const std::string> names, Strings* strings) {
  for (const std::string& name : names) *strings->Add() = name;
}

void ToProto(const StepOptions& options, RunOptions* out) {
  out->set_trace_level(static_cast<RunOptions::TraceLevel>(options.trace));
  if (options.timeout < absl::InfiniteDuration()) {
    out->set_timeout_in_ms(std::max<int64_t>(1, absl::ToInt64Milliseconds(options.timeout)));
  }
  out->set_output_partition_graphs(options.partition_graphs);
}

// Puts the tensors into the order of the fetches, which may contain duplicates.
StatusOr<std::vector<Tensor>> Arrange(const RunStepAnswer& answer, const std::vector<std::string>& names) {
  absl::flat_hash_map<std::string_view, const Tensor*> by_name;
  for (const auto& [name, tensor] : answer.tensors) by_name.emplace(name, &tensor);
  std::vector<Tensor> out;
  for (const std::string& name : names) {
    auto found = by_name.find(name);
    if (found == by_name.end()) return Internal("The server's answer lacks the fetched tensor '", name, "'");
    out.push_back(*found->second);
  }
  return out;
}

void FillReport(const RunMetadata& metadata, StepReport* report) {
  *report = StepReport::FromProto(metadata);
  for (const GraphDef& graph : metadata.partition_graphs()) {
    report->partition_graphs.push_back(graph.SerializeAsString());
  }
  if (metadata.has_cost_graph()) report->cost_graph = metadata.cost_graph().SerializeAsString();
}

Status CheckRequestSize(const WireBuffer& message) {
  if (message.size() <= static_cast<size_t>(INT32_MAX)) return OkStatus();
  return ResourceExhausted("The fed tensors take ", message.size(),
                           " bytes together, more than the 2 GB that one message can carry; feed them in parts");
}

}  // namespace

StatusOr<std::unique_ptr<Session>> GrpcSession::Create(const SessionOptions& options) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<MasterStub> stub, MasterStub::Connect(options));
  CreateSessionRequest request;
  options.ToConfig(request.mutable_config());
  auto response = std::make_shared<CreateSessionResponse>();
  GrpcClient::Options call;
  call.deadline = absl::Now() + std::min(options.connect_timeout, options.operation_timeout);
  call.wait_for_ready = true;
  WEIR_RETURN_IF_ERROR(stub->Call(MasterMethod::kCreateSession, request, response, call));
  return std::unique_ptr<Session>(
      new GrpcSession(options, std::move(stub), response->session_handle(), response->graph_version()));
}

GrpcSession::~GrpcSession() { Close().IgnoreError(); }

Status GrpcSession::closed() const {
  absl::MutexLock lock(&mu_);
  return closed_ ? ClosedStatus() : OkStatus();
}

int64_t GrpcSession::graph_version() const {
  absl::MutexLock lock(&mu_);
  return version_;
}

GrpcClient::Options GrpcSession::Plain() const {
  GrpcClient::Options call;
  call.deadline = absl::Now() + std::min(options_.operation_timeout, kCallTime);
  return call;
}

GrpcClient::Options GrpcSession::ForStep(absl::Duration timeout, CancellationManager* cancellation) const {
  GrpcClient::Options call;
  call.deadline = absl::Now() + std::min(timeout, options_.operation_timeout) + kAnswerTime;
  call.cancellation = cancellation;
  return call;
}

Status GrpcSession::Extend(const GraphDef& def) {
  WEIR_RETURN_IF_ERROR(closed());
  if (def.node_size() == 0 && def.library().function_size() == 0) return OkStatus();
  absl::MutexLock one(&extend_mu_);
  ExtendSessionRequest request;
  request.set_session_handle(handle_);
  *request.mutable_graph_def() = def;
  request.set_current_graph_version(graph_version());
  auto response = std::make_shared<ExtendSessionResponse>();
  WEIR_RETURN_IF_ERROR(stub_->Call(MasterMethod::kExtendSession, request, response, Plain()));
  absl::MutexLock lock(&mu_);
  version_ = response->new_graph_version();
  return OkStatus();
}

void GrpcSession::End(const Status& status, std::vector<Tensor> tensors, const RunDone& done) {
  running_steps_.fetch_sub(1);
  // Steps that end because the session was closed report the same error as those of a local session. The server may
  // have learned that the session was closed before it received the step.
  done(!status.ok() && !closed().ok() ? ClosedStatus() : status, std::move(tensors));
}

void GrpcSession::Finish(RunStepAnswer& answer, const std::vector<std::string>& names, StepReport* report,
                         const RunDone& done) {
  if (report != nullptr) FillReport(*answer.metadata, report);
  if (!answer.status.ok()) return End(answer.status, {}, done);
  StatusOr<std::vector<Tensor>> tensors = Arrange(answer, names);
  if (!tensors.ok()) return End(tensors.status(), {}, done);
  End(OkStatus(), *std::move(tensors), done);
}

void GrpcSession::RunStep(const RunStepCall& call, const StepOptions& options, StepReport* report, RunDone done) {
  running_steps_.fetch_add(1);
  WireBuffer message;
  Status status = closed();
  if (status.ok()) status = WriteRunStep(call, &message);
  if (status.ok()) status = CheckRequestSize(message);
  if (!status.ok()) return End(status, {}, done);
  stub_->CallAsync(
      MasterMethod::kRunStep, std::move(message), ForStep(options.timeout, options.cancellation),
      [this, names = call.fetches, report, done = std::move(done)](const Status& status, grpc::ByteBuffer& response) {
        if (!status.ok()) return End(status, {}, done);
        RunStepAnswer answer;
        const size_t size = response.Length();
        grpc::ProtoBufferReader reader(&response);
        Status read = ReadRunStepResponse(&reader, size, &answer);
        if (!read.ok()) return End(read, {}, done);
        Finish(answer, names, report, done);
      });
}

void GrpcSession::RunAsync(const StepOptions& options, std::span<const Feed> feeds,
                           std::span<const std::string> fetches, std::span<const std::string> targets,
                           StepReport* report, RunDone done) {
  RunStepCall call;
  call.session_handle = handle_;
  call.feeds.assign(feeds.begin(), feeds.end());
  call.fetches.assign(fetches.begin(), fetches.end());
  call.targets.assign(targets.begin(), targets.end());
  ToProto(options, call.options.get());
  call.store_errors_in_response_body = true;
  call.request_id = RandomId();
  RunStep(call, options, report, std::move(done));
}

StatusOr<Session::Callable> GrpcSession::MakeCallable(const CallableSpec& spec) {
  WEIR_RETURN_IF_ERROR(closed());
  MakeCallableRequest request;
  request.set_session_handle(handle_);
  CallableOptions* options = request.mutable_options();
  AddAll(spec.feeds, options->mutable_feed());
  AddAll(spec.fetches, options->mutable_fetch());
  AddAll(spec.targets, options->mutable_target());
  for (const auto& [from, to] : spec.connections) {
    TensorConnection* connection = options->add_tensor_connection();
    connection->set_from_tensor(from);
    connection->set_to_tensor(to);
  }
  ToProto(spec.options, options->mutable_run_options());
  request.set_request_id(RandomId());
  auto response = std::make_shared<MakeCallableResponse>();
  WEIR_RETURN_IF_ERROR(stub_->Call(MasterMethod::kMakeCallable, request, response, Plain()));
  if (spec.options.timeout < absl::InfiniteDuration()) {
    absl::MutexLock lock(&mu_);
    timeouts_[response->handle()] = spec.options.timeout;
  }
  return response->handle();
}

void GrpcSession::RunCallableAsync(Callable callable, std::span<const Tensor> feeds, CancellationManager* cancellation,
                                   StepReport* report, RunDone done) {
  running_steps_.fetch_add(1);
  absl::Duration timeout = absl::InfiniteDuration();
  {
    absl::MutexLock lock(&mu_);
    auto found = timeouts_.find(callable);
    if (found != timeouts_.end()) timeout = found->second;
  }
  RunCallableCall call;
  call.session_handle = handle_;
  call.handle = callable;
  call.feeds.assign(feeds.begin(), feeds.end());
  call.request_id = RandomId();
  WireBuffer message;
  Status status = closed();
  if (status.ok()) status = WriteRunCallable(call, &message);
  if (status.ok()) status = CheckRequestSize(message);
  if (!status.ok()) return End(status, {}, done);
  stub_->CallAsync(MasterMethod::kRunCallable, std::move(message), ForStep(timeout, cancellation),
                   [this, report, done = std::move(done)](const Status& status, grpc::ByteBuffer& response) {
                     if (!status.ok()) return End(status, {}, done);
                     RunStepAnswer answer;
                     const size_t size = response.Length();
                     grpc::ProtoBufferReader reader(&response);
                     Status read = ReadRunCallableResponse(&reader, size, &answer);
                     if (read.ok() && report != nullptr) FillReport(*answer.metadata, report);
                     std::vector<Tensor> tensors;
                     for (auto& [name, tensor] : answer.tensors) tensors.push_back(std::move(tensor));
                     End(read, read.ok() ? std::move(tensors) : std::vector<Tensor>(), done);
                   });
}

Status GrpcSession::ReleaseCallable(Callable callable) {
  WEIR_RETURN_IF_ERROR(closed());
  {
    absl::MutexLock lock(&mu_);
    timeouts_.erase(callable);
  }
  ReleaseCallableRequest request;
  request.set_session_handle(handle_);
  request.set_handle(callable);
  return stub_->Call(MasterMethod::kReleaseCallable, request, std::make_shared<ReleaseCallableResponse>(), Plain());
}

StatusOr<std::string> GrpcSession::PartialRunSetup(std::span<const std::string> feeds,
                                                   std::span<const std::string> fetches,
                                                   std::span<const std::string> targets) {
  WEIR_RETURN_IF_ERROR(closed());
  PartialRunSetupRequest request;
  request.set_session_handle(handle_);
  AddAll(feeds, request.mutable_feed());
  AddAll(fetches, request.mutable_fetch());
  AddAll(targets, request.mutable_target());
  request.set_request_id(RandomId());
  auto response = std::make_shared<PartialRunSetupResponse>();
  WEIR_RETURN_IF_ERROR(stub_->Call(MasterMethod::kPartialRunSetup, request, response, Plain()));
  return response->partial_run_handle();
}

void GrpcSession::PartialRunAsync(const std::string& handle, const StepOptions& options, std::span<const Feed> feeds,
                                  std::span<const std::string> fetches, RunDone done) {
  RunStepCall call;
  call.session_handle = handle_;
  call.feeds.assign(feeds.begin(), feeds.end());
  call.fetches.assign(fetches.begin(), fetches.end());
  ToProto(options, call.options.get());
  call.partial_run_handle = handle;
  call.store_errors_in_response_body = true;
  call.request_id = RandomId();
  RunStep(call, options, nullptr, std::move(done));
}

bool GrpcSession::BeginClose() {
  absl::MutexLock lock(&mu_);
  return !std::exchange(closed_, true);
}

Status GrpcSession::Close() {
  if (!BeginClose()) return OkStatus();
  CloseSessionRequest request;
  request.set_session_handle(handle_);
  GrpcClient::Options call;
  call.deadline = absl::Now() + kCloseTime;
  Status status = stub_->Call(MasterMethod::kCloseSession, request, std::make_shared<CloseSessionResponse>(), call);
  stub_->Shutdown();
  return status;
}

void GrpcSession::StartClose(const Status&) {
  if (!BeginClose()) return;
  CloseSessionRequest request;
  request.set_session_handle(handle_);
  WireBuffer bytes;
  bytes.Append(request.SerializeAsString());
  GrpcClient::Options call;
  call.deadline = absl::Now() + kCloseTime;
  stub_->CallAsync(MasterMethod::kCloseSession, std::move(bytes), call, [](const Status&, grpc::ByteBuffer&) {});
}

std::vector<DeviceInfo> GrpcSession::ListDevices() const {
  std::vector<DeviceInfo> out;
  ListDevicesRequest request;
  request.set_session_handle(handle_);
  auto response = std::make_shared<ListDevicesResponse>();
  if (!closed().ok() || !stub_->Call(MasterMethod::kListDevices, request, response, Plain()).ok()) return out;
  for (const DeviceAttributes& device : response->local_device()) out.push_back(FromProto(device));
  for (const DeviceAttributes& device : response->remote_device()) out.push_back(FromProto(device));
  return out;
}

}  // namespace weir
