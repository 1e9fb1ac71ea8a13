// Choosing between several ways of computing the same thing, by the clock.
#ifndef WEIR_DEVICE_CUDA_MEASURE_H_
#define WEIR_DEVICE_CUDA_MEASURE_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "weir/device/cuda/launch.h"

namespace weir::cuda {

// How many ways may be tried: $WEIR_CUDA_MEASURE, else `usual`. 0 allows no measurement at all.
size_t MostMeasured(size_t usual);
inline bool MayMeasure() { return MostMeasured(1) > 0; }

// The number of the fastest of `count` ways, or `count` if none of them works. `enqueue(i)` enqueues way i and returns
// whether that worked; it is called once, and then `repeats` times, of which the fastest counts: other threads may give
// their work to the stream meanwhile. Waits for the device.
// REQUIRES: the run is not being recorded.
StatusOr<size_t> FindFastest(CudaRun& run, std::string_view what, size_t count, int repeats,
                             absl::FunctionRef<bool(size_t)> enqueue);

// What was found out once about shapes that come again. Thread-safe.
class Findings {
 public:
  std::optional<bool> Find(const std::string& key) const {
    absl::MutexLock lock(&mu_);
    const auto found = known_.find(key);
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }
  void Keep(const std::string& key, bool finding) {
    absl::MutexLock lock(&mu_);
    known_[key] = finding;
  }

 private:
  mutable absl::Mutex mu_;
  std::map<std::string, bool> known_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_MEASURE_H_
