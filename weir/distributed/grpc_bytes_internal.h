// gRPC's types beside ours.
#ifndef WEIR_DISTRIBUTED_GRPC_BYTES_INTERNAL_H_
#define WEIR_DISTRIBUTED_GRPC_BYTES_INTERNAL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include "weir/base/status.h"
#include "weir/distributed/wire/wire_buffer.h"

namespace weir {

// The message without a copy: the slices of large tensors point at their memory and keep it alive.
grpc::ByteBuffer ToByteBuffer(WireBuffer message);
// A status travels in HTTP headers, which are limited: long texts are cut.
grpc::Status ToGrpcStatus(const Status& status);
Status FromGrpcStatus(const grpc::Status& status);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_GRPC_BYTES_INTERNAL_H_
