// Messages of files: binary or text.
#ifndef WEIR_IO_PROTO_FILE_H_
#define WEIR_IO_PROTO_FILE_H_

#include <string>
#include <string_view>

#include "weir/base/status.h"

namespace google::protobuf {
class Message;
class MessageLite;
}  // namespace google::protobuf

namespace weir {

// False if the bytes are no such message, or too deep.
bool ParseBinaryProto(std::string_view bytes, google::protobuf::MessageLite* message);
// INVALID_ARGUMENT with the first error and its line. A build for given models reads no text: UNIMPLEMENTED there.
Status ParseTextProto(std::string_view text, google::protobuf::MessageLite* message);
// One line of JSON, with the fields' names as the .proto files have them.
StatusOr<std::string> ProtoToJson(const google::protobuf::Message& message);

}  // namespace weir

#endif  // WEIR_IO_PROTO_FILE_H_
