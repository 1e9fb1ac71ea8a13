// Private to the wire: fields of protobuf messages, read and written by hand.
#ifndef WEIR_DISTRIBUTED_WIRE_FIELDS_INTERNAL_H_
#define WEIR_DISTRIBUTED_WIRE_FIELDS_INTERNAL_H_

#include <google/protobuf/io/coded_stream.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "weir/distributed/wire/wire_buffer.h"

namespace weir::wire_internal {

constexpr uint32_t Tag(int field, int wire_type) { return static_cast<uint32_t>(field) << 3 | wire_type; }

// Reads the length of a submessage and lets `body` read it. `body` must leave the stream at the submessage's end.
bool ReadNested(google::protobuf::io::CodedInputStream* in, absl::FunctionRef<bool()> body);
bool ReadText(google::protobuf::io::CodedInputStream* in, std::string* out);
bool ReadNumber(google::protobuf::io::CodedInputStream* in, int64_t* out);
bool ReadFlag(google::protobuf::io::CodedInputStream* in, bool* out);
// A NamedTensorProto. One that is no valid tensor is added without a value; the first such error goes to `error`.
bool ReadNamedTensor(google::protobuf::io::CodedInputStream* in, std::vector<std::pair<std::string, Tensor>>* tensors,
                     Status* error);
// Nothing for what is empty or 0.
void WriteText(int field, std::string_view text, WireBuffer* out);
void WriteNumber(int field, uint64_t number, WireBuffer* out);

// Lengths inside a message are checked against its real size before memory is taken for them.
Status Limit(size_t size, google::protobuf::io::CodedInputStream* in);
// Messages may quote a user's bytes, but a string field must be UTF-8 or the reader refuses the whole message.
std::string ToUtf8(std::string_view text);

}  // namespace weir::wire_internal

#endif  // WEIR_DISTRIBUTED_WIRE_FIELDS_INTERNAL_H_
