// Hashes whose values are part of file formats and of the semantics of ops, so they must never change.
#ifndef WEIR_BASE_FINGERPRINT_H_
#define WEIR_BASE_FINGERPRINT_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace weir {

// FarmHash's Fingerprint64.
uint64_t Fingerprint64(std::string_view text);

// MurmurHash64A. The default seed is TensorFlow's.
uint64_t Hash64(std::string_view text, uint64_t seed = 0xDECAFCAFFE);

// SipHash-2-4.
uint64_t SipHash(const std::array<uint64_t, 2>& key, std::string_view text);

}  // namespace weir

#endif  // WEIR_BASE_FINGERPRINT_H_
