// Conv2D, DepthwiseConv2dNative and their gradients, and Conv3D, over images with channels last. A depthwise
// convolution is one with a group for each channel. Floats go to the kernel library where it takes them; the rest, and
// all that it leaves, to plain loops, the innermost over channels that lie together.
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/index_input.h"
#include "weir/framework/constant_taker.h"
#include "weir/ops/nn/convolution.h"
#include "weir/ops/nn/register.h"

namespace weir {
namespace {

using nn::WindowAxis;
using ConvTypes = TypeList<Half, BFloat16, float, double, int32_t>;

using Geometry = nn::ConvGeometry;

// The elements in the type that is computed in: themselves, or a widened copy.
template <typename T>
class WideView {
 public:
  explicit WideView(const Tensor& tensor) {
    if constexpr (kIsSmallFloat<T>) {
      copy_.resize(static_cast<size_t>(tensor.num_elements()));
      for (size_t i = 0; i < copy_.size(); ++i) copy_[i] = Widen(tensor.data<T>()[i]);
      data_ = copy_.data();
    } else {
      data_ = tensor.data<T>();
    }
  }
  const ComputeType<T>* data() const { return data_; }

 private:
  std::vector<ComputeType<T>> copy_;
  const ComputeType<T>* data_;
};

template <typename C>
void AddScaled(C factor, const C* from, int64_t n, C* to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = WrapAdd(to[i], WrapMul(factor, from[i]));
}

// One row of the output.
template <typename C>
void ForwardRow(const Geometry& g, const C* image, const C* filter, int64_t oh, C* row) {
  for (int64_t kh = 0; kh < g.h.size; ++kh) {
    const int64_t ih = g.h.At(oh, kh);
    if (ih < 0 || ih >= g.h.input) continue;
    for (int64_t kw = 0; kw < g.w.size; ++kw) {
      const C* tap = filter + (kh * g.w.size + kw) * g.tap();
      for (int64_t ow = 0; ow < g.w.output; ++ow) {
        const int64_t iw = g.w.At(ow, kw);
        if (iw < 0 || iw >= g.w.input) continue;
        const C* x = image + ih * g.in_row() + iw * g.in_channels;
        C* y = row + ow * g.out_channels;
        for (int64_t c = 0; c < g.in_channels; ++c) {
          const int64_t first = c / g.group_in * g.group_out;
          AddScaled(x[c], tap + c % g.group_in * g.out_channels + first, g.group_out, y + first);
        }
      }
    }
  }
}

// One row of the gradient by the input; the filter's last two dimensions are swapped: [h, w, out, in].
template <typename C>
void BackwardRow(const Geometry& g, const C* gradient, const C* swapped, int64_t ih, C* row) {
  for (int64_t kh = 0; kh < g.h.size; ++kh) {
    const int64_t at = ih + g.h.before - kh * g.h.dilation;
    if (at < 0 || at % g.h.stride != 0 || at / g.h.stride >= g.h.output) continue;
    const C* line = gradient + at / g.h.stride * g.out_row();
    for (int64_t kw = 0; kw < g.w.size; ++kw) {
      const C* tap = swapped + (kh * g.w.size + kw) * g.tap();
      for (int64_t ow = 0; ow < g.w.output; ++ow) {
        const int64_t iw = g.w.At(ow, kw);
        if (iw < 0 || iw >= g.w.input) continue;
        const C* dy = line + ow * g.out_channels;
        C* dx = row + iw * g.in_channels;
        for (int64_t c = 0; c < g.out_channels; ++c) {
          AddScaled(dy[c], tap + c * g.group_in, g.group_in, dx + c / g.group_out * g.group_in);
        }
      }
    }
  }
}

// The gradient by the filter's elements at one place in the window.
template <typename C>
void FilterTap(const Geometry& g, const C* input, const C* gradient, int64_t kh, int64_t kw, C* tap) {
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t oh = 0; oh < g.h.output; ++oh) {
      const int64_t ih = g.h.At(oh, kh);
      if (ih < 0 || ih >= g.h.input) continue;
      const C* x = input + (n * g.h.input + ih) * g.in_row();
      const C* dy = gradient + (n * g.h.output + oh) * g.out_row();
      for (int64_t ow = 0; ow < g.w.output; ++ow) {
        const int64_t iw = g.w.At(ow, kw);
        if (iw < 0 || iw >= g.w.input) continue;
        for (int64_t c = 0; c < g.in_channels; ++c) {
          const int64_t first = c / g.group_in * g.group_out;
          AddScaled(x[iw * g.in_channels + c], dy + ow * g.out_channels + first, g.group_out,
                    tap + c % g.group_in * g.out_channels + first);
        }
      }
    }
  }
}

template <typename T, typename C>
void Narrow(const std::vector<C>& from, T* to) {
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(from[i]);
}

