#include <bit>
#include <cstring>

#include "weir/io/example_wire_internal.h"

namespace weir {
namespace {

constexpr uint32_t kVarintTag = 1 << 3 | 0;
constexpr uint32_t kFixed32Tag = 1 << 3 | 5;
constexpr uint32_t kListTag = DelimitedTag(1);

static_assert(std::endian::native == std::endian::little, "packed floats are copied as they are");

// The number of varints in packed bytes; -1 if the last one is cut or one is too long.
int64_t CountVarints(std::string_view bytes) {
  if (bytes.empty()) return 0;
  if (static_cast<unsigned char>(bytes.back()) >= 0x80) return -1;
  int64_t count = 0;
  size_t run = 0;
  for (const char byte : bytes) {
    if (static_cast<unsigned char>(byte) < 0x80) {
      ++count;
      run = 0;
    } else if (++run > 9) {
      return -1;
    }
  }
  return count;
}

int64_t CountStrings(std::string_view list) {
  WireReader reader(list);
  int64_t count = 0;
  std::string_view bytes;
  uint32_t tag = 0;
  for (; !reader.done(); ++count) {
    if (!reader.Tag(&tag) || tag != kListTag || !reader.Delimited(&bytes)) return -1;
  }
  return count;
}

// Numbers come packed, one by one, or in a mixture of both.
int64_t CountNumbers(std::string_view list, bool floats) {
  WireReader reader(list);
  int64_t count = 0;
  std::string_view bytes;
  uint32_t tag = 0;
  uint64_t value = 0;
  while (!reader.done()) {
    if (!reader.Tag(&tag)) return -1;
    if (tag == kListTag) {
      if (!reader.Delimited(&bytes) || (floats && bytes.size() % 4 != 0)) return -1;
      const int64_t packed = floats ? static_cast<int64_t>(bytes.size() / 4) : CountVarints(bytes);
      if (packed < 0) return -1;
      count += packed;
    } else if (floats ? tag == kFixed32Tag && reader.Fixed32(&bytes) : tag == kVarintTag && reader.Varint(&value)) {
      ++count;
    } else {
      return -1;
    }
  }
  return count;
}

void CopyStrings(std::string_view list, std::string* out) {
  WireReader reader(list);
  uint32_t tag = 0;
  std::string_view bytes;
  while (!reader.done() && reader.Tag(&tag) && reader.Delimited(&bytes)) (out++)->assign(bytes);
}

void CopyFloats(std::string_view list, float* out) {
  WireReader reader(list);
  uint32_t tag = 0;
  std::string_view bytes;
  while (!reader.done() && reader.Tag(&tag) && (tag == kListTag ? reader.Delimited(&bytes) : reader.Fixed32(&bytes))) {
    std::memcpy(out, bytes.data(), bytes.size());
    out += bytes.size() / 4;
  }
}

void CopyIntegers(std::string_view list, int64_t* out) {
  WireReader reader(list);
  uint32_t tag = 0;
  std::string_view bytes;
  uint64_t value = 0;
  while (!reader.done() && reader.Tag(&tag)) {
    if (tag == kListTag) {
      if (!reader.Delimited(&bytes)) return;
      for (WireReader packed(bytes); !packed.done() && packed.Varint(&value);) *out++ = static_cast<int64_t>(value);
    } else if (reader.Varint(&value)) {
      *out++ = static_cast<int64_t>(value);
    }
  }
}

}  // namespace

bool WireReader::LongVarint(uint64_t* value) {
  uint64_t result = 0;
  for (int shift = 0; shift < 70 && at_ < end_; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at_++);
    if (shift < 64) result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      return true;
    }
  }
  return false;
}

bool WireReader::Skip(uint32_t tag) {
  uint64_t value = 0;
  ptrdiff_t bytes = 0;
  switch (tag & 7) {
    case 0:
      return Varint(&value);
    case 1:
      bytes = 8;
      break;
    case 2:
      if (!Varint(&value)) return false;
      at_ += std::min<uint64_t>(value, static_cast<uint64_t>(end_ - at_));
      return true;
    case 5:
      bytes = 4;
      break;
    default:
      return false;
  }
  if (end_ - at_ < bytes) return false;
  at_ += bytes;
  return true;
}

FeatureValues ReadFeature(std::string_view feature) {
  FeatureValues out;
  if (feature.empty()) return out;
  WireReader reader(feature);
  uint32_t tag = 0;
  out.malformed = true;
  if (!reader.Tag(&tag)) return out;
  switch (tag) {
    case DelimitedTag(1):
      out.dtype = DType::kString;
      break;
    case DelimitedTag(2):
      out.dtype = DType::kFloat;
      break;
    case DelimitedTag(3):
      out.dtype = DType::kInt64;
      break;
    default:
      return out;
  }
  if (!reader.Delimited(&out.list)) return out;
  out.count = out.dtype == DType::kString ? CountStrings(out.list) : CountNumbers(out.list, out.dtype == DType::kFloat);
  out.malformed = out.count < 0;
  if (out.malformed) out.count = 0;
  return out;
}

void CopyValues(const FeatureValues& values, Tensor& out, int64_t offset) {
  if (values.count == 0) return;
  switch (values.dtype) {
    case DType::kString:
      return CopyStrings(values.list, out.data<std::string>() + offset);
    case DType::kFloat:
      return CopyFloats(values.list, out.data<float>() + offset);
    case DType::kInt64:
      return CopyIntegers(values.list, out.data<int64_t>() + offset);
    default:
      return;
  }
}

bool ReadMapEntry(std::string_view entry, std::string_view* key, std::string_view* value) {
  *key = *value = {};
  WireReader reader(entry);
  // Two fields in either order; a writer that leaves out an empty one writes fewer.
  while (!reader.done()) {
    uint32_t tag = 0;
    if (!reader.Tag(&tag)) return false;
    if (tag != DelimitedTag(1) && tag != DelimitedTag(2)) return false;
    if (!reader.Delimited(tag == DelimitedTag(1) ? key : value)) return false;
  }
  return true;
}

}  // namespace weir
