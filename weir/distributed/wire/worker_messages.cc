#include "weir/distributed/wire/worker_messages.h"

#include <google/protobuf/wire_format_lite.h>

#include "weir/distributed/wire/fields_internal.h"
#include "weir/distributed/wire/tensor_wire.h"
#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"

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

constexpr std::string_view kHostMemoryUrl = "weir/host_memory";

// The value of the transport options: process = 1, address = 2, the tensor's type and shape = 3.
bool ReadHostMemory(CodedInputStream* in, std::optional<HostMemory>* memory) {
  HostMemory found;
  TensorProto described;
  while (uint32_t tag = in->ReadTag()) {
    int64_t number = 0;
    bool good = true;
    if (tag == Tag(1, 0)) {
      good = ReadNumber(in, &found.process);
    } else if (tag == Tag(2, 0)) {
      good = ReadNumber(in, &number);
      found.address = static_cast<uint64_t>(number);
    } else if (tag == Tag(3, 2)) {
      good = ReadNested(in, [&] { return described.MergeFromCodedStream(in) && in->ConsumedEntireMessage(); });
    } else {
      good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
  std::vector<int64_t> dims;
  for (const auto& dim : described.tensor_shape().dim()) dims.push_back(dim.size());
  StatusOr<Shape> shape = Shape::Make(dims);
  if (!in->ConsumedEntireMessage() || !shape.ok() || !IsValidDType(described.dtype())) return false;
  found.dtype = static_cast<DType>(described.dtype());
  found.shape = *std::move(shape);
  *memory = std::move(found);
  return true;
}

bool ReadTransport(CodedInputStream* in, std::optional<HostMemory>* memory) {
  std::string url;
  while (uint32_t tag = in->ReadTag()) {
    bool good = true;
    if (tag == Tag(1, 2)) {
      good = ReadText(in, &url);
    } else if (tag == Tag(2, 2) && url == kHostMemoryUrl) {
      good = ReadNested(in, [&] { return ReadHostMemory(in, memory); });
    } else {
      good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
  return in->ConsumedEntireMessage();
}

void WriteTransport(const HostMemory& memory, WireBuffer* out) {
  TensorProto described;
  described.set_dtype(static_cast<DataType>(memory.dtype));
  ToProto(memory.shape, described.mutable_tensor_shape());
  WireBuffer value;
  WriteNumber(1, static_cast<uint64_t>(memory.process), &value);
  WriteNumber(2, memory.address, &value);
  value.AppendBytesField(3, described.SerializeAsString());
  WireBuffer any;
  any.AppendBytesField(1, kHostMemoryUrl);
  any.AppendBytesField(2, value.Flatten());
  out->AppendBytesField(4, any.Flatten());
}

bool ReadRecvTensorAnswer(CodedInputStream* in, RecvTensorAnswer* answer, StatusOr<Tensor>* tensor) {
  while (uint32_t tag = in->ReadTag()) {
    bool good = true;
    switch (tag) {
      case Tag(1, 2):
        good = ReadNested(in, [&] { return ReadTensorProto(in, tensor); });
        break;
      case Tag(2, 0):
        good = ReadFlag(in, &answer->is_dead);
        break;
      case Tag(3, 0):
        good = ReadNumber(in, &answer->send_start_micros);
        break;
      case Tag(4, 2):
        good = ReadNested(in, [&] { return ReadTransport(in, &answer->memory); });
        break;
      default:
        good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
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

Status WriteRecvTensorResponse(const RecvTensorAnswer& answer, WireBuffer* out) {
  WireBuffer message;
  if (answer.is_dead) {
    WriteNumber(2, 1, &message);
  } else if (answer.memory.has_value()) {
    WriteTransport(*answer.memory, &message);
    WriteNumber(5, 1, &message);  // an acknowledgement is awaited
  } else {
    WEIR_RETURN_IF_ERROR(AppendTensorField(1, answer.tensor, &message));
  }
  WriteNumber(3, static_cast<uint64_t>(answer.send_start_micros), &message);
  *out = std::move(message);
  return OkStatus();
}

Status ReadRecvTensorResponse(ZeroCopyInputStream* in, size_t size, RecvTensorAnswer* answer) {
  CodedInputStream coded(in);
  WEIR_RETURN_IF_ERROR(Limit(size, &coded));
  StatusOr<Tensor> tensor = InvalidArgument("The answer has no tensor");
  if (!ReadRecvTensorAnswer(&coded, answer, &tensor)) return InvalidArgument("Malformed RecvTensorResponse");
  if (answer->is_dead || answer->memory.has_value()) return OkStatus();
  if (!tensor.ok()) return tensor.status();
  answer->tensor = *std::move(tensor);
  return OkStatus();
}

void WritePieceResponse(const Tensor& tensor, size_t offset, size_t length, WireBuffer* out) {
  out->AppendTag(4, 2);
  out->AppendVarint(2 + kPieceUrl.size() + 1 + VarintSize(length) + length);
  out->AppendBytesField(1, kPieceUrl);
  out->AppendTag(2, 2);
  out->AppendVarint(length);
  out->AppendMemory(tensor, offset, length);
}

StatusOr<size_t> ReadPieceResponse(ZeroCopyInputStream* in, size_t size, char* memory, size_t capacity) {
  CodedInputStream coded(in);
  WEIR_RETURN_IF_ERROR(Limit(size, &coded));
  size_t count = 0;
  auto read_any = [&] {
    while (uint32_t tag = coded.ReadTag()) {
      uint32_t length = 0;
      if (tag != Tag(2, 2)) {
        if (!WireFormatLite::SkipField(&coded, tag)) return false;
        continue;
      }
      if (!coded.ReadVarint32(&length) || length > capacity || length > static_cast<uint32_t>(INT32_MAX)) return false;
      if (!coded.ReadRaw(memory, static_cast<int>(length))) return false;
      count = length;
    }
    return coded.ConsumedEntireMessage();
  };
  while (uint32_t tag = coded.ReadTag()) {
    const bool good = tag == Tag(4, 2) ? ReadNested(&coded, read_any) : WireFormatLite::SkipField(&coded, tag);
    if (!good) return InvalidArgument("Malformed RecvTensorResponse");
  }
  if (!coded.ConsumedEntireMessage() || count == 0) return InvalidArgument("The answer has no piece of a tensor");
  return count;
}

}  // namespace weir
