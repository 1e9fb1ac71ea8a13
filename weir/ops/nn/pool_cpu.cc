// MaxPool, MaxPoolWithArgmax, AvgPool and their gradients over NHWC images.
#include <limits>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/device/cpu/vector.h"
#include "weir/ops/nn/max_pool_places.h"
#include "weir/ops/nn/pool_windows.h"
#include "weir/ops/nn/register.h"
#include "weir/ops/nn/window.h"

namespace weir {
namespace {

using nn::WindowAxis;

struct Geometry {
  int64_t batch, channels;
  WindowAxis h, w;
  Shape output;
  bool over_depth = false;  // the columns are channels

  int64_t image() const { return h.input * w.input * channels; }
  int64_t pooled() const { return h.output * w.output * channels; }
};

StatusOr<Geometry> MakeGeometry(const nn::Window2D& window, const Shape& input) {
  WEIR_ASSIGN_OR_RETURN(nn::PoolWindows windows, nn::MakeImageWindows(window, input));
  return Geometry{windows.batch,   windows.channels, windows.axis[1],
                  windows.axis[2], windows.output,   window.ksize[3] != 1};
}

// Calls `body(ih, iw)` for every place of window (oh, ow) inside the image.
template <typename Body>
void ForWindow(const Geometry& g, int64_t oh, int64_t ow, Body body) {
  for (int64_t ih = g.h.Begin(oh); ih < g.h.End(oh); ++ih) {
    for (int64_t iw = g.w.Begin(ow); iw < g.w.End(ow); ++iw) body(ih, iw);
  }
}

class PoolKernel : public Kernel {
 public:
  static Status Read(const KernelInit& init, nn::Window2D& window, bool over_depth = false) {
    auto format = init.Attr<std::string>("data_format");  // some pools know one format only
    if (format.ok() && format->starts_with("NC")) {
      return InvalidArgument("Default ", init.schema().name, " only supports NHWC on device type CPU");
    }
    WEIR_ASSIGN_OR_RETURN(window, nn::ReadPoolWindow(init, over_depth));
    return OkStatus();
  }
};

// Where the largest of a window begins: NaN never is it, and what is infinitely low is less than this.
template <typename T>
ComputeType<T> Lowest() {
  if constexpr (kIsSmallFloat<T>) {
    return Widen(T::FromBits(std::is_same_v<T, Half> ? 0xfbff : 0xff7f));
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

// One row of windows. `sums` holds one number a channel.
template <typename T, bool kMax>
[[gnu::always_inline]] inline void PoolRowBody(const Geometry& g, const T* image, int64_t oh, ComputeType<T>* sums,
                                               T* to) {
  using C = ComputeType<T>;
  const int64_t channels = g.channels, top = g.h.Begin(oh), bottom = g.h.End(oh);
  for (int64_t ow = 0; ow < g.w.output; ++ow, to += channels) {
    const int64_t left = g.w.Begin(ow), right = g.w.End(ow);
    const int64_t count = std::max<int64_t>(0, bottom - top) * std::max<int64_t>(0, right - left);
    for (int64_t c = 0; c < channels; ++c) {
      sums[c] = !kMax || count == 0 ? C(0)
                : g.over_depth      ? C(Widen(image[(top * g.w.input + left) * channels + c]))
                                    : Lowest<T>();
    }
    for (int64_t ih = top; ih < bottom; ++ih) {
      for (int64_t iw = left; iw < right; ++iw) {
        const T* x = image + (ih * g.w.input + iw) * channels;
#pragma GCC ivdep
        for (int64_t c = 0; c < channels; ++c) {
          const C value = Widen(x[c]);
          if constexpr (kMax) {
            sums[c] = value > sums[c] ? value : sums[c];
          } else {
            sums[c] = static_cast<C>(sums[c] + value);
          }
        }
      }
    }
    for (int64_t c = 0; c < channels; ++c) {
      to[c] = static_cast<T>(kMax || count == 0 ? sums[c] : static_cast<C>(sums[c] / static_cast<C>(count)));
    }
  }
}
template <typename T, bool kMax>
void PoolRow(const Geometry& g, const T* image, int64_t oh, ComputeType<T>* sums, T* to) {
  PoolRowBody<T, kMax>(g, image, oh, sums, to);
}
// Up to three neighbours are added at once, so that the sum so far is seldom stored and read again.
WEIR_VECTOR void AverageFloatRow(const Geometry& g, const float* image, int64_t oh, float* /*sums*/, float* to) {
  const int64_t channels = g.channels, top = g.h.Begin(oh), bottom = g.h.End(oh);
  for (int64_t ow = 0; ow < g.w.output; ++ow, to += channels) {
    const int64_t left = g.w.Begin(ow), right = g.w.End(ow);
    for (int64_t c = 0; c < channels; ++c) to[c] = 0;
    if (top >= bottom || left >= right) continue;
    for (int64_t ih = top; ih < bottom; ++ih) {
      const float* a = image + (ih * g.w.input + left) * channels;
      int64_t rest = right - left;
      for (; rest >= 3; rest -= 3, a += 3 * channels) {
        const float *b = a + channels, *d = b + channels;
#pragma GCC ivdep
        for (int64_t c = 0; c < channels; ++c) to[c] = to[c] + a[c] + b[c] + d[c];
      }
      for (; rest > 0; --rest, a += channels) {
#pragma GCC ivdep
        for (int64_t c = 0; c < channels; ++c) to[c] += a[c];
      }
    }
    const float count = static_cast<float>((bottom - top) * (right - left));
    for (int64_t c = 0; c < channels; ++c) to[c] /= count;
  }
}

inline float LargerOf(float best, float x) { return x > best ? x : best; }

// The largest of a window in the channels from `begin` to `end`.
[[gnu::always_inline]] inline void LargestOfWindow(const Geometry& g, const float* image, int64_t top, int64_t bottom,
                                                   int64_t left, int64_t right, int64_t begin, int64_t end, float* to) {
  const float* first = image + (top * g.w.input + left) * g.channels;
  for (int64_t c = begin; c < end; ++c) to[c] = g.over_depth ? first[c] : Lowest<float>();
  for (int64_t ih = top; ih < bottom; ++ih) {
    for (int64_t iw = left; iw < right; ++iw) {
      const float* x = image + (ih * g.w.input + iw) * g.channels;
#pragma GCC ivdep
      for (int64_t c = begin; c < end; ++c) to[c] = LargerOf(to[c], x[c]);
    }
  }
}

// Most channels go through registers.
WEIR_VECTOR void LargestFloatRow(const Geometry& g, const float* image, int64_t oh, float* /*sums*/, float* to) {
  constexpr int kCount = 4, kBlock = kCount * 8;
  const int64_t channels = g.channels, top = g.h.Begin(oh), bottom = g.h.End(oh);
  for (int64_t ow = 0; ow < g.w.output; ++ow, to += channels) {
    const int64_t left = g.w.Begin(ow), right = g.w.End(ow);
    if (top >= bottom || left >= right) {
      for (int64_t c = 0; c < channels; ++c) to[c] = 0;
      continue;
    }
    int64_t c = 0;
    for (; c + kBlock <= channels; c += kBlock) {
      Lanes best[kCount];
      WEIR_UNROLL
      for (int k = 0; k < kCount; ++k) best[k] = Lanes{} + Lowest<float>();
      for (int64_t ih = top; ih < bottom; ++ih) {
        const float* x = image + (ih * g.w.input + left) * channels + c;
        for (int64_t iw = left; iw < right; ++iw, x += channels) {
          WEIR_UNROLL
          for (int k = 0; k < kCount; ++k) {
            Lanes value;
            LoadLanes(x + k * 8, value);
            best[k] = value > best[k] ? value : best[k];
          }
        }
      }
      WEIR_UNROLL
      for (int k = 0; k < kCount; ++k) StoreLanes(best[k], to + c + k * 8);
    }
    if (c < channels) LargestOfWindow(g, image, top, bottom, left, right, c, channels, to);
  }
}

template <bool kMax>
class ForwardKernel : public PoolKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ForwardKernel>();
    WEIR_RETURN_IF_ERROR(Read(init, kernel->window_, /*over_depth=*/kMax));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Geometry g, MakeGeometry(window_, input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.output));
    if (g.output.num_elements() == 0) return OkStatus();
    DispatchDType(input.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      constexpr bool kIsFloat = std::is_same_v<T, float>;
      const double cost = (kIsFloat ? 0.2 : 1.0) * static_cast<double>(g.h.size * g.w.size * g.w.output * g.channels);
      ctx.ParallelFor(g.batch * g.h.output, cost, [&](int64_t begin, int64_t end) {
        std::vector<ComputeType<T>> sums(static_cast<size_t>(g.channels));
        for (int64_t i = begin; i < end; ++i) {
          const T* image = input.data<T>() + i / g.h.output * g.image();
          T* to = out->data<T>() + i * g.w.output * g.channels;
          if constexpr (kIsFloat) {
            (kMax ? LargestFloatRow : AverageFloatRow)(g, image, i % g.h.output, sums.data(), to);
          } else {
            PoolRow<T, kMax>(g, image, i % g.h.output, sums.data(), to);
          }
        }
      });
    });
    return OkStatus();
  }

