// What the kernels of the staging areas share: their attributes, their limits, and finding the area.
#ifndef WEIR_OPS_QUEUE_STAGING_H_
#define WEIR_OPS_QUEUE_STAGING_H_

#include <memory>
#include <string>
#include <vector>

#include "weir/framework/kernel.h"
#include "weir/resources/tuple.h"

namespace weir {

struct StagingSpec {
  std::string container;
  std::string name;          // shared_name, or the node's
  int64_t capacity = 0;      // 0: no limit
  int64_t memory_limit = 0;  // bytes; 0: no limit
  std::vector<DType> dtypes;
};
StatusOr<StagingSpec> StagingSpecOf(const KernelInit& init);

int64_t BytesOf(const TensorTuple& tuple);
// RESOURCE_EXHAUSTED if the tuple alone is over the limit: it would wait for ever.
Status CheckMemoryLimit(int64_t bytes, int64_t memory_limit);
// INVALID_ARGUMENT unless the tensors can be the kernel's outputs from `first` on.
Status CheckOutputs(KernelContext& ctx, const TensorTuple& tuple, int first);

// The area of a node; made with the first node's limits. Area(const StagingSpec&).
template <typename Area>
StatusOr<std::shared_ptr<Area>> FindStagingArea(KernelContext& ctx, const StagingSpec& spec) {
  std::function<StatusOr<std::shared_ptr<Area>>()> make = [&] { return std::make_shared<Area>(spec); };
  return ctx.resources().LookUpOrCreate<Area>(spec.container, spec.name, make);
}

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_STAGING_H_
