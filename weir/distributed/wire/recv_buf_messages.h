// RecvBuf: how a member of a collective fetches a chunk of another member's memory. Chunks are read and written without
// a copy between the message and the tensor's memory.
#ifndef WEIR_DISTRIBUTED_WIRE_RECV_BUF_MESSAGES_H_
#define WEIR_DISTRIBUTED_WIRE_RECV_BUF_MESSAGES_H_

#include "weir/distributed/wire/wire_buffer.h"
#include "weir/tensor/tensor.h"

namespace google::protobuf::io {
class ZeroCopyInputStream;
}

namespace weir {

// A RecvBufResponse that holds the chunk in one piece.
void WriteRecvBufResponse(const Tensor& chunk, int64_t send_start_micros, WireBuffer* out);
// Reads a response's bytes, in however many pieces they come, into `memory`. INVALID_ARGUMENT if the bytes are no such
// message, INTERNAL if the chunk is not as large as the memory.
Status ReadRecvBufResponse(google::protobuf::io::ZeroCopyInputStream* in, size_t size, char* memory, size_t capacity);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WIRE_RECV_BUF_MESSAGES_H_
