// Server reflection: lets tools such as grpcurl query a server's services and messages.
#ifndef WEIR_SERVING_REFLECTION_INTERNAL_H_
#define WEIR_SERVING_REFLECTION_INTERNAL_H_

#include "weir/distributed/incoming_call.h"

namespace weir {

// Answers one ServerReflectionRequest of a stream.
void ServeReflection(IncomingCall* call);

}  // namespace weir

#endif  // WEIR_SERVING_REFLECTION_INTERNAL_H_
