// The two functions by which a user decides how a dataset lies on disk: one gives every element its shard, the other
// makes a dataset of the shards again.
#ifndef WEIR_OPS_DATA_SHARD_FUNCTIONS_H_
#define WEIR_OPS_DATA_SHARD_FUNCTIONS_H_

#include <memory>

#include "weir/ops/data/captured_function.h"
#include "weir/ops/data/saved_dataset.h"

namespace weir {

// Writes the elements of one walk as they pass.
class ElementSaver {
 public:
  // `shard_function` may be null: all elements go to one shard.
  static StatusOr<std::unique_ptr<ElementSaver>> Start(IteratorContext& ctx, CapturedFunctionPtr shard_function,
                                                       std::unique_ptr<SavedDatasetWriter> writer);
  Status Add(IteratorContext& ctx, const Element& element);
  StatusOr<SavedRun> Pause() { return writer_->Pause(); }
  Status Finish() { return writer_->Finish(); }

 private:
  StatusOr<int64_t> ShardOf(IteratorContext& ctx, const Element& element);

  std::unique_ptr<FunctionCaller> shard_;
  std::unique_ptr<SavedDatasetWriter> writer_;
  int64_t index_ = 0;
};

// The shards as the elements of a dataset.
DatasetPtr DatasetOfShards(std::vector<DatasetPtr> shards);
// A walk over what `reader` makes of them.
StatusOr<IteratorPtr> WalkOverShards(IteratorContext& ctx, const DatasetPtr& shards, CapturedFunctionPtr reader,
                                     const ElementSpec& spec);

}  // namespace weir

#endif  // WEIR_OPS_DATA_SHARD_FUNCTIONS_H_
