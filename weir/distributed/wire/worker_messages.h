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
  bool store_errors_in_response_body = false;
  int64_t request_id = 0;
};
// Fails if a tensor cannot leave the process.
Status WriteRunGraph(const RunGraphCall& call, WireBuffer* out);
// INVALID_ARGUMENT if the bytes are no such message; so do the others below.
Status ReadRunGraph(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RunGraphCall* call);

struct RunGraphAnswer {
  std::vector<std::pair<std::string, Tensor>> received;
  std::string step_stats;  // a serialized StepStats
  Status status;           // what the response's body tells
};
Status WriteRunGraphResponse(const RunGraphAnswer& answer, WireBuffer* out);
Status ReadRunGraphResponse(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RunGraphAnswer* answer);

// Where the bytes of a tensor are in a process of the same machine.
struct HostMemory {
  int64_t process = 0;
  uint64_t address = 0;
  DType dtype = DType::kInvalid;
  Shape shape;
};
// How a receiver says in a RecvTensorRequest's transport options that it can read such memory.
inline constexpr std::string_view kSameHostUrl = "weir/same_host";

struct RecvTensorAnswer {
  Tensor tensor;                     // no value if it is dead, or in `memory`
  std::optional<HostMemory> memory;  // to be read there, and then to be acknowledged
  bool is_dead = false;
  int64_t send_start_micros = 0;
};
Status WriteRecvTensorResponse(const RecvTensorAnswer& answer, WireBuffer* out);
Status ReadRecvTensorResponse(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RecvTensorAnswer* answer);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WIRE_WORKER_MESSAGES_H_
