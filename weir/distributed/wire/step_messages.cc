#include "weir/distributed/wire/step_messages.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "weir/distributed/wire/fields_internal.h"
#include "weir/distributed/wire/tensor_wire.h"
#include "weir/proto/config.pb.h"

namespace weir {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::ZeroCopyInputStream;
using wire_internal::Limit;
using wire_internal::ReadNested;
using wire_internal::ReadNumber;
using wire_internal::ReadText;
using wire_internal::Tag;
using wire_internal::ToUtf8;

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
