#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "weir/distributed/grpc_bytes_internal.h"
#include "weir/distributed/grpc_service_internal.h"

namespace weir {
namespace {

// How many calls gRPC can accept before the first of them is handled.
constexpr int kAwaitedCalls = 32;

// If serving a call takes longer than this, the thread lets another one poll, because waking that takes some
// microseconds. Samples are bounded, so that an exceptionally long one (a graph was compiled) is soon forgotten.
constexpr int64_t kLongServiceNs = 100'000;
constexpr int64_t kLongestSampleNs = 1'000'000;
constexpr size_t kLargeRequest = 256 << 10;
constexpr int kManyWaiting = 3;

// Set when the call that this thread serves is answered.
thread_local bool* t_answered = nullptr;

}  // namespace

GrpcService::GrpcService(std::string_view name, std::span<const std::string_view> methods, Serve serve, Admit admit,
                         bool has_quick_clients)
    : serve_(std::move(serve)), admit_(std::move(admit)), has_quick_clients_(has_quick_clients) {
  const std::string_view package = name.find('.') == name.npos ? "tensorflow." : "";
  for (std::string_view method : methods) paths_.push_back(Cat("/", package, name, "/", method));
}

bool GrpcService::AwaitIdle(absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return num_calls_ == 0; };
  return mu_.AwaitWithDeadline(absl::Condition(&idle), deadline);
}

void GrpcService::Begin(int method, std::string_view peer, IncomingCall* call) {
  {
    absl::MutexLock lock(&mu_);
    ++num_calls_;
  }
  Status admitted = admit_ ? admit_(peer) : OkStatus();
  if (!admitted.ok()) return call->Finish(admitted, {});
  serve_(method, call);
}

void GrpcService::End() {
  absl::MutexLock lock(&mu_);
  --num_calls_;
}

// One call, from before it arrives until gRPC is done with it. It deletes itself.
class GrpcCalls::Call final : public IncomingCall {
 public:
  explicit Call(GrpcCalls* calls) : calls_(calls), stream_(&context_) {
    grpc::ServerCompletionQueue* queue = calls_->queue_->queue();
    context_.AsyncNotifyWhenDone(&ended_);
    LeaveToQueue();
    calls_->generic_.RequestCall(&context_, &stream_, queue, queue, &came_);
  }

  google::protobuf::io::ZeroCopyInputStream* request() override { return &*reader_; }
  size_t request_bytes() const override { return request_bytes_; }
  std::string_view Header(std::string_view name) const override {
    const auto& all = context_.client_metadata();
    const auto found = all.find(grpc::string_ref(name.data(), name.size()));
    return found != all.end() ? std::string_view(found->second.data(), found->second.size()) : std::string_view();
  }

  void Finish(const Status& status, WireBuffer message) override {
    if (t_answered != nullptr) *t_answered = true;
    LeaveToQueue();
    if (!status.ok()) return stream_.Finish(ToGrpcStatus(status), &answered_);
    if (method_->service->is_streaming()) {
      return stream_.Write(ToByteBuffer(std::move(message)), grpc::WriteOptions(), &written_);
    }
    stream_.WriteAndFinish(ToByteBuffer(std::move(message)), grpc::WriteOptions(), grpc::Status::OK, &answered_);
  }

  void Send(WireBuffer message, std::function<void(bool ok)> sent) override {
    when_sent_ = std::move(sent);
    LeaveToQueue();
    stream_.Write(ToByteBuffer(std::move(message)), grpc::WriteOptions(), &sent_);
  }

 private:
  // An event of the call.
  template <void (Call::*react)(bool)>
  class Reaction final : public CallQueue::Event {
   public:
    explicit Reaction(Call* call) : call_(call) {}
    void Happen(bool ok) override {
      (void)call_->left_.load(std::memory_order_acquire);
      (call_->*react)(ok);
    }

   private:
    Call* const call_;
  };

  // gRPC ensures that the thread that gets the next event sees all earlier changes to the call. This tells
  // ThreadSanitizer.
  void LeaveToQueue() { left_.fetch_add(1, std::memory_order_release); }

  // A client calls; if `ok` is false, the server has been shut down.
  void Came(bool ok) {
    if (!ok) return Delete();
    at_once_ = calls_->queue_->CameAtOnce();
    calls_->num_waiting_.store(at_once_ ? calls_->num_waiting_.load(std::memory_order_relaxed) + 1 : 0,
                               std::memory_order_relaxed);
    method_ = calls_->Find(context_.method());
    if (method_ == nullptr) return Refuse(grpc::StatusCode::UNIMPLEMENTED, "There is no such method");
    LeaveToQueue();
    stream_.Read(&request_, &read_);
  }

