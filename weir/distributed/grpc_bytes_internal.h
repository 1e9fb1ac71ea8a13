// Conversions between gRPC's types and ours.
#ifndef WEIR_DISTRIBUTED_GRPC_BYTES_INTERNAL_H_
#define WEIR_DISTRIBUTED_GRPC_BYTES_INTERNAL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include "weir/base/status.h"
#include "weir/distributed/wire/wire_buffer.h"

namespace weir {

// Does not copy the message: the slices of large tensors refer to their memory and keep it alive.
grpc::ByteBuffer ToByteBuffer(WireBuffer message);
// A status is sent in HTTP headers, whose size is limited, so long messages are truncated.
grpc::Status ToGrpcStatus(const Status& status);
Status FromGrpcStatus(const grpc::Status& status);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_GRPC_BYTES_INTERNAL_H_
