#include "weir/ops/cuda/host_kernel.h"

#include "weir/device/cuda/launch.h"
#include "weir/device/cuda/recording.h"

namespace weir::cuda {
namespace {

StepContext HostStep(const KernelContext& ctx) {
  StepContext step = ctx.step();
  step.device = &static_cast<CudaDevice&>(ctx.device()).host_side();
  step.device_run = nullptr;
  return step;
}

KernelContext HostContext(const StepContext& step, KernelContext& ctx) {
  auto slots = [](int count, Slot* first) { return std::span<Slot>(first, static_cast<size_t>(count)); };
  KernelContext host(step, ctx.node(), slots(ctx.num_inputs(), ctx.num_inputs() > 0 ? &ctx.input_slot(0) : nullptr),
                     slots(ctx.num_outputs(), ctx.num_outputs() > 0 ? &ctx.output_slot(0) : nullptr));
  host.set_frame(ctx.frame_id(), ctx.iteration());
  return host;
}

// Tells a recording what a kernel of the host uses.
class RecordedHostRun : public DeviceRun {
 public:
  explicit RecordedHostRun(DeviceRun& run) : run_(run) {}
  void WhenDone(std::function<void(Status)> done) override { done(OkStatus()); }
  void UseResource(const std::shared_ptr<Resource>& resource, bool changes) override {
    const Tensor state = resource->State();
    uses_host_state_ |= !state.has_value() || state.in_host_memory();
    run_.UseResource(resource, changes);
  }
  bool uses_host_state() const { return uses_host_state_; }

 private:
  DeviceRun& run_;
  bool uses_host_state_ = false;
};

class HostKernel : public Kernel {
 public:
  explicit HostKernel(std::unique_ptr<Kernel> kernel) : kernel_(std::move(kernel)) {}

  Status Compute(KernelContext& ctx) override {
    if (const DeviceRun* run = ctx.step().device_run; run != nullptr && run->is_recording()) return Record(ctx);
    const StepContext step = HostStep(ctx);
    KernelContext host = HostContext(step, ctx);
    return kernel_->Compute(host);
  }
  bool is_async() const override { return kernel_->is_async(); }
  bool is_expensive() const override { return kernel_->is_expensive(); }

  void ComputeAsync(KernelContext& ctx, Completion done) override {
    struct Call {
      StepContext step;
      KernelContext context;
      Completion done;
      Call(KernelContext& ctx, Completion completion)
          : step(HostStep(ctx)), context(HostContext(step, ctx)), done(std::move(completion)) {}
    };
    auto call = std::make_shared<Call>(ctx, std::move(done));
    KernelContext& context = call->context;
    kernel_->ComputeAsync(context, Completion([call](Status status) { call->done(std::move(status)); }));
  }

 private:
  // Only what comes out the same in every replay: no state of the host's.
  Status Record(KernelContext& ctx) {
    const bool has_state = ctx.node().schema->is_stateful;
    if (has_state && ctx.num_outputs() == 0) return RefuseRecording(ctx, "an update in the host's memory");
    RecordedHostRun run(RunOf(ctx));
    StepContext step = HostStep(ctx);
    step.device_run = &run;
    KernelContext host = HostContext(step, ctx);
    WEIR_RETURN_IF_ERROR(kernel_->Compute(host));
    return run.uses_host_state() ? RefuseRecording(ctx, "a variable in the host's memory") : OkStatus();
  }

  const std::unique_ptr<Kernel> kernel_;
};

}  // namespace

KernelFactory HostKernelFactory(const KernelRegistry& registry) {
  return [&registry](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    WEIR_ASSIGN_OR_RETURN(const KernelEntry* entry, registry.Find(init.schema().name, "CPU", init.attrs()));
    Device* device = init.device();
    if (device != nullptr) device = &static_cast<CudaDevice*>(device)->host_side();
    const KernelInit host(init.node_name(), init.schema(), init.attrs(), init.types(), device, init.functions());
    WEIR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, entry->factory(host));
    return std::make_unique<HostKernel>(std::move(kernel));
  };
}

}  // namespace weir::cuda
