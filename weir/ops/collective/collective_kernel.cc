#include "weir/ops/collective/collective_kernel.h"

namespace weir {

StatusOr<absl::Duration> CollectiveTimeout(const KernelInit& init) {
  WEIR_ASSIGN_OR_RETURN(float seconds, init.Attr<float>("timeout_seconds"));
  return seconds > 0 ? absl::Seconds(static_cast<double>(seconds)) : absl::ZeroDuration();
}

StatusOr<int32_t> ScalarInput(KernelContext& ctx, int i, std::string_view what) {
  const Tensor& value = ctx.input(i);
  if (value.dtype() != DType::kInt32 || value.rank() != 0) {
    return InvalidArgument("Unexpected dimensions on input ", what, ": it must be a scalar, but has shape ",
                           value.shape().ToString());
  }
  return value.scalar<int32_t>();
}

void StartCollective(KernelContext& ctx, CollectiveCall call, Completion done) {
  const StepContext& step = ctx.step();
  call.name = ctx.node_name();
  call.device = &ctx.device().info();
  call.frame_id = ctx.frame_id();
  call.iteration = ctx.iteration();
  call.step_id = step.step_id;
  call.step_deadline = step.deadline;
  call.cancellation = step.cancellation;
  call.allocator = ctx.device().allocator();
  call.runner = step.runner;
  call.deterministic = step.deterministic;
  if (!ctx.device().is_host() && step.device_run != nullptr) {
    call.home = &ctx.device();
    call.device_run = step.device_run;
    if (auto* chunks = dynamic_cast<ChunkDevice*>(&ctx.device())) call.arithmetic = chunks->ChunksOf(*step.device_run);
  }
  auto completion = std::make_shared<Completion>(std::move(done));
  CollectiveDomain::Of(ctx.device().info())->Execute(std::move(call), [&ctx, completion](StatusOr<Tensor> result) {
    if (!result.ok()) return (*completion)(result.status());
    ctx.set_output(0, *std::move(result));
    (*completion)(OkStatus());
  });
}

}  // namespace weir
