// Max pools whose sizes are tensors, gradients of gradients, and the gradient by places: MaxPoolV2, MaxPoolGradV2,
// MaxPoolGradGrad(V2), MaxPoolGradWithArgmax.
#include <limits>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/ops/nn/pool_windows.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

using nn::PoolWindows;

// The first largest element of a window of channel `c`, or -1 if none lies inside.
template <typename T>
int64_t FirstLargest(const PoolWindows& g, const T* image, int64_t w, int64_t c) {
  int64_t best = -1;
  g.ForWindow(w, [&](int64_t place) {
    const int64_t at = place * g.channels + c;
    if (best < 0 || Widen(image[at]) > Widen(image[best])) best = at;
  });
  return best;
}

class MaxPoolKernel : public Kernel {
 public:
  static Status Read(const KernelInit& init, MaxPoolKernel& kernel) {
    WEIR_ASSIGN_OR_RETURN(kernel.padding_, init.Attr<std::string>("padding"));
    if (init.HasAttr("data_format")) {
      WEIR_ASSIGN_OR_RETURN(std::string format, init.Attr<std::string>("data_format"));
      if (format != "NHWC") {
        return InvalidArgument("Default ", init.schema().name, " only supports NHWC on device type CPU");
      }
    }
    if (!init.HasAttr("ksize")) {
      kernel.size_input_ = init.num_inputs() - 2;
      return OkStatus();
    }
    WEIR_ASSIGN_OR_RETURN(kernel.sizes_, init.Attr<std::vector<int64_t>>("ksize"));
    WEIR_ASSIGN_OR_RETURN(kernel.strides_, init.Attr<std::vector<int64_t>>("strides"));
    return nn::CheckPoolSizes(kernel.sizes_, kernel.strides_, 4);
  }
  // Of input 0; the sizes are attributes or the last two inputs.
  StatusOr<PoolWindows> Windows(const KernelContext& ctx, bool over_depth = false) const {
    const Shape& input = ctx.input(0).shape();
    if (input.rank() != 4) return InvalidArgument("tensor_in must be 4-dimensional");
    if (size_input_ < 0) return nn::MakePoolWindows(input, sizes_, strides_, padding_);
    WEIR_ASSIGN_OR_RETURN(Dims sizes, IntElements(ctx.input(size_input_), "ksize"));
    WEIR_ASSIGN_OR_RETURN(Dims strides, IntElements(ctx.input(size_input_ + 1), "strides"));
    WEIR_RETURN_IF_ERROR(nn::CheckPoolSizes(sizes, strides, 4, over_depth));
    if (sizes[3] != 1) return nn::MakeDepthWindows(input, sizes, strides);
    return nn::MakePoolWindows(input, sizes, strides, padding_);
  }

 protected:
  std::vector<int64_t> sizes_, strides_;
  std::string padding_;
  int size_input_ = -1;
};

template <typename K>
StatusOr<std::unique_ptr<Kernel>> MakePool(const KernelInit& init) {
  auto kernel = std::make_unique<K>();
  WEIR_RETURN_IF_ERROR(MaxPoolKernel::Read(init, *kernel));
  if constexpr (requires { kernel->ReadMore(init); }) WEIR_RETURN_IF_ERROR(kernel->ReadMore(init));
  return kernel;
}

class Forward : public MaxPoolKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(PoolWindows g, Windows(ctx, /*over_depth=*/true));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.output));
    DispatchDType(input.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ctx.ParallelFor(g.output.num_elements(), g.window_size(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t w = i / g.channels % g.windows(), n = i / g.channels / g.windows();
          const T* image = input.data<T>() + n * g.places() * g.channels;
          const int64_t best = FirstLargest(g, image, w, i % g.channels);
          out->data<T>()[i] = best < 0 ? T() : image[best];
        }
      });
    });
    return OkStatus();
  }
};

