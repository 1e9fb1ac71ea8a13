// MaxPool3D, AvgPool3D and their gradients over volumes with channels last.
#include <limits>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/ops/nn/pool_windows.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

using nn::PoolWindows;
using VolumeTypes = TypeList<BFloat16, float>;

class VolumePool : public Kernel {
 protected:
  static Status Read(const KernelInit& init, VolumePool& kernel) {
    WEIR_ASSIGN_OR_RETURN(kernel.sizes_, init.Attr<std::vector<int64_t>>("ksize"));
    WEIR_ASSIGN_OR_RETURN(kernel.strides_, init.Attr<std::vector<int64_t>>("strides"));
    WEIR_ASSIGN_OR_RETURN(kernel.padding_, init.Attr<std::string>("padding"));
    WEIR_ASSIGN_OR_RETURN(std::string format, init.Attr<std::string>("data_format"));
    if (format != "NDHWC") return InvalidArgument("Default Pooling3DOp only supports NDHWC on device type CPU");
    return nn::CheckPoolSizes(kernel.sizes_, kernel.strides_, 5);
  }
  StatusOr<PoolWindows> Windows(const Shape& input) const {
    if (input.rank() != 5) return InvalidArgument("tensor_in must be 5-dimensional");
    return nn::MakePoolWindows(input, sizes_, strides_, padding_);
  }
  std::vector<int64_t> sizes_, strides_;
  std::string padding_;
};

template <typename K>
StatusOr<std::unique_ptr<Kernel>> MakePool(const KernelInit& init) {
  auto kernel = std::make_unique<K>();
  WEIR_RETURN_IF_ERROR(kernel->ReadAttrs(init));
  return kernel;
}

template <typename T, bool kMax>
class Forward : public VolumePool {
 public:
  Status ReadAttrs(const KernelInit& init) { return Read(init, *this); }
  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(PoolWindows g, Windows(input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.output));
    if (g.output.num_elements() == 0) return OkStatus();
    const double cost = g.window_size() * static_cast<double>(g.channels);
    ctx.ParallelFor(g.batch * g.windows(), cost, [&](int64_t begin, int64_t end) {
      std::vector<float> values(static_cast<size_t>(g.channels));
      for (int64_t i = begin; i < end; ++i) {
        const T* image = input.data<T>() + i / g.windows() * g.places() * g.channels;
        std::fill(values.begin(), values.end(), kMax ? std::numeric_limits<float>::lowest() : 0.0f);
        int64_t count = 0;
        g.ForWindow(i % g.windows(), [&](int64_t place) {
          const T* x = image + place * g.channels;
          ++count;
          for (int64_t c = 0; c < g.channels; ++c) {
            const float value = Widen(x[c]);
            // NaN takes the place of what came before it, and gives its own to what follows.
            values[c] = kMax ? (value < values[c] ? values[c] : value) : values[c] + value;
          }
        });
        T* to = out->data<T>() + i * g.channels;
        for (int64_t c = 0; c < g.channels; ++c) {
          to[c] = static_cast<T>(kMax ? values[c] : values[c] / static_cast<float>(count));
        }
      }
    });
    return OkStatus();
  }
};

// Every element that equals the largest of its window gets the window's gradient.
template <typename T>
class MaxGrad : public VolumePool {
 public:
  Status ReadAttrs(const KernelInit& init) { return Read(init, *this); }
  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &pooled = ctx.input(1), &gradient = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(PoolWindows g, Windows(input.shape()));
    for (int i = 1; i < 3; ++i) WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, i, g.output));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    const int64_t image = g.places() * g.channels;
    ctx.ParallelFor(
        g.batch, g.window_size() * static_cast<double>(g.windows() * g.channels), [&](int64_t b, int64_t e) {
          std::vector<float> sums(static_cast<size_t>(image));
          for (int64_t n = b; n < e; ++n) {
            std::fill(sums.begin(), sums.end(), 0.0f);
            const T* x = input.data<T>() + n * image;
            for (int64_t w = 0; w < g.windows(); ++w) {
              const int64_t at = (n * g.windows() + w) * g.channels;
              g.ForWindow(w, [&](int64_t place) {
                for (int64_t c = 0; c < g.channels; ++c) {
                  const bool is_largest = Widen(x[place * g.channels + c]) == Widen(pooled.data<T>()[at + c]);
                  if (is_largest) sums[place * g.channels + c] += Widen(gradient.data<T>()[at + c]);
                }
              });
            }
            for (int64_t i = 0; i < image; ++i) out->data<T>()[n * image + i] = static_cast<T>(sums[i]);
          }
        });
    return OkStatus();
  }
};

