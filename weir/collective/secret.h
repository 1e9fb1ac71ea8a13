// Secret: what the processes of a job know and others do not. A process proves that it knows it without sending it.
#ifndef WEIR_COLLECTIVE_SECRET_H_
#define WEIR_COLLECTIVE_SECRET_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::collective {

using Digest = std::array<uint8_t, 32>;

// SHA-256, and the keyed hash HMAC-SHA-256 made of it.
Digest Sha256(std::string_view bytes);
Digest Proof(std::string_view secret, std::string_view message);
// Takes the same time wherever the digests differ.
bool SameDigest(const Digest& a, const Digest& b);
// Bytes that nobody can guess.
std::string RandomBytes(size_t count);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_SECRET_H_
