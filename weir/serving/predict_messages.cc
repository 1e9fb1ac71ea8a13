#include "weir/serving/predict_messages.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "weir/distributed/wire/tensor_wire.h"
#include "weir/proto/serving.pb.h"
#include "weir/serving/model_spec_internal.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr uint32_t BytesTag(int field) { return static_cast<uint32_t>(field) << 3 | 2; }

// Lets `body` read the submessage that begins here, up to its end.
template <typename Body>
bool ReadSubmessage(CodedInputStream* in, Body body) {
  uint32_t length = 0;
  if (!in->ReadVarint32(&length) || length > static_cast<uint32_t>(INT32_MAX)) return false;
  if (in->BytesUntilLimit() >= 0 && static_cast<int64_t>(length) > in->BytesUntilLimit()) return false;
  const CodedInputStream::Limit outer = in->PushLimit(static_cast<int>(length));
  if (!body() || in->BytesUntilLimit() != 0) return false;
  in->PopLimit(outer);
  return true;
}

bool ReadBytes(CodedInputStream* in, std::string* out) {
  uint32_t length = 0;
  if (!in->ReadVarint32(&length) || length > static_cast<uint32_t>(INT32_MAX)) return false;
  if (in->BytesUntilLimit() >= 0 && static_cast<int64_t>(length) > in->BytesUntilLimit()) return false;
  return in->ReadString(out, static_cast<int>(length));
}

// An entry of the map `inputs`.
bool ReadInput(CodedInputStream* in, PredictMessage* message) {
  std::string name;
  StatusOr<Tensor> tensor = InvalidArgument("an input without a tensor");
  while (uint32_t tag = in->ReadTag()) {
    bool ok = true;
    if (tag == BytesTag(1)) {
      ok = ReadBytes(in, &name);
    } else if (tag == BytesTag(2)) {
      ok = ReadSubmessage(in, [&] { return ReadTensorProto(in, &tensor); });
    } else {
      ok = WireFormatLite::SkipField(in, tag);
    }
    if (!ok) return false;
  }
  if (!tensor.ok() && message->error.ok()) {
    message->error = InvalidArgument("input '", name, "': ", Message(tensor.status()));
  }
  // Of an entry that comes twice the last one counts.
  std::erase_if(message->query.inputs, [&](const auto& input) { return input.first == name; });
  message->query.inputs.emplace_back(std::move(name), tensor.ok() ? *std::move(tensor) : Tensor());
  return true;
}

bool ReadFields(CodedInputStream* in, PredictMessage* message) {
  std::string spec_bytes;
  while (uint32_t tag = in->ReadTag()) {
    bool ok = true;
    std::string text;
    if (tag == BytesTag(1)) {
      ok = ReadBytes(in, &text);
      spec_bytes += text;  // merging is concatenation
    } else if (tag == BytesTag(2)) {
      ok = ReadSubmessage(in, [&] { return ReadInput(in, message); });
    } else if (tag == BytesTag(3)) {
      ok = ReadBytes(in, &text);
      message->query.output_filter.push_back(std::move(text));
    } else {
      ok = WireFormatLite::SkipField(in, tag);
    }
    if (!ok) return false;
  }
  if (!in->ConsumedEntireMessage()) return false;
  serving::ModelSpec spec;
  if (!spec.ParseFromString(spec_bytes)) return false;
  message->choice = ToChoice(spec);
  message->query.signature = spec.signature_name();
  return true;
}

}  // namespace

VersionChoice ToChoice(const serving::ModelSpec& spec) {
  VersionChoice out;
  out.model = spec.name();
  if (spec.has_version()) out.version = spec.version().value();
  if (spec.version_choice_case() == serving::ModelSpec::kVersionLabel) out.label = spec.version_label();
  return out;
}

void FillSpec(const std::string& model, int64_t version, const std::string& signature, serving::ModelSpec* spec) {
  spec->set_name(model);
  spec->mutable_version()->set_value(version);
  spec->set_signature_name(signature);
}

Status ReadPredictRequest(google::protobuf::io::ZeroCopyInputStream* in, size_t size, PredictMessage* message) {
  CodedInputStream stream(in);
  stream.SetTotalBytesLimit(INT32_MAX);
  if (size > static_cast<size_t>(INT32_MAX)) return InvalidArgument("The request is larger than 2 GB");
  stream.PushLimit(static_cast<int>(size));
  if (!ReadFields(&stream, message)) return InvalidArgument("The request is not a PredictRequest");
  return OkStatus();
}

Status WritePredictResponse(const std::string& model, int64_t version, const std::string& signature,
                            const NamedTensors& outputs, OutputEncoding encoding, WireBuffer* out) {
  serving::ModelSpec spec;
  FillSpec(model, version, signature, &spec);
  for (const auto& [name, tensor] : outputs) {
    if (encoding == OutputEncoding::kTypedFields || !IsPlain(tensor.dtype())) {
      TensorProto proto;
      WEIR_RETURN_IF_ERROR(ToProto(tensor, &proto, TensorEncoding::kFields));
      const std::string bytes = proto.SerializeAsString();
      const size_t head = 1 + VarintSize(name.size()) + name.size();
      out->AppendTag(1, 2);
      out->AppendVarint(head + 1 + VarintSize(bytes.size()) + bytes.size());
      out->AppendBytesField(1, name);
      out->AppendBytesField(2, bytes);
      continue;
    }
    WEIR_ASSIGN_OR_RETURN(EncodedTensor encoded, EncodedTensor::Make(tensor));
    const size_t head = 1 + VarintSize(name.size()) + name.size();
    out->AppendTag(1, 2);
    out->AppendVarint(head + 1 + VarintSize(encoded.size()) + encoded.size());
    out->AppendBytesField(1, name);
    out->AppendTag(2, 2);
    out->AppendVarint(encoded.size());
    std::move(encoded).AppendTo(out);
  }
  out->AppendBytesField(2, spec.SerializeAsString());
  return OkStatus();
}

}  // namespace weir
