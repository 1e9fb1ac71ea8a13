// RandomPoisson(V2), StatelessRandomPoisson: products of uniform numbers for small rates (Knuth), transformed rejection
// for large ones (Hoermann).
#include "weir/device/cpu/arithmetic.h"
#include "weir/ops/random/distributions.h"
#include "weir/ops/random/register.h"
#include "weir/ops/random/sample_loop.h"

namespace weir {
namespace {

using PoissonTypes = TypeList<Half, float, double, int32_t, int64_t>;

double SmallRate(double rate, double highest, Philox& philox) {
  random::UniformDoubles uniform;
  const double limit = std::exp(-rate);
  double product = 1;
  for (double x = 0;; x += 1) {
    product *= uniform.Next(philox);
    if (product <= limit && x <= highest) return x;
    if (product == 0) return highest;
  }
}

double LargeRate(double rate, double highest, Philox& philox) {
  constexpr int kMaxTries = 100000;
  random::UniformDoubles uniform;
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inv_alpha = 1.1239 + 1.1328 / (b - 3.4);
  for (int i = 0; i < kMaxTries; ++i) {
    const double u = uniform.Next(philox) - 0.5;
    const double v = uniform.Next(philox);
    const double margin = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / margin + b) * u + rate + 0.43);
    if (k > highest) continue;
    if (margin >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (margin < 0.013 && v > margin)) continue;
    const double s = std::log(v * inv_alpha / (a / (margin * margin) + b));
    int sign = 0;
    if (s <= -rate + k * log_rate - lgamma_r(k + 1, &sign)) return k;
  }
  return highest;  // a rate that the type cannot hold
}

double DrawPoisson(double rate, double highest, Philox philox) {
  if (!(rate >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (std::isinf(rate)) return highest;
  return rate < 10 ? SmallRate(rate, highest, philox) : LargeRate(rate, highest, philox);
}

template <typename T>
double Highest() {
  if constexpr (std::is_same_v<T, Half>) return 65504;
  if constexpr (std::is_integral_v<T>) return static_cast<double>(std::numeric_limits<T>::max());
  if constexpr (std::is_floating_point_v<T>) return static_cast<double>(std::numeric_limits<T>::max());
}

template <typename T>
T FromDrawn(double x) {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(x)) return 0;
    return x >= static_cast<double>(std::numeric_limits<T>::max()) ? std::numeric_limits<T>::max() : static_cast<T>(x);
  } else {
    return static_cast<T>(static_cast<ComputeType<T>>(x));
  }
}

class PoissonKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<PoissonKernel>();
    WEIR_RETURN_IF_ERROR(kernel->source_.Init(init));
    int rate = init.schema().FindInput("rate");
    kernel->rate_ = rate >= 0 ? rate : init.schema().FindInput("lam");
    kernel->shape_is_whole_ = init.schema().name.starts_with("Stateless");
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& rate = ctx.input(rate_);
    WEIR_ASSIGN_OR_RETURN(random::SampleLoop loop, random::MakeSampleLoop(ctx, rate, shape_is_whole_, source_));
    std::vector<double> rates(static_cast<size_t>(rate.num_elements()));
    DispatchDType(rate.dtype(), PoissonTypes{}, [&](auto tag) {
      auto values = rate.span<typename decltype(tag)::type>();
      for (size_t i = 0; i < rates.size(); ++i) rates[i] = static_cast<double>(Widen(values[i]));
    });
    DispatchDType(loop.output->dtype(), PoissonTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* out = loop.output->data<T>();
      loop.Run(ctx, 200, [&, out](int64_t parameter, const Philox& philox, int64_t position) {
        out[position] = FromDrawn<T>(DrawPoisson(rates[static_cast<size_t>(parameter)], Highest<T>(), philox));
      });
    });
    return OkStatus();
  }

 private:
  random::PhiloxSource source_;
  int rate_ = 1;
  bool shape_is_whole_ = false;
};

}  // namespace

void RegisterPoissonKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("RandomPoisson").Types("dtype", TypeList<Half, float, double>{}),
               MakeKernel<PoissonKernel>);
  registry.Add(KernelBuilder("RandomPoissonV2").Types("R", PoissonTypes{}).Types("dtype", PoissonTypes{}),
               MakeKernel<PoissonKernel>);
  registry.Add(KernelBuilder("StatelessRandomPoisson").Types("Rtype", PoissonTypes{}).Types("dtype", PoissonTypes{}),
               MakeKernel<PoissonKernel>);
}

}  // namespace weir
