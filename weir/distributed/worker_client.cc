#include <google/protobuf/message_lite.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "absl/time/clock.h"
#include "weir/distributed/grpc_bytes_internal.h"
#include "weir/distributed/worker_client_internal.h"

namespace weir {
namespace {

// A peer that does not answer pings for so long is dead, even if its connection stands.
constexpr int kPingEveryMs = 10'000;
constexpr int kPingTimeoutMs = 10'000;
// A restarted peer is found again soon. How long a connection may take to come about is left to gRPC (20 s).
constexpr int kReconnectMs = 500;
// For messages whose answer nobody waits for.
constexpr absl::Duration kTellTimeout = absl::Seconds(30);

std::shared_ptr<grpc::Channel> Connect(const std::string& address,
                                       const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, (1 << 24) - 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingEveryMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs / 5);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace

struct WorkerClient::Link {
  explicit Link(const std::shared_ptr<grpc::Channel>& channel) : stub(channel) {
    for (std::string_view name : kWorkerMethodNames) paths.push_back(Cat("/tensorflow.WorkerService/", name));
  }
  grpc::GenericStub stub;
  std::vector<std::string> paths;
};

// A call on its way; kept alive by gRPC's callback.
struct WorkerClient::Outgoing {
  std::shared_ptr<Link> link;
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
  std::string task;
  std::string address;
  WorkerMethod method;
  CancellationManager* cancellation = nullptr;
  CancellationManager::Token token = CancellationManager::kNoToken;
  Done done;

  void Finish(const grpc::Status& outcome) {
    Status status = FromGrpcStatus(outcome);
    if (cancellation != nullptr) {
      cancellation->TryDeregister(token);
      if (absl::IsCancelled(status) && cancellation->cancelled()) status = cancellation->reason();
    }
    if (absl::IsUnavailable(status)) {
      status = Unavailable("The task ", task, " at ", address, " cannot be reached (",
                           kWorkerMethodNames[static_cast<size_t>(method)], "): ", Message(status));
    }
    done(status, response);
  }
};

WorkerClient::WorkerClient(std::string task, std::string address,
                           const std::shared_ptr<grpc::ChannelCredentials>& credentials)
    : task_(std::move(task)),
      address_(std::move(address)),
      link_(std::make_shared<Link>(Connect(address_, credentials))) {}

void WorkerClient::Call(WorkerMethod method, WireBuffer request, const Options& options, Done done) {
  auto call = std::make_shared<Outgoing>();
  call->link = link_;
  call->request = ToByteBuffer(std::move(request));
  call->task = task_;
  call->address = address_;
  call->method = method;
  call->done = std::move(done);
  if (options.deadline < absl::InfiniteFuture()) call->context.set_deadline(absl::ToChronoTime(options.deadline));
  call->context.set_wait_for_ready(options.wait_for_ready);
  if (options.cancellation != nullptr) {
    call->cancellation = options.cancellation;
    call->token = options.cancellation->Register([call] { call->context.TryCancel(); });
    if (call->token == CancellationManager::kNoToken) {
      return call->done(options.cancellation->reason(), call->response);
    }
  }
  link_->stub.UnaryCall(&call->context, link_->paths[static_cast<size_t>(method)], grpc::StubOptions(), &call->request,
                        &call->response, [call](const grpc::Status& status) { call->Finish(status); });
}

void WorkerClient::Call(WorkerMethod method, const google::protobuf::MessageLite& request,
                        std::shared_ptr<google::protobuf::MessageLite> response, const Options& options,
                        PlainDone done) {
  WireBuffer bytes;
  bytes.Append(request.SerializeAsString());
  Call(method, std::move(bytes), options,
       [task = task_, response, done = std::move(done)](const Status& status, grpc::ByteBuffer& answer) {
         if (!status.ok()) return done(status);
         grpc::ProtoBufferReader reader(&answer);
         if (!response->ParseFromZeroCopyStream(&reader)) {
           return done(Internal("The task ", task, " answered with what is no ", response->GetTypeName()));
         }
         done(OkStatus());
       });
}

void WorkerClient::Tell(WorkerMethod method, const google::protobuf::MessageLite& request) {
  WireBuffer bytes;
  bytes.Append(request.SerializeAsString());
  Options options;
  options.deadline = absl::Now() + kTellTimeout;
  Call(method, std::move(bytes), options, [](const Status&, grpc::ByteBuffer&) {});
}

}  // namespace weir
