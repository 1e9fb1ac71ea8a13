#include "weir/distributed/wire/tensor_wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <optional>

#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

constexpr uint32_t Tag(int field, int wire_type) { return static_cast<uint32_t>(field) << 3 | wire_type; }
constexpr uint32_t kDtypeTag = Tag(1, 0);
constexpr uint32_t kShapeTag = Tag(2, 2);
constexpr uint32_t kContentTag = Tag(4, 2);

// What has been read of a TensorProto.
struct Parts {
  int dtype = 0;
  std::string shape;    // the TensorShapeProto's bytes
  std::string content;  // tensor_content that did not go to `direct`
  std::string rest;     // fields of values, as they came
  Tensor direct;
};

// The shape, if it is fully known and valid.
std::optional<Shape> DecodeShape(const std::string& bytes) {
  TensorShapeProto proto;
  if (!proto.ParseFromString(bytes) || proto.unknown_rank()) return std::nullopt;
  absl::InlinedVector<int64_t, 8> dims;
  for (const auto& dim : proto.dim()) dims.push_back(dim.size());
  StatusOr<Shape> shape = Shape::Make({dims.data(), dims.size()});
  if (!shape.ok()) return std::nullopt;
  return *std::move(shape);
}

// Tensor memory for `length` bytes of content, if type and shape are known and say the same.
Tensor MemoryFor(const Parts& parts, size_t length) {
  if (!IsValidDType(parts.dtype) || parts.dtype > kMaxDType) return {};
  DType dtype = static_cast<DType>(parts.dtype);
  if (!IsPlain(dtype) || length == 0) return {};
  std::optional<Shape> shape = DecodeShape(parts.shape);
  if (!shape.has_value() || length % SizeOf(dtype) != 0) return {};
  if (shape->num_elements() != static_cast<int64_t>(length / SizeOf(dtype))) return {};
  return Tensor::Allocate(dtype, *shape).value_or(Tensor());
}

// Type or shape came after the content: the content has to be looked at again.
void MoveDirectToContent(Parts* parts) {
  if (!parts->direct.has_value()) return;
  parts->content.assign(static_cast<const char*>(parts->direct.raw_data()), parts->direct.num_bytes());
  parts->direct = Tensor();
}

bool ReadContent(CodedInputStream* in, Parts* parts) {
  uint32_t length = 0;
  // A length beyond the enclosing message is refused before memory is taken for it.
  if (!in->ReadVarint32(&length) || length > static_cast<uint32_t>(INT32_MAX)) return false;
  if (in->BytesUntilLimit() >= 0 && static_cast<int64_t>(length) > in->BytesUntilLimit()) return false;
  parts->content.clear();
  parts->direct = MemoryFor(*parts, length);
  if (parts->direct.has_value()) return in->ReadRaw(parts->direct.raw_data(), static_cast<int>(length));
  return in->ReadString(&parts->content, static_cast<int>(length));
}

bool ReadLengthDelimited(CodedInputStream* in, std::string* out) {
  uint32_t length = 0;
  if (!in->ReadVarint32(&length) || length > static_cast<uint32_t>(INT32_MAX)) return false;
  return in->ReadString(out, static_cast<int>(length));
}

StatusOr<Tensor> Assemble(Parts parts) {
  if (parts.direct.has_value()) return std::move(parts.direct);
  TensorProto proto;
  if (!proto.ParseFromString(parts.rest)) return InvalidArgument("Cannot parse tensor from proto");
  proto.set_dtype(static_cast<DataType>(parts.dtype));
  if (!proto.mutable_tensor_shape()->ParseFromString(parts.shape)) {
    return InvalidArgument("Cannot parse tensor from proto");
  }
  proto.set_tensor_content(std::move(parts.content));
  return FromProto(proto);
}

