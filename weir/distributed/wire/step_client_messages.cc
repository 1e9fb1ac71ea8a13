#include "weir/distributed/wire/step_client_messages.h"

#include <google/protobuf/wire_format_lite.h>

#include "weir/distributed/wire/fields_internal.h"
#include "weir/distributed/wire/tensor_wire.h"
#include "weir/proto/config.pb.h"

namespace weir {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::ZeroCopyInputStream;
using namespace wire_internal;

bool ReadUnnamedTensor(CodedInputStream* in, RunStepAnswer* answer, Status* error) {
  StatusOr<Tensor> tensor = InvalidArgument("no tensor");
  if (!ReadTensorProto(in, &tensor)) return false;
  if (!tensor.ok() && error->ok()) *error = tensor.status();
  answer->tensors.emplace_back("", tensor.ok() ? *std::move(tensor) : Tensor());
  return true;
}

// Fields that both answers have: tensors are 1, metadata 2; a step's outcome 3 and 4.
bool ReadAnswer(CodedInputStream* in, bool named, RunStepAnswer* answer, Status* error) {
  int64_t code = 0;
  std::string text;
  while (uint32_t tag = in->ReadTag()) {
    bool good = true;
    if (tag == Tag(1, 2)) {
      good = ReadNested(in, [&] {
        return named ? ReadNamedTensor(in, &answer->tensors, error) : ReadUnnamedTensor(in, answer, error);
      });
    } else if (tag == Tag(2, 2)) {
      good = ReadNested(in, [&] { return answer->metadata->MergeFromCodedStream(in) && in->ConsumedEntireMessage(); });
    } else if (tag == Tag(3, 0)) {
      good = ReadNumber(in, &code);
    } else if (tag == Tag(4, 2)) {
      good = ReadText(in, &text);
    } else {
      good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
  if (code != 0) answer->status = Status(static_cast<absl::StatusCode>(code), text);
  return in->ConsumedEntireMessage();
}

Status Read(ZeroCopyInputStream* in, size_t size, bool named, RunStepAnswer* answer) {
  CodedInputStream coded(in);
  WEIR_RETURN_IF_ERROR(Limit(size, &coded));
  Status error;
  if (!ReadAnswer(&coded, named, answer, &error)) {
    return InvalidArgument("Malformed ", named ? "RunStepResponse" : "RunCallableResponse");
  }
  return error;
}

}  // namespace

RunStepAnswer::RunStepAnswer() : metadata(std::make_unique<RunMetadata>()) {}
RunStepAnswer::~RunStepAnswer() = default;

Status WriteRunStep(const RunStepCall& call, WireBuffer* out) {
  WireBuffer message;
  WriteText(1, call.session_handle, &message);
  for (const auto& [name, tensor] : call.feeds) {
    WEIR_RETURN_IF_ERROR(AppendNamedTensorField(2, name, tensor, &message));
  }
  for (const std::string& name : call.fetches) message.AppendBytesField(3, name);
  for (const std::string& name : call.targets) message.AppendBytesField(4, name);
  WriteText(5, call.options->SerializeAsString(), &message);
  WriteText(6, call.partial_run_handle, &message);
  WriteNumber(7, call.store_errors_in_response_body, &message);
  WriteNumber(8, static_cast<uint64_t>(call.request_id), &message);
  *out = std::move(message);
  return OkStatus();
}

Status WriteRunCallable(const RunCallableCall& call, WireBuffer* out) {
  WireBuffer message;
  WriteText(1, call.session_handle, &message);
  WriteNumber(2, static_cast<uint64_t>(call.handle), &message);
  for (const Tensor& tensor : call.feeds) WEIR_RETURN_IF_ERROR(AppendTensorField(3, tensor, &message));
  WriteNumber(4, static_cast<uint64_t>(call.request_id), &message);
  *out = std::move(message);
  return OkStatus();
}

Status ReadRunStepResponse(ZeroCopyInputStream* in, size_t size, RunStepAnswer* answer) {
  return Read(in, size, /*named=*/true, answer);
}

Status ReadRunCallableResponse(ZeroCopyInputStream* in, size_t size, RunStepAnswer* answer) {
  return Read(in, size, /*named=*/false, answer);
}

}  // namespace weir
