#include <google/protobuf/message_lite.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <atomic>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "weir/base/logging.h"
#include "weir/distributed/call_queue_internal.h"
#include "weir/distributed/grpc_bytes_internal.h"
#include "weir/distributed/grpc_client_internal.h"
#include "weir/distributed/loopback.h"

namespace weir {
namespace {

// A peer that does not answer pings for so long is considered dead, even if the connection still exists.
constexpr int kPingEveryMs = 10'000;
constexpr int kPingTimeoutMs = 10'000;
// Reconnect quickly to a restarted peer. The timeout of a connection attempt is gRPC's default (20 s).
constexpr int kReconnectMs = 500;
// A cancelled call ends immediately; this limit is for a library that fails to do so.
constexpr absl::Duration kCancelTime = absl::Seconds(30);
// Reading a larger answer takes so long that another thread should poll meanwhile.
constexpr size_t kLargeResponse = 256 << 10;

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
  const std::string findable = FindableAddress(address);
  // The certificate must name the original host.
  if (findable != address) arguments.SetSslTargetNameOverride(address.substr(0, address.rfind(':')));
  return grpc::CreateCustomChannel(findable, credentials, arguments);
}

}  // namespace

struct GrpcClient::Link {
  Link(const std::shared_ptr<grpc::Channel>& channel, std::string_view service,
       std::span<const std::string_view> methods)
      : stub(channel) {
    for (std::string_view name : methods) paths.push_back(Cat("/tensorflow.", service, "/", name));
  }
  grpc::GenericStub stub;
  std::vector<std::string> paths;
};

// A call in flight. It is kept alive by gRPC's callback (or by itself until its event) and by the cancellation.
struct GrpcClient::Outgoing final : CallQueue::Event {
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer response;
  CancellationManager* cancellation = nullptr;
  CancellationManager::Token token = CancellationManager::kNoToken;
  Done done;

  void Finish(const grpc::Status& outcome) {
    Status status = FromGrpcStatus(outcome);
    if (cancellation != nullptr) {
      cancellation->TryDeregister(token);
      if (absl::IsCancelled(status) && cancellation->cancelled()) status = cancellation->reason();
    }
    done(status, response);
  }

  // The same on a CallQueue.
  CallQueue* queue = nullptr;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
  grpc::Status outcome;
  std::shared_ptr<Outgoing> self;
  std::atomic<bool> is_started{false};  // tells ThreadSanitizer what gRPC ensures: the event comes later

  void Start(grpc::GenericStub& stub, const std::string& path, CallQueue* calls, std::shared_ptr<Outgoing> shared) {
    queue = calls;
    self = std::move(shared);
    reader = stub.PrepareUnaryCall(&context, path, request, queue->queue());
    reader->StartCall();
    is_started.store(true, std::memory_order_release);
    reader->Finish(&response, &outcome, this);
  }
  void Happen(bool) override {
    (void)is_started.load(std::memory_order_acquire);
    const std::shared_ptr<Outgoing> call = std::move(self);  // alive until this function returns
    if (response.Length() > kLargeResponse) queue->LetOthersPoll();
    Finish(outcome);
  }
};

// The calls that have not been destroyed yet. Outlives the client if gRPC does not return a call.
class GrpcClient::InFlight : public std::enable_shared_from_this<InFlight> {
 public:
  // Null if the client has been shut down.
  std::shared_ptr<Outgoing> Add() {
    absl::MutexLock lock(&mu_);
    if (closed_) return nullptr;
    const uint64_t id = next_id_++;
    // Calls hold the channel, which may be destroyed when all calls have ended: so a call is deleted before it is
    // removed.
    std::shared_ptr<Outgoing> call(new Outgoing, [self = shared_from_this(), id](Outgoing* ended) {
      delete ended;
      self->Remove(id);
    });
    calls_.emplace(id, call);
    return call;
  }

  void Close() {
    absl::MutexLock lock(&mu_);
    closed_ = true;
  }
  bool AwaitNone(absl::Time deadline) {
    absl::MutexLock lock(&mu_);
    auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return calls_.empty(); };
    return mu_.AwaitWithDeadline(absl::Condition(&none), deadline);
  }
  void CancelAll() {
    std::vector<std::shared_ptr<Outgoing>> left;  // outlives the lock, because deleting a call takes the lock
    {
      absl::MutexLock lock(&mu_);
      for (auto& [id, call] : calls_) {
        if (auto alive = call.lock()) left.push_back(std::move(alive));
      }
    }
    for (const auto& call : left) call->context.TryCancel();
  }

 private:
  void Remove(uint64_t id) {
    absl::MutexLock lock(&mu_);
    calls_.erase(id);
  }

  absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<uint64_t, std::weak_ptr<Outgoing>> calls_ ABSL_GUARDED_BY(mu_);
};

GrpcClient::GrpcClient(std::string_view service, std::span<const std::string_view> methods, std::string address,
                       const std::shared_ptr<grpc::ChannelCredentials>& credentials, CallQueue* queue)
    : address_(std::move(address)),
      queue_(queue),
      in_flight_(std::make_shared<InFlight>()),
      link_(std::make_unique<Link>(Connect(address_, credentials), service, methods)) {}

GrpcClient::~GrpcClient() { Shutdown(absl::InfinitePast()); }

void GrpcClient::Shutdown(absl::Time grace_end) {
  in_flight_->Close();
  if (in_flight_->AwaitNone(grace_end)) return;
  in_flight_->CancelAll();
  if (!in_flight_->AwaitNone(absl::Now() + kCancelTime)) {
    WEIR_LOG(WARNING) << "a call to " << address_ << " does not end although it was cancelled";
  }
}

void GrpcClient::Call(size_t method, WireBuffer request, const Options& options, Done done) {
  std::shared_ptr<Outgoing> call = in_flight_->Add();
  if (call == nullptr) {
    grpc::ByteBuffer nothing;
    return done(Cancelled("The connection to ", address_, " was closed"), nothing);
  }
  call->request = ToByteBuffer(std::move(request));
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
  if (queue_ != nullptr) return call->Start(link_->stub, link_->paths[method], queue_, call);
  link_->stub.UnaryCall(&call->context, link_->paths[method], grpc::StubOptions(), &call->request, &call->response,
                        [call](const grpc::Status& status) { call->Finish(status); });
}

void GrpcClient::Call(size_t method, const google::protobuf::MessageLite& request,
                      std::shared_ptr<google::protobuf::MessageLite> response, const Options& options, PlainDone done) {
  WireBuffer bytes;
  bytes.Append(request.SerializeAsString());
  Call(method, std::move(bytes), options,
       [response, done = std::move(done)](const Status& status, grpc::ByteBuffer& answer) {
         if (!status.ok()) return done(status);
         grpc::ProtoBufferReader reader(&answer);
         if (!response->ParseFromZeroCopyStream(&reader)) {
           return done(Internal("The answer is not a ", response->GetTypeName()));
         }
         done(OkStatus());
       });
}

}  // namespace weir
