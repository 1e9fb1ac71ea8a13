// What the end of a mapped function means for the dataset.
#ifndef WEIR_OPS_DATA_MAP_RESULT_H_
#define WEIR_OPS_DATA_MAP_RESULT_H_

#include "weir/base/status.h"

namespace weir {

// A function may end the dataset by OUT_OF_RANGE, unless the number of elements must stay as it was.
inline Status EndOfMap(Status status, bool preserve_cardinality, bool* end) {
  if (status.code() != absl::StatusCode::kOutOfRange) return status;
  if (preserve_cardinality) {
    return InvalidArgument("Function invocation produced OutOfRangeError: ", Message(status));
  }
  *end = true;
  return OkStatus();
}

}  // namespace weir

#endif  // WEIR_OPS_DATA_MAP_RESULT_H_
