// The messages that carry tensors, read and written without copying them: RunStep and RunCallable.
#ifndef WEIR_DISTRIBUTED_WIRE_STEP_MESSAGES_H_
#define WEIR_DISTRIBUTED_WIRE_STEP_MESSAGES_H_

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weir/distributed/wire/wire_buffer.h"
#include "weir/tensor/tensor.h"

namespace google::protobuf::io {
class ZeroCopyInputStream;
}

namespace weir {

class RunOptions;  // wire formats
class RunMetadata;

struct RunStepCall {
  RunStepCall();
  ~RunStepCall();
  std::string session_handle;
  std::vector<std::pair<std::string, Tensor>> feeds;
  Status feed_error;  // of the first feed that is no tensor: "Invalid TensorProto for feed value 0"
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  std::unique_ptr<RunOptions> options;  // never null
  std::string partial_run_handle;
  bool store_errors_in_response_body = false;
  int64_t request_id = 0;
};

struct RunCallableCall {
  std::string session_handle;
  int64_t handle = 0;
  std::vector<Tensor> feeds;
  Status feed_error;
  int64_t request_id = 0;
};

// Reads a message of `size` bytes. INVALID_ARGUMENT if the bytes are no such message.
Status ReadRunStep(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RunStepCall* call);
Status ReadRunCallable(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RunCallableCall* call);

// RunStepResponse: `names` and `tensors` go together; no metadata field if `metadata` is null. Fails, with nothing
// written, if a tensor cannot leave the process.
Status WriteRunStepResponse(std::span<const std::string> names, std::span<const Tensor> tensors,
                            const RunMetadata* metadata, const Status& status, WireBuffer* out);
Status WriteRunCallableResponse(std::span<const Tensor> tensors, const RunMetadata& metadata, WireBuffer* out);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WIRE_STEP_MESSAGES_H_
