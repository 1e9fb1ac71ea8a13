#include "weir/base/varint.h"

#include <bit>

namespace weir {

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

size_t VarintSize(uint64_t value) { return (std::bit_width(value | 1) + 6) / 7; }

bool TakeVarint(std::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return shift < 63 || byte <= 1;
  }
  return false;
}

bool TakeVarint(std::string_view* bytes, uint32_t* value) {
  uint64_t wide;
  if (!TakeVarint(bytes, &wide) || wide > UINT32_MAX) return false;
  *value = static_cast<uint32_t>(wide);
  return true;
}

}  // namespace weir
