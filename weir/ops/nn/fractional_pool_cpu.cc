// FractionalMaxPool, FractionalAvgPool and their gradients (Graham, "Fractional Max-Pooling"): windows of uneven sizes
// whose borders are drawn at random.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "weir/base/philox.h"
#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

using PooledTypes = TypeList<float, double, int32_t, int64_t>;
using Borders = std::vector<int64_t>;

// Borders of `count` windows over `size` elements: from 0 to `size`, one more than windows.
Borders RandomBorders(int64_t size, int64_t count, Philox& philox) {
  std::vector<int64_t> steps(static_cast<size_t>(count), size / count);
  for (int64_t i = 0; i < size % count; ++i) ++steps[i];
  PhiloxNumbers numbers(philox);
  philox.Skip((static_cast<uint64_t>(count) + 3) / 4);
  for (int64_t i = 0; i + 1 < count; ++i) {
    std::swap(steps[i], steps[i + numbers.Next() % static_cast<uint32_t>(count - i)]);
  }
  Borders out{0};
  for (int64_t step : steps) out.push_back(out.back() + step);
  return out;
}

// One random number places all borders.
Borders PseudoRandomBorders(int64_t size, int64_t count, Philox& philox) {
  const double alpha = static_cast<double>(size) / static_cast<double>(count);
  const double k = static_cast<double>(size / count);
  const double largest =
      std::min((k + 2) / alpha - 1, (static_cast<double>(size) + 1 - k) / alpha - static_cast<double>(count - 1));
  const Philox::Block x = philox.Next();
  const uint64_t mantissa = static_cast<uint64_t>(x[0] & 0xfffffu) << 32 | x[1];
  const double u = (std::bit_cast<double>(uint64_t{1023} << 52 | mantissa) - 1.0) * largest;
  Borders out{0};
  for (int64_t i = 1; i < count; ++i) {
    out.push_back(static_cast<int64_t>(std::ceil(alpha * (static_cast<double>(i) + u))) - 1);
  }
  out.push_back(size);
  return out;
}

// Windows over an image with channels last.
struct Windows {
  Borders rows, columns;
  bool overlapping;

  // The elements [first, second) of window `i`; windows that overlap share their border.
  std::pair<int64_t, int64_t> Range(const Borders& borders, int64_t i) const {
    return {borders[i], std::min(borders[i + 1] + (overlapping ? 1 : 0), borders.back())};
  }
  template <typename Body>
  void ForWindow(int64_t oh, int64_t ow, Body body) const {
    const auto [top, bottom] = Range(rows, oh);
    const auto [left, right] = Range(columns, ow);
    for (int64_t h = top; h < bottom; ++h) {
      for (int64_t w = left; w < right; ++w) body(h, w);
    }
  }
};

// Walks all windows of [batch, height, width, channels]: body(output place, first input place of the image, row,
// column of the window).
template <typename Body>
void ForOutputs(const Shape& output, int64_t image, Body body) {
  const int64_t h = output.dim(1), w = output.dim(2), c = output.dim(3);
  for (int64_t i = 0; i < output.num_elements(); ++i) {
    body(i, i / (h * w * c) * image + i % c, i / (w * c) % h, i / c % w);
  }
}

template <bool kMax>
class ForwardKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ForwardKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->ratio_, init.Attr<std::vector<float>>("pooling_ratio"));
    WEIR_ASSIGN_OR_RETURN(kernel->pseudo_random_, init.Attr<bool>("pseudo_random"));
    WEIR_ASSIGN_OR_RETURN(kernel->overlapping_, init.Attr<bool>("overlapping"));
    WEIR_ASSIGN_OR_RETURN(kernel->deterministic_, init.Attr<bool>("deterministic"));
    WEIR_ASSIGN_OR_RETURN(int64_t seed, init.Attr<int64_t>("seed"));
    WEIR_ASSIGN_OR_RETURN(int64_t seed2, init.Attr<int64_t>("seed2"));
    const std::vector<float>& ratio = kernel->ratio_;
    for (float r : ratio) {
      if (!(r >= 1)) return InvalidArgument("pooling_ratio cannot be smaller than 1, got: ", r);
    }
    if (ratio.size() != 4) return InvalidArgument("pooling_ratio field must specify 4 dimensions");
    if (ratio[0] != 1 || ratio[3] != 1) {
      return Unimplemented("Fractional ", kMax ? "max" : "average",
                           " pooling is not yet supported on the batch nor channel dimension.");
    }
    if (!kernel->deterministic_ && (seed != 0 || seed2 != 0)) {
      return InvalidArgument("Both seed and seed2 should be 0 if deterministic is false.");
    }
    if (seed == 0 && seed2 == 0) {
      std::random_device device;
      seed = static_cast<int64_t>(device()) << 32 | device();
      seed2 = device();
    }
    kernel->seed_ = static_cast<uint64_t>(seed);
    kernel->seed2_ = static_cast<uint64_t>(seed2);
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 4) return InvalidArgument("tensor_in must be 4-dimensional");
    Philox philox = deterministic_ ? Philox::FromSeeds(seed_, seed2_) : Philox::FromSeeds(0, 0);
    for (int i = 0; i < 4; ++i) {
      if (static_cast<float>(input.dim(i)) >= ratio_[i]) continue;
      return InvalidArgument("Pooling ratio is higher than input dimension size for dimension ", i,
                             ". Input dim size: ", input.dim(i), " pooling ratio: ", ratio_[i]);
    }
    Windows windows;
    windows.overlapping = overlapping_;
    Shape shape({input.dim(0)});
    for (int i = 1; i < 3; ++i) {
      const int64_t size = input.dim(i), count = static_cast<int64_t>(std::floor(static_cast<float>(size) / ratio_[i]));
      (i == 1 ? windows.rows : windows.columns) =
          pseudo_random_ ? PseudoRandomBorders(size, count, philox) : RandomBorders(size, count, philox);
      WEIR_RETURN_IF_ERROR(shape.AddDim(count));
    }
    WEIR_RETURN_IF_ERROR(shape.AddDim(input.dim(3)));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ctx.set_output(1, Tensor::Vector<int64_t>(windows.rows));
    ctx.set_output(2, Tensor::Vector<int64_t>(windows.columns));
    DispatchDType(input.dtype(), PooledTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t width = input.dim(2), channels = input.dim(3), image = input.dim(1) * width * channels;
      ForOutputs(shape, image, [&](int64_t to, int64_t first, int64_t oh, int64_t ow) {
        const T* x = input.data<T>() + first;
        T largest = std::numeric_limits<T>::lowest();
        T sum = 0, count = 0;
        windows.ForWindow(oh, ow, [&](int64_t h, int64_t w) {
          const T value = x[(h * width + w) * channels];
          largest = std::max(largest, value);
          sum = WrapAdd(sum, value);
          ++count;
        });
        out->data<T>()[to] = kMax ? largest : static_cast<T>(sum / count);
      });
    });
    return OkStatus();
  }

 private:
  std::vector<float> ratio_;
  bool pseudo_random_ = false, overlapping_ = false, deterministic_ = false;
  uint64_t seed_ = 0, seed2_ = 0;
};

