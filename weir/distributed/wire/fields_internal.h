// Private to the wire: reading fields of protobuf messages by hand.
#ifndef WEIR_DISTRIBUTED_WIRE_FIELDS_INTERNAL_H_
#define WEIR_DISTRIBUTED_WIRE_FIELDS_INTERNAL_H_

#include <google/protobuf/io/coded_stream.h>

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "weir/base/status.h"

namespace weir::wire_internal {

constexpr uint32_t Tag(int field, int wire_type) { return static_cast<uint32_t>(field) << 3 | wire_type; }

// Reads the length of a submessage and lets `body` read it. `body` must leave the stream at the submessage's end.
bool ReadNested(google::protobuf::io::CodedInputStream* in, absl::FunctionRef<bool()> body);
bool ReadText(google::protobuf::io::CodedInputStream* in, std::string* out);
bool ReadNumber(google::protobuf::io::CodedInputStream* in, int64_t* out);
// Lengths inside a message are checked against its real size before memory is taken for them.
Status Limit(size_t size, google::protobuf::io::CodedInputStream* in);
// Messages may quote a user's bytes, but a string field must be UTF-8 or the reader refuses the whole message.
std::string ToUtf8(std::string_view text);

}  // namespace weir::wire_internal

#endif  // WEIR_DISTRIBUTED_WIRE_FIELDS_INTERNAL_H_
