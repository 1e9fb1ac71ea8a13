// LRN: divides by a power of the sum of squares over neighbouring channels.
#include <cmath>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/ops/nn/register.h"

namespace weir {
namespace {

struct LrnAttrs {
  int64_t radius = 0;
  float bias = 0, alpha = 0, beta = 0;

  static StatusOr<LrnAttrs> Read(const KernelInit& init) {
    LrnAttrs attrs;
    WEIR_ASSIGN_OR_RETURN(attrs.radius, init.Attr<int64_t>("depth_radius"));
    WEIR_ASSIGN_OR_RETURN(attrs.bias, init.Attr<float>("bias"));
    WEIR_ASSIGN_OR_RETURN(attrs.alpha, init.Attr<float>("alpha"));
    WEIR_ASSIGN_OR_RETURN(attrs.beta, init.Attr<float>("beta"));
    if (attrs.radius < 0) return InvalidArgument("depth_radius = ", attrs.radius, " should be non-negative");
    return attrs;
  }
  int64_t Begin(int64_t c) const { return c > radius ? c - radius : 0; }
  int64_t End(int64_t c, int64_t depth) const { return depth - c > radius ? c + radius + 1 : depth; }
  template <typename T>
  float Norm(const T* x, int64_t c, int64_t depth) const {
    float sum = 0;
    for (int64_t k = Begin(c); k < End(c, depth); ++k) sum += Widen(x[k]) * Widen(x[k]);
    return bias + alpha * sum;
  }
};

using LrnTypes = TypeList<Half, float>;

class LrnKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<LrnKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, LrnAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 4) return InvalidArgument("in must be 4-dimensional");
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    if (input.num_elements() == 0) return OkStatus();
    const int64_t depth = input.dim(3);
    DispatchDType(input.dtype(), LrnTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ctx.ParallelFor(input.num_elements() / depth, 30.0 * static_cast<double>(depth), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const T* x = input.data<T>() + row * depth;
          T* to = out->data<T>() + row * depth;
          for (int64_t c = 0; c < depth; ++c) {
            to[c] = static_cast<T>(Widen(x[c]) * std::pow(attrs_.Norm(x, c, depth), -attrs_.beta));
          }
        }
      });
    });
    return OkStatus();
  }

 private:
  LrnAttrs attrs_;
};

class LrnGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<LrnGradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, LrnAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& gradient = ctx.input(0);
    if (gradient.rank() != 4) return InvalidArgument("inputs must be 4-dimensional");
    for (int i = 1; i < 3; ++i) {
      if (ctx.input(i).shape() != gradient.shape()) {
        return InvalidArgument("input_grads, input_image, and out_image should have the same shape");
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, gradient.shape()));
    if (gradient.num_elements() == 0) return OkStatus();
    const int64_t depth = gradient.dim(3);
    DispatchDType(gradient.dtype(), LrnTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ctx.ParallelFor(gradient.num_elements() / depth, 60.0 * static_cast<double>(depth),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t row = begin; row < end; ++row) {
                          const int64_t at = row * depth;
                          Row(gradient.data<T>() + at, ctx.input(1).data<T>() + at, ctx.input(2).data<T>() + at, depth,
                              out->data<T>() + at);
                        }
                      });
    });
    return OkStatus();
  }

 private:
  template <typename T>
  void Row(const T* gradient, const T* x, const T* y, int64_t depth, T* to) const {
    std::vector<float> sums(static_cast<size_t>(depth), 0.0f);
    for (int64_t c = 0; c < depth; ++c) {
      const float norm = attrs_.Norm(x, c, depth);
      const float dy = Widen(gradient[c]);
      const float shared = -2.0f * attrs_.alpha * attrs_.beta * Widen(y[c]) / norm * dy;
      for (int64_t k = attrs_.Begin(c); k < attrs_.End(c, depth); ++k) sums[k] += shared * Widen(x[k]);
      sums[c] += std::pow(norm, -attrs_.beta) * dy;
    }
    for (int64_t c = 0; c < depth; ++c) to[c] = static_cast<T>(sums[c]);
  }

  LrnAttrs attrs_;
};

}  // namespace

void RegisterLrnKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("LRN").Types("T", LrnTypes{}), MakeKernel<LrnKernel>);
  registry.Add(KernelBuilder("LRNGrad").Types("T", LrnTypes{}), MakeKernel<LrnGradKernel>);
}

}  // namespace weir
