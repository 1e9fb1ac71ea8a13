// IsotonicRegression: the falling sequence that is nearest to each row.
#include <algorithm>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

// Neighbours that rise are pooled into their mean until nothing rises.
template <typename In, typename Out>
class IsotonicRegressionKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * segments, ctx.AllocateOutput(1, input.shape()));
    if (input.num_elements() == 0) return OkStatus();
    const int64_t width = input.rank() == 0 ? 1 : input.dim(input.rank() - 1);
    const int64_t rows = input.num_elements() / width;
    ctx.ParallelFor(rows, /*unit_cost_ns=*/10 * width, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        Fit(input.data<In>() + row * width, width, output->data<Out>() + row * width,
            segments->data<int32_t>() + row * width);
      }
    });
    return OkStatus();
  }

 private:
  using Wide = ComputeType<Out>;
  struct Pool {
    Wide sum, mean;
    int64_t begin, count;
  };

  static void Fit(const In* in, int64_t width, Out* out, int32_t* segments) {
    std::vector<Pool> pools;
    for (int64_t i = 0; i < width; ++i) {
      const Wide value = static_cast<Wide>(in[i]);
      pools.push_back({value, value, i, 1});
      while (pools.size() > 1 && pools[pools.size() - 2].mean < pools.back().mean) {
        const Pool last = pools.back();
        pools.pop_back();
        Pool& into = pools.back();
        into.sum += last.sum;
        into.count += last.count;
        into.mean = into.sum / static_cast<Wide>(into.count);
      }
    }
    for (size_t segment = 0; segment < pools.size(); ++segment) {
      const Pool& pool = pools[segment];
      std::fill_n(out + pool.begin, pool.count, static_cast<Out>(pool.mean));
      std::fill_n(segments + pool.begin, pool.count, static_cast<int32_t>(segment));
    }
  }
};

template <typename In, typename Out>
void Register(KernelRegistry& registry) {
  registry.Add(KernelBuilder("IsotonicRegression").Types("T", TypeList<In>{}).Types("output_dtype", TypeList<Out>{}),
               MakeKernel<IsotonicRegressionKernel<In, Out>>);
}

}  // namespace

void RegisterIsotonicRegressionKernels(KernelRegistry& registry) {
  Register<Half, Half>(registry);
  Register<BFloat16, BFloat16>(registry);
  Register<float, float>(registry);
  Register<double, double>(registry);
  Register<int8_t, float>(registry);
  Register<int16_t, float>(registry);
  Register<int32_t, double>(registry);
  Register<int64_t, double>(registry);
}

}  // namespace weir
