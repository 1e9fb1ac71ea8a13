// What the kernels of this family share.
#ifndef WEIR_OPS_COLLECTIVE_COLLECTIVE_KERNEL_H_
#define WEIR_OPS_COLLECTIVE_COLLECTIVE_KERNEL_H_

#include "weir/collective/domain.h"
#include "weir/framework/kernel.h"

namespace weir {

// The attribute timeout_seconds.
StatusOr<absl::Duration> CollectiveTimeout(const KernelInit& init);
// A scalar int32 input; INVALID_ARGUMENT if it is anything else.
StatusOr<int32_t> ScalarInput(KernelContext& ctx, int i, std::string_view what);
// Fills what comes from the step and starts the call; output 0 is the result.
void StartCollective(KernelContext& ctx, CollectiveCall call, Completion done);

}  // namespace weir

#endif  // WEIR_OPS_COLLECTIVE_COLLECTIVE_KERNEL_H_
