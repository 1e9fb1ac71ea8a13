// FusedBatchNorm (all versions) and its gradient. Statistics are float; images may be half or bfloat16. Where the
// fusing pass (weir/passes/fuse_norms.h) made them _FusedBatchNormEx and _FusedBatchNormGradEx, a rectifier after the
// norm, and the addition of another image between them, are part of it.
#include <cmath>
#include <limits>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/channel_loops.h"
#include "weir/ops/nn/batch_norm.h"
#include "weir/ops/nn/register.h"

namespace weir {
namespace {

using ImageTypes = TypeList<Half, BFloat16, float>;

using nn::CheckNormImage;
using nn::CheckNormVector;
using nn::NormAttrs;

// Calls `body(element, channel)` for every element in order.
struct Layout {
  int64_t outer, channels, inner;
  static Layout Of(const Shape& shape, bool channels_second) {
    const int axis = channels_second ? 1 : shape.rank() - 1;
    return {shape.Slice(0, axis).num_elements(), shape.dim(axis), shape.Slice(axis + 1, shape.rank()).num_elements()};
  }
  template <typename Body>
  void ForEach(Body body) const {
    int64_t at = 0;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t i = 0; i < inner; ++i) body(at++, c);
      }
    }
  }
  int64_t count() const { return outer * inner; }  // elements of one channel
};

// Sums are double, so that they do not depend on the order of summation as far as float can tell.
struct Moments {
  std::vector<double> mean, variance;
};
template <typename T>
Moments MomentsOf(const T* x, const Layout& layout) {
  const size_t n = static_cast<size_t>(layout.channels);
  Moments m{std::vector<double>(n), std::vector<double>(n)};
  layout.ForEach([&](int64_t at, int64_t c) { m.mean[c] += Widen(x[at]); });
  for (double& mean : m.mean) mean /= static_cast<double>(layout.count());
  layout.ForEach([&](int64_t at, int64_t c) {
    const double d = Widen(x[at]) - m.mean[c];
    m.variance[c] += d * d;
  });
  for (double& variance : m.variance) variance /= static_cast<double>(layout.count());
  return m;
}

// The same in one pass over channels that lie together. Taking the first row off keeps the sums small, so that the
// difference of squares loses nothing that matters.
Moments MomentsOf(const KernelContext& ctx, const float* x, const Layout& layout) {
  const size_t n = static_cast<size_t>(layout.channels);
  Moments m{std::vector<double>(n), std::vector<double>(n)};
  SumShiftedSquares(ctx, {layout.outer, layout.channels}, x, x, m.mean.data(), m.variance.data());
  const double count = static_cast<double>(layout.count());
  for (size_t c = 0; c < n; ++c) {
    const double mean = m.mean[c] / count;
    m.mean[c] = mean + x[c];
    // A NaN stays one.
    const double variance = m.variance[c] / count - mean * mean;
    m.variance[c] = variance < 0 ? 0 : variance;
  }
  return m;
}

class BatchNormKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BatchNormKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, NormAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_RETURN_IF_ERROR(CheckNormImage(x.shape()));
    const Layout layout = Layout::Of(x.shape(), attrs_.channels_second);
    WEIR_RETURN_IF_ERROR(nn::CheckNormInputs(ctx, attrs_, layout.channels));
    const float* side = nullptr;
    if (ctx.num_inputs() > 5) side = ctx.input(5).data<float>();
    WEIR_ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    Tensor* vectors[4];
    for (int i = 0; i < 4; ++i) {
      WEIR_ASSIGN_OR_RETURN(vectors[i], ctx.AllocateOutput(i + 1, Shape{layout.channels}));
    }
    if (ctx.num_outputs() > 5) ctx.set_output(5, Tensor::Scalar(0.0f));
    if (x.num_elements() == 0) {
      for (Tensor* vector : vectors) std::ranges::fill(vector->span<float>(), std::numeric_limits<float>::quiet_NaN());
      return OkStatus();
    }
    DispatchDType(x.dtype(), ImageTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      Moments moments;
      if (attrs_.is_training) {
        if constexpr (std::is_same_v<T, float>) {
          moments = layout.inner == 1 ? MomentsOf(ctx, x.data<float>(), layout) : MomentsOf(x.data<T>(), layout);
        } else {
          moments = MomentsOf(x.data<T>(), layout);
        }
      }
      Statistics(ctx, moments, layout, vectors);
      Normalize(ctx, x.data<T>(), layout, vectors[2]->data<float>(), vectors[3]->data<float>(), side, y->data<T>());
    });
    return OkStatus();
  }

 private:
  // Running mean and variance (of the sample), then the batch's own as the gradient needs them.
  void Statistics(KernelContext& ctx, const Moments& moments, const Layout& layout, Tensor* const* vectors) const {
    const double count = static_cast<double>(layout.count());
    const double correction = count > 1 ? count / (count - 1) : 1;
    for (int64_t c = 0; c < layout.channels; ++c) {
      if (!attrs_.is_training) {
        for (int i = 0; i < 4; ++i) vectors[i]->data<float>()[c] = ctx.input(3 + i % 2).data<float>()[c];
        continue;
      }
      const float mean = static_cast<float>(moments.mean[c]);
      const float variance = static_cast<float>(moments.variance[c]);
      const float sample_variance = static_cast<float>(moments.variance[c] * correction);
      const float f = attrs_.average_factor;
      const bool is_fresh = f == 1;
      vectors[0]->data<float>()[c] = is_fresh ? mean : (1 - f) * ctx.input(3).data<float>()[c] + f * mean;
      vectors[1]->data<float>()[c] =
          is_fresh ? sample_variance : (1 - f) * ctx.input(4).data<float>()[c] + f * sample_variance;
      vectors[2]->data<float>()[c] = mean;
      vectors[3]->data<float>()[c] = variance;
    }
  }

  template <typename T>
  void Normalize(KernelContext& ctx, const T* x, const Layout& layout, const float* mean, const float* variance,
                 const float* side, T* y) const {
    const float* offset = ctx.input(2).data<float>();
    std::vector<float> factor(static_cast<size_t>(layout.channels));
    for (int64_t c = 0; c < layout.channels; ++c) {
      factor[c] = ctx.input(1).data<float>()[c] / std::sqrt(variance[c] + attrs_.epsilon);
    }
    if constexpr (std::is_same_v<T, float>) {
      const ChannelSize size{layout.outer, layout.channels};
      if (attrs_.has_relu) return ScaleAndRectifyChannels(ctx, size, x, mean, factor.data(), offset, side, y);
      if (layout.inner == 1) return ScaleChannels(ctx, size, x, mean, factor.data(), offset, y);
    }
    layout.ForEach(
        [&](int64_t at, int64_t c) { y[at] = static_cast<T>((Widen(x[at]) - mean[c]) * factor[c] + offset[c]); });
  }

  NormAttrs attrs_;
};

class BatchNormGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BatchNormGradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->attrs_, NormAttrs::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& gradient = ctx.input(0);
    const Tensor& x = ctx.input(1);
    WEIR_RETURN_IF_ERROR(CheckNormImage(x.shape()));
    WEIR_RETURN_IF_ERROR(nn::CheckNormGradImages(ctx, attrs_));
    const float* output = attrs_.has_relu ? ctx.input(7).data<float>() : nullptr;
    const Layout layout = Layout::Of(x.shape(), attrs_.channels_second);
    for (int i = 2; i < 5; ++i) WEIR_RETURN_IF_ERROR(CheckNormVector(ctx, i, layout.channels));
    WEIR_ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * scale, ctx.AllocateOutput(1, Shape{layout.channels}));
    WEIR_ASSIGN_OR_RETURN(Tensor * offset, ctx.AllocateOutput(2, Shape{layout.channels}));
    for (int i = 3; i < 5; ++i) WEIR_RETURN_IF_ERROR(ctx.AllocateOutput(i, Shape{0}).status());
    DispatchDType(x.dtype(), ImageTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      Backward(ctx, gradient.data<T>(), output, x.data<T>(), layout, dx->data<T>(), scale->data<float>(),
               offset->data<float>());
    });
    return OkStatus();
  }

 private:
  template <typename T>
  void Backward(KernelContext& ctx, const T* dy, const float* output, const T* x, const Layout& layout, T* dx,
                float* scale_gradient, float* offset_gradient) const {
    const float* scale = ctx.input(2).data<float>();
    const float* mean = ctx.input(3).data<float>();
    const float* variance = ctx.input(4).data<float>();
    const size_t n = static_cast<size_t>(layout.channels);
    std::vector<double> sum(n), product(n);
    const bool is_fast = std::is_same_v<T, float> && layout.inner == 1 && layout.outer > 0 && layout.channels > 0;
    const ChannelSize size{layout.outer, layout.channels};
    if constexpr (std::is_same_v<T, float>) {
      if (is_fast) SumShiftedProducts(ctx, size, dy, output, x, mean, sum.data(), product.data());
    }
    if (!is_fast) {
      layout.ForEach([&](int64_t at, int64_t c) {
        sum[c] += Widen(dy[at]);
        product[c] += static_cast<double>(Widen(dy[at])) * (Widen(x[at]) - mean[c]);
      });
    }
    const double count = static_cast<double>(std::max<int64_t>(layout.count(), 1));
    std::vector<float> factor(n), shift(n), slope(n);
    for (size_t c = 0; c < n; ++c) {
      const float inverse = 1.0f / std::sqrt(variance[c] + attrs_.epsilon);
      scale_gradient[c] = static_cast<float>(product[c] * inverse);
      offset_gradient[c] = static_cast<float>(sum[c]);
      factor[c] = scale[c] * inverse;
      // With fixed statistics the gradient does not flow through them.
      if (!attrs_.is_training) continue;
      shift[c] = static_cast<float>(sum[c] / count);
      slope[c] = static_cast<float>(product[c] / count / (static_cast<double>(variance[c]) + attrs_.epsilon));
    }
    if constexpr (std::is_same_v<T, float>) {
      if (is_fast) {
        return ScaleChannelsBackward(ctx, size, dy, output, x, mean, factor.data(), shift.data(), slope.data(), dx);
      }
    }
    layout.ForEach([&](int64_t at, int64_t c) {
      dx[at] = static_cast<T>(factor[c] * (Widen(dy[at]) - shift[c] - (Widen(x[at]) - mean[c]) * slope[c]));
    });
  }

  NormAttrs attrs_;
};

}  // namespace

void RegisterBatchNormKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("FusedBatchNorm").Types("T", TypeList<float>{}), MakeKernel<BatchNormKernel>);
  registry.Add(KernelBuilder("FusedBatchNormGrad").Types("T", TypeList<float>{}), MakeKernel<BatchNormGradKernel>);
  for (std::string_view version : {"V2", "V3"}) {
    registry.Add(KernelBuilder(Cat("FusedBatchNorm", version)).Types("T", ImageTypes{}).Types("U", TypeList<float>{}),
                 MakeKernel<BatchNormKernel>);
    registry.Add(
        KernelBuilder(Cat("FusedBatchNormGrad", version)).Types("T", ImageTypes{}).Types("U", TypeList<float>{}),
        MakeKernel<BatchNormGradKernel>);
  }
  registry.Add(KernelBuilder("_FusedBatchNormEx").Types("T", TypeList<float>{}).Types("U", TypeList<float>{}),
               MakeKernel<BatchNormKernel>);
  registry.Add(KernelBuilder("_FusedBatchNormGradEx").Types("T", TypeList<float>{}).Types("U", TypeList<float>{}),
               MakeKernel<BatchNormGradKernel>);
}

}  // namespace weir
