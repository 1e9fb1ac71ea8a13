// Conv3DBackpropInputV2 and Conv3DBackpropFilterV2 over volumes with channels last. Floats go to the kernel library
// where it takes them, the rest to plain loops.
#include <array>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/contraction.h"
#include "weir/device/cpu/index_input.h"
#include "weir/ops/nn/register_extended.h"
#include "weir/ops/nn/window.h"

namespace weir {
namespace {

using nn::WindowAxis;

struct Geometry {
  int64_t batch, in_channels, out_channels, group_in, groups;
  std::array<WindowAxis, 3> axis;

  int64_t group_out() const { return out_channels / groups; }
  int64_t in_places() const { return axis[0].input * axis[1].input * axis[2].input; }
  int64_t out_places() const { return axis[0].output * axis[1].output * axis[2].output; }
  int64_t taps() const { return axis[0].size * axis[1].size * axis[2].size; }
  int64_t tap() const { return group_in * out_channels; }  // filter elements of one place in the window
  double operations() const {
    return static_cast<double>(batch * out_places()) * static_cast<double>(taps()) * static_cast<double>(tap());
  }

  // The place in the volume that tap `t` of window `o` falls on, or -1.
  int64_t Place(int64_t o, int64_t t) const {
    const int64_t out[] = {o / axis[2].output / axis[1].output, o / axis[2].output % axis[1].output,
                           o % axis[2].output};
    const int64_t in_window[] = {t / axis[2].size / axis[1].size, t / axis[2].size % axis[1].size, t % axis[2].size};
    int64_t place = 0;
    for (int i = 0; i < 3; ++i) {
      const int64_t at = axis[i].At(out[i], in_window[i]);
      if (at < 0 || at >= axis[i].input) return -1;
      place = place * axis[i].input + at;
    }
    return place;
  }
  ConvolutionShape Library() const {
    ConvolutionShape shape{batch, groups, in_channels, out_channels, 3, {}};
    for (int i = 0; i < 3; ++i) {
      shape.axes[i] = {axis[i].input, axis[i].size, axis[i].stride, axis[i].dilation, axis[i].before, axis[i].output};
    }
    return shape;
  }
};

class Conv3DGradKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<Conv3DGradKernel>();
    kernel->by_filter_ = init.schema().name == "Conv3DBackpropFilterV2";
    WEIR_ASSIGN_OR_RETURN(kernel->strides_, init.Attr<std::vector<int64_t>>("strides"));
    WEIR_ASSIGN_OR_RETURN(kernel->dilations_, init.Attr<std::vector<int64_t>>("dilations"));
    WEIR_ASSIGN_OR_RETURN(kernel->padding_, init.Attr<std::string>("padding"));
    WEIR_ASSIGN_OR_RETURN(std::string format, init.Attr<std::string>("data_format"));
    if (format != "NDHWC") {
      return InvalidArgument(init.schema().name, " on the CPU only supports the NDHWC tensor format, got ", format);
    }
    if (kernel->strides_.size() != 5) return InvalidArgument("Sliding window strides field must specify 5 dimensions");
    if (kernel->dilations_.size() != 5) return InvalidArgument("Dilation rates field must specify 5 dimensions");
    if (kernel->strides_[0] != 1 || kernel->strides_[4] != 1) {
      return InvalidArgument("Current implementation does not yet support strides in the batch and depth dimensions.");
    }
    if (kernel->dilations_[0] != 1 || kernel->dilations_[4] != 1) {
      return InvalidArgument(
          "Current implementation does not yet support dilations in the batch and depth dimensions.");
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Shape given,
                          ShapeInput(ctx.input(by_filter_ ? 1 : 0), by_filter_ ? "filter_sizes" : "input_sizes"));
    const Shape& input = by_filter_ ? ctx.input(0).shape() : given;
    const Shape& filter = by_filter_ ? given : ctx.input(1).shape();
    WEIR_ASSIGN_OR_RETURN(Geometry g, MakeGeometry(input, filter, ctx.input(2).shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, given));
    if (given.num_elements() == 0) return OkStatus();
    if (out->dtype() == DType::kFloat && g.operations() > 0) {
      const float *x = ctx.input(by_filter_ ? 0 : 1).data<float>(), *dy = ctx.input(2).data<float>();
      const bool done = by_filter_ ? ConvolveBackwardFilter(ctx, g.Library(), x, dy, out->data<float>())
                                   : ConvolveBackwardInput(ctx, g.Library(), x, dy, out->data<float>());
      if (done) return OkStatus();
    }
    DispatchDType(out->dtype(), FloatTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (by_filter_) {
        ByFilter<T>(ctx, g, *out);
      } else {
        ByInput<T>(ctx, g, *out);
      }
    });
    return OkStatus();
  }

 private:
  StatusOr<Geometry> MakeGeometry(const Shape& input, const Shape& filter, const Shape& gradient) const {
    if (input.rank() != 5) return InvalidArgument("input must be 5-dimensional");
    if (filter.rank() != 5) return InvalidArgument("filter_sizes must be 5-dimensional");
    if (gradient.rank() != 5) return InvalidArgument("out_backprop must be 5-dimensional");
    Geometry g{};
    g.batch = input.dim(0);
    g.in_channels = input.dim(4);
    g.group_in = filter.dim(3);
    g.out_channels = filter.dim(4);
    if (g.group_in <= 0 || g.in_channels % g.group_in != 0) {
      return InvalidArgument("input and filter must have the same depth: ", g.in_channels, " vs ", g.group_in);
    }
    g.groups = std::max<int64_t>(g.in_channels / g.group_in, 1);
    if (g.out_channels % g.groups != 0) {
      return InvalidArgument("output depth must be evenly divisible by number of groups: ", g.out_channels, " vs ",
                             g.groups);
    }
    const int64_t outputs[] = {g.batch, 0, 0, 0, g.out_channels};
    for (int i = 0; i < 5; ++i) {
      int64_t size = outputs[i];
      if (i > 0 && i < 4) {
        WEIR_ASSIGN_OR_RETURN(g.axis[i - 1], nn::MakeWindowAxis(input.dim(i), filter.dim(i - 1), strides_[i],
                                                                dilations_[i], padding_, 0, 0));
        size = g.axis[i - 1].output;
      }
      if (gradient.dim(i) != size) {
        return InvalidArgument("Conv3DBackprop: Size of out_backprop doesn't match computed: actual = ",
                               gradient.dim(i), ", computed = ", size, " spatial_dim: ", i);
      }
    }
    return g;
  }

  // Images of the batch in parallel; the taps of a window add up in the image.
  template <typename T>
  static void ByInput(KernelContext& ctx, const Geometry& g, Tensor& out) {
    using C = ComputeType<T>;
    const T *filter = ctx.input(1).data<T>(), *gradient = ctx.input(2).data<T>();
    const int64_t image = g.in_places() * g.in_channels;
    ctx.ParallelFor(g.batch, g.operations() / static_cast<double>(g.batch), [&](int64_t begin, int64_t end) {
      std::vector<C> sums(static_cast<size_t>(image));
      for (int64_t n = begin; n < end; ++n) {
        std::fill(sums.begin(), sums.end(), C(0));
        for (int64_t i = 0; i < g.out_places() * g.taps(); ++i) {
          const int64_t o = i / g.taps(), t = i % g.taps(), place = g.Place(o, t);
          if (place < 0) continue;
          const T* dy = gradient + (n * g.out_places() + o) * g.out_channels;
          for (int64_t c = 0; c < g.in_channels; ++c) {
            const int64_t first = c / g.group_in * g.group_out();
            const T* w = filter + t * g.tap() + c % g.group_in * g.out_channels;
            C sum(0);
            for (int64_t k = first; k < first + g.group_out(); ++k) sum += Widen(w[k]) * Widen(dy[k]);
            sums[place * g.in_channels + c] += sum;
          }
        }
        for (int64_t i = 0; i < image; ++i) out.data<T>()[n * image + i] = static_cast<T>(sums[i]);
      }
    });
  }

  // Taps in parallel.
  template <typename T>
  static void ByFilter(KernelContext& ctx, const Geometry& g, Tensor& out) {
    using C = ComputeType<T>;
    const T *input = ctx.input(0).data<T>(), *gradient = ctx.input(2).data<T>();
    ctx.ParallelFor(g.taps(), g.operations() / static_cast<double>(g.taps()), [&](int64_t begin, int64_t end) {
      std::vector<C> sums(static_cast<size_t>(g.tap()));
      for (int64_t t = begin; t < end; ++t) {
        std::fill(sums.begin(), sums.end(), C(0));
        for (int64_t i = 0; i < g.batch * g.out_places(); ++i) {
          const int64_t place = g.Place(i % g.out_places(), t);
          if (place < 0) continue;
          const T* x = input + (i / g.out_places() * g.in_places() + place) * g.in_channels;
          const T* dy = gradient + i * g.out_channels;
          for (int64_t c = 0; c < g.in_channels; ++c) {
            const int64_t first = c / g.group_in * g.group_out();
            C* to = sums.data() + c % g.group_in * g.out_channels;
            for (int64_t k = first; k < first + g.group_out(); ++k) to[k] += Widen(x[c]) * Widen(dy[k]);
          }
        }
        for (int64_t i = 0; i < g.tap(); ++i) out.data<T>()[t * g.tap() + i] = static_cast<T>(sums[i]);
      }
    });
  }

  std::vector<int64_t> strides_, dilations_;
  std::string padding_;
  bool by_filter_ = false;
};

}  // namespace

void RegisterConv3DGradKernels(KernelRegistry& registry) {
  for (std::string_view op : {"Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"}) {
    registry.Add(KernelBuilder(op).Types("T", FloatTypes{}), MakeKernel<Conv3DGradKernel>);
  }
}

}  // namespace weir
