// The SessionConnector for sessions with a target "grpc://host:port" (SessionOptions::target). MakeEnvironment installs
// it in the environment.
#ifndef WEIR_DISTRIBUTED_GRPC_CONNECTOR_H_
#define WEIR_DISTRIBUTED_GRPC_CONNECTOR_H_

#include <memory>

#include "weir/runtime/session.h"

namespace weir {

std::shared_ptr<SessionConnector> MakeGrpcConnector();

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_GRPC_CONNECTOR_H_
