// PhiloxStream: the stream of 32-bit numbers that TensorFlow's seeded generators draw from (Philox 4x32-10).
#ifndef WEIR_OPS_QUEUE_PHILOX_STREAM_H_
#define WEIR_OPS_QUEUE_PHILOX_STREAM_H_

#include "weir/base/philox.h"

namespace weir {

class PhiloxStream {
 public:
  // Both seeds 0: seeded by the system.
  PhiloxStream(uint64_t seed, uint64_t seed2) : numbers_(Philox::FromSeeds(seed, seed2)) {}
  uint32_t Next() { return numbers_.Next(); }

 private:
  PhiloxNumbers numbers_;
};

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_PHILOX_STREAM_H_