  void Read(bool ok) {
    if (!ok && is_served_) {  // the last request of the stream has been answered
      LeaveToQueue();
      return stream_.Finish(grpc::Status::OK, &answered_);
    }
    if (!ok) return Refuse(grpc::StatusCode::INTERNAL, "The call brings no request");
    request_bytes_ = request_.Length();
    reader_.emplace(&request_);
    if (is_served_) return method_->service->Continue(method_->index, this);
    const auto until = context_.deadline();
    if (until != decltype(until)::max()) deadline = absl::FromChrono(until);
    is_served_ = true;
    const std::string peer = context_.peer();
    CallQueue& queue = *calls_->queue_;
    GrpcCalls* const calls = calls_;
    const bool may_be_quick = method_->service->has_quick_clients() && queue.may_stay();
    Method& method = *method_;
    if (calls->IsLongService(method, request_bytes_)) queue.LetOthersPoll();
    if (may_be_quick) queue.BeginCall(std::hash<std::string>()(peer), at_once_);
    const auto start = std::chrono::steady_clock::now();
    // While the server shuts down this may be the last call: nothing would then keep `calls` alive after it.
    calls->ReserveCall();
    bool answered = false;
    bool* const outer = std::exchange(t_answered, &answered);
    method.service->Begin(method.index, peer, this);  // this may destroy the call
    t_answered = outer;
    if (may_be_quick) queue.EndCall(answered);
    method.Took(std::chrono::steady_clock::now() - start);
    calls->AwaitReservedCall();  // replaces this call, which has been answered or takes longer
  }

  void Refuse(grpc::StatusCode code, const std::string& reason) {
    calls_->AwaitCall();
    LeaveToQueue();
    stream_.Finish(grpc::Status(code, reason), &answered_);
  }

  void Answered(bool) { TakeLastEvent(); }

  // A request of a stream has been answered.
  void Written(bool ok) {
    LeaveToQueue();
    if (!ok) return stream_.Finish(grpc::Status::OK, &answered_);
    stream_.Read(&request_, &read_);
  }

  void Sent(bool ok) { std::exchange(when_sent_, nullptr)(ok); }

  // The client has received its answer or has gone away.
  void Ended(bool) {
    if (context_.IsCancelled()) {
      calls_->queue_->LetOthersPoll();
      cancellation.StartCancel(absl::Now() >= deadline ? DeadlineExceeded("Deadline Exceeded")
                                                       : Cancelled("The client dropped the call"));
    }
    TakeLastEvent();
  }

  // Both events occur for every call, in either order.
  void TakeLastEvent() {
    if (events_left_.fetch_sub(1, std::memory_order_acq_rel) == 1) Delete();
  }

  void Delete() {
    GrpcCalls* calls = calls_;
    if (is_served_) method_->service->End();
    delete this;
    calls->EndCall();
  }

  GrpcCalls* const calls_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  grpc::ByteBuffer request_;
  std::optional<grpc::ProtoBufferReader> reader_;
  size_t request_bytes_ = 0;
  Method* method_ = nullptr;
  std::function<void(bool ok)> when_sent_;
  bool at_once_ = false;
  bool is_served_ = false;
  std::atomic<int> left_{0};
  std::atomic<int> events_left_{2};  // the answer's event and the end
  Reaction<&Call::Came> came_{this};
  Reaction<&Call::Read> read_{this};
  Reaction<&Call::Written> written_{this};
  Reaction<&Call::Sent> sent_{this};
  Reaction<&Call::Answered> answered_{this};
  Reaction<&Call::Ended> ended_{this};
};

GrpcCalls::GrpcCalls(CallQueue* queue, std::span<GrpcService* const> services) : queue_(queue) {
  for (GrpcService* service : services) {
    const std::vector<std::string>& paths = service->paths();
    for (size_t i = 0; i < paths.size(); ++i) {
      auto method = std::make_unique<Method>();
      method->service = service;
      method->index = static_cast<int>(i);
      methods_[paths[i]] = std::move(method);
    }
  }
}

GrpcCalls::~GrpcCalls() = default;

void GrpcCalls::AwaitEnd() {
  absl::MutexLock lock(&mu_);
  auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return num_calls_ == 0; };
  mu_.Await(absl::Condition(&none));
}

void GrpcCalls::Start() {
  for (int i = 0; i < kAwaitedCalls; ++i) AwaitCall();
}

GrpcCalls::Method* GrpcCalls::Find(std::string_view path) const {
  auto found = methods_.find(path);
  return found != methods_.end() ? found->second.get() : nullptr;
}

void GrpcCalls::Method::Took(std::chrono::nanoseconds duration) {
  const int64_t usual = usual_ns.load(std::memory_order_relaxed);
  const int64_t sample = std::min<int64_t>(duration.count(), kLongestSampleNs);
  usual_ns.store(usual + (sample - usual) / 4, std::memory_order_relaxed);
}

bool GrpcCalls::IsLongService(const Method& method, size_t request_bytes) const {
  return method.usual_ns.load(std::memory_order_relaxed) > kLongServiceNs || request_bytes > kLargeRequest ||
         num_waiting_.load(std::memory_order_relaxed) >= kManyWaiting;
}

void GrpcCalls::AwaitCall() {
  ReserveCall();
  AwaitReservedCall();
}

void GrpcCalls::ReserveCall() {
  absl::MutexLock lock(&mu_);
  ++num_calls_;
}

void GrpcCalls::AwaitReservedCall() { new Call(this); }

void GrpcCalls::EndCall() {
  absl::MutexLock lock(&mu_);
  --num_calls_;
}

}  // namespace weir
