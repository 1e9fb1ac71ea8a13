// BiasAdd, BiasAddV1, BiasAddGrad: a vector along the channels.
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/channel_loops.h"
#include "weir/ops/nn/register.h"

namespace weir {
namespace {

// A tensor as outer x channels x inner; inner is 1 unless the channels stand second.
struct ChannelView {
  int64_t outer = 1;
  int64_t channels = 1;
  int64_t inner = 1;
};
ChannelView ViewOf(const Shape& shape, bool channels_second) {
  const int axis = channels_second ? 1 : shape.rank() - 1;
  return {shape.Slice(0, axis).num_elements(), shape.dim(axis), shape.Slice(axis + 1, shape.rank()).num_elements()};
}

StatusOr<bool> ChannelsSecond(const KernelInit& init) {
  if (!init.HasAttr("data_format")) return false;
  WEIR_ASSIGN_OR_RETURN(std::string format, init.Attr<std::string>("data_format"));
  return format.starts_with("NC");
}

class BiasAddKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BiasAddKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->channels_second_, ChannelsSecond(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& value = ctx.input(0);
    const Tensor& bias = ctx.input(1);
    if (value.rank() < 2) return InvalidArgument("Input tensor must be at least 2D: ", value.shape().ToString());
    if (!bias.shape().IsVector()) return InvalidArgument("Biases must be 1D: ", bias.shape().ToString());
    const ChannelView view = ViewOf(value.shape(), channels_second_);
    if (bias.dim(0) != view.channels) {
      return InvalidArgument(channels_second_
                                 ? "Must provide as many biases as the channel dimension of the input tensor: "
                                 : "Must provide as many biases as the last dimension of the input tensor: ",
                             bias.shape().ToString(), " vs. ", value.shape().ToString());
    }
    if (value.dtype() == DType::kFloat && view.inner == 1) return AddFloats(ctx, view);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, value.shape()));
    if (value.num_elements() == 0) return OkStatus();
    DispatchDType(value.dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* x = value.data<T>();
      const T* b = bias.data<T>();
      T* to = out->data<T>();
      const double cost = 0.5 * static_cast<double>(view.channels * view.inner);
      ctx.ParallelFor(view.outer, cost, [=](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) AddRow(x, b, view, o, to);
      });
    });
    return OkStatus();
  }

 private:
  // In place where nobody else needs the value.
  static Status AddFloats(KernelContext& ctx, const ChannelView& view) {
    const Shape shape = ctx.input(0).shape();
    const float* x = ctx.input(0).data<float>();
    const float* bias = ctx.input(1).data<float>();
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput({0}, 0, shape));
    if (shape.num_elements() > 0) AddToChannels(ctx, {view.outer, view.channels}, x, bias, out->data<float>());
    return OkStatus();
  }

  template <typename T>
  static void AddRow(const T* x, const T* b, const ChannelView& view, int64_t o, T* to) {
    const int64_t start = o * view.channels * view.inner;
    if (view.inner == 1) {
#pragma GCC ivdep
      for (int64_t c = 0; c < view.channels; ++c) {
        to[start + c] = static_cast<T>(WrapAdd(Widen(x[start + c]), Widen(b[c])));
      }
      return;
    }
    for (int64_t c = 0; c < view.channels; ++c) {
      const auto add = Widen(b[c]);
      const int64_t row = start + c * view.inner;
#pragma GCC ivdep
      for (int64_t i = 0; i < view.inner; ++i) to[row + i] = static_cast<T>(WrapAdd(Widen(x[row + i]), add));
    }
  }

  bool channels_second_ = false;
};

class BiasAddGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<BiasAddGradKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->channels_second_, ChannelsSecond(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& gradient = ctx.input(0);
    if (gradient.rank() < 2) {
      return InvalidArgument("Input tensor must be at least 2D: ", gradient.shape().ToString());
    }
    const ChannelView view = ViewOf(gradient.shape(), channels_second_);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape{view.channels}));
    if (gradient.dtype() == DType::kFloat && view.inner == 1 && gradient.num_elements() > 0) {
      std::vector<double> sums(static_cast<size_t>(view.channels));
      SumChannels(ctx, {view.outer, view.channels}, gradient.data<float>(), sums.data());
      std::copy(sums.begin(), sums.end(), out->data<float>());
      return OkStatus();
    }
    DispatchDType(gradient.dtype(), NumberTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      std::vector<ComputeType<T>> sums(static_cast<size_t>(view.channels), ComputeType<T>(0));
      const T* x = gradient.data<T>();
      for (int64_t o = 0; o < view.outer && gradient.num_elements() > 0; ++o) {
        for (int64_t c = 0; c < view.channels; ++c) {
          for (int64_t i = 0; i < view.inner; ++i) sums[c] = WrapAdd(sums[c], Widen(*x++));
        }
      }
      for (int64_t c = 0; c < view.channels; ++c) out->data<T>()[c] = static_cast<T>(sums[c]);
    });
    return OkStatus();
  }

 private:
  bool channels_second_ = false;
};

}  // namespace

void RegisterBiasKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("BiasAdd").Types("T", NumberTypes{}), MakeKernel<BiasAddKernel>);
  registry.Add(KernelBuilder("BiasAddV1").Types("T", NumberTypes{}), MakeKernel<BiasAddKernel>);
  registry.Add(KernelBuilder("BiasAddGrad").Types("T", NumberTypes{}), MakeKernel<BiasAddGradKernel>);
}

}  // namespace weir
