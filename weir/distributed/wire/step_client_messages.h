// The other side of step_messages.h: what a client of the session service writes and reads.
#ifndef WEIR_DISTRIBUTED_WIRE_STEP_CLIENT_MESSAGES_H_
#define WEIR_DISTRIBUTED_WIRE_STEP_CLIENT_MESSAGES_H_

#include "weir/distributed/wire/step_messages.h"

namespace weir {

// Fail if a tensor cannot leave the process.
Status WriteRunStep(const RunStepCall& call, WireBuffer* out);
Status WriteRunCallable(const RunCallableCall& call, WireBuffer* out);

struct RunStepAnswer {
  RunStepAnswer();
  ~RunStepAnswer();
  std::vector<std::pair<std::string, Tensor>> tensors;  // a callable's have no names
  std::unique_ptr<RunMetadata> metadata;                // never null
  Status status;                                        // what the response's body tells
};
// INVALID_ARGUMENT if the bytes are no such message.
Status ReadRunStepResponse(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RunStepAnswer* answer);
Status ReadRunCallableResponse(google::protobuf::io::ZeroCopyInputStream* in, size_t size, RunStepAnswer* answer);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_WIRE_STEP_CLIENT_MESSAGES_H_