double RowCost(const Geometry& g) {
  return 0.3 * static_cast<double>(g.h.size * g.w.size) * static_cast<double>(g.w.output * g.tap());
}

template <typename T>
void ForwardLoops(KernelContext& ctx, const Geometry& g, const ComputeType<T>* input, const ComputeType<T>* filter,
                  T* to) {
  using C = ComputeType<T>;
  ctx.ParallelFor(g.batch * g.h.output, RowCost(g), [&](int64_t begin, int64_t end) {
    std::vector<C> row(static_cast<size_t>(g.out_row()));
    for (int64_t i = begin; i < end; ++i) {
      std::fill(row.begin(), row.end(), C(0));
      ForwardRow(g, input + i / g.h.output * g.h.input * g.in_row(), filter, i % g.h.output, row.data());
      Narrow(row, to + i * g.out_row());
    }
  });
}

class Conv2DKernel : public Kernel, public ConstantTaker {
 public:
  enum class Part { kForward, kInput, kFilter };

  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, Part part) {
    auto kernel = std::make_unique<Conv2DKernel>();
    kernel->part_ = part;
    kernel->is_depthwise_ = init.schema().name.starts_with("Depthwise");
    auto window = nn::ReadWindow2D(init, /*is_pool=*/false);
    // TensorFlow's kernels do not agree on the code.
    if (!window.ok() && (kernel->is_depthwise_ || part == Part::kFilter)) {
      return InvalidArgument(window.status().message());
    }
    WEIR_ASSIGN_OR_RETURN(kernel->window_, std::move(window));
    if (kernel->window_.channels_second && !kernel->is_depthwise_ && part != Part::kForward) {
      return InvalidArgument(init.schema().name, " only supports NHWC.");
    }
    if (kernel->window_.channels_second) {
      return Unimplemented("The ", init.schema().name, " op currently only supports the NHWC tensor format on the ",
                           "CPU. The op was given the format: NCHW");
    }
    kernel->packed_ = nn::PackedWeightsFor(init);
    kernel->winograd_ = nn::WinogradFor(init);
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    Shape input = ctx.input(0).shape();
    Shape filter = ctx.input(1).shape();
    if (part_ == Part::kInput) {
      WEIR_ASSIGN_OR_RETURN(input, ImageSizes(ctx.input(0), filter, ctx.input(2).shape()));
    } else if (part_ == Part::kFilter) {
      WEIR_ASSIGN_OR_RETURN(filter, ShapeInput(ctx.input(1), "filter_sizes"));
    }
    Shape grouped = filter;
    if (is_depthwise_) {
      WEIR_ASSIGN_OR_RETURN(grouped, nn::GroupedDepthwiseFilter(input, filter));
    }
    WEIR_ASSIGN_OR_RETURN(Geometry g, nn::MakeConvGeometry(window_, input, grouped));
    WEIR_ASSIGN_OR_RETURN(Shape output, g.OutputShape());
    if (part_ != Part::kForward && ctx.input(2).shape() != output) {
      return InvalidArgument("Conv2D backprop: the size of out_backprop does not match computed: actual = ",
                             ctx.input(2).shape().ToString(), ", computed = ", output.ToString());
    }
    const Shape& result = part_ == Part::kForward ? output : part_ == Part::kInput ? input : filter;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, result));
    if (result.num_elements() == 0) return OkStatus();
    if (out->dtype() == DType::kFloat && RunLibrary(ctx, g, out->data<float>())) return OkStatus();
    Tensor weights = ctx.input(1);
    if (IsAbsent(weights)) {
      WEIR_ASSIGN_OR_RETURN(const float* elements, nn::LoopWeights({&weights, packed_.get()}));
      weights = Tensor::Wrap(DType::kFloat, filter, const_cast<float*>(elements), nullptr);
    }
    DispatchDType(out->dtype(), ConvTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      switch (part_) {
        case Part::kForward:
          return ForwardLoops<T>(ctx, g, WideView<T>(ctx.input(0)).data(), WideView<T>(weights).data(), out->data<T>());
        case Part::kInput:
          return BackwardInput<T>(ctx, g, *out);
        case Part::kFilter:
          return BackwardFilter<T>(ctx, g, *out);
      }
    });
    return OkStatus();
  }

  std::optional<TakenConstant> TakeConstant(int input, const Tensor& constant) override {
    return part_ == Part::kForward && input == 1 ? TakeWeights(packed_, constant) : std::nullopt;
  }

 private:
  bool RunLibrary(KernelContext& ctx, const Geometry& g, float* out) const {
    const ConvolutionShape shape = nn::LibraryShape(g);
    auto input = [&](int i) { return ctx.input(i).data<float>(); };
    const Weights filter{&ctx.input(1), packed_.get()};
    switch (part_) {
      case Part::kForward:
        if (winograd_ != nullptr && winograd_->Convolve(ctx, shape, input(0), filter, {}, out)) return true;
        return Convolve(ctx, shape, input(0), filter, {}, out);
      case Part::kInput:
        if (winograd_ != nullptr && winograd_->BackwardInput(ctx, shape, input(1), input(2), out)) return true;
        return ConvolveBackwardInput(ctx, shape, input(1), input(2), out);
      case Part::kFilter:
        if (winograd_ != nullptr && winograd_->BackwardFilter(ctx, shape, input(0), input(2), out)) return true;
        return ConvolveBackwardFilter(ctx, shape, input(0), input(2), out);
    }
    return false;
  }
  // Sizes of the image: all four, or height and width alone.
  static StatusOr<Shape> ImageSizes(const Tensor& sizes, const Shape& filter, const Shape& gradient) {
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(sizes, "input_sizes"));
    if (shape.rank() != 2 || filter.rank() != 4 || gradient.rank() != 4) return shape;
    const int64_t dims[] = {gradient.dim(0), shape.dim(0), shape.dim(1), filter.dim(2)};
    return Shape::Make(dims);
  }

  template <typename T>
  static void BackwardInput(KernelContext& ctx, const Geometry& g, Tensor& out) {
    using C = ComputeType<T>;
    const WideView<T> filter(ctx.input(1)), gradient(ctx.input(2));
    const int64_t taps = g.h.size * g.w.size;
    std::vector<C> swapped(static_cast<size_t>(taps * g.tap()));
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t i = 0; i < g.group_in; ++i) {
        for (int64_t o = 0; o < g.out_channels; ++o) {
          swapped[t * g.tap() + o * g.group_in + i] = filter.data()[t * g.tap() + i * g.out_channels + o];
        }
      }
    }
    T* to = out.data<T>();
    ctx.ParallelFor(g.batch * g.h.input, RowCost(g), [&](int64_t begin, int64_t end) {
      std::vector<C> row(static_cast<size_t>(g.in_row()));
      for (int64_t i = begin; i < end; ++i) {
        std::fill(row.begin(), row.end(), C(0));
        const C* image = gradient.data() + i / g.h.input * g.h.output * g.out_row();
        BackwardRow(g, image, swapped.data(), i % g.h.input, row.data());
        Narrow(row, to + i * g.in_row());
      }
    });
  }

  template <typename T>
  static void BackwardFilter(KernelContext& ctx, const Geometry& g, Tensor& out) {
    using C = ComputeType<T>;
    const WideView<T> input(ctx.input(0)), gradient(ctx.input(2));
    T* to = out.data<T>();
    const double cost = RowCost(g) * static_cast<double>(g.batch * g.h.output);
    ctx.ParallelFor(g.h.size * g.w.size, cost, [&](int64_t begin, int64_t end) {
      std::vector<C> tap(static_cast<size_t>(g.tap()));
      for (int64_t i = begin; i < end; ++i) {
        std::fill(tap.begin(), tap.end(), C(0));
        FilterTap(g, input.data(), gradient.data(), i / g.w.size, i % g.w.size, tap.data());
        Narrow(tap, to + i * g.tap());
      }
    });
  }

  nn::Window2D window_;
  Part part_ = Part::kForward;
  bool is_depthwise_ = false;
  std::shared_ptr<PackedWeights> packed_;        // null unless the filter is a constant
  std::unique_ptr<WinogradConvolver> winograd_;  // null unless the graph's rewriting allows it
};

