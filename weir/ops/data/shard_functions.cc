#include "weir/ops/data/shard_functions.h"

#include "weir/ops/data/window.h"

namespace weir {

StatusOr<std::unique_ptr<ElementSaver>> ElementSaver::Start(IteratorContext& ctx, CapturedFunctionPtr shard_function,
                                                            std::unique_ptr<SavedDatasetWriter> writer) {
  auto saver = std::make_unique<ElementSaver>();
  if (shard_function != nullptr) {
    WEIR_ASSIGN_OR_RETURN(saver->shard_, FunctionCaller::Make(ctx, std::move(shard_function)));
  }
  saver->writer_ = std::move(writer);
  return saver;
}

Status ElementSaver::Add(IteratorContext& ctx, const Element& element) {
  WEIR_ASSIGN_OR_RETURN(int64_t shard, ShardOf(ctx, element));
  return writer_->Write(shard, element);
}

StatusOr<int64_t> ElementSaver::ShardOf(IteratorContext& ctx, const Element& element) {
  if (shard_ == nullptr) return 0;
  Element results;
  WEIR_RETURN_IF_ERROR(shard_->Call(ctx, element, index_++, &results));
  if (results.size() != 1 || results[0].dtype() != DType::kInt64 || results[0].num_elements() != 1) {
    return InvalidArgument("`shard_func` must return a scalar int64.");
  }
  return results[0].data<int64_t>()[0];
}

DatasetPtr DatasetOfShards(std::vector<DatasetPtr> shards) {
  std::vector<Element> elements;
  for (DatasetPtr& shard : shards) elements.push_back({DatasetTensor(std::move(shard))});
  return MakeWindow({{DType::kVariant}, {PartialShape(Shape())}}, std::move(elements));
}

StatusOr<IteratorPtr> WalkOverShards(IteratorContext& ctx, const DatasetPtr& shards, CapturedFunctionPtr reader,
                                     const ElementSpec& spec) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<FunctionCaller> caller, FunctionCaller::Make(ctx, std::move(reader)));
  WEIR_ASSIGN_OR_RETURN(DatasetPtr elements, caller->CallForDataset(ctx, {DatasetTensor(shards)}, 0));
  WEIR_RETURN_IF_ERROR(CheckTypesMatch(spec.types, elements->spec().types));
  return elements->MakeIterator(ctx);
}

}  // namespace weir
