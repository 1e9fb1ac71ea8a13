#include "weir/base/varint.h"
#include "weir/io/bundle_strings_internal.h"
#include "weir/io/coding.h"
#include "weir/io/crc32c.h"
#include "weir/proto/tensor.pb.h"
#include "weir/tensor/tensor_proto.h"

namespace weir {
namespace {

// What the running checksum is fed for a length.
std::string LengthWord(uint64_t length) {
  std::string word;
  if (length <= UINT32_MAX) {
    AppendFixed32(&word, static_cast<uint32_t>(length));
  } else {
    AppendFixed64(&word, length);
  }
  return word;
}

Status BadLengths() { return DataLoss("its lengths do not fit its bytes"); }
Status BadChecksum() { return DataLoss("Checksum does not match"); }

bool TakeCrc(std::string_view* bytes, uint32_t* masked) {
  if (bytes->size() < 4) return false;
  *masked = DecodeFixed32(bytes->data());
  bytes->remove_prefix(4);
  return true;
}

// The lengths, a checksum of them, then all characters.
StatusOr<Tensor> ParseStrings(std::string_view bytes, const Shape& shape, uint32_t masked_crc) {
  if (shape.num_elements() == 0 && bytes.empty()) return Tensor::Allocate(DType::kString, shape);
  if (static_cast<uint64_t>(shape.num_elements()) > bytes.size()) return BadLengths();
  std::vector<uint64_t> lengths(static_cast<size_t>(shape.num_elements()));
  uint32_t crc = 0;
  for (uint64_t& length : lengths) {
    if (!TakeVarint(&bytes, &length)) return BadLengths();
    crc = ExtendCrc32c(crc, LengthWord(length));
  }
  std::string_view stored = bytes.substr(0, 4);
  uint32_t masked;
  if (!TakeCrc(&bytes, &masked)) return BadLengths();
  if (masked != MaskCrc(crc)) return BadChecksum();
  if (MaskCrc(ExtendCrc32c(ExtendCrc32c(crc, stored), bytes)) != masked_crc) return BadChecksum();
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kString, shape));
  std::string* next = out.data<std::string>();
  for (uint64_t length : lengths) {
    if (length > bytes.size()) return BadLengths();
    next++->assign(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  if (!bytes.empty()) return BadLengths();
  return out;
}

// Each element with its own running checksum.
StatusOr<Tensor> ParseVariants(std::string_view bytes, const Shape& shape, uint32_t masked_crc) {
  if (static_cast<uint64_t>(shape.num_elements()) > bytes.size()) return BadLengths();
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kVariant, shape));
  uint32_t crc = 0;
  for (Variant& element : out.span<Variant>()) {
    uint64_t length;
    if (!TakeVarint(&bytes, &length) || length > bytes.size()) return BadLengths();
    std::string word;
    AppendFixed64(&word, length);
    crc = ExtendCrc32c(ExtendCrc32c(crc, word), bytes.substr(0, length));
    VariantTensorDataProto proto;
    if (length > INT32_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(length))) {
      return DataLoss("an element is no variant");
    }
    bytes.remove_prefix(length);
    std::string_view stored = bytes.substr(0, 4);
    uint32_t masked;
    if (!TakeCrc(&bytes, &masked)) return BadLengths();
    if (masked != MaskCrc(crc)) return BadChecksum();
    crc = ExtendCrc32c(crc, stored);
    WEIR_ASSIGN_OR_RETURN(element, FromProto(proto));
  }
  if (!bytes.empty()) return BadLengths();
  if (MaskCrc(crc) != masked_crc) return BadChecksum();
  return out;
}

}  // namespace

StatusOr<Tensor> ParseBundleElements(std::string_view bytes, DType dtype, const Shape& shape, uint32_t masked_crc) {
  if (dtype == DType::kString) return ParseStrings(bytes, shape, masked_crc);
  if (dtype == DType::kVariant) return ParseVariants(bytes, shape, masked_crc);
  return DataLoss("a checkpoint cannot hold elements of type ", Name(dtype));
}

StatusOr<std::string> FormatBundleElements(const Tensor& tensor, uint32_t* masked_crc) {
  std::string out;
  uint32_t crc = 0;
  if (tensor.dtype() == DType::kString) {
    for (const std::string& element : tensor.span<std::string>()) {
      AppendVarint(element.size(), &out);
      crc = ExtendCrc32c(crc, LengthWord(element.size()));
    }
    std::string stored;
    AppendFixed32(&stored, MaskCrc(crc));
    out += stored;
    crc = ExtendCrc32c(crc, stored);
    for (const std::string& element : tensor.span<std::string>()) {
      out += element;
      crc = ExtendCrc32c(crc, element);
    }
  } else if (tensor.dtype() == DType::kVariant) {
    for (const Variant& element : tensor.span<Variant>()) {
      VariantTensorDataProto proto;
      WEIR_RETURN_IF_ERROR(ToProto(element, &proto));
      std::string bytes = proto.SerializeAsString();
      std::string word, stored;
      AppendFixed64(&word, bytes.size());
      crc = ExtendCrc32c(ExtendCrc32c(crc, word), bytes);
      AppendFixed32(&stored, MaskCrc(crc));
      crc = ExtendCrc32c(crc, stored);
      AppendVarint(bytes.size(), &out);
      out += bytes + stored;
    }
  } else {
    return Unimplemented("A checkpoint cannot hold elements of type ", Name(tensor.dtype()));
  }
  *masked_crc = MaskCrc(crc);
  return out;
}

}  // namespace weir