 private:
  nn::Window2D window_;
};

// Writes the gradient of one image's windows, which tile it, each to the first largest element of its window. `best`
// and `place` hold one number a channel.
WEIR_VECTOR void ScatterFloats(const Geometry& g, const float* image, const float* gradient, float* best,
                               int32_t* place, float* to) {
  const int64_t channels = g.channels;
  for (int64_t oh = 0; oh < g.h.output; ++oh) {
    const int64_t top = g.h.Begin(oh), bottom = g.h.End(oh);
    for (int64_t ow = 0; ow < g.w.output; ++ow, gradient += channels) {
      const int64_t left = g.w.Begin(ow), right = g.w.End(ow);
      if (top >= bottom || left >= right) continue;
      const float* first = image + (top * g.w.input + left) * channels;
      for (int64_t c = 0; c < channels; ++c) {
        best[c] = first[c];
        place[c] = 0;
      }
      int32_t at = 0;
      for (int64_t ih = top; ih < bottom; ++ih) {
        for (int64_t iw = left; iw < right; ++iw, ++at) {
          const float* x = image + (ih * g.w.input + iw) * channels;
#pragma GCC ivdep
          for (int64_t c = 0; c < channels; ++c) {
            place[c] = x[c] > best[c] ? at : place[c];
            best[c] = x[c] > best[c] ? x[c] : best[c];
          }
        }
      }
      at = 0;
      for (int64_t ih = top; ih < bottom; ++ih) {
        for (int64_t iw = left; iw < right; ++iw, ++at) {
          float* dx = to + (ih * g.w.input + iw) * channels;
#pragma GCC ivdep
          for (int64_t c = 0; c < channels; ++c) dx[c] = place[c] == at ? gradient[c] : 0;
        }
      }
    }
  }
}

