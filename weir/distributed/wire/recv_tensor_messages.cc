#include "weir/distributed/wire/recv_tensor_messages.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include "weir/distributed/wire/fields_internal.h"
#include "weir/distributed/wire/tensor_wire.h"
#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::ZeroCopyInputStream;
using namespace wire_internal;

constexpr std::string_view kPiecesUrl = "weir/pieces";
constexpr std::string_view kSharedUrl = "weir/shared";
constexpr std::string_view kPieceUrl = "weir/piece";
constexpr std::string_view kFillUrl = "weir/fill";
constexpr std::string_view kOutOfBandUrl = "weir/out_of_band";

// Fields of the request's value.
constexpr int kHost = 1, kKey = 2, kBuffer = 3, kOffset = 4, kTakesExported = 5;
// Fields of the answer's.
constexpr int kInBuffer = 1, kSocket = 2, kDescription = 3, kExported = 4;  // 3: a TensorProto without its content

bool ReadTransportFields(CodedInputStream* in, RecvTransport* out) {
  while (uint32_t tag = in->ReadTag()) {
    int64_t number = 0;
    bool good = true;
    if (tag == Tag(kHost, 2)) {
      good = ReadText(in, &out->host);
    } else if (tag == Tag(kKey, 2)) {
      good = ReadText(in, &out->key);
    } else if (tag == Tag(kBuffer, 0)) {
      good = ReadNumber(in, &number);
      out->buffer = static_cast<uint64_t>(number);
    } else if (tag == Tag(kOffset, 0)) {
      good = ReadNumber(in, &number);
      out->offset = static_cast<uint64_t>(number);
    } else if (tag == Tag(kTakesExported, 0)) {
      good = ReadFlag(in, &out->takes_exported);
    } else {
      good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
  return in->ConsumedEntireMessage();
}

bool ReadOutOfBand(CodedInputStream* in, std::optional<OutOfBand>* out) {
  OutOfBand found;
  TensorProto described;
  while (uint32_t tag = in->ReadTag()) {
    bool good = true;
    if (tag == Tag(kInBuffer, 0)) {
      good = ReadFlag(in, &found.in_buffer);
    } else if (tag == Tag(kSocket, 2)) {
      good = ReadText(in, &found.socket);
    } else if (tag == Tag(kExported, 2)) {
      good = ReadText(in, &found.exported);
    } else if (tag == Tag(kDescription, 2)) {
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
  *out = std::move(found);
  return true;
}

bool ReadOptions(CodedInputStream* in, std::optional<OutOfBand>* out) {
  std::string url;
  while (uint32_t tag = in->ReadTag()) {
    bool good = true;
    if (tag == Tag(1, 2)) {
      good = ReadText(in, &url);
    } else if (tag == Tag(2, 2) && url == kOutOfBandUrl) {
      good = ReadNested(in, [&] { return ReadOutOfBand(in, out); });
    } else {
      good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
  return in->ConsumedEntireMessage();
}

void WriteOptions(const OutOfBand& tensor, WireBuffer* out) {
  TensorProto described;
  described.set_dtype(static_cast<DataType>(tensor.dtype));
  ToProto(tensor.shape, described.mutable_tensor_shape());
  WireBuffer value;
  WriteNumber(kInBuffer, tensor.in_buffer ? 1 : 0, &value);
  WriteText(kSocket, tensor.socket, &value);
  WriteText(kExported, tensor.exported, &value);
  value.AppendBytesField(kDescription, described.SerializeAsString());
  WireBuffer any;
  any.AppendBytesField(1, kOutOfBandUrl);
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
        good = ReadNested(in, [&] { return ReadOptions(in, &answer->out_of_band); });
        break;
      default:
        good = WireFormatLite::SkipField(in, tag);
    }
    if (!good) return false;
  }
  return in->ConsumedEntireMessage();
}

}  // namespace

std::string_view TransportUrl(RecvTransport::Kind kind) {
  switch (kind) {
    case RecvTransport::Kind::kPlain:
      return "";
    case RecvTransport::Kind::kPieces:
      return kPiecesUrl;
    case RecvTransport::Kind::kShared:
      return kSharedUrl;
    case RecvTransport::Kind::kPiece:
      return kPieceUrl;
    case RecvTransport::Kind::kFill:
      return kFillUrl;
  }
  return "";
}

std::string TransportValue(const RecvTransport& transport) {
  WireBuffer out;
  WriteText(kHost, transport.host, &out);
  WriteText(kKey, transport.key, &out);
  WriteNumber(kBuffer, transport.buffer, &out);
  WriteNumber(kOffset, transport.offset, &out);
  WriteNumber(kTakesExported, transport.takes_exported ? 1 : 0, &out);
  return out.Flatten();
}

StatusOr<RecvTransport> ReadTransport(std::string_view url, std::string_view value) {
  using Kind = RecvTransport::Kind;
  RecvTransport out;
  for (Kind kind : {Kind::kPieces, Kind::kShared, Kind::kPiece, Kind::kFill}) {
    if (url == TransportUrl(kind)) out.kind = kind;
  }
  if (out.kind == Kind::kPlain) return out;
  ArrayInputStream stream(value.data(), static_cast<int>(value.size()));
  CodedInputStream coded(&stream);
  if (!ReadTransportFields(&coded, &out)) return InvalidArgument("Malformed transport options of type ", url);
  return out;
}

Status WriteRecvTensorResponse(const RecvTensorAnswer& answer, WireBuffer* out) {
  WireBuffer message;
  if (answer.is_dead) {
    WriteNumber(2, 1, &message);
  } else if (answer.out_of_band.has_value()) {
    WriteOptions(*answer.out_of_band, &message);
    WriteNumber(5, answer.out_of_band->in_buffer ? 0 : 1, &message);  // an acknowledgement is awaited
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
  if (answer->is_dead || answer->out_of_band.has_value()) return OkStatus();
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
