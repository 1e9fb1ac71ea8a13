#include "weir/base/fingerprint.h"

#include <bit>
#include <cstring>
#include <utility>

namespace weir {
namespace {

static_assert(std::endian::native == std::endian::little, "the hashes read little-endian words");

uint64_t Load64(const char* p) {
  uint64_t x;
  std::memcpy(&x, p, sizeof(x));
  return x;
}
uint32_t Load32(const char* p) {
  uint32_t x;
  std::memcpy(&x, p, sizeof(x));
  return x;
}

// Up to 7 bytes as the low end of a word.
uint64_t LoadTail(const char* p, size_t n) {
  uint64_t x = 0;
  std::memcpy(&x, p, n);
  return x;
}

constexpr uint64_t kPrime0 = 0xc3a5c85c97cb3127;
constexpr uint64_t kPrime1 = 0xb492b66fbe98f273;
constexpr uint64_t kPrime2 = 0x9ae16a3b2f90404f;

uint64_t ShiftMix(uint64_t x) { return x ^ (x >> 47); }

uint64_t Mix(uint64_t u, uint64_t v, uint64_t mul) {
  uint64_t a = ShiftMix((u ^ v) * mul);
  return ShiftMix((v ^ a) * mul) * mul;
}

uint64_t Upto16(const char* s, size_t n) {
  const uint64_t mul = kPrime2 + n * 2;
  if (n >= 8) {
    uint64_t a = Load64(s) + kPrime2, b = Load64(s + n - 8);
    return Mix(std::rotr(b, 37) * mul + a, (std::rotr(a, 25) + b) * mul, mul);
  }
  if (n >= 4) return Mix(n + (uint64_t{Load32(s)} << 3), Load32(s + n - 4), mul);
  if (n == 0) return kPrime2;
  auto byte = [s](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(s[i])); };
  uint32_t y = byte(0) + (byte(n >> 1) << 8);
  uint32_t z = static_cast<uint32_t>(n) + (byte(n - 1) << 2);
  return ShiftMix(y * kPrime2 ^ z * kPrime0) * kPrime2;
}

uint64_t Upto32(const char* s, size_t n) {
  const uint64_t mul = kPrime2 + n * 2;
  uint64_t a = Load64(s) * kPrime1, b = Load64(s + 8);
  uint64_t c = Load64(s + n - 8) * mul, d = Load64(s + n - 16) * kPrime2;
  return Mix(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + kPrime2, 18) + c, mul);
}

uint64_t Upto64(const char* s, size_t n) {
  const uint64_t mul = kPrime2 + n * 2;
  uint64_t a = Load64(s) * kPrime2, b = Load64(s + 8);
  uint64_t c = Load64(s + n - 8) * mul, d = Load64(s + n - 16) * kPrime2;
  uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  uint64_t z = Mix(y, a + std::rotr(b + kPrime2, 18) + c, mul);
  uint64_t e = Load64(s + 16) * mul, f = Load64(s + 24);
  uint64_t g = (y + Load64(s + n - 32)) * mul, h = (z + Load64(s + n - 24)) * mul;
  return Mix(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, mul);
}

struct Pair {
  uint64_t first, second;
};

Pair WeakHash32(const char* s, uint64_t a, uint64_t b) {
  uint64_t w = Load64(s), x = Load64(s + 8), y = Load64(s + 16), z = Load64(s + 24);
  a += w;
  b = std::rotr(b + a + z, 21);
  const uint64_t c = a;
  a += x + y;
  b += std::rotr(a, 44);
  return {a + z, b + c};
}

}  // namespace

uint64_t Fingerprint64(std::string_view text) {
  const char* s = text.data();
  const size_t n = text.size();
  if (n <= 16) return Upto16(s, n);
  if (n <= 32) return Upto32(s, n);
  if (n <= 64) return Upto64(s, n);

  constexpr uint64_t kSeed = 81;
  uint64_t x = kSeed, y = kSeed * kPrime1 + 113, z = ShiftMix(y * kPrime2 + 113) * kPrime2;
  Pair v{0, 0}, w{0, 0};
  x = x * kPrime2 + Load64(s);
  const char* end = s + ((n - 1) / 64) * 64;
  const char* last64 = end + ((n - 1) & 63) - 63;
  do {
    x = std::rotr(x + y + v.first + Load64(s + 8), 37) * kPrime1;
    y = std::rotr(y + v.second + Load64(s + 48), 42) * kPrime1;
    x ^= w.second;
    y += v.first + Load64(s + 40);
    z = std::rotr(z + w.first, 33) * kPrime1;
    v = WeakHash32(s, v.second * kPrime1, x + w.first);
    w = WeakHash32(s + 32, z + w.second, y + Load64(s + 16));
    std::swap(z, x);
    s += 64;
  } while (s != end);
  const uint64_t mul = kPrime1 + ((z & 0xff) << 1);
  s = last64;
  w.first += (n - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  x = std::rotr(x + y + v.first + Load64(s + 8), 37) * mul;
  y = std::rotr(y + v.second + Load64(s + 48), 42) * mul;
  x ^= w.second * 9;
  y += v.first * 9 + Load64(s + 40);
  z = std::rotr(z + w.first, 33) * mul;
  v = WeakHash32(s, v.second * mul, x + w.first);
  w = WeakHash32(s + 32, z + w.second, y + Load64(s + 16));
  std::swap(z, x);
  return Mix(Mix(v.first, w.first, mul) + ShiftMix(y) * kPrime0 + z, Mix(v.second, w.second, mul) + x, mul);
}

uint64_t Hash64(std::string_view text, uint64_t seed) {
  constexpr uint64_t kMul = 0xc6a4a7935bd1e995;
  const char* s = text.data();
  size_t n = text.size();
  uint64_t h = seed ^ (n * kMul);
  for (; n >= 8; n -= 8, s += 8) {
    uint64_t k = Load64(s) * kMul;
    k = (k ^ (k >> 47)) * kMul;
    h = (h ^ k) * kMul;
  }
  if (n > 0) h = (h ^ LoadTail(s, n)) * kMul;
  h = ShiftMix(h) * kMul;
  return ShiftMix(h);
}

uint64_t SipHash(const std::array<uint64_t, 2>& key, std::string_view text) {
  uint64_t v0 = key[0] ^ 0x736f6d6570736575, v1 = key[1] ^ 0x646f72616e646f6d;
  uint64_t v2 = key[0] ^ 0x6c7967656e657261, v3 = key[1] ^ 0x7465646279746573;
  auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
      v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
    }
  };
  auto take = [&](uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  const char* s = text.data();
  size_t n = text.size();
  for (; n >= 8; n -= 8, s += 8) take(Load64(s));
  take(LoadTail(s, n) | static_cast<uint64_t>(text.size()) << 56);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace weir
