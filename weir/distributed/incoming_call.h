// IncomingCall: one call to a service of this task, whatever carries it.
#ifndef WEIR_DISTRIBUTED_INCOMING_CALL_H_
#define WEIR_DISTRIBUTED_INCOMING_CALL_H_

#include "absl/time/time.h"
#include "weir/base/cancellation.h"
#include "weir/distributed/wire/wire_buffer.h"

namespace google::protobuf {
class MessageLite;
namespace io {
class ZeroCopyInputStream;
}
}  // namespace google::protobuf

namespace weir {

// Made by whoever carries the call.
class IncomingCall {
 public:
  virtual ~IncomingCall() = default;
  // The request's bytes, to be read once, and how many there are.
  virtual google::protobuf::io::ZeroCopyInputStream* request() = 0;
  virtual size_t request_bytes() const = 0;
  // Answers. Exactly once; the call may be gone afterwards. The message is sent only if the status is OK.
  virtual void Finish(const Status& status, WireBuffer message) = 0;

  CancellationManager cancellation;  // cancelled when the caller goes away
  absl::Time deadline = absl::InfiniteFuture();
};

// INVALID_ARGUMENT if the request's bytes are no such message.
Status ParseRequest(IncomingCall* call, google::protobuf::MessageLite* message);
void Answer(IncomingCall* call, const Status& status, const google::protobuf::MessageLite& message);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_INCOMING_CALL_H_
