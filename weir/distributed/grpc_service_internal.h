// The services of a server: unary methods under TensorFlow's names, in bytes. Only files of this folder include this
// header: it brings gRPC along.
#ifndef WEIR_DISTRIBUTED_GRPC_SERVICE_INTERNAL_H_
#define WEIR_DISTRIBUTED_GRPC_SERVICE_INTERNAL_H_

#include <grpcpp/generic/async_generic_service.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/distributed/call_queue_internal.h"
#include "weir/distributed/incoming_call.h"

namespace weir {

// One service. Thread-safe.
class GrpcService {
 public:
  // Begins to serve a call of methods[method]; must return soon and must work until the last call has ended.
  using Serve = std::function<void(int method, IncomingCall* call)>;
  // Decides whether a caller, given by gRPC's name for it, may call. Other callers receive the error.
  using Admit = std::function<Status(std::string_view peer)>;
  // `name` is the name of a service of package tensorflow, such as "MasterService", or a name with its package. Without
  // `admit`, everybody may call. `has_quick_clients`: a thread may busy-wait for its calls (call_queue_internal.h).
  GrpcService(std::string_view name, std::span<const std::string_view> methods, Serve serve, Admit admit = nullptr,
              bool has_quick_clients = false);

  const std::vector<std::string>& paths() const { return paths_; }
  bool has_quick_clients() const { return has_quick_clients_; }
  // From now on, every call is a stream: its requests are served one after the other, and each gets an answer. An error
  // ends the stream. REQUIRES: no call has arrived yet.
  void ServeStreams() { is_streaming_ = true; }
  bool is_streaming() const { return is_streaming_; }
  // Waits until no call is being served; false if some still is at the deadline.
  bool AwaitIdle(absl::Time deadline);

  // Used by the calls themselves.
  void Begin(int method, std::string_view peer, IncomingCall* call);
  void Continue(int method, IncomingCall* call) { serve_(method, call); }  // with the next request of a stream
  void End();

 private:
  const Serve serve_;
  const Admit admit_;
  const bool has_quick_clients_;
  bool is_streaming_ = false;
  std::vector<std::string> paths_;  // of the methods
  absl::Mutex mu_;
  int num_calls_ ABSL_GUARDED_BY(mu_) = 0;
};

// Accepts the calls of a gRPC server and dispatches them to the services. Thread-safe.
class GrpcCalls {
 public:
  // The queue and the services must outlive this object.
  GrpcCalls(CallQueue* queue, std::span<GrpcService* const> services);
  // REQUIRES: AwaitEnd was called, or Start was not.
  ~GrpcCalls();

  // To be registered with the gRPC server.
  grpc::AsyncGenericService* generic() { return &generic_; }
  // Begins to take calls. REQUIRES: the gRPC server was started.
  void Start();
  // Waits until all calls have ended. REQUIRES: the gRPC server was shut down.
  void AwaitEnd();

 private:
  class Call;
  struct Method {
    GrpcService* service = nullptr;
    int index = 0;
    std::atomic<int64_t> usual_ns{0};  // the time to begin serving a call; a moving average
    void Took(std::chrono::nanoseconds duration);
  };
  // Null if there is none.
  Method* Find(std::string_view path) const;
  // Whether another thread should poll while a call is served: serving it takes long, or other calls wait.
  bool IsLongService(const Method& method, size_t request_bytes) const;
  void AwaitCall();  // accepts one more call
  // The same in two halves. After the first, AwaitEnd does not return before the call of the second has ended.
  void ReserveCall();
  void AwaitReservedCall();
  void EndCall();

  grpc::AsyncGenericService generic_;
  StringMap<std::unique_ptr<Method>> methods_;
  std::atomic<int> num_waiting_{0};  // calls in a row that arrived while another one was being handled
  CallQueue* const queue_;
  absl::Mutex mu_;
  int num_calls_ ABSL_GUARDED_BY(mu_) = 0;  // including those that have not arrived yet
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_GRPC_SERVICE_INTERNAL_H_
