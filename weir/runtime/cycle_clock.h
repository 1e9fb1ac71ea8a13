// A cheap clock for costs, and small numbers for threads.
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
  // Counts up at about the processor's rate (elsewhere: nanoseconds).
  static uint64_t Now() {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }
};

// 0, 1, 2 ... in the order in which threads ask first.
uint32_t CurrentThreadNumber();

}  // namespace weir

#endif  // WEIR_RUNTIME_CYCLE_CLOCK_H_