// The gradient goes to the first largest element of each window.
class MaxPoolGradKernel : public PoolKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<MaxPoolGradKernel>();
    WEIR_RETURN_IF_ERROR(Read(init, kernel->window_));
    if (kernel->window_.strides[3] != 1) {
      return Unimplemented("MaxPoolingGrad is not yet supported on the depth dimension.");
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& gradient = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(Geometry g, MakeGeometry(window_, input.shape()));
    for (int i = 1; i < 3; ++i) {
      if (ctx.input(i).shape() != g.output) {
        return InvalidArgument("Expected ", ctx.node().schema->inputs[i].name, " shape to be ", g.output.ToString(),
                               ", but got ", ctx.input(i).shape().ToString());
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    if (input.num_elements() == 0) return OkStatus();
    if (input.dtype() == DType::kFloat && g.h.size * g.w.size < std::numeric_limits<int32_t>::max()) {
      ScatterBatch(ctx, g, input.data<float>(), gradient.data<float>(), out->data<float>());
      return OkStatus();
    }
    DispatchDType(input.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const double cost = 2.0 * static_cast<double>(g.h.size * g.w.size * g.pooled());
      ctx.ParallelFor(g.batch, cost, [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          Scatter(g, input.data<T>() + n * g.image(), gradient.data<T>() + n * g.pooled(),
                  out->data<T>() + n * g.image());
        }
      });
    });
    return OkStatus();
  }

 private:
  static void ScatterBatch(KernelContext& ctx, const Geometry& g, const float* input, const float* gradient,
                           float* out) {
    auto tiles = [](const WindowAxis& axis) {
      return axis.size == axis.stride && axis.dilation == 1 && axis.before == 0 &&
             axis.output * axis.stride == axis.input;
    };
    const bool is_tiled = tiles(g.h) && tiles(g.w);
    const double cost = 0.5 * static_cast<double>(g.h.size * g.w.size * g.pooled() + g.image());
    ctx.ParallelFor(g.batch, cost, [&](int64_t begin, int64_t end) {
      std::vector<float> best(static_cast<size_t>(is_tiled ? g.channels : 0));
      std::vector<int32_t> places(static_cast<size_t>(is_tiled ? g.channels : g.pooled()));
      const nn::PoolImage pool = {g.h, g.w, g.channels};
      for (int64_t n = begin; n < end; ++n) {
        const float *image = input + n * g.image(), *dy = gradient + n * g.pooled();
        float* dx = out + n * g.image();
        if (is_tiled) {
          ScatterFloats(g, image, dy, best.data(), places.data(), dx);
        } else {
          nn::FindPlaces(pool, image, places.data());
          nn::GatherByPlaces(pool, places.data(), dy, dx);
        }
      }
    });
  }

  template <typename T>
  static void Scatter(const Geometry& g, const T* image, const T* gradient, T* to) {
    using C = ComputeType<T>;
    std::vector<C> sums(static_cast<size_t>(g.image()), C(0));
    for (int64_t oh = 0; oh < g.h.output; ++oh) {
      for (int64_t ow = 0; ow < g.w.output; ++ow) {
        for (int64_t c = 0; c < g.channels; ++c) {
          int64_t best = -1;
          ForWindow(g, oh, ow, [&](int64_t ih, int64_t iw) {
            const int64_t at = (ih * g.w.input + iw) * g.channels + c;
            if (best < 0 || Widen(image[at]) > Widen(image[best])) best = at;
          });
          if (best < 0) continue;
          const C add = Widen(gradient[(oh * g.w.output + ow) * g.channels + c]);
          sums[static_cast<size_t>(best)] = WrapAdd(sums[static_cast<size_t>(best)], add);
        }
      }
    }
    for (size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<T>(sums[i]);
  }

  nn::Window2D window_;
};

