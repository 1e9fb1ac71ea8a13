// Philox 4x32-10: a random stream that is a function of a key and a 128-bit counter, so that any part of it can be
// computed directly. TensorFlow's random operations are defined in terms of it.
#ifndef WEIR_BASE_PHILOX_H_
#define WEIR_BASE_PHILOX_H_

#include <array>
#include <cstdint>

namespace weir {

class Philox {
 public:
  using Block = std::array<uint32_t, 4>;

  Philox() = default;
  Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high)
      : key_(key), counter_low_(counter_low), counter_high_(counter_high) {}
  // The stream of an operation with these seeds; both 0: seeded by the system.
  static Philox FromSeeds(uint64_t seed, uint64_t seed2);

  uint64_t key() const { return key_; }
  uint64_t counter_low() const { return counter_low_; }
  uint64_t counter_high() const { return counter_high_; }

  Block Next() {
    Block block = At(counter_low_, counter_high_);
    Skip(1);
    return block;
  }
  void Skip(uint64_t blocks) {
    counter_low_ += blocks;
    if (counter_low_ < blocks) ++counter_high_;
  }

 private:
  Block At(uint64_t low, uint64_t high) const {
    Block c = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
               static_cast<uint32_t>(high >> 32)};
    uint32_t k0 = static_cast<uint32_t>(key_);
    uint32_t k1 = static_cast<uint32_t>(key_ >> 32);
    for (int round = 0; round < 10; ++round) {
      uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
      uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
      c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
           static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    return c;
  }

  uint64_t key_ = 0;
  uint64_t counter_low_ = 0;
  uint64_t counter_high_ = 0;
};

// The same stream, one number at a time.
class PhiloxNumbers {
 public:
  explicit PhiloxNumbers(const Philox& philox) : philox_(philox) {}
  uint32_t Next() {
    if (used_ == 4) {
      block_ = philox_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  Philox philox_;
  Philox::Block block_{};
  int used_ = 4;
};

}  // namespace weir

#endif  // WEIR_BASE_PHILOX_H_
