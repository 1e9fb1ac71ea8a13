#include "weir/io/coding.h"

#include <bit>
#include <cstring>

namespace weir {

uint32_t DecodeFixed32(const char* bytes) {
  uint32_t out = 0;
  for (int i = 3; i >= 0; --i) out = out << 8 | static_cast<uint8_t>(bytes[i]);
  return out;
}

uint64_t DecodeFixed64(const char* bytes) {
  return static_cast<uint64_t>(DecodeFixed32(bytes + 4)) << 32 | DecodeFixed32(bytes);
}

void AppendFixed32(std::string* out, uint32_t value) {
  for (int i = 0; i < 4; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

void AppendFixed64(std::string* out, uint64_t value) {
  for (int i = 0; i < 8; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

void AppendOrderedNumber(std::string* out, uint64_t value) {
  int length = (std::bit_width(value) + 7) / 8;
  out->push_back(static_cast<char>(length));
  for (int i = length - 1; i >= 0; --i) out->push_back(static_cast<char>(value >> (8 * i)));
}

void AppendOrderedString(std::string* out, std::string_view value) {
  for (char c : value) {
    out->push_back(c);
    if (c == '\0') out->push_back('\xff');
    if (c == '\xff') out->push_back('\0');
  }
  out->append(std::string_view("\0\1", 2));
}

void AppendOrderedSigned(std::string* out, int64_t value) {
  // L bytes hold 7L bits with the sign; the top L bits are turned over, so that the length shows in them.
  int bits = std::bit_width(static_cast<uint64_t>(value < 0 ? ~value : value)) + 1;
  int length = (bits + 6) / 7;
  char bytes[10];
  for (int i = 0; i < length; ++i) {
    int shift = 8 * (length - 1 - i);
    bytes[i] = static_cast<char>(shift < 64 ? value >> shift : (value < 0 ? -1 : 0));
  }
  for (int i = 0; i < length; ++i) bytes[i / 8] ^= static_cast<char>(0x80 >> (i % 8));
  out->append(bytes, static_cast<size_t>(length));
}

}  // namespace weir
