// The gRPC service /tensorflow.MasterService over a Master. Only files of this folder include this header: it brings
// gRPC along.
#ifndef WEIR_DISTRIBUTED_MASTER_SERVICE_INTERNAL_H_
#define WEIR_DISTRIBUTED_MASTER_SERVICE_INTERNAL_H_

#include <grpcpp/impl/codegen/service_type.h>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "weir/distributed/master.h"

namespace weir {

class MasterService final : public grpc::Service {
 public:
  // REQUIRES: `master` outlives every call.
  explicit MasterService(Master* master);
  // Waits until no call is on its way; false if some still is at the deadline.
  bool AwaitIdle(absl::Time deadline);

  // For the calls themselves.
  void BeginCall();
  void EndCall();

 private:
  absl::Mutex mu_;
  int num_calls_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_MASTER_SERVICE_INTERNAL_H_