// What stands where the first largest element of each window is.
template <typename T>
class MaxGradGrad : public VolumePool {
 public:
  Status ReadAttrs(const KernelInit& init) { return Read(init, *this); }
  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &gradient = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(PoolWindows g, Windows(input.shape()));
    WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, 1, g.output));
    WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, 2, input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.output));
    ctx.ParallelFor(g.batch * g.windows() * g.channels, g.window_size(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t c = i % g.channels, w = i / g.channels % g.windows(), n = i / g.channels / g.windows();
        const int64_t image = n * g.places() * g.channels + c;
        int64_t best = -1;
        g.ForWindow(w, [&](int64_t place) {
          const int64_t at = image + place * g.channels;
          if (best < 0 || Widen(input.data<T>()[at]) > Widen(input.data<T>()[best])) best = at;
        });
        out->data<T>()[i] = best < 0 ? T(0.0f) : gradient.data<T>()[best];
      }
    });
    return OkStatus();
  }
};

template <typename T>
class AvgGrad : public VolumePool {
 public:
  Status ReadAttrs(const KernelInit& init) { return Read(init, *this); }
  Status Compute(KernelContext& ctx) override {
    const Tensor& gradient = ctx.input(1);
    if (!ctx.input(0).shape().IsVector() || ctx.input(0).dim(0) != 5) {
      return InvalidArgument("orig_input_shape must be 1-dimensional and 5 elements");
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(ctx.input(0), "orig_input_shape"));
    WEIR_ASSIGN_OR_RETURN(PoolWindows g, Windows(shape));
    WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, 1, g.output));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const int64_t image = g.places() * g.channels;
    ctx.ParallelFor(g.batch, g.window_size() * static_cast<double>(g.windows() * g.channels),
                    [&](int64_t b, int64_t e) {
                      std::vector<float> sums(static_cast<size_t>(image));
                      for (int64_t n = b; n < e; ++n) {
                        std::fill(sums.begin(), sums.end(), 0.0f);
                        for (int64_t w = 0; w < g.windows(); ++w) {
                          const T* dy = gradient.data<T>() + (n * g.windows() + w) * g.channels;
                          const float scale = 1.0f / static_cast<float>(std::max<int64_t>(g.CountInside(w), 1));
                          g.ForWindow(w, [&](int64_t place) {
                            for (int64_t c = 0; c < g.channels; ++c)
                              sums[place * g.channels + c] += Widen(dy[c]) * scale;
                          });
                        }
                        for (int64_t i = 0; i < image; ++i) out->data<T>()[n * image + i] = static_cast<T>(sums[i]);
                      }
                    });
    return OkStatus();
  }
};

template <typename T>
void RegisterVolumePools(KernelRegistry& registry) {
  registry.Add(KernelBuilder("MaxPool3D").Types("T", TypeList<T>{}), MakePool<Forward<T, true>>);
  registry.Add(KernelBuilder("AvgPool3D").Types("T", TypeList<T>{}), MakePool<Forward<T, false>>);
  registry.Add(KernelBuilder("MaxPool3DGrad").Types("T", TypeList<T>{}).Types("TInput", TypeList<T>{}),
               MakePool<MaxGrad<T>>);
  registry.Add(KernelBuilder("MaxPool3DGradGrad").Types("T", TypeList<T>{}), MakePool<MaxGradGrad<T>>);
  registry.Add(KernelBuilder("AvgPool3DGrad").Types("T", TypeList<T>{}), MakePool<AvgGrad<T>>);
}

}  // namespace

void RegisterPool3DKernels(KernelRegistry& registry) {
  RegisterVolumePools<float>(registry);
  RegisterVolumePools<BFloat16>(registry);
}

}  // namespace weir