// Slices along the depth are images; each adds its part of the window.
class Conv3DKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<Conv3DKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->strides_, init.Attr<std::vector<int64_t>>("strides"));
    WEIR_ASSIGN_OR_RETURN(kernel->dilations_, init.Attr<std::vector<int64_t>>("dilations"));
    WEIR_ASSIGN_OR_RETURN(kernel->padding_, init.Attr<std::string>("padding"));
    WEIR_ASSIGN_OR_RETURN(std::string format, init.Attr<std::string>("data_format"));
    if (format.starts_with("NC")) {
      return InvalidArgument("Conv3D on the CPU only supports the NDHWC tensor format, got ", format);
    }
    if (kernel->strides_.size() != 5 || kernel->dilations_.size() != 5) {
      return InvalidArgument("Sliding window strides and dilations fields must specify 5 dimensions");
    }
    if (kernel->strides_[0] != 1 || kernel->strides_[4] != 1) {
      return InvalidArgument("Current implementation does not yet support strides in the batch and depth dimensions.");
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Shape& input = ctx.input(0).shape();
    const Shape& filter = ctx.input(1).shape();
    if (input.rank() != 5) return InvalidArgument("input must be 5-dimensional");
    if (filter.rank() != 5) return InvalidArgument("filter must be 5-dimensional");
    if (filter.dim(3) <= 0 || input.dim(4) % filter.dim(3) != 0) {
      return InvalidArgument("Input depth must be evenly divisible by filter depth: ", input.dim(4), " vs ",
                             filter.dim(3));
    }
    Geometry g{};
    g.batch = input.dim(0);
    g.in_channels = input.dim(4);
    g.group_in = filter.dim(3);
    g.out_channels = filter.dim(4);
    g.groups = g.in_channels / g.group_in;
    if (g.groups > 0 && g.out_channels % g.groups != 0) {
      return InvalidArgument("Output depth must be evenly divisible by number of groups");
    }
    g.group_out = g.groups > 0 ? g.out_channels / g.groups : 0;
    WEIR_ASSIGN_OR_RETURN(WindowAxis depth, Axis(input, filter, 0));
    WEIR_ASSIGN_OR_RETURN(g.h, Axis(input, filter, 1));
    WEIR_ASSIGN_OR_RETURN(g.w, Axis(input, filter, 2));
    const int64_t dims[] = {g.batch, depth.output, g.h.output, g.w.output, g.out_channels};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    if (out->dtype() == DType::kFloat) {
      const ConvolutionShape library{
          g.batch,        g.groups, g.in_channels,
          g.out_channels, 3,        {nn::LibraryAxis(depth), nn::LibraryAxis(g.h), nn::LibraryAxis(g.w)}};
      if (Convolve(ctx, library, ctx.input(0).data<float>(), {&ctx.input(1)}, {}, out->data<float>())) {
        return OkStatus();
      }
    }
    DispatchDType(out->dtype(), FloatTypes{},
                  [&](auto tag) { Forward<typename decltype(tag)::type>(ctx, g, depth, *out); });
    return OkStatus();
  }

 private:
  StatusOr<WindowAxis> Axis(const Shape& input, const Shape& filter, int dim) const {
    return nn::MakeWindowAxis(input.dim(dim + 1), filter.dim(dim), strides_[static_cast<size_t>(dim + 1)],
                              dilations_[static_cast<size_t>(dim + 1)], padding_, 0, 0);
  }

  template <typename T>
  static void Forward(KernelContext& ctx, const Geometry& g, const WindowAxis& depth, Tensor& out) {
    using C = ComputeType<T>;
    const WideView<T> input(ctx.input(0)), filter(ctx.input(1));
    T* to = out.data<T>();
    const double cost = 0.3 * static_cast<double>(depth.size * g.h.size * g.w.size * g.w.output * g.tap());
    ctx.ParallelFor(g.batch * depth.output * g.h.output, cost, [&](int64_t begin, int64_t end) {
      std::vector<C> row(static_cast<size_t>(g.out_row()));
      for (int64_t i = begin; i < end; ++i) {
        std::fill(row.begin(), row.end(), C(0));
        const int64_t slice = i / g.h.output;
        for (int64_t kd = 0; kd < depth.size; ++kd) {
          const int64_t id = depth.At(slice % depth.output, kd);
          if (id < 0 || id >= depth.input) continue;
          const C* image = input.data() + (slice / depth.output * depth.input + id) * g.h.input * g.in_row();
          ForwardRow(g, image, filter.data() + kd * g.h.size * g.w.size * g.tap(), i % g.h.output, row.data());
        }
        Narrow(row, to + i * g.out_row());
      }
    });
  }

  std::vector<int64_t> strides_, dilations_;
  std::string padding_;
};

}  // namespace

void nn::ConvolveLoops(KernelContext& ctx, const ConvGeometry& g, const float* input, const float* filter,
                       float* output) {
  ForwardLoops<float>(ctx, g, input, filter, output);
}

void RegisterConv2DKernels(KernelRegistry& registry) {
  using Part = Conv2DKernel::Part;
  auto add = [&](std::string_view op, Part part, auto types) {
    registry.Add(KernelBuilder(op).Types("T", types),
                 [part](const KernelInit& init) { return Conv2DKernel::Make(init, part); });
  };
  add("Conv2D", Part::kForward, ConvTypes{});
  add("Conv2DBackpropInput", Part::kInput, ConvTypes{});
  add("Conv2DBackpropFilter", Part::kFilter, FloatTypes{});
  add("DepthwiseConv2dNative", Part::kForward, FloatTypes{});
  add("DepthwiseConv2dNativeBackpropInput", Part::kInput, FloatTypes{});
  add("DepthwiseConv2dNativeBackpropFilter", Part::kFilter, FloatTypes{});
  registry.Add(KernelBuilder("Conv3D").Types("T", FloatTypes{}), MakeKernel<Conv3DKernel>);
}

}  // namespace weir
