// Server reflection: what tools such as grpcurl ask to learn the services and messages of a server.
#ifndef WEIR_SERVING_REFLECTION_INTERNAL_H_
#define WEIR_SERVING_REFLECTION_INTERNAL_H_

#include "weir/distributed/incoming_call.h"

namespace weir {

// One ServerReflectionRequest of a stream.
void ServeReflection(IncomingCall* call);

}  // namespace weir

#endif  // WEIR_SERVING_REFLECTION_INTERNAL_H_
