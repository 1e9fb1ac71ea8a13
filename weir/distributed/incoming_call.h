// IncomingCall: one call to a service of this task, independent of the transport.
#ifndef WEIR_DISTRIBUTED_INCOMING_CALL_H_
#define WEIR_DISTRIBUTED_INCOMING_CALL_H_

#include <functional>
#include <string_view>

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

// Implemented by the transport.
class IncomingCall {
 public:
  virtual ~IncomingCall() = default;
  // The bytes of the request, which can be read once, and their number.
  virtual google::protobuf::io::ZeroCopyInputStream* request() = 0;
  virtual size_t request_bytes() const = 0;
  // The value of a header that the caller sent, by its name in lower case; empty if there is none.
  virtual std::string_view Header(std::string_view) const { return {}; }
  // Answers the call. Must be called exactly once; the call may be destroyed by it. The message is sent only if the
  // status is OK.
  virtual void Finish(const Status& status, WireBuffer message) = 0;
  // For services that serve streams: sends an answer that is not the last one. `sent` is called once; only then may the
  // next answer be sent or the call be finished. If `ok` is false, the caller has gone away.
  virtual void Send(WireBuffer message, std::function<void(bool ok)> sent) {
    (void)message;
    sent(false);
  }

  CancellationManager cancellation;  // cancelled when the caller goes away
  absl::Time deadline = absl::InfiniteFuture();
};

// INVALID_ARGUMENT if the request cannot be parsed as such a message.
Status ParseRequest(IncomingCall* call, google::protobuf::MessageLite* message);
void Answer(IncomingCall* call, const Status& status, const google::protobuf::MessageLite& message);

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_INCOMING_CALL_H_
