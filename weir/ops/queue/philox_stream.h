// PhiloxStream: the stream of 32-bit numbers that TensorFlow's seeded generators draw from (Philox 4x32-10).
#ifndef WEIR_OPS_QUEUE_PHILOX_STREAM_H_
#define WEIR_OPS_QUEUE_PHILOX_STREAM_H_

#include <array>
#include <cstdint>

namespace weir {

class PhiloxStream {
 public:
  // Both seeds 0: seeded by the system.
  PhiloxStream(uint64_t seed, uint64_t seed2);
  uint32_t Next();

 private:
  void Refill();
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 4> counter_{};
  std::array<uint32_t, 4> block_{};
  int used_ = 4;
};

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_PHILOX_STREAM_H_
