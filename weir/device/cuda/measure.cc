#include "weir/device/cuda/measure.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>

#include "absl/strings/numbers.h"
#include "weir/base/logging.h"

namespace weir::cuda {

size_t MostMeasured(size_t usual) {
  static const std::optional<size_t> chosen = []() -> std::optional<size_t> {
    const char* value = std::getenv("WEIR_CUDA_MEASURE");
    if (value == nullptr) return std::nullopt;
    size_t number = 0;
    if (absl::SimpleAtoi(value, &number)) return number;
    WEIR_LOG(WARNING) << "WEIR_CUDA_MEASURE=" << value << " is no number and is ignored";
    return std::nullopt;
  }();
  return chosen.value_or(usual);
}

StatusOr<size_t> FindFastest(CudaRun& run, std::string_view what, size_t count, int repeats,
                             absl::FunctionRef<bool(size_t)> enqueue) {
  EventPool& timers = *run.parts().timers;
  WEIR_ASSIGN_OR_RETURN(EventHandle begin, timers.Take());
  WEIR_ASSIGN_OR_RETURN(EventHandle end, timers.Take());
  const StreamHandle stream = run.stream().handle();
  constexpr float kNever = std::numeric_limits<float>::max();
  float best = kNever;
  size_t fastest = count;
  for (size_t i = 0; i < count; ++i) {
    if (!enqueue(i)) continue;
    float least = kNever;
    for (int k = 0; k < repeats; ++k) {
      Driver().EventRecord(begin, stream);
      const bool is_done = enqueue(i);
      Driver().EventRecord(end, stream);
      WEIR_RETURN_IF_CUDA_ERROR(Driver().EventSynchronize(end), what);
      float milliseconds = 0;
      if (is_done && Driver().EventElapsedTime(&milliseconds, begin, end) == kSuccess) {
        least = std::min(least, milliseconds);
      }
    }
    if (least == kNever) continue;
    WEIR_LOG(DEBUG) << what << ": way " << i << " of " << count << " takes " << least << " ms";
    if (least >= best) continue;
    best = least;
    fastest = i;
  }
  timers.Give(begin);
  timers.Give(end);
  return fastest;
}

}  // namespace weir::cuda