// The borders in input `i`, checked against `size` elements.
StatusOr<Borders> BorderInput(const KernelContext& ctx, int i, int64_t size, int64_t count) {
  const Tensor& tensor = ctx.input(i);
  const std::string_view name = ctx.node().schema->inputs[i].name;
  if (tensor.rank() != 1 || tensor.dim(0) != count + 1) {
    return InvalidArgument(name, " must be a vector with ", count + 1, " elements, got shape ",
                           tensor.shape().ToString());
  }
  auto span = tensor.span<int64_t>();
  Borders out(span.begin(), span.end());
  if (out.front() < 0 || out.back() > size || !std::ranges::is_sorted(out)) {
    return InvalidArgument(name, " must grow from 0 to ", size);
  }
  return out;
}

template <bool kMax>
class GradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->overlapping_, init.Attr<bool>("overlapping"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    Shape shape = ctx.input(0).shape();
    if constexpr (!kMax) {
      WEIR_ASSIGN_OR_RETURN(shape, ShapeInput(ctx.input(0), "orig_input_tensor_shape"));
    }
    constexpr int kGradient = kMax ? 2 : 1;
    const Tensor& gradient = ctx.input(kGradient);
    const Shape& pooled = gradient.shape();
    if (shape.rank() != 4) return InvalidArgument("orig_input must be 4-dimensional");
    if (pooled.rank() != 4) return InvalidArgument("out_backprop must be 4-dimensional");
    if (pooled.dim(0) != shape.dim(0) || pooled.dim(3) != shape.dim(3)) {
      return InvalidArgument("out_backprop ", pooled.ToString(), " does not fit the input ", shape.ToString());
    }
    if (kMax && ctx.input(1).shape() != pooled) {
      return InvalidArgument("orig_output and out_backprop must have the same shape");
    }
    Windows windows;
    windows.overlapping = overlapping_;
    WEIR_ASSIGN_OR_RETURN(windows.rows, BorderInput(ctx, kGradient + 1, shape.dim(1), pooled.dim(1)));
    WEIR_ASSIGN_OR_RETURN(windows.columns, BorderInput(ctx, kGradient + 2, shape.dim(2), pooled.dim(2)));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    DispatchDType(gradient.dtype(), PooledTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t width = shape.dim(2), channels = shape.dim(3), image = shape.dim(1) * width * channels;
      std::vector<double> sums(static_cast<size_t>(shape.num_elements()), 0.0);
      ForOutputs(pooled, image, [&](int64_t from, int64_t first, int64_t oh, int64_t ow) {
        const double dy = static_cast<double>(gradient.data<T>()[from]);
        int64_t best = -1, count = 0;
        windows.ForWindow(oh, ow, [&](int64_t h, int64_t w) {
          const int64_t at = first + (h * width + w) * channels;
          ++count;
          if constexpr (kMax) {
            const T* x = ctx.input(0).data<T>();
            if (best < 0 || x[at] > x[best]) best = at;
          }
        });
        if (kMax && best >= 0) sums[best] += dy;
        if constexpr (!kMax) {
          windows.ForWindow(oh, ow, [&](int64_t h, int64_t w) {
            sums[first + (h * width + w) * channels] += dy / static_cast<double>(count);
          });
        }
      });
      for (size_t i = 0; i < sums.size(); ++i) out->data<T>()[i] = static_cast<T>(sums[i]);
    });
    return OkStatus();
  }

 private:
  bool overlapping_ = false;
};

}  // namespace

void RegisterFractionalPoolKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("FractionalMaxPool").Types("T", PooledTypes{}), MakeKernel<ForwardKernel<true>>);
  registry.Add(KernelBuilder("FractionalAvgPool").Types("T", PooledTypes{}), MakeKernel<ForwardKernel<false>>);
  registry.Add(KernelBuilder("FractionalMaxPoolGrad").Types("T", PooledTypes{}), MakeKernel<GradKernel<true>>);
  registry.Add(KernelBuilder("FractionalAvgPoolGrad").Types("T", PooledTypes{}), MakeKernel<GradKernel<false>>);
}

}  // namespace weir
