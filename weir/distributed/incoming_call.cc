#include "weir/distributed/incoming_call.h"

#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/message_lite.h>

namespace weir {

Status ParseRequest(IncomingCall* call, google::protobuf::MessageLite* message) {
  if (message->ParseFromZeroCopyStream(call->request())) return OkStatus();
  return InvalidArgument("Malformed ", std::string_view(message->GetTypeName()).substr(5));
}

void Answer(IncomingCall* call, const Status& status, const google::protobuf::MessageLite& message) {
  WireBuffer bytes;
  if (status.ok()) bytes.Append(message.SerializeAsString());
  call->Finish(status, std::move(bytes));
}

}  // namespace weir
