// RunGraph, read and written without copying the tensors that it carries.
#ifndef WEIR_DISTRIBUTED_WIRE_WORKER_MESSAGES_H_
#define WEIR_DISTRIBUTED_WIRE_WORKER_MESSAGES_H_

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
// INVALID_ARGUMENT if the bytes are no such message; so does ReadRunGraphResponse.
Status ReadRunGraph(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RunGraphCall* call);

struct RunGraphAnswer {
  std::vector<std::pair<std::string, Tensor>> received;
  std::string step_stats;  // a serialized StepStats
  Status status;           // what the response's body tells
  bool forgotten = false;  // the task has forgotten the step, of which it was the only part here; not TensorFlow's
};
Status WriteRunGraphResponse(const RunGraphAnswer& answer, WireBuffer* out);
Status ReadRunGraphResponse(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RunGraphAnswer* answer);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WIRE_WORKER_MESSAGES_H_