class Grad : public MaxPoolKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &gradient = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(PoolWindows g, Windows(ctx));
    for (int i = 1; i < 3; ++i) WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, i, g.output));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    DispatchDType(input.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t image = g.places() * g.channels;
      ctx.ParallelFor(g.batch, g.window_size() * static_cast<double>(g.windows()), [&](int64_t begin, int64_t end) {
        std::vector<ComputeType<T>> sums(static_cast<size_t>(image));
        for (int64_t n = begin; n < end; ++n) {
          std::fill(sums.begin(), sums.end(), ComputeType<T>(0));
          for (int64_t i = 0; i < g.windows() * g.channels; ++i) {
            const int64_t best = FirstLargest(g, input.data<T>() + n * image, i / g.channels, i % g.channels);
            if (best < 0) continue;
            sums[best] = WrapAdd(sums[best], Widen(gradient.data<T>()[n * g.windows() * g.channels + i]));
          }
          for (int64_t i = 0; i < image; ++i) out->data<T>()[n * image + i] = static_cast<T>(sums[i]);
        }
      });
    });
    return OkStatus();
  }
};

// What stands where the first largest element of each window is.
class GradGrad : public MaxPoolKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &gradient = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(PoolWindows g, Windows(ctx));
    WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, 1, g.output));
    WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, 2, input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.output));
    DispatchDType(input.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ctx.ParallelFor(g.output.num_elements(), g.window_size(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t w = i / g.channels % g.windows();
          const int64_t image = i / g.channels / g.windows() * g.places() * g.channels;
          const int64_t best = FirstLargest(g, input.data<T>() + image, w, i % g.channels);
          out->data<T>()[i] = best < 0 ? T() : gradient.data<T>()[image + best];
        }
      });
    });
    return OkStatus();
  }
};

// The places are inside an image, or inside the batch.
class GradWithArgmax : public MaxPoolKernel {
 public:
  Status ReadMore(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(include_batch_, init.Attr<bool>("include_batch_in_index"));
    return OkStatus();
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &gradient = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(PoolWindows g, Windows(ctx));
    for (int i = 1; i < 3; ++i) WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, i, g.output));
    WEIR_ASSIGN_OR_RETURN(Dims places, IntElements(ctx.input(2), "argmax"));
    const int64_t image = g.places() * g.channels, pooled = g.windows() * g.channels;
    for (int64_t i = 0; i < g.output.num_elements(); ++i) {
      const int64_t first = include_batch_ ? i / pooled * image : 0;
      if (places[i] < first || places[i] >= first + image) {
        return InvalidArgument("Invalid output gradient index: ", places[i], ", ", first, ", ", first + image);
      }
    }
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, input.shape()));
    DispatchDType(input.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::vector<ComputeType<T>> sums(static_cast<size_t>(input.num_elements()), ComputeType<T>(0));
      for (int64_t i = 0; i < g.output.num_elements(); ++i) {
        const int64_t to = places[i] + (include_batch_ ? 0 : i / pooled * image);
        sums[to] = WrapAdd(sums[to], Widen(gradient.data<T>()[i]));
      }
      for (size_t i = 0; i < sums.size(); ++i) out->data<T>()[i] = static_cast<T>(sums[i]);
    });
    return OkStatus();
  }

 private:
  bool include_batch_ = false;
};

}  // namespace

void RegisterMaxPoolV2Kernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("MaxPoolV2").Types("T", RealTypes{}), MakePool<Forward>);
  registry.Add(KernelBuilder("MaxPoolGradV2").Types("T", RealTypes{}), MakePool<Grad>);
  registry.Add(KernelBuilder("MaxPoolGradGrad").Types("T", RealTypes{}), MakePool<GradGrad>);
  registry.Add(KernelBuilder("MaxPoolGradGradV2").Types("T", RealTypes{}), MakePool<GradGrad>);
  registry.Add(KernelBuilder("MaxPoolGradWithArgmax").Types("T", RealTypes{}).Types("Targmax", IndexTypes{}),
               MakePool<GradWithArgmax>);
}

}  // namespace weir
