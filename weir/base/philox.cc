#include "weir/base/philox.h"

#include <random>

namespace weir {

Philox Philox::FromSeeds(uint64_t seed, uint64_t seed2) {
  if (seed == 0 && seed2 == 0) {
    std::random_device device;
    seed = static_cast<uint64_t>(device()) << 32 | device();
    seed2 = static_cast<uint64_t>(device()) << 32 | device();
  }
  return Philox(seed, 0, seed2);
}

}  // namespace weir
