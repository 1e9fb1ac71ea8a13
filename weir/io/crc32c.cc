#include "weir/io/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace weir {
namespace {

// kTables[k][b]: the effect of byte b followed by k zero bytes; eight tables take eight bytes at a time.
constexpr std::array<std::array<uint32_t, 256>, 8> MakeTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0u);
    tables[0][byte] = crc;
  }
  for (int k = 1; k < 8; ++k) {
    for (int byte = 0; byte < 256; ++byte) {
      uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}
constexpr auto kTables = MakeTables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t ExtendSse(uint32_t crc, std::string_view data) {
  uint64_t state = ~crc;
  const char* p = data.data();
  size_t left = data.size();
  for (; left >= 8; left -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    state = _mm_crc32_u64(state, word);
  }
  uint32_t rest = static_cast<uint32_t>(state);
  for (; left > 0; --left, ++p) rest = _mm_crc32_u8(rest, static_cast<uint8_t>(*p));
  return ~rest;
}
#endif

}  // namespace

namespace crc32c_internal {

uint32_t ExtendPortable(uint32_t crc, std::string_view data) {
  uint32_t state = ~crc;
  auto* p = reinterpret_cast<const uint8_t*>(data.data());
  size_t left = data.size();
  for (; left >= 8; left -= 8, p += 8) {
    state ^= static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
             static_cast<uint32_t>(p[3]) << 24;
    state = kTables[7][state & 0xff] ^ kTables[6][(state >> 8) & 0xff] ^ kTables[5][(state >> 16) & 0xff] ^
            kTables[4][state >> 24] ^ kTables[3][p[4]] ^ kTables[2][p[5]] ^ kTables[1][p[6]] ^ kTables[0][p[7]];
  }
  for (; left > 0; --left, ++p) state = (state >> 8) ^ kTables[0][(state ^ *p) & 0xff];
  return ~state;
}

}  // namespace crc32c_internal

uint32_t ExtendCrc32c(uint32_t crc, std::string_view data) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return ExtendSse(crc, data);
#endif
  return crc32c_internal::ExtendPortable(crc, data);
}

}  // namespace weir
