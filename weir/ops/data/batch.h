// Stacking elements.
#ifndef WEIR_OPS_DATA_BATCH_H_
#define WEIR_OPS_DATA_BATCH_H_

#include <vector>

#include "weir/ops/data/dataset.h"

namespace weir {

// Stacks elements component by component. INVALID_ARGUMENT if shapes differ. Strings of elements that nobody else
// holds are moved.
Status StackElements(std::vector<Element> elements, Element* out);

// The spec of batches: one dimension in front, of size `batch_size` or unknown (-1).
ElementSpec BatchSpec(const ElementSpec& spec, int64_t batch_size);

// Batches of a dataset's elements; one that fails takes its batch along. REQUIRES: batch_size > 0.
DatasetPtr MakeWholeBatchDataset(DatasetPtr input, int64_t batch_size, bool drop_remainder);

// How many batches `n` elements make (n may be kInfinite or kUnknown).
int64_t BatchCount(int64_t n, int64_t batch_size, bool drop_remainder);

}  // namespace weir

#endif  // WEIR_OPS_DATA_BATCH_H_
