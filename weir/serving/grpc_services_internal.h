// TensorFlow Serving's services, the standard health service and server reflection, for a gRPC server.
#ifndef WEIR_SERVING_GRPC_SERVICES_INTERNAL_H_
#define WEIR_SERVING_GRPC_SERVICES_INTERNAL_H_

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "weir/base/thread_pool.h"
#include "weir/distributed/grpc_service_internal.h"
#include "weir/serving/call_observer_internal.h"
#include "weir/serving/model_manager.h"
#include "weir/serving/predict_messages.h"

namespace weir {

// Thread-safe.
class ServingGrpcServices {
 public:
  // All arguments must outlive the services.
  ServingGrpcServices(ModelManager* models, CallObserver* observer, OutputEncoding encoding);
  // For GrpcCalls.
  std::vector<GrpcService*> services() {
    return {&prediction_, &model_, &health_, &health_watch_, &reflection_, &reflection_alpha_};
  }
  // From now on the health service reports NOT_SERVING, also to its watchers.
  void StopServing();
  void AwaitIdle(absl::Time deadline);

 private:
  void ServePrediction(int method, IncomingCall* call);
  void ServeModel(int method, IncomingCall* call);
  void ServeHealth(IncomingCall* call, bool is_watch);
  // Keeps a Watch call, which has been sent the current state, until the state changes or the client goes away.
  void AddWatcher(IncomingCall* call, bool is_known);
  // False if another thread is ending the call.
  bool RemoveWatcher(IncomingCall* call);
  void ServePredict(IncomingCall* call);
  template <typename Request, typename Response, typename Start>
  void ServeExamples(const char* api, IncomingCall* call, Start start);

  ModelManager* const models_;
  CallObserver* const observer_;
  const OutputEncoding encoding_;
  std::atomic<bool> serving_{true};
  absl::Mutex watchers_mu_;
  // Value: whether the service is known.
  absl::flat_hash_map<IncomingCall*, bool> watchers_ ABSL_GUARDED_BY(watchers_mu_);
  ThreadPool reloads_;  // for calls that wait for models to load
  GrpcService prediction_, model_, health_, health_watch_, reflection_, reflection_alpha_;
};

}  // namespace weir

#endif  // WEIR_SERVING_GRPC_SERVICES_INTERNAL_H_
