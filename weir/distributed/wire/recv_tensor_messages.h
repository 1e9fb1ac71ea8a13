// RecvTensor: how one task asks another for a tensor, and the answers, read and written without copying the tensor.
//
// The bytes of a small tensor are in the answer. Those of a large one are not: the sender keeps the tensor and says
// what it is, and the receiver asks for it piece by piece; or, on the same machine, the sender copies it into memory
// that the receiver has handed to it (receive_buffers.h). A receiver says in the request's transport options what it
// can do; one that says nothing, like TensorFlow's, gets the bytes in any case.
#ifndef WEIR_DISTRIBUTED_WIRE_RECV_TENSOR_MESSAGES_H_
#define WEIR_DISTRIBUTED_WIRE_RECV_TENSOR_MESSAGES_H_

#include <optional>
#include <string>
#include <string_view>

#include "weir/distributed/wire/wire_buffer.h"
#include "weir/tensor/tensor.h"

namespace google::protobuf::io {
class ZeroCopyInputStream;
}

namespace weir {

struct RecvTransport {
  enum class Kind {
    kPlain,   // the bytes in the answer
    kPieces,  // a large tensor may also be kept for pieces
    kShared,  // as kPieces; a sender on `host` may also put it into the buffer, or keep it until it is handed one
    kPiece,   // the piece at `offset` of what is kept for the request with this id
    kFill,    // what is kept for that request is to be put into the buffer
  };
  Kind kind = Kind::kPlain;
  std::string host;     // the receiver's HostIdentity()
  std::string key;      // the secret that its buffers bear
  uint64_t buffer = 0;  // one of them; 0: none yet
  uint64_t offset = 0;
  bool takes_exported = false;  // of kShared: the receiver's device may read the sender's memory (memory_exporter.h)
};
// The type_url and the value of a RecvTensorRequest's transport options.
std::string_view TransportUrl(RecvTransport::Kind kind);
std::string TransportValue(const RecvTransport& transport);
// INVALID_ARGUMENT if the value is not what the type demands. Unknown types are kPlain.
StatusOr<RecvTransport> ReadTransport(std::string_view url, std::string_view value);

// A tensor whose bytes are not in the answer.
struct OutOfBand {
  bool in_buffer = false;  // they are in the buffer that the request named; otherwise the sender keeps them
  std::string socket;      // where a buffer for them may be handed over; empty: they can be had in pieces only
  std::string exported;    // by what the receiver's device finds them; empty: they are in the host's memory
  DType dtype = DType::kInvalid;
  Shape shape;
};
struct RecvTensorAnswer {
  Tensor tensor;  // no value if it is dead or elsewhere
  std::optional<OutOfBand> out_of_band;
  bool is_dead = false;
  int64_t send_start_micros = 0;
};
Status WriteRecvTensorResponse(const RecvTensorAnswer& answer, WireBuffer* out);
// INVALID_ARGUMENT if the bytes are no such message; so does ReadPieceResponse.
Status ReadRecvTensorResponse(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RecvTensorAnswer* answer);

// A response that holds a piece of a tensor's memory, and how many bytes of it came into `memory`.
void WritePieceResponse(const Tensor& tensor, size_t offset, size_t length, WireBuffer* out);
StatusOr<size_t> ReadPieceResponse(google::protobuf::io::ZeroCopyInputStream* in, size_t size, char* memory,
                                   size_t capacity);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WIRE_RECV_TENSOR_MESSAGES_H_
