// A number that stands for a dataset: for the nodes that make it, their functions and the tensors they were given.
#ifndef WEIR_OPS_DATA_DATASET_FINGERPRINT_H_
#define WEIR_OPS_DATA_DATASET_FINGERPRINT_H_

#include "weir/ops/data/dataset.h"

namespace weir {

// Equal in every process, and for most datasets equal to TensorFlow's. Seeds of shuffling do not count.
// UNIMPLEMENTED for datasets that no node made, such as windows. `functions` may be null if there are none.
StatusOr<uint64_t> DatasetFingerprint(const Dataset& dataset, FunctionRuntime* functions);

}  // namespace weir

#endif  // WEIR_OPS_DATA_DATASET_FINGERPRINT_H_
