// Which algorithm gives nodes their devices (place.h, placer.h).
#ifndef WEIR_PASSES_PLACER_KIND_H_
#define WEIR_PASSES_PLACER_KIND_H_

#include <string_view>

#include "weir/base/export.h"
#include "weir/base/status.h"

namespace WEIR_PUBLIC weir {

enum class PlacerKind {
  kDefault,  // the first device of the best type
  kGreedy,   // simulated execution: where each node would finish first
  kHeft,     // the critical path first, each node where it finishes earliest
};

// "default", "greedy" or "heft"; INVALID_ARGUMENT otherwise.
StatusOr<PlacerKind> ParsePlacerKind(std::string_view text);

}  // namespace weir

#endif  // WEIR_PASSES_PLACER_KIND_H_
