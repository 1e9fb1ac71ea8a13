#include "weir/distributed/wire/step_messages.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

#include "absl/functional/function_ref.h"
#include "weir/distributed/wire/tensor_wire.h"
#include "weir/proto/config.pb.h"

namespace weir {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::ZeroCopyInputStream;

constexpr uint32_t Tag(int field, int wire_type) { return static_cast<uint32_t>(field) << 3 | wire_type; }

// Reads the length of a submessage and lets `body` read it. `body` must leave the stream at the submessage's end.
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

Status FeedError(size_t index, const Status& cause) {
  // Memory that is out is not the message's fault.
  if (absl::IsResourceExhausted(cause)) return cause;
  return InvalidArgument("Invalid TensorProto for feed value ", index);
}

bool ReadFeed(CodedInputStream* in, RunStepCall* call) {
  std::string name;
  StatusOr<Tensor> tensor = InvalidArgument("no tensor");
  while (uint32_t tag = in->ReadTag()) {
    if (tag == Tag(1, 2)) {
      if (!ReadText(in, &name)) return false;
    } else if (tag == Tag(2, 2)) {
      if (!ReadNested(in, [&] { return ReadTensorProto(in, &tensor); })) return false;
    } else if (!WireFormatLite::SkipField(in, tag)) {
      return false;
    }
  }
  if (!in->ConsumedEntireMessage()) return false;
  if (!tensor.ok() && call->feed_error.ok()) call->feed_error = FeedError(call->feeds.size(), tensor.status());
  call->feeds.emplace_back(std::move(name), tensor.ok() ? *std::move(tensor) : Tensor());
  return true;
}

bool ReadRunStepFields(CodedInputStream* in, RunStepCall* call) {
  while (uint32_t tag = in->ReadTag()) {
    bool good = true;
    int64_t number = 0;
    switch (tag) {
      case Tag(1, 2):
        good = ReadText(in, &call->session_handle);
        break;
      case Tag(2, 2):
        good = ReadNested(in, [&] { return ReadFeed(in, call); });
        break;
      case Tag(3, 2):
        good = ReadText(in, &call->fetches.emplace_back());
        break;
      case Tag(4, 2):
        good = ReadText(in, &call->targets.emplace_back());
        break;
      case Tag(5, 2):
        good = ReadNested(in, [&] { return call->options->MergeFromCodedStream(in) && in->ConsumedEntireMessage(); });
        break;
      case Tag(6, 2):
        good = ReadText(in, &call->partial_run_handle);
        break;
      case Tag(7, 0):
        good = ReadNumber(in, &number);
        call->store_errors_in_response_body = number != 0;
        break;
      case Tag(8, 0):
        good = ReadNumber(in, &call->request_id);
        break;
      default:
        good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
  return in->ConsumedEntireMessage();
}

bool ReadRunCallableFields(CodedInputStream* in, RunCallableCall* call) {
  while (uint32_t tag = in->ReadTag()) {
    bool good = true;
    switch (tag) {
      case Tag(1, 2):
        good = ReadText(in, &call->session_handle);
        break;
      case Tag(2, 0):
        good = ReadNumber(in, &call->handle);
        break;
      case Tag(3, 2): {
        StatusOr<Tensor> tensor = InvalidArgument("no tensor");
        good = ReadNested(in, [&] { return ReadTensorProto(in, &tensor); });
        if (!tensor.ok() && call->feed_error.ok()) call->feed_error = FeedError(call->feeds.size(), tensor.status());
        call->feeds.push_back(tensor.ok() ? *std::move(tensor) : Tensor());
        break;
      }
      case Tag(4, 0):
        good = ReadNumber(in, &call->request_id);
        break;
      default:
        good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
  return in->ConsumedEntireMessage();
}

// Lengths inside the message are checked against its real size before memory is taken for them.
Status Limit(size_t size, CodedInputStream* in) {
  if (size > static_cast<size_t>(INT32_MAX)) {
    return ResourceExhausted("A message of ", size, " bytes passes protobuf's limit of 2 GB");
  }
  in->PushLimit(static_cast<int>(size));
  return OkStatus();
}

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

// Messages may quote a user's bytes, but a string field must be UTF-8 or the client refuses the whole response.
std::string ToUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t length = Utf8Length(text);
    out.append(length == 0 ? std::string_view("?") : text.substr(0, length));
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

void WriteMetadata(const RunMetadata& metadata, WireBuffer* out) {
  out->AppendBytesField(2, metadata.SerializeAsString());
}

}  // namespace

RunStepCall::RunStepCall() : options(std::make_unique<RunOptions>()) {}
RunStepCall::~RunStepCall() = default;

Status ReadRunStep(ZeroCopyInputStream* in, size_t size, RunStepCall* call) {
  CodedInputStream coded(in);
  WEIR_RETURN_IF_ERROR(Limit(size, &coded));
  if (!ReadRunStepFields(&coded, call)) return InvalidArgument("Malformed RunStepRequest");
  return OkStatus();
}

Status ReadRunCallable(ZeroCopyInputStream* in, size_t size, RunCallableCall* call) {
  CodedInputStream coded(in);
  WEIR_RETURN_IF_ERROR(Limit(size, &coded));
  if (!ReadRunCallableFields(&coded, call)) return InvalidArgument("Malformed RunCallableRequest");
  return OkStatus();
}

Status WriteRunStepResponse(std::span<const std::string> names, std::span<const Tensor> tensors,
                            const RunMetadata* metadata, const Status& status, WireBuffer* out) {
  WireBuffer message;
  for (size_t i = 0; i < tensors.size(); ++i) {
    WEIR_RETURN_IF_ERROR(AppendNamedTensorField(1, names[i], tensors[i], &message));
  }
  if (metadata != nullptr) WriteMetadata(*metadata, &message);
  if (!status.ok()) {
    message.AppendTag(3, 0);
    message.AppendVarint(static_cast<uint64_t>(status.code()));
    message.AppendBytesField(4, ToUtf8(FromAbsl(status.message())));
  }
  *out = std::move(message);
  return OkStatus();
}

Status WriteRunCallableResponse(std::span<const Tensor> tensors, const RunMetadata& metadata, WireBuffer* out) {
  WireBuffer message;
  for (const Tensor& tensor : tensors) WEIR_RETURN_IF_ERROR(AppendTensorField(1, tensor, &message));
  WriteMetadata(metadata, &message);
  *out = std::move(message);
  return OkStatus();
}

}  // namespace weir
