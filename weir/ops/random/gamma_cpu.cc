// RandomGamma, StatelessRandomGammaV2, StatelessRandomGammaV3: rejection after Marsaglia and Tsang.
#include "weir/device/cpu/arithmetic.h"
#include "weir/ops/random/distributions.h"
#include "weir/ops/random/register.h"
#include "weir/ops/random/sample_loop.h"

namespace weir {
namespace {

double DrawGamma(double alpha, Philox philox) {
  random::UniformDoubles uniform;
  if (alpha == 1.0) return -std::log1p(-uniform.Next(philox));
  const double d = alpha + (alpha < 1 ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / std::sqrt(d);
  double normals[2];
  int left = 0;
  while (true) {
    if (left == 0) {
      Philox::Block x = philox.Next();
      auto [first, second] = random::NormalDoubles(x[0], x[1], x[2], x[3]);
      normals[0] = first;
      normals[1] = second;
      left = 2;
    }
    const double x = normals[--left];
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = uniform.Next(philox);
    // The first test accepts most draws without a logarithm.
    if (u < 1 - 0.0331 * (x * x) * (x * x) || std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) {
      double result = d * v;
      if (alpha < 1) result *= std::pow(uniform.Next(philox), 1 / alpha);
      return result;
    }
    if (!(d > 0)) return std::numeric_limits<double>::quiet_NaN();  // no alpha that a draw could fit
  }
}

class GammaKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GammaKernel>();
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    kernel->alpha_ = init.schema().FindInput("alpha");
    kernel->shape_is_whole_ = init.schema().name.starts_with("Stateless");
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& alpha = ctx.input(alpha_);
    WEIR_ASSIGN_OR_RETURN(random::SampleLoop loop, random::MakeSampleLoop(ctx, alpha, shape_is_whole_, source_));
    DispatchDType(alpha.dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* parameters = alpha.data<T>();
      T* out = loop.output->data<T>();
      loop.Run(ctx, 150, [=](int64_t parameter, const Philox& philox, int64_t position) {
        double drawn = DrawGamma(static_cast<double>(Widen(parameters[parameter])), philox);
        out[position] = static_cast<T>(static_cast<ComputeType<T>>(drawn));
      });
    });
    return OkStatus();
  }

 private:
  random::PhiloxSource source_;
  int alpha_ = 1;
  bool shape_is_whole_ = false;
};

}  // namespace

void RegisterGammaKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("RandomGamma").Types("T", FloatTypes{}), MakeKernel<GammaKernel>);
  registry.Add(KernelBuilder("StatelessRandomGammaV2").Types("dtype", FloatTypes{}), MakeKernel<GammaKernel>);
  registry.Add(KernelBuilder("StatelessRandomGammaV3").Types("dtype", FloatTypes{}), MakeKernel<GammaKernel>);
}

}  // namespace weir
