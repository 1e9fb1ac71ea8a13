// Shared by the parts of Master.
#ifndef WEIR_DISTRIBUTED_MASTER_INTERNAL_H_
#define WEIR_DISTRIBUTED_MASTER_INTERNAL_H_

#include "weir/distributed/master.h"

namespace weir::master_internal {

// INVALID_ARGUMENT if the request's bytes are no such message.
Status Parse(IncomingCall* call, google::protobuf::MessageLite* message);
void Answer(IncomingCall* call, const Status& status, const google::protobuf::MessageLite& message);

}  // namespace weir::master_internal

#endif  // WEIR_DISTRIBUTED_MASTER_INTERNAL_H_
