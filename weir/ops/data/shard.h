// Every n-th element.
#ifndef WEIR_OPS_DATA_SHARD_H_
#define WEIR_OPS_DATA_SHARD_H_

#include "weir/ops/data/dataset.h"

namespace weir {

// REQUIRES: 0 <= index < shards.
DatasetPtr MakeShardDataset(DatasetPtr input, int64_t shards, int64_t index);

}  // namespace weir

#endif  // WEIR_OPS_DATA_SHARD_H_
