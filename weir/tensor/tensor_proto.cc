#include "weir/tensor/tensor_proto.h"

#include <bit>
#include <cstring>

#include "weir/base/varint.h"
#include "weir/tensor/tensor_fields_internal.h"

namespace weir {
namespace {

// Variants hold tensors that hold variants; what peers send must not exhaust the stack.
constexpr int kMaxDepth = 64;
constexpr size_t kStealBytes = size_t{64} << 10;
constexpr size_t kMaxMessageBytes = size_t{INT32_MAX};

using FieldTypes = decltype(PlainTypes{} + TypeList<std::string>{});

StatusOr<Tensor> ReadTensor(const TensorProto& proto, std::string* content, int depth);

template <typename... Args>
Status BadTensor(const Args&... args) {
  return InvalidArgument("Cannot parse tensor from proto: ", args...);
}

Status CheckByteOrder() {
  if constexpr (std::endian::native == std::endian::little) return OkStatus();
  return Unimplemented("tensors are read and written on little-endian machines only");
}

// Bytes from outside may not be valid objects of these types.
void Normalize(DType dtype, void* data, int64_t count) {
  auto* bytes = static_cast<uint8_t*>(data);
  if (dtype == DType::kBool) {
    for (int64_t i = 0; i < count; ++i) bytes[i] = bytes[i] != 0;
  } else if (dtype == DType::kFloat4E2M1FN) {
    for (int64_t i = 0; i < count; ++i) bytes[i] &= 15;
  } else {
    DispatchDType(dtype, TypeList<Int4, UInt4, Int2, UInt2>{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(T(bytes[i]).value);
    });
  }
}

Status ReadVariant(const VariantTensorDataProto& proto, int depth, Variant* out) {
  VariantData data;
  data.type_name = proto.type_name();
  data.metadata = proto.metadata();
  data.tensors.reserve(proto.tensors_size());
  for (const TensorProto& each : proto.tensors()) {
    WEIR_ASSIGN_OR_RETURN(data.tensors.emplace_back(), ReadTensor(each, nullptr, depth + 1));
  }
  WEIR_ASSIGN_OR_RETURN(*out, DecodeVariant(std::move(data)));
  return OkStatus();
}

// One element from its serialised form.
Status ParseElement(std::string_view bytes, int depth, std::string* out) {
  out->assign(bytes);
  return OkStatus();
}
Status ParseElement(std::string_view bytes, int depth, ResourceHandle* out) {
  ResourceHandleProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return BadTensor("bad resource handle");
  WEIR_ASSIGN_OR_RETURN(*out, FromProto(proto));
  return OkStatus();
}
Status ParseElement(std::string_view bytes, int depth, Variant* out) {
  VariantTensorDataProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return BadTensor("bad variant");
  return ReadVariant(proto, depth, out);
}

// The lengths of all elements as varints, then the elements.
template <typename T>
StatusOr<Tensor> ReadObjects(DType dtype, const Shape& shape, std::string_view content, int depth) {
  // A length takes a byte at least: refuse before allocating.
  if (static_cast<uint64_t>(shape.num_elements()) > content.size()) return BadTensor("too little content");
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, shape));
  std::vector<uint64_t> lengths(static_cast<size_t>(shape.num_elements()));
  uint64_t total = 0;
  for (uint64_t& length : lengths) {
    if (!TakeVarint(&content, &length) || length > kMaxMessageBytes) return BadTensor("bad length of an element");
    total += length;
  }
  if (total != content.size()) return BadTensor("content of ", content.size(), " bytes for elements of ", total);
  T* element = out.data<T>();
  for (uint64_t length : lengths) {
    WEIR_RETURN_IF_ERROR(ParseElement(content.substr(0, length), depth, element++));
    content.remove_prefix(length);
  }
  return out;
}

StatusOr<Tensor> ReadContent(DType dtype, const Shape& shape, const std::string& content, std::string* owned,
                             int depth) {
  if (dtype == DType::kString) return ReadObjects<std::string>(dtype, shape, content, depth);
  if (dtype == DType::kResource) return ReadObjects<ResourceHandle>(dtype, shape, content, depth);
  if (dtype == DType::kVariant) return ReadObjects<Variant>(dtype, shape, content, depth);
  std::optional<int64_t> bytes = CheckedMultiply(shape.num_elements(), static_cast<int64_t>(SizeOf(dtype)));
  if (!bytes || static_cast<uint64_t>(*bytes) != content.size()) {
    return BadTensor("content of ", content.size(), " bytes for a tensor of type ", Name(dtype), " and shape ",
                     shape.ToString());
  }
  Tensor out;
  if (owned != nullptr && content.size() >= kStealBytes) {
    auto* kept = new std::string(std::move(*owned));
    out = Tensor::Wrap(
        dtype, shape, kept->data(), [kept] { delete kept; }, true);
  } else {
    WEIR_ASSIGN_OR_RETURN(out, Tensor::Allocate(dtype, shape));
    std::memcpy(out.raw_data(), content.data(), content.size());
  }
  Normalize(dtype, out.raw_data(), out.num_elements());
  return out;
}

