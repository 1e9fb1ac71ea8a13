#include "weir/device/cuda/measure.h"

#include <cstdlib>
#include <limits>

#include "weir/base/logging.h"

namespace weir::cuda {

bool MayMeasure() {
  static const bool may = [] {
    const char* value = std::getenv("WEIR_CUDA_MEASURE");
    return value == nullptr || std::string_view(value) != "0";
  }();
  return may;
}

StatusOr<size_t> FindFastest(CudaRun& run, std::string_view what, size_t count, int repeats,
                             absl::FunctionRef<bool(size_t)> enqueue) {
  EventPool& timers = *run.parts().timers;
  WEIR_ASSIGN_OR_RETURN(EventHandle begin, timers.Take());
  WEIR_ASSIGN_OR_RETURN(EventHandle end, timers.Take());
  const StreamHandle stream = run.stream().handle();
  float best = std::numeric_limits<float>::max();
  size_t fastest = count;
  for (size_t i = 0; i < count; ++i) {
    if (!enqueue(i)) continue;
    Driver().EventRecord(begin, stream);
    bool is_done = true;
    for (int k = 0; k < repeats; ++k) is_done = enqueue(i) && is_done;
    Driver().EventRecord(end, stream);
    WEIR_RETURN_IF_CUDA_ERROR(Driver().EventSynchronize(end), what);
    float milliseconds = 0;
    if (!is_done || Driver().EventElapsedTime(&milliseconds, begin, end) != kSuccess) continue;
    WEIR_LOG(DEBUG) << what << ": way " << i << " of " << count << " takes " << milliseconds / repeats << " ms";
    if (milliseconds >= best) continue;
    best = milliseconds;
    fastest = i;
  }
  timers.Give(begin);
  timers.Give(end);
  return fastest;
}

}  // namespace weir::cuda
