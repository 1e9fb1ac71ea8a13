#include "weir/runtime/session_testing.h"

#include "weir/device/cpu/cpu_device.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/op_tables.h"

namespace weir {
namespace {

template <typename Op>
class ScalarKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    if (a.dtype() == DType::kFloat) {
      ctx.set_output(0, Tensor::Scalar(Op{}(a.scalar<float>(), b.scalar<float>())));
    } else {
      ctx.set_output(0, Tensor::Scalar(Op{}(a.scalar<int32_t>(), b.scalar<int32_t>())));
    }
    return OkStatus();
  }
};

struct BlockedSet {
  absl::Mutex mu;
  int next = 0;
  std::map<int, std::shared_ptr<Completion>> waiting ABSL_GUARDED_BY(mu);
};
BlockedSet& Blocked() {
  static auto* const set = new BlockedSet;
  return *set;
}

template <bool kDeaf>
class BlockKernel : public AsyncKernel {
 public:
  void ComputeAsync(KernelContext& ctx, Completion done) override {
    auto shared = std::make_shared<Completion>(std::move(done));
    ctx.set_output(0, ctx.input(0));
    int id;
    {
      absl::MutexLock lock(&Blocked().mu);
      id = Blocked().next++;
      Blocked().waiting[id] = shared;
    }
    if (kDeaf) return;
    CancellationManager* cancellation = &ctx.cancellation();
    auto token = cancellation->Register([id] { Finish(id, Cancelled("Block was cancelled")); });
    if (token == CancellationManager::kNoToken) Finish(id, Cancelled("Block was cancelled"));
  }
  static void Finish(int id, Status status) {
    std::shared_ptr<Completion> done;
    {
      absl::MutexLock lock(&Blocked().mu);
      auto found = Blocked().waiting.find(id);
      if (found == Blocked().waiting.end()) return;
      done = std::move(found->second);
      Blocked().waiting.erase(found);
    }
    (*done)(std::move(status));
  }
};

class FailKernel : public Kernel {
 public:
  Status Compute(KernelContext&) override { return InvalidArgument("as asked"); }
};

}  // namespace

std::shared_ptr<Environment> TestEnvironment(int cpus) {
  auto environment = std::make_shared<Environment>();
  if (!RegisterBuiltinOps(environment->ops).ok()) return nullptr;
  Status own = environment->ops.RegisterTable(
      "op Block(x: float) -> (y: float)\n  stateful\nop Deaf(x: float) -> (y: float)\n  stateful\n"
      "op Fail(x: float) -> (y: float)\n",
      "test");
  if (!own.ok()) return nullptr;
  KernelRegistry& kernels = environment->kernels;
  kernels.Add(KernelBuilder("AddV2"), MakeKernel<ScalarKernel<std::plus<>>>);
  kernels.Add(KernelBuilder("Sub"), MakeKernel<ScalarKernel<std::minus<>>>);
  kernels.Add(KernelBuilder("Less"), MakeKernel<ScalarKernel<std::less<>>>);
  kernels.Add(KernelBuilder("Block"), MakeKernel<BlockKernel<false>>);
  kernels.Add(KernelBuilder("Deaf"), MakeKernel<BlockKernel<true>>);
  kernels.Add(KernelBuilder("Fail"), MakeKernel<FailKernel>);
  for (int i = 0; i < cpus; ++i) environment->devices.Add(MakeCpuDevice(environment->task_name, i));
  return environment;
}

void ReleaseBlocked() {
  std::vector<int> ids;
  {
    absl::MutexLock lock(&Blocked().mu);
    for (const auto& [id, done] : Blocked().waiting) ids.push_back(id);
  }
  for (int id : ids) BlockKernel<false>::Finish(id, OkStatus());
}

void AwaitBlocked(int count) {
  BlockedSet& set = Blocked();
  absl::MutexLock lock(&set.mu);
  auto enough = [&set, count]()
                    ABSL_EXCLUSIVE_LOCKS_REQUIRED(set.mu) { return static_cast<int>(set.waiting.size()) >= count; };
  set.mu.Await(absl::Condition(&enough));
}

}  // namespace weir
