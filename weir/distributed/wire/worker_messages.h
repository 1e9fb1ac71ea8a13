// The messages between tasks that carry tensors, read and written without copying them: RunGraph and RecvTensor.
#ifndef WEIR_DISTRIBUTED_WIRE_WORKER_MESSAGES_H_
#define WEIR_DISTRIBUTED_WIRE_WORKER_MESSAGES_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/distributed/wire/wire_buffer.h"
#include "weir/tensor/tensor.h"

namespace google::protobuf::io {
class ZeroCopyInputStream;
}

namespace weir {

struct RunGraphCall {
  std::string session_handle;
  std::string graph_handle;
  int64_t step_id = 0;
  std::vector<std::pair<std::string, Tensor>> sends;  // rendezvous key and what to leave there
  Status send_error;                                  // of the first that is no tensor
  std::vector<std::string> recv_keys;
  bool record_timeline = false;
  bool is_partial = false;
  bool is_last_partial_run = false;
  bool store_errors_in_response_body = false;
  int64_t request_id = 0;
  bool only_part = false;  // of the step in this task; not TensorFlow's
};
// Fails if a tensor cannot leave the process.
Status WriteRunGraph(const RunGraphCall& call, WireBuffer* out);
// INVALID_ARGUMENT if the bytes are no such message; so do the others below.
Status ReadRunGraph(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RunGraphCall* call);

struct RunGraphAnswer {
  std::vector<std::pair<std::string, Tensor>> received;
  std::string step_stats;  // a serialized StepStats
  Status status;           // what the response's body tells
  bool forgotten = false;  // the task has forgotten the step, of which it was the only part here; not TensorFlow's
};
Status WriteRunGraphResponse(const RunGraphAnswer& answer, WireBuffer* out);
Status ReadRunGraphResponse(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RunGraphAnswer* answer);

// Where the bytes of a tensor are.
struct HostMemory {
  int64_t process = 0;  // of the same machine; 0: they are to be asked for in pieces
  uint64_t address = 0;
  DType dtype = DType::kInvalid;
  Shape shape;
};
// What a receiver says in a RecvTensorRequest's transport options: that it can read the memory of processes of a
// machine (the value names it) or ask for pieces; that it can only do the latter; that it wants the piece at an offset
// (the value is the number) of what the request with this id was told of.
inline constexpr std::string_view kSameHostUrl = "weir/same_host";
inline constexpr std::string_view kPiecesUrl = "weir/pieces";
inline constexpr std::string_view kPieceUrl = "weir/piece";

struct RecvTensorAnswer {
  Tensor tensor;                     // no value if it is dead, or in `memory`
  std::optional<HostMemory> memory;  // to be read there, and then to be acknowledged
  bool is_dead = false;
  int64_t send_start_micros = 0;
};
Status WriteRecvTensorResponse(const RecvTensorAnswer& answer, WireBuffer* out);
// A response that holds a piece of a tensor's memory, and how many bytes of it came into `memory`.
void WritePieceResponse(const Tensor& tensor, size_t offset, size_t length, WireBuffer* out);
StatusOr<size_t> ReadPieceResponse(google::protobuf::io::ZeroCopyInputStream* in, size_t size, char* memory,
                                   size_t capacity);
Status ReadRecvTensorResponse(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RecvTensorAnswer* answer);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WIRE_WORKER_MESSAGES_H_
