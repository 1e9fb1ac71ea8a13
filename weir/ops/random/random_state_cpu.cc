// Keys, counters and generator variables.
#include "weir/ops/random/philox_source.h"
#include "weir/ops/random/register.h"

namespace weir {
namespace {

constexpr int32_t kPhilox = 1;

// StatelessRandomGetKeyCounter(Alg).
class KeyCounterKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Philox philox, random::StatelessSeedInput(ctx, 0));
    ctx.set_output(0, Tensor::Vector<uint64_t>({philox.key()}));
    ctx.set_output(1, Tensor::Vector<uint64_t>({philox.counter_low(), philox.counter_high()}));
    if (ctx.num_outputs() > 2) ctx.set_output(2, Tensor::Scalar(kPhilox));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

class AlgorithmKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar(kPhilox));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

// RngReadAndSkip and RngSkip: a delta counts outputs, each of which has 256 blocks.
class SkipKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    WEIR_RETURN_IF_ERROR(random::CheckGeneratorAlgorithm(ctx.input(1)));
    const Tensor& delta = ctx.input(2);
    if (!delta.shape().IsScalar()) {
      return InvalidArgument("delta must be of shape [], not ", delta.shape().ToString());
    }
    uint64_t outputs =
        delta.dtype() == DType::kUInt64 ? delta.scalar<uint64_t>() : static_cast<uint64_t>(delta.scalar<int64_t>());
    WEIR_ASSIGN_OR_RETURN(auto words, random::AdvanceGenerator(ctx, 0, outputs * random::kBlocksPerOutput));
    if (ctx.num_outputs() > 0) ctx.set_output(0, Tensor::Vector<int64_t>({words[0], words[1], words[2]}));
    return OkStatus();
  }
  bool is_expensive() const override { return false; }
};

}  // namespace

void RegisterRandomStateKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("StatelessRandomGetKeyCounter"), MakeKernel<KeyCounterKernel>);
  registry.Add(KernelBuilder("StatelessRandomGetKeyCounterAlg"), MakeKernel<KeyCounterKernel>);
  registry.Add(KernelBuilder("StatelessRandomGetAlg"), MakeKernel<AlgorithmKernel>);
  registry.Add(KernelBuilder("RngReadAndSkip"), MakeKernel<SkipKernel>);
  registry.Add(KernelBuilder("RngSkip"), MakeKernel<SkipKernel>);
}

}  // namespace weir