template <typename T>
void FillUp(Tensor* out, int64_t known) {
  T* data = out->data<T>();
  if (known > 0 && known < out->num_elements()) {
    std::fill_n(data + known, out->num_elements() - known, T(data[known - 1]));
  }
}

StatusOr<Tensor> ReadFields(const TensorProto& proto, DType dtype, const Shape& shape, int depth) {
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, shape));
  int64_t count = shape.num_elements();
  if (dtype == DType::kResource) {
    int64_t known = std::min<int64_t>(count, proto.resource_handle_val_size());
    for (int64_t i = 0; i < known; ++i) {
      WEIR_ASSIGN_OR_RETURN(out.data<ResourceHandle>()[i], FromProto(proto.resource_handle_val(static_cast<int>(i))));
    }
    FillUp<ResourceHandle>(&out, known);
  } else if (dtype == DType::kVariant) {
    int64_t known = std::min<int64_t>(count, proto.variant_val_size());
    for (int64_t i = 0; i < known; ++i) {
      WEIR_RETURN_IF_ERROR(ReadVariant(proto.variant_val(static_cast<int>(i)), depth, &out.data<Variant>()[i]));
    }
    FillUp<Variant>(&out, known);
  } else {
    DispatchDType(dtype, FieldTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      int64_t known = std::min(count, tensor_fields::Count<T>(proto));
      T* data = out.data<T>();
      for (int64_t i = 0; i < known; ++i) data[i] = tensor_fields::Get<T>(proto, i);
      if (known == 0 && IsPlain(dtype)) std::memset(out.raw_data(), 0, out.num_bytes());
      FillUp<T>(&out, known);
    });
    if (dtype == DType::kFloat4E2M1FN) Normalize(dtype, out.raw_data(), count);
  }
  return out;
}

StatusOr<Tensor> ReadTensor(const TensorProto& proto, std::string* content, int depth) {
  WEIR_RETURN_IF_ERROR(CheckByteOrder());
  if (depth > kMaxDepth) return BadTensor("variants nested more than ", kMaxDepth, " deep");
  if (!IsValidDType(proto.dtype()) || proto.dtype() > kMaxDType) return BadTensor("no type ", proto.dtype());
  DType dtype = static_cast<DType>(proto.dtype());
  // A rank said to be unknown is ignored; the sizes count.
  absl::InlinedVector<int64_t, 8> dims;
  for (const auto& dim : proto.tensor_shape().dim()) dims.push_back(dim.size());
  StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return BadTensor(Message(shape.status()));
  if (!proto.tensor_content().empty()) return ReadContent(dtype, *shape, proto.tensor_content(), content, depth);
  return ReadFields(proto, dtype, *shape, depth);
}

Status SerializeElement(const std::string& value, std::string* out) {
  *out = value;
  return OkStatus();
}
Status SerializeElement(const ResourceHandle& value, std::string* out) {
  ResourceHandleProto proto;
  ToProto(value, &proto);
  return proto.SerializeToString(out) ? OkStatus() : InvalidArgument("A resource handle is too large to be sent");
}
Status SerializeElement(const Variant& value, std::string* out) {
  VariantTensorDataProto proto;
  WEIR_RETURN_IF_ERROR(ToProto(value, &proto));
  return proto.SerializeToString(out) ? OkStatus() : InvalidArgument("A variant is too large to be sent");
}

template <typename T>
Status WriteObjects(const Tensor& tensor, std::string* out) {
  std::string bodies, body;
  for (const T& element : tensor.span<T>()) {
    WEIR_RETURN_IF_ERROR(SerializeElement(element, &body));
    AppendVarint(body.size(), out);
    bodies += body;
  }
  out->append(bodies);
  return OkStatus();
}

void WriteFields(const Tensor& tensor, TensorProto* proto) {
  DispatchDType(tensor.dtype(), FieldTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (const T& value : tensor.span<T>()) tensor_fields::Add(value, proto);
  });
}

}  // namespace

