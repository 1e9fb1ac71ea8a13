// A function of each element, several at once.
#ifndef WEIR_OPS_DATA_PARALLEL_MAP_H_
#define WEIR_OPS_DATA_PARALLEL_MAP_H_

#include <functional>
#include <memory>

#include "weir/ops/data/dataset.h"

namespace weir {

// What is done with each element, for one walk. Thread-safe: it is called by many threads at once.
using ElementFunction =
    std::function<Status(IteratorContext& ctx, Element element, int64_t index, Element* out, bool* keep)>;
using ElementFunctionFactory = std::function<StatusOr<ElementFunction>(IteratorContext& ctx)>;

struct ParallelMapOptions {
  int64_t num_parallel_calls = 1;  // -1: left to us
  bool deterministic = true;       // results in the order of the input; else as they come
  bool preserve_cardinality = false;
};

// Elements of `input` through functions that `factory` makes, one a walk. Where `keep` is set to false the element is
// left out. Threads are started as they are needed, each taking an element, calling the function and taking the next;
// they stay ahead of the consumer by a bounded number of elements.
DatasetPtr MakeParallelMapDataset(ElementSpec spec, DatasetPtr input, ElementFunctionFactory factory,
                                  ParallelMapOptions options);

}  // namespace weir

#endif  // WEIR_OPS_DATA_PARALLEL_MAP_H_
