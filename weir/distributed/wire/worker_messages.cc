#include "weir/distributed/wire/worker_messages.h"

#include <google/protobuf/wire_format_lite.h>

#include "weir/distributed/wire/fields_internal.h"
#include "weir/distributed/wire/tensor_wire.h"

namespace weir {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::ZeroCopyInputStream;
using namespace wire_internal;

// Fields that TensorFlow does not have, and skips.
constexpr int kOnlyPart = 1000;   // of RunGraphRequest
constexpr int kForgotten = 1000;  // of RunGraphResponse

bool ReadExecutorOpts(CodedInputStream* in, RunGraphCall* call) {
  while (uint32_t tag = in->ReadTag()) {
    bool good = tag == Tag(3, 0) ? ReadFlag(in, &call->record_timeline) : WireFormatLite::SkipField(in, tag);
    if (!good) return false;
  }
  return in->ConsumedEntireMessage();
}

bool ReadRunGraphFields(CodedInputStream* in, RunGraphCall* call) {
  while (uint32_t tag = in->ReadTag()) {
    bool good = true;
    switch (tag) {
      case Tag(1, 2):
        good = ReadText(in, &call->graph_handle);
        break;
      case Tag(2, 0):
        good = ReadNumber(in, &call->step_id);
        break;
      case Tag(3, 2):
        good = ReadNested(in, [&] { return ReadNamedTensor(in, &call->sends, &call->send_error); });
        break;
      case Tag(4, 2):
        good = ReadText(in, &call->recv_keys.emplace_back());
        break;
      case Tag(5, 2):
        good = ReadNested(in, [&] { return ReadExecutorOpts(in, call); });
        break;
      case Tag(6, 0):
        good = ReadFlag(in, &call->is_partial);
        break;
      case Tag(7, 0):
        good = ReadFlag(in, &call->is_last_partial_run);
        break;
      case Tag(8, 2):
        good = ReadText(in, &call->session_handle);
        break;
      case Tag(9, 0):
        good = ReadFlag(in, &call->store_errors_in_response_body);
        break;
      case Tag(11, 0):
        good = ReadNumber(in, &call->request_id);
        break;
      case Tag(kOnlyPart, 0):
        good = ReadFlag(in, &call->only_part);
        break;
      default:
        good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
  return in->ConsumedEntireMessage();
}

bool ReadRunGraphAnswer(CodedInputStream* in, RunGraphAnswer* answer, Status* error) {
  int64_t code = 0;
  std::string text;
  while (uint32_t tag = in->ReadTag()) {
    bool good = true;
    switch (tag) {
      case Tag(1, 2):
        good = ReadNested(in, [&] { return ReadNamedTensor(in, &answer->received, error); });
        break;
      case Tag(2, 2):
        good = ReadText(in, &answer->step_stats);
        break;
      case Tag(5, 0):
        good = ReadNumber(in, &code);
        break;
      case Tag(6, 2):
        good = ReadText(in, &text);
        break;
      case Tag(kForgotten, 0):
        good = ReadFlag(in, &answer->forgotten);
        break;
      default:
        good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
  if (code != 0) answer->status = Status(static_cast<absl::StatusCode>(code), text);
  return in->ConsumedEntireMessage();
}

}  // namespace

Status WriteRunGraph(const RunGraphCall& call, WireBuffer* out) {
  WireBuffer message;
  WriteText(8, call.session_handle, &message);
  message.AppendTag(10, 0);  // create_worker_session_called
  message.AppendVarint(1);
  WriteText(1, call.graph_handle, &message);
  WriteNumber(2, static_cast<uint64_t>(call.step_id), &message);
  for (const auto& [key, tensor] : call.sends) WEIR_RETURN_IF_ERROR(AppendNamedTensorField(3, key, tensor, &message));
  for (const std::string& key : call.recv_keys) message.AppendBytesField(4, key);
  if (call.record_timeline) message.AppendBytesField(5, std::string_view("\x18\x01", 2));
  WriteNumber(9, call.store_errors_in_response_body ? 1 : 0, &message);
  WriteNumber(11, static_cast<uint64_t>(call.request_id), &message);
  WriteNumber(kOnlyPart, call.only_part ? 1 : 0, &message);
  *out = std::move(message);
  return OkStatus();
}

Status ReadRunGraph(ZeroCopyInputStream* in, size_t size, RunGraphCall* call) {
  CodedInputStream coded(in);
  WEIR_RETURN_IF_ERROR(Limit(size, &coded));
  if (!ReadRunGraphFields(&coded, call)) return InvalidArgument("Malformed RunGraphRequest");
  return OkStatus();
}

Status WriteRunGraphResponse(const RunGraphAnswer& answer, WireBuffer* out) {
  WireBuffer message;
  for (const auto& [key, tensor] : answer.received) {
    WEIR_RETURN_IF_ERROR(AppendNamedTensorField(1, key, tensor, &message));
  }
  WriteText(2, answer.step_stats, &message);
  WriteNumber(kForgotten, answer.forgotten ? 1 : 0, &message);
  if (!answer.status.ok()) {
    WriteNumber(5, static_cast<uint64_t>(answer.status.code()), &message);
    WriteText(6, ToUtf8(FromAbsl(answer.status.message())), &message);
  }
  *out = std::move(message);
  return OkStatus();
}

Status ReadRunGraphResponse(ZeroCopyInputStream* in, size_t size, RunGraphAnswer* answer) {
  CodedInputStream coded(in);
  WEIR_RETURN_IF_ERROR(Limit(size, &coded));
  Status error;
  if (!ReadRunGraphAnswer(&coded, answer, &error)) return InvalidArgument("Malformed RunGraphResponse");
  return error;
}

}  // namespace weir