Status ToProto(const Tensor& tensor, TensorProto* proto, TensorEncoding encoding) {
  WEIR_RETURN_IF_ERROR(CheckByteOrder());
  proto->Clear();
  if (!tensor.has_value()) return InvalidArgument("A tensor without a value cannot be serialised");
  if (!tensor.in_host_memory()) return Unimplemented("A tensor in the memory of a device cannot be serialised");
  if (tensor.total_bytes() > kMaxMessageBytes) {
    return InvalidArgument("A tensor of ", tensor.total_bytes(), " bytes is too large for one message (2 GiB)");
  }
  DType dtype = tensor.dtype();
  proto->set_dtype(static_cast<DataType>(dtype));
  ToProto(tensor.shape(), proto->mutable_tensor_shape());
  if (tensor.num_elements() == 0) return OkStatus();
  if (encoding == TensorEncoding::kWire && dtype == DType::kString) {
    return WriteObjects<std::string>(tensor, proto->mutable_tensor_content());
  }
  if (encoding == TensorEncoding::kWire && dtype == DType::kResource) {
    return WriteObjects<ResourceHandle>(tensor, proto->mutable_tensor_content());
  }
  if (encoding == TensorEncoding::kWire && dtype == DType::kVariant) {
    return WriteObjects<Variant>(tensor, proto->mutable_tensor_content());
  }
  if (encoding != TensorEncoding::kFields && IsPlain(dtype)) {
    proto->mutable_tensor_content()->assign(static_cast<const char*>(tensor.raw_data()), tensor.num_bytes());
  } else if (dtype == DType::kResource) {
    for (const ResourceHandle& handle : tensor.span<ResourceHandle>()) {
      ToProto(handle, proto->add_resource_handle_val());
    }
  } else if (dtype == DType::kVariant) {
    for (const Variant& variant : tensor.span<Variant>()) {
      WEIR_RETURN_IF_ERROR(ToProto(variant, proto->add_variant_val()));
    }
  } else {
    WriteFields(tensor, proto);
  }
  return OkStatus();
}

StatusOr<Tensor> FromProto(const TensorProto& proto) { return ReadTensor(proto, nullptr, 0); }

StatusOr<Tensor> FromProto(TensorProto&& proto) {
  std::string* content = proto.tensor_content().empty() ? nullptr : proto.mutable_tensor_content();
  return ReadTensor(proto, content, 0);
}

bool CompressProto(TensorProto* proto, int64_t min_elements, double min_ratio) {
  bool changed = false;
  StatusOr<Shape> shape = ShapeFromProto(proto->tensor_shape());
  if (!shape.ok() || shape->num_elements() < min_elements || proto->dtype() > kMaxDType) return false;
  DispatchDType(static_cast<DType>(proto->dtype()), PlainTypes{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    bool content = !proto->tensor_content().empty();
    int64_t present =
        content ? shape->num_elements() : std::min(shape->num_elements(), tensor_fields::Count<T>(*proto));
    if (present == 0) return;
    StatusOr<Tensor> values = content ? ReadContent(kDTypeOf<T>, *shape, proto->tensor_content(), nullptr, 0)
                                      : ReadFields(*proto, kDTypeOf<T>, Shape({present}), 0);
    if (!values.ok()) return;
    // Bit for bit, so that -0 and NaN stay what they are.
    const char* bytes = static_cast<const char*>(static_cast<const Tensor&>(*values).raw_data());
    int64_t kept = present;
    while (kept > 1 && std::memcmp(bytes + (kept - 2) * sizeof(T), bytes + (kept - 1) * sizeof(T), sizeof(T)) == 0) {
      --kept;
    }
    static constexpr char kZeros[sizeof(T)] = {};
    if (kept == 1 && std::memcmp(bytes, kZeros, sizeof(T)) == 0) kept = 0;
    double before = static_cast<double>(content ? values->num_bytes() : present * tensor_fields::ItemBytes<T>());
    double after = static_cast<double>(kept * tensor_fields::ItemBytes<T>());
    if (after > before / min_ratio) return;
    Tensor first = values->Reshaped(Shape({present}))->Slice(0, kept);
    proto->clear_tensor_content();
    tensor_fields::Field<T>(*proto) = {};
    WriteFields(first, proto);
    changed = true;
  });
  return changed;
}

Status ToProto(const Variant& variant, VariantTensorDataProto* proto) {
  proto->Clear();
  if (!variant.has_value()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(VariantData data, variant.get()->Encode());
  proto->set_type_name(data.type_name);
  proto->set_metadata(std::move(data.metadata));
  for (const Tensor& tensor : data.tensors) {
    WEIR_RETURN_IF_ERROR(ToProto(tensor, proto->add_tensors(), TensorEncoding::kFields));
  }
  return OkStatus();
}

StatusOr<Variant> FromProto(const VariantTensorDataProto& proto) {
  Variant out;
  WEIR_RETURN_IF_ERROR(ReadVariant(proto, 0, &out));
  return out;
}

}  // namespace weir