// Also says where in the image (or the batch) the first largest element is.
class MaxPoolWithArgmaxKernel : public PoolKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<MaxPoolWithArgmaxKernel>();
    WEIR_RETURN_IF_ERROR(Read(init, kernel->window_));
    WEIR_ASSIGN_OR_RETURN(kernel->include_batch_, init.Attr<bool>("include_batch_in_index"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(Geometry g, MakeGeometry(window_, input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.output));
    WEIR_ASSIGN_OR_RETURN(Tensor * argmax, ctx.AllocateOutput(1, g.output));
    if (g.output.num_elements() == 0) return OkStatus();
    DispatchDType(input.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const double cost = 2.0 * static_cast<double>(g.h.size * g.w.size * g.w.output * g.channels);
      ctx.ParallelFor(g.batch * g.h.output, cost, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t image = i / g.h.output * g.image();
          for (int64_t j = 0; j < g.w.output * g.channels; ++j) {
            const T* x = input.data<T>() + image;
            int64_t best = -1;
            ForWindow(g, i % g.h.output, j / g.channels, [&](int64_t ih, int64_t iw) {
              const int64_t at = (ih * g.w.input + iw) * g.channels + j % g.channels;
              if (best < 0 || Widen(x[at]) > Widen(x[best])) best = at;
            });
            const int64_t to = i * g.w.output * g.channels + j;
            out->data<T>()[to] = best < 0 ? T() : x[best];
            SetIndex(*argmax, to, std::max<int64_t>(best, 0) + (include_batch_ ? image : 0));
          }
        }
      });
    });
    return OkStatus();
  }

 private:
  static void SetIndex(Tensor& argmax, int64_t at, int64_t value) {
    if (argmax.dtype() == DType::kInt32) {
      argmax.data<int32_t>()[at] = static_cast<int32_t>(value);
    } else {
      argmax.data<int64_t>()[at] = value;
    }
  }

  nn::Window2D window_;
  bool include_batch_ = false;
};