// dtype and tensor_shape.
std::string EncodeHead(const Tensor& tensor) {
  std::string dims;
  for (int64_t size : tensor.shape().dims()) {
    // Dim{size = 1}; a zero is the default and left out.
    AppendVarint(Tag(2, 2), &dims);
    AppendVarint(size == 0 ? 0 : 1 + VarintSize(size), &dims);
    if (size == 0) continue;
    AppendVarint(Tag(1, 0), &dims);
    AppendVarint(size, &dims);
  }
  std::string head;
  AppendVarint(kDtypeTag, &head);
  AppendVarint(static_cast<uint64_t>(tensor.dtype()), &head);
  AppendVarint(kShapeTag, &head);
  AppendVarint(dims.size(), &head);
  return head + dims;
}

}  // namespace

bool ReadTensorProto(CodedInputStream* in, StatusOr<Tensor>* tensor) {
  Parts parts;
  while (uint32_t tag = in->ReadTag()) {
    if (tag == kContentTag) {
      if (!ReadContent(in, &parts)) return false;
    } else if (tag == kDtypeTag) {
      uint64_t value = 0;
      MoveDirectToContent(&parts);
      if (!in->ReadVarint64(&value)) return false;
      parts.dtype = static_cast<int>(value);
    } else if (tag == kShapeTag) {
      // A message field that comes twice is merged, and merging is concatenation.
      std::string more;
      MoveDirectToContent(&parts);
      if (!ReadLengthDelimited(in, &more)) return false;
      parts.shape += more;
    } else {
      StringOutputStream stream(&parts.rest);
      CodedOutputStream copy(&stream);
      if (!WireFormatLite::SkipField(in, tag, &copy)) return false;
    }
  }
  if (!in->ConsumedEntireMessage()) return false;
  *tensor = Assemble(std::move(parts));
  return true;
}

StatusOr<EncodedTensor> EncodedTensor::Make(const Tensor& tensor) {
  if (!tensor.has_value()) return Internal("A fetched tensor has no value");
  EncodedTensor out;
  out.head_ = EncodeHead(tensor);
  if (tensor.num_elements() == 0) return out;
  if (IsPlain(tensor.dtype())) {
    out.tensor_ = tensor;
    out.content_size_ = tensor.num_bytes();
  } else {
    TensorProto proto;
    WEIR_RETURN_IF_ERROR(ToProto(tensor, &proto, TensorEncoding::kWire));
    out.content_ = std::move(*proto.mutable_tensor_content());
    out.content_size_ = out.content_.size();
  }
  AppendVarint(kContentTag, &out.head_);
  AppendVarint(out.content_size_, &out.head_);
  return out;
}

void EncodedTensor::AppendTo(WireBuffer* out) && {
  out->Append(std::string_view(head_));
  if (tensor_.has_value()) {
    out->AppendMemory(tensor_);
  } else {
    out->Append(std::move(content_));
  }
}

Status AppendTensorField(int field, const Tensor& tensor, WireBuffer* out) {
  WEIR_ASSIGN_OR_RETURN(EncodedTensor encoding, EncodedTensor::Make(tensor));
  out->AppendTag(field, 2);
  out->AppendVarint(encoding.size());
  std::move(encoding).AppendTo(out);
  return OkStatus();
}

Status AppendNamedTensorField(int field, std::string_view name, const Tensor& tensor, WireBuffer* out) {
  WEIR_ASSIGN_OR_RETURN(EncodedTensor encoding, EncodedTensor::Make(tensor));
  size_t name_size = name.empty() ? 0 : 1 + VarintSize(name.size()) + name.size();
  out->AppendTag(field, 2);
  out->AppendVarint(name_size + 1 + VarintSize(encoding.size()) + encoding.size());
  if (!name.empty()) out->AppendBytesField(1, name);
  out->AppendTag(2, 2);
  out->AppendVarint(encoding.size());
  std::move(encoding).AppendTo(out);
  return OkStatus();
}

}  // namespace weir
