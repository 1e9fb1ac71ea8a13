#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <atomic>

#include "weir/distributed/grpc_bytes_internal.h"
#include "weir/distributed/grpc_service_internal.h"

namespace weir {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::internal::CallbackUnaryHandler;
using grpc::internal::MethodHandler;
using grpc::internal::RpcMethod;
using grpc::internal::RpcServiceMethod;

// The call whose handler this thread runs.
struct Handled {
  grpc::CompletionQueue* queue = nullptr;
  bool answered = false;
};
thread_local Handled* t_handled = nullptr;

// One call: gRPC's reactor and the served task's view of it in one object, which deletes itself when gRPC is done with
// it.
class GrpcCall final : public grpc::ServerUnaryReactor, public IncomingCall {
 public:
  GrpcCall(GrpcService* service, CallbackServerContext* context, const ByteBuffer* request, ByteBuffer* response)
      : service_(service),
        request_(*request),
        request_bytes_(request_.Length()),
        reader_(&request_),
        response_(response),
        queue_(t_handled->queue) {
    // gRPC's copy of the request holds the same slices; dropping it lets them go as soon as they are read.
    const_cast<ByteBuffer*>(request)->Clear();
    gpr_timespec left = gpr_time_sub(gpr_convert_clock_type(context->raw_deadline(), GPR_CLOCK_MONOTONIC),
                                     gpr_now(GPR_CLOCK_MONOTONIC));
    if (gpr_time_cmp(context->raw_deadline(), gpr_inf_future(context->raw_deadline().clock_type)) != 0) {
      deadline = absl::Now() + absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec);
    }
    is_made_.store(true, std::memory_order_release);
  }

  google::protobuf::io::ZeroCopyInputStream* request() override { return &reader_; }
  size_t request_bytes() const override { return request_bytes_; }

  void Finish(const Status& status, WireBuffer message) override {
    if (status.ok()) *response_ = ToByteBuffer(std::move(message));
    if (t_handled != nullptr) t_handled->answered = true;
    ServerUnaryReactor::Finish(ToGrpcStatus(status));
  }

  // In another thread, perhaps, but after the constructor; gRPC sees to it, and the flag shows it to ThreadSanitizer.
  void OnCancel() override {
    (void)is_made_.load(std::memory_order_acquire);
    cancellation.StartCancel(absl::Now() >= deadline ? DeadlineExceeded("Deadline Exceeded")
                                                     : Cancelled("The client dropped the call"));
    cancelled_.store(true, std::memory_order_release);
  }
  // After OnCancel, if that is called at all; as above.
  void OnDone() override {
    (void)cancelled_.load(std::memory_order_acquire);
    GrpcService* service = service_;
    grpc::CompletionQueue* queue = queue_;
    std::shared_ptr<StayAwake> stay_awake = service->stay_awake();
    delete this;
    service->EndCall();
    if (stay_awake != nullptr) stay_awake->AfterCall(queue);
  }
  // The reactions run in the thread that hears of the event, not in one that has to be woken.
  bool InternalInlineable() override { return true; }

 private:
  GrpcService* const service_;
  ByteBuffer request_;
  size_t request_bytes_;
  grpc::ProtoBufferReader reader_;
  ByteBuffer* response_;
  grpc::CompletionQueue* const queue_;
  std::atomic<bool> is_made_{false}, cancelled_{false};
};

// gRPC's handler of the callback interface, between two words to the service.
class Handler final : public MethodHandler {
 public:
  using Start = std::function<grpc::ServerUnaryReactor*(CallbackServerContext*, const ByteBuffer*, ByteBuffer*)>;
  Handler(GrpcService* service, Start start) : service_(service), handler_(std::move(start)) {}

  void RunHandler(const HandlerParameter& parameter) override {
    Handled handled{parameter.call->cq()};
    t_handled = &handled;
    // The last call may end, and the service with it, as soon as it is answered.
    std::shared_ptr<StayAwake> stay_awake = service_->stay_awake();
    if (stay_awake != nullptr) stay_awake->BeginCall(parameter.call->call());
    handler_.RunHandler(parameter);
    if (stay_awake != nullptr) stay_awake->EndCall(handled.answered);
    t_handled = nullptr;
  }
  void* Deserialize(grpc_call* call, grpc_byte_buffer* request, grpc::Status* status, void** data) override {
    return handler_.Deserialize(call, request, status, data);
  }

 private:
  GrpcService* const service_;
  CallbackUnaryHandler<ByteBuffer, ByteBuffer> handler_;
};

}  // namespace

GrpcService::GrpcService(std::string_view name, std::span<const std::string_view> methods, Serve serve, Admit admit,
                         std::shared_ptr<StayAwake> stay_awake)
    : serve_(std::move(serve)), admit_(std::move(admit)), stay_awake_(std::move(stay_awake)) {
  for (std::string_view method : methods) paths_.push_back(Cat("/tensorflow.", name, "/", method));
  for (size_t i = 0; i < paths_.size(); ++i) {
    AddMethod(new RpcServiceMethod(paths_[i].c_str(), RpcMethod::NORMAL_RPC, nullptr));
    auto start = [this, i](CallbackServerContext* context, const ByteBuffer* request, ByteBuffer* response) {
      BeginCall();
      auto* call = new GrpcCall(this, context, request, response);
      Status admitted = admit_ ? admit_(context->peer()) : OkStatus();
      if (admitted.ok()) {
        serve_(static_cast<int>(i), call);
      } else {
        call->Finish(admitted, {});
      }
      return call;
    };
    MarkMethodRawCallback(static_cast<int>(i), new Handler(this, start));
  }
}

bool GrpcService::AwaitIdle(absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return num_calls_ == 0; };
  return mu_.AwaitWithDeadline(absl::Condition(&idle), deadline);
}

void GrpcService::BeginCall() {
  absl::MutexLock lock(&mu_);
  ++num_calls_;
}

void GrpcService::EndCall() {
  absl::MutexLock lock(&mu_);
  --num_calls_;
}

}  // namespace weir
