#include "weir/ops/queue/philox_stream.h"

#include <random>

namespace weir {

PhiloxStream::PhiloxStream(uint64_t seed, uint64_t seed2) {
  if (seed == 0 && seed2 == 0) {
    std::random_device device;
    seed = static_cast<uint64_t>(device()) << 32 | device();
    seed2 = static_cast<uint64_t>(device()) << 32 | device();
  }
  key_ = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  counter_[2] = static_cast<uint32_t>(seed2);
  counter_[3] = static_cast<uint32_t>(seed2 >> 32);
}

uint32_t PhiloxStream::Next() {
  if (used_ == 4) Refill();
  return block_[used_++];
}

void PhiloxStream::Refill() {
  std::array<uint32_t, 4> c = counter_;
  std::array<uint32_t, 2> k = key_;
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  block_ = c;
  used_ = 0;
  for (uint32_t& word : counter_) {
    if (++word != 0) break;
  }
}

}  // namespace weir
