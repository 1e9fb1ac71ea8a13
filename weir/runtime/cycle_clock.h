// A cheap clock for cost estimates, and small thread ids.
#ifndef WEIR_RUNTIME_CYCLE_CLOCK_H_
#define WEIR_RUNTIME_CYCLE_CLOCK_H_

#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace weir {

struct CycleClock {
  // Counts at about the clock rate of the processor; in nanoseconds on other processors than x86-64.
  static uint64_t Now() {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }
};

// The id of the calling thread: 0, 1, 2 ... in the order of the threads' first calls.
uint32_t CurrentThreadNumber();

}  // namespace weir

#endif  // WEIR_RUNTIME_CYCLE_CLOCK_H_