// Adds the gradient of one image's windows, an equal part to each element. `part` holds one number a channel; `to` is
// zero before.
WEIR_VECTOR void SpreadFloats(const Geometry& g, const float* gradient, float* part, float* to) {
  const int64_t channels = g.channels;
  for (int64_t oh = 0; oh < g.h.output; ++oh) {
    const int64_t top = g.h.Begin(oh), bottom = g.h.End(oh);
    for (int64_t ow = 0; ow < g.w.output; ++ow, gradient += channels) {
      const int64_t left = g.w.Begin(ow), right = g.w.End(ow);
      const float count = static_cast<float>((bottom - top) * (right - left));
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) part[c] = gradient[c] / count;
      for (int64_t ih = top; ih < bottom; ++ih) {
        for (int64_t iw = left; iw < right; ++iw) {
          float* dx = to + (ih * g.w.input + iw) * channels;
#pragma GCC ivdep
          for (int64_t c = 0; c < channels; ++c) dx[c] += part[c];
        }
      }
    }
  }
}

class AvgPoolGradKernel : public PoolKernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<AvgPoolGradKernel>();
    WEIR_RETURN_IF_ERROR(Read(init, kernel->window_));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& gradient = ctx.input(1);
    if (!ctx.input(0).shape().IsVector() || ctx.input(0).dim(0) != 4) {
      return InvalidArgument("out_backprop must be 1-dimensional and 4 elements");
    }
    WEIR_ASSIGN_OR_RETURN(Shape input, ShapeInput(ctx.input(0), "orig_input_shape"));
    WEIR_ASSIGN_OR_RETURN(Geometry g, MakeGeometry(window_, input));
    if (gradient.shape() != g.output) {
      return InvalidArgument("Expected grad shape to be ", g.output.ToString(), ", but got ",
                             gradient.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input));
    if (input.num_elements() == 0) return OkStatus();
    if (gradient.dtype() == DType::kFloat) {
      const double cost = 0.3 * static_cast<double>(g.h.size * g.w.size * g.pooled() + g.image());
      const float* dy = gradient.data<float>();
      float* dx = out->data<float>();
      ctx.ParallelFor(g.batch, cost, [&](int64_t begin, int64_t end) {
        std::vector<float> part(static_cast<size_t>(g.channels));
        std::fill(dx + begin * g.image(), dx + end * g.image(), 0.0f);
        for (int64_t n = begin; n < end; ++n) {
          SpreadFloats(g, dy + n * g.pooled(), part.data(), dx + n * g.image());
        }
      });
      return OkStatus();
    }
    DispatchDType(gradient.dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const double cost = static_cast<double>(g.h.size * g.w.size * g.pooled());
      ctx.ParallelFor(g.batch, cost, [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          Spread(g, gradient.data<T>() + n * g.pooled(), out->data<T>() + n * g.image());
        }
      });
    });
    return OkStatus();
  }

 private:
  template <typename T>
  static void Spread(const Geometry& g, const T* gradient, T* to) {
    using C = ComputeType<T>;
    std::vector<C> sums(static_cast<size_t>(g.image()), C(0));
    for (int64_t oh = 0; oh < g.h.output; ++oh) {
      for (int64_t ow = 0; ow < g.w.output; ++ow) {
        const int64_t count = (g.h.End(oh) - g.h.Begin(oh)) * (g.w.End(ow) - g.w.Begin(ow));
        const T* dy = gradient + (oh * g.w.output + ow) * g.channels;
        ForWindow(g, oh, ow, [&](int64_t ih, int64_t iw) {
          C* dx = sums.data() + (ih * g.w.input + iw) * g.channels;
          for (int64_t c = 0; c < g.channels; ++c) dx[c] += Widen(dy[c]) / static_cast<C>(count);
        });
      }
    }
    for (size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<T>(sums[i]);
  }

  nn::Window2D window_;
};

}  // namespace

void RegisterPoolKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("MaxPool").Types("T", RealTypes{}), MakeKernel<ForwardKernel<true>>);
  registry.Add(KernelBuilder("AvgPool").Types("T", FloatTypes{}), MakeKernel<ForwardKernel<false>>);
  registry.Add(KernelBuilder("MaxPoolGrad").Types("T", RealTypes{}), MakeKernel<MaxPoolGradKernel>);
  registry.Add(KernelBuilder("MaxPoolWithArgmax").Types("T", RealTypes{}).Types("Targmax", IndexTypes{}),
               MakeKernel<MaxPoolWithArgmaxKernel>);
  registry.Add(KernelBuilder("AvgPoolGrad").Types("T", FloatTypes{}), MakeKernel<AvgPoolGradKernel>);
}

}  // namespace weir
