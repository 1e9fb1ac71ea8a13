// The gRPC service /tensorflow.MasterService over a Master. Only files of this folder include this header: it brings
// gRPC along.
#ifndef WEIR_DISTRIBUTED_MASTER_SERVICE_INTERNAL_H_
#define WEIR_DISTRIBUTED_MASTER_SERVICE_INTERNAL_H_

#include <grpcpp/impl/codegen/service_type.h>

#include "weir/distributed/master.h"

namespace weir {

class MasterService final : public grpc::Service {
 public:
  // REQUIRES: `master` outlives every call.
  explicit MasterService(Master* master);
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_MASTER_SERVICE_INTERNAL_H_
