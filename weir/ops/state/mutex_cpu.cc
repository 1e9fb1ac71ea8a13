// MutexV2, MutexLock, ConsumeMutexLock.
#include "weir/framework/resource_node.h"
#include "weir/ops/state/register.h"
#include "weir/ops/state/step_mutex.h"

namespace weir {
namespace {

class MutexKernel : public ResourceNodeKernel {
 public:
  MutexKernel(const KernelInit& init, ResourceKey key)
      : ResourceNodeKernel(init, std::move(key), StepMutex::kTypeName) {}
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(ResourceKey key, NodeResourceKey(init, /*use_node_name=*/true));
    return std::make_unique<MutexKernel>(init, std::move(key));
  }

 protected:
  StatusOr<std::shared_ptr<Resource>> Create(KernelContext&) override { return std::make_shared<StepMutex>(); }
};

class MutexLockKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto mutex = LookUpResource<StepMutex>(ctx, 0);
    if (!mutex.ok()) return done(mutex.status());
    auto shared_done = std::make_shared<Completion>(std::move(done));
    (*mutex)->Acquire(ctx.cancellation(), [&ctx, shared_done](StatusOr<std::shared_ptr<StepMutex::Holder>> holder) {
      if (!holder.ok()) return (*shared_done)(holder.status());
      // A released lock may come from anywhere, also from a step that is being torn down: go on in this step's threads.
      auto finish = [&ctx, shared_done, lock = *std::move(holder)]() mutable {
        ctx.set_output(0, Tensor::Scalar<Variant>(Variant(std::move(lock))));
        (*shared_done)(OkStatus());
      };
      if (ctx.step().runner) {
        ctx.step().runner(std::move(finish));
      } else {
        finish();
      }
    });
  }
};

class ConsumeMutexLockKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    Tensor lock = ctx.TakeInput(0);
    if (lock.dtype() != DType::kVariant || lock.num_elements() != 1 ||
        lock.scalar<Variant>().get_if<StepMutex::Holder>() == nullptr) {
      return InvalidArgument("Expected input to be a SharedLockReleaser variant, but saw variant: ", lock.ToString());
    }
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterMutexKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("MutexV2"), MakeKernel<MutexKernel>);
  registry.Add(KernelBuilder("MutexLock"), MakeKernel<MutexLockKernel>);
  registry.Add(KernelBuilder("ConsumeMutexLock"), MakeKernel<ConsumeMutexLockKernel>);
}

}  // namespace weir
