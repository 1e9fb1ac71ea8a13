// CRC-32C (Castagnoli), the checksum of records, tables and checkpoints.
#ifndef WEIR_IO_CRC32C_H_
#define WEIR_IO_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace weir {

// The checksum of what gave `crc` followed by `data`; 0 begins.
uint32_t ExtendCrc32c(uint32_t crc, std::string_view data);
inline uint32_t Crc32c(std::string_view data) { return ExtendCrc32c(0, data); }

// Stored checksums are masked, so that a checksum of data that hold checksums stays strong.
inline uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
inline uint32_t UnmaskCrc(uint32_t masked) {
  uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

namespace crc32c_internal {
// The way that needs no special instruction.
uint32_t ExtendPortable(uint32_t crc, std::string_view data);
}  // namespace crc32c_internal

}  // namespace weir

#endif  // WEIR_IO_CRC32C_H_
