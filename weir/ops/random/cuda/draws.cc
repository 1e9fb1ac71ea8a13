// StatelessRandomGamma and Multinomial on GPUs: the host's streams and draws.
#include <algorithm>

#include "weir/device/cuda/launch.h"
#include "weir/ops/cuda/register.h"
#include "weir/ops/random/multinomial.h"
#include "weir/ops/random/sample_loop.h"

namespace weir::cuda {
namespace {

DeviceFunction Function(std::string name) { return {"weir/ops/random/cuda/draws.cu", std::move(name)}; }

// As device code declares it.
struct DevicePhilox {
  uint64_t key, counter_low, counter_high;
  explicit DevicePhilox(const Philox& philox)
      : key(philox.key()), counter_low(philox.counter_low()), counter_high(philox.counter_high()) {}
};

class GammaKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GammaKernel>();
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    kernel->alpha_ = init.schema().FindInput("alpha");
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& alpha = ctx.input(alpha_);
    WEIR_ASSIGN_OR_RETURN(random::SampleLoop loop,
                          random::MakeSampleLoop(ctx, alpha, /*shape_is_whole=*/true, source_));
    const int64_t n = loop.output->num_elements(), blocks = static_cast<int64_t>(random::kBlocksPerOutput);
    return LaunchOver(ctx, Function(Cat("FillGamma<", DeviceTypeName(alpha.dtype()), ">")), n,
                      DevicePhilox(loop.philox), blocks, Address(alpha), loop.num_parameters, loop.num_samples,
                      Address(*loop.output), n);
  }

 private:
  random::PhiloxSource source_;
  int alpha_ = 1;
};

class MultinomialKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<MultinomialKernel>();
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& logits = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Shape shape, random::MultinomialShape(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    WEIR_ASSIGN_OR_RETURN(Philox philox, source_.Reserve(ctx, random::MultinomialBlocks(shape)));
    const int64_t n = shape.num_elements(), rows = logits.dim(0), classes = logits.dim(1);
    if (n == 0) return OkStatus();
    WEIR_ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DType::kDouble, logits.shape()));
    const LaunchShape by_row{.grid = static_cast<unsigned>(std::min<int64_t>(rows, 65535)), .block = 256};
    WEIR_RETURN_IF_ERROR(Launch(ctx, Function(Cat("ClassWeights<", DeviceTypeName(logits.dtype()), ">")), by_row,
                                Address(logits), classes, Address(sums), rows));
    return LaunchOver(ctx, Function(Cat("DrawClasses<", DeviceTypeName(out->dtype()), ">")), n, DevicePhilox(philox),
                      Address(sums), classes, shape.dim(1), Address(*out), n);
  }

 private:
  random::PhiloxSource source_;
};

}  // namespace

void RegisterDrawKernels(GpuRegistry& registry) {
  for (const char* op : {"StatelessRandomGammaV2", "StatelessRandomGammaV3"}) {
    registry.Add(op, MakeKernel<GammaKernel>, "", {}, {"key", "counter"});
  }
  registry.Add("Multinomial", MakeKernel<MultinomialKernel>);
  registry.Add("StatelessMultinomial", MakeKernel<MultinomialKernel>);
}

}  // namespace weir::cuda
