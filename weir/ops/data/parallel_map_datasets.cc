// Parallel map, parallel filter, map and batch.
#include "weir/ops/data/batch.h"
#include "weir/ops/data/dataset_kernel.h"
#include "weir/ops/data/parallel_map.h"
#include "weir/ops/data/register.h"

namespace weir {
namespace {

ElementFunctionFactory MapWith(CapturedFunctionPtr function) {
  return [function](IteratorContext& ctx) -> StatusOr<ElementFunction> {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<FunctionCaller> caller, FunctionCaller::Make(ctx, function));
    return ElementFunction([caller](IteratorContext& ctx, Element element, int64_t index, Element* out, bool* keep) {
      return caller->Call(ctx, std::move(element), index, out);
    });
  };
}

ElementFunctionFactory FilterWith(CapturedFunctionPtr function) {
  return [function](IteratorContext& ctx) -> StatusOr<ElementFunction> {
    WEIR_ASSIGN_OR_RETURN(std::shared_ptr<FunctionCaller> caller, FunctionCaller::Make(ctx, function));
    return ElementFunction(
        [caller](IteratorContext& ctx, Element element, int64_t index, Element* out, bool* keep) -> Status {
          WEIR_ASSIGN_OR_RETURN(*keep, caller->CallPredicate(ctx, element, index, "ParallelFilter"));
          *out = std::move(element);
          return OkStatus();
        });
  };
}

Status CheckCalls(int64_t num_parallel_calls) {
  if (num_parallel_calls > 0 || num_parallel_calls == -1) return OkStatus();
  return InvalidArgument("num_parallel_calls must be greater than zero.");
}

StatusOr<DatasetPtr> MakeParallelMap(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr function, node.Function("f", "other_arguments", "ParallelMapV2"));
  ParallelMapOptions options;
  if (node.op() == "ParallelMapDataset") {
    WEIR_ASSIGN_OR_RETURN(int32_t calls, node.Scalar<int32_t>("num_parallel_calls"));
    options.num_parallel_calls = calls;
  } else {
    WEIR_ASSIGN_OR_RETURN(options.num_parallel_calls, node.Scalar<int64_t>("num_parallel_calls"));
  }
  WEIR_RETURN_IF_ERROR(CheckCalls(options.num_parallel_calls));
  WEIR_ASSIGN_OR_RETURN(options.preserve_cardinality, node.Attr<bool>("preserve_cardinality"));
  WEIR_ASSIGN_OR_RETURN(options.deterministic, node.IsDeterministic());
  return MakeParallelMapDataset(std::move(spec), std::move(input), MapWith(std::move(function)), options);
}

StatusOr<DatasetPtr> MakeParallelFilter(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr function, node.Function("predicate", "other_arguments", "ParallelFilter"));
  ParallelMapOptions options;
  WEIR_ASSIGN_OR_RETURN(options.num_parallel_calls, node.Scalar<int64_t>("num_parallel_calls"));
  WEIR_RETURN_IF_ERROR(CheckCalls(options.num_parallel_calls));
  WEIR_ASSIGN_OR_RETURN(options.deterministic, node.IsDeterministic());
  return MakeParallelMapDataset(input->spec(), input, FilterWith(std::move(function)), options);
}

StatusOr<DatasetPtr> MakeMapAndBatch(DatasetNode& node) {
  WEIR_ASSIGN_OR_RETURN(DatasetPtr input, node.Input());
  WEIR_ASSIGN_OR_RETURN(ElementSpec spec, node.Spec());
  WEIR_ASSIGN_OR_RETURN(CapturedFunctionPtr function, node.Function("f", "other_arguments", "MapAndBatch"));
  WEIR_ASSIGN_OR_RETURN(int64_t batch_size, node.Scalar<int64_t>("batch_size"));
  if (batch_size <= 0) return InvalidArgument("batch_size must be greater than zero.");
  ParallelMapOptions options;
  WEIR_ASSIGN_OR_RETURN(options.num_parallel_calls, node.Scalar<int64_t>("num_parallel_calls"));
  WEIR_RETURN_IF_ERROR(CheckCalls(options.num_parallel_calls));
  WEIR_ASSIGN_OR_RETURN(bool drop_remainder, node.Scalar<bool>("drop_remainder"));
  WEIR_ASSIGN_OR_RETURN(options.preserve_cardinality, node.Attr<bool>("preserve_cardinality"));
  // The elements' shapes are what is declared of the batches, without the first dimension.
  ElementSpec elements{spec.types, {}};
  for (const PartialShape& shape : spec.shapes) {
    if (!shape.has_rank() || shape.rank() == 0) {
      elements.shapes.push_back(PartialShape::Unknown());
      continue;
    }
    auto dims = shape.dims().subspan(1);
    WEIR_ASSIGN_OR_RETURN(PartialShape rest, PartialShape::Make(dims));
    elements.shapes.push_back(std::move(rest));
  }
  DatasetPtr mapped =
      MakeParallelMapDataset(std::move(elements), std::move(input), MapWith(std::move(function)), options);
  return MakeWholeBatchDataset(std::move(mapped), batch_size, drop_remainder);
}

}  // namespace

void RegisterParallelMapDatasets(KernelRegistry& registry) {
  RegisterDataset(registry, {"ParallelMapDataset", "ParallelMapDatasetV2"}, MakeParallelMap);
  RegisterDataset(registry, {"ParallelFilterDataset"}, MakeParallelFilter);
  RegisterDataset(registry, {"MapAndBatchDataset", "ExperimentalMapAndBatchDataset"}, MakeMapAndBatch);
}

}  // namespace weir
