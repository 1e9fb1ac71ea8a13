// A gRPC service of unary methods under one of TensorFlow's names, in bytes. Only files of this folder include this
// header: it brings gRPC along.
#ifndef WEIR_DISTRIBUTED_GRPC_SERVICE_INTERNAL_H_
#define WEIR_DISTRIBUTED_GRPC_SERVICE_INTERNAL_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/distributed/incoming_call.h"
#include "weir/distributed/stay_awake_internal.h"

namespace weir {

class GrpcService final : public grpc::Service {
 public:
  // Begins to serve a call of methods[method]; must return soon and must work until the last call has ended.
  using Serve = std::function<void(int method, IncomingCall* call)>;
  // Who may call, by gRPC's name of the caller. Others hear the error.
  using Admit = std::function<Status(std::string_view peer)>;
  // `name` is "MasterService"; without `admit` everybody may call; with `stay_awake` quick clients' calls are waited
  // for (stay_awake_internal.h).
  GrpcService(std::string_view name, std::span<const std::string_view> methods, Serve serve, Admit admit = nullptr,
              std::shared_ptr<StayAwake> stay_awake = nullptr);
  // Waits until no call is on its way; false if some still is at the deadline.
  bool AwaitIdle(absl::Time deadline);

  // For the calls themselves.
  void BeginCall();
  void EndCall();
  const std::shared_ptr<StayAwake>& stay_awake() const { return stay_awake_; }

 private:
  const Serve serve_;
  const Admit admit_;
  const std::shared_ptr<StayAwake> stay_awake_;
  std::deque<std::string> paths_;  // gRPC keeps pointers to them
  absl::Mutex mu_;
  int num_calls_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_GRPC_SERVICE_INTERNAL_H_
