#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

#include "weir/distributed/wire/fields_internal.h"
#include "weir/distributed/wire/tensor_wire.h"

namespace weir::wire_internal {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

bool ReadNested(CodedInputStream* in, absl::FunctionRef<bool()> body) {
  uint32_t length = 0;
  if (!in->ReadVarint32(&length) || length > static_cast<uint32_t>(INT32_MAX)) return false;
  // Without this a length that lies would be cut to the enclosing message's end and pass.
  if (static_cast<int64_t>(length) > in->BytesUntilLimit()) return false;
  CodedInputStream::Limit limit = in->PushLimit(static_cast<int>(length));
  bool good = body();
  in->PopLimit(limit);
  return good;
}

bool ReadText(CodedInputStream* in, std::string* out) {
  uint32_t length = 0;
  return in->ReadVarint32(&length) && length <= static_cast<uint32_t>(INT32_MAX) &&
         in->ReadString(out, static_cast<int>(length));
}

bool ReadNumber(CodedInputStream* in, int64_t* out) {
  uint64_t value = 0;
  if (!in->ReadVarint64(&value)) return false;
  *out = static_cast<int64_t>(value);
  return true;
}

Status Limit(size_t size, CodedInputStream* in) {
  if (size > static_cast<size_t>(INT32_MAX)) {
    return ResourceExhausted("A message of ", size, " bytes exceeds protobuf's limit of 2 GB");
  }
  in->PushLimit(static_cast<int>(size));
  return OkStatus();
}

namespace {

// Length of the UTF-8 sequence at the beginning of `text`, 0 if there is none.
size_t Utf8Length(std::string_view text) {
  unsigned char first = text[0];
  size_t length = first < 0x80                    ? 1
                  : first >= 0xc2 && first < 0xe0 ? 2
                  : first >= 0xe0 && first < 0xf0 ? 3
                  : first >= 0xf0 && first < 0xf5 ? 4
                                                  : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  if (length < 3) return length;
  unsigned char second = text[1];  // overlong forms, surrogates, and what is beyond Unicode
  bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
             (first == 0xf4 && second > 0x8f);
  return bad ? 0 : length;
}

}  // namespace

std::string ToUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t length = Utf8Length(text);
    out.append(length == 0 ? std::string_view("?") : text.substr(0, length));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

void WriteText(int field, std::string_view text, WireBuffer* out) {
  if (!text.empty()) out->AppendBytesField(field, text);
}
void WriteNumber(int field, uint64_t number, WireBuffer* out) {
  if (number == 0) return;
  out->AppendTag(field, 0);
  out->AppendVarint(number);
}

bool ReadFlag(CodedInputStream* in, bool* out) {
  int64_t number = 0;
  if (!ReadNumber(in, &number)) return false;
  *out = number != 0;
  return true;
}

bool ReadNamedTensor(CodedInputStream* in, std::vector<std::pair<std::string, Tensor>>* tensors, Status* error) {
  std::string name;
  StatusOr<Tensor> tensor = InvalidArgument("no tensor");
  while (uint32_t tag = in->ReadTag()) {
    bool good = true;
    if (tag == Tag(1, 2)) {
      good = ReadText(in, &name);
    } else if (tag == Tag(2, 2)) {
      good = ReadNested(in, [&] { return ReadTensorProto(in, &tensor); });
    } else {
      good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
  if (!in->ConsumedEntireMessage()) return false;
  if (!tensor.ok() && error->ok()) *error = Annotate(tensor.status(), Cat("Invalid TensorProto for '", name, "': "));
  tensors->emplace_back(std::move(name), tensor.ok() ? *std::move(tensor) : Tensor());
  return true;
}

}  // namespace weir::wire_internal
