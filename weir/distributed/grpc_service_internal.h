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
  // Who may call, by gRPC's name of the caller. Others hear the error.
  using Admit = std::function<Status(std::string_view peer)>;
  // `name` is "MasterService"; without `admit` everybody may call. `has_quick_clients`: a thread may stay awake for its
  // calls (call_queue_internal.h).
  GrpcService(std::string_view name, std::span<const std::string_view> methods, Serve serve, Admit admit = nullptr,
              bool has_quick_clients = false);

  const std::vector<std::string>& paths() const { return paths_; }
  bool has_quick_clients() const { return has_quick_clients_; }
  // Waits until no call is being served; false if some still is at the deadline.
  bool AwaitIdle(absl::Time deadline);

  // For the calls themselves.
  void Begin(int method, std::string_view peer, IncomingCall* call);
  void End();

 private:
  const Serve serve_;
  const Admit admit_;
  const bool has_quick_clients_;
  std::vector<std::string> paths_;  // of the methods
  absl::Mutex mu_;
  int num_calls_ ABSL_GUARDED_BY(mu_) = 0;
};

// Takes the calls of a gRPC server and hands them to the services. Thread-safe.
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
    std::atomic<int64_t> usual_ns{0};  // what beginning to serve a call takes; a moving average
    void Took(std::chrono::nanoseconds duration);
  };
  // Null if there is none.
  Method* Find(std::string_view path) const;
  // Whether it is better that another thread polls while a call is served: this takes long, or others wait.
  bool IsLongService(const Method& method, size_t request_bytes) const;
  void AwaitCall();  // one more
  void EndCall();

  grpc::AsyncGenericService generic_;
  StringMap<std::unique_ptr<Method>> methods_;
  std::atomic<int> num_waiting_{0};  // calls in a row that came while another one was dealt with
  CallQueue* const queue_;
  absl::Mutex mu_;
  int num_calls_ ABSL_GUARDED_BY(mu_) = 0;  // with those that have not come yet
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_GRPC_SERVICE_INTERNAL_H_
