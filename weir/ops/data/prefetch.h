// Elements made ahead of their use.
#ifndef WEIR_OPS_DATA_PREFETCH_H_
#define WEIR_OPS_DATA_PREFETCH_H_

#include "weir/ops/data/dataset.h"

namespace weir {

// A thread of each iterator keeps some elements of `input` ready; how many is found out.
DatasetPtr MakePrefetchDataset(DatasetPtr input);

}  // namespace weir

#endif  // WEIR_OPS_DATA_PREFETCH_H_
