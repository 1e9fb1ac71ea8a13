// NumPy's default random numbers, so that a benchmark can give every program the same parameters and batches.
#ifndef BENCHMARKS_MODELS_RANDOM_H_
#define BENCHMARKS_MODELS_RANDOM_H_

#include <cstdint>

namespace weir::bench {

// numpy.random.default_rng(seed): PCG64 seeded through SeedSequence; standard_normal(dtype=float32) by ziggurats,
// integers(dtype=int32) by Lemire's method.
class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed);
  float Normal();
  int32_t Below(uint32_t limit);

 private:
  __extension__ using uint128 = unsigned __int128;
  uint64_t Next64();
  uint32_t Next32();
  float NextFloat() { return static_cast<float>(Next32() >> 8) * 0x1p-24f; }

  uint128 state_ = 0, increment_ = 0;
  bool has_half_ = false;
  uint32_t half_ = 0;  // of a 64-bit number, kept for the next call
};

}  // namespace weir::bench

#endif  // BENCHMARKS_MODELS_RANDOM_H_
