#include "benchmarks/models/random.h"

#include <array>
#include <bit>
#include <cmath>

namespace weir::bench {
namespace {

// Eight words of a seed sequence over one number.
std::array<uint32_t, 8> SeedWords(uint32_t seed) {
  uint32_t hash = 0x43b0d7e5u;
  auto scramble = [&](uint32_t value) {
    value ^= hash;
    hash *= 0x931e8875u;
    value *= hash;
    return value ^ (value >> 16);
  };
  uint32_t pool[4];
  for (int i = 0; i < 4; ++i) pool[i] = scramble(i == 0 ? seed : 0);
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from == to) continue;
      const uint32_t mixed = 0xca01f9ddu * pool[to] - 0x4973f715u * scramble(pool[from]);
      pool[to] = mixed ^ (mixed >> 16);
    }
  }
  std::array<uint32_t, 8> words;
  hash = 0x8b51f9ddu;
  for (int i = 0; i < 8; ++i) {
    uint32_t value = pool[i % 4] ^ hash;
    hash *= 0x58f38dedu;
    value *= hash;
    words[i] = value ^ (value >> 16);
  }
  return words;
}

// Layers of equal area under the bell curve: their widths, scaled to 23 bits, and heights.
constexpr double kTail = 3.6541528853610087963519472518;
struct Ziggurat {
  uint32_t inside[256];
  float width[256], height[256];

  Ziggurat() {
    constexpr double kArea = 0.00492867323397465524494, kScale = 8388608.0;
    double edge = kTail, outer = kTail;
    const double base = kArea / std::exp(-0.5 * edge * edge);
    inside[0] = static_cast<uint32_t>(edge / base * kScale);
    inside[1] = 0;
    width[0] = static_cast<float>(base / kScale);
    width[255] = static_cast<float>(edge / kScale);
    height[0] = 1;
    height[255] = static_cast<float>(std::exp(-0.5 * edge * edge));
    for (int i = 254; i >= 1; --i) {
      edge = std::sqrt(-2 * std::log(kArea / edge + std::exp(-0.5 * edge * edge)));
      inside[i + 1] = static_cast<uint32_t>(edge / outer * kScale);
      outer = edge;
      height[i] = static_cast<float>(std::exp(-0.5 * edge * edge));
      width[i] = static_cast<float>(edge / kScale);
    }
  }
};

}  // namespace

NumpyRandom::NumpyRandom(uint32_t seed) {
  const std::array<uint32_t, 8> words = SeedWords(seed);
  auto word64 = [&](int i) { return static_cast<uint64_t>(words[2 * i + 1]) << 32 | words[2 * i]; };
  const uint128 start = static_cast<uint128>(word64(0)) << 64 | word64(1);
  increment_ = (static_cast<uint128>(word64(2)) << 64 | word64(3)) << 1 | 1;
  Next64();
  state_ += start;
  Next64();
}

uint64_t NumpyRandom::Next64() {
  constexpr uint128 kMultiplier = static_cast<uint128>(0x2360ED051FC65DA4u) << 64 | 0x4385DF649FCCF645u;
  state_ = state_ * kMultiplier + increment_;
  return std::rotr(static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_),
                   static_cast<int>(state_ >> 122));
}

uint32_t NumpyRandom::Next32() {
  if (has_half_) {
    has_half_ = false;
    return half_;
  }
  const uint64_t both = Next64();
  has_half_ = true;
  half_ = static_cast<uint32_t>(both >> 32);
  return static_cast<uint32_t>(both);
}

float NumpyRandom::Normal() {
  static const Ziggurat table;
  while (true) {
    const uint32_t bits = Next32(), layer = bits & 0xff, distance = bits >> 9;
    const float x = static_cast<float>(distance) * table.width[layer] * (bits >> 8 & 1 ? -1 : 1);
    if (distance < table.inside[layer]) return x;
    if (layer == 0) {
      while (true) {
        const float beyond = static_cast<float>(-1 / kTail) * std::log1p(-NextFloat());
        const float limit = -std::log1p(-NextFloat());
        if (limit + limit > beyond * beyond) {
          const float tail = static_cast<float>(kTail) + beyond;
          return distance >> 8 & 1 ? -tail : tail;
        }
      }
    }
    const float between = (table.height[layer - 1] - table.height[layer]) * NextFloat() + table.height[layer];
    if (between < std::exp(-0.5 * static_cast<double>(x) * x)) return x;
  }
}

int32_t NumpyRandom::Below(uint32_t limit) {
  uint64_t product = static_cast<uint64_t>(Next32()) * limit;
  if (static_cast<uint32_t>(product) < limit) {
    const uint32_t threshold = -limit % limit;
    while (static_cast<uint32_t>(product) < threshold) product = static_cast<uint64_t>(Next32()) * limit;
  }
  return static_cast<int32_t>(product >> 32);
}

}  // namespace weir::bench
