// Secret: known only to the processes of a job. A process proves that it knows the secret without sending it.
#ifndef WEIR_COLLECTIVE_SECRET_H_
#define WEIR_COLLECTIVE_SECRET_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::collective {

using Digest = std::array<uint8_t, 32>;

// SHA-256, and the keyed hash HMAC-SHA-256 based on it.
Digest Sha256(std::string_view bytes);
Digest Proof(std::string_view secret, std::string_view message);
// Takes the same time for all digests.
bool SameDigest(const Digest& a, const Digest& b);
// Cryptographically random bytes.
std::string RandomBytes(size_t count);

}  // namespace weir::collective

#endif  // WEIR_COLLECTIVE_SECRET_H_
