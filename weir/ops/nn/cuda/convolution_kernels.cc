// Conv2D, DepthwiseConv2dNative, Conv3D and their gradients on GPUs.
#include "weir/device/cpu/index_input.h"
#include "weir/ops/nn/convolution.h"
#include "weir/ops/nn/cuda/convolution.h"
#include "weir/ops/nn/cuda/register.h"

namespace weir::cuda {
namespace {

using Part = Convolution::Part;

// The shape with its channels moved last, or from there back to where the op has them.
Shape WithChannelsLast(const Shape& shape, bool channels_second) {
  if (!channels_second || shape.rank() < 3) return shape;
  Shape out({shape.dim(0)});
  for (int d = 2; d < shape.rank(); ++d) (void)out.AddDim(shape.dim(d));
  (void)out.AddDim(shape.dim(1));
  return out;
}
Shape WithChannelsSecond(const Shape& shape, bool channels_second) {
  if (!channels_second || shape.rank() < 3) return shape;
  Shape out({shape.dim(0), shape.dim(shape.rank() - 1)});
  for (int d = 1; d < shape.rank() - 1; ++d) (void)out.AddDim(shape.dim(d));
  return out;
}

// Inputs of the op and its output as the image, the filter and the output of the convolution.
Status RunPart(KernelContext& ctx, const ImageConvolution& c, const Tensor& out) {
  if (out.num_elements() == 0) return OkStatus();
  const Tensor& image = c.part == Part::kImage ? out : ctx.input(0);
  const Tensor& filter = c.part == Part::kFilter ? out : ctx.input(1);
  const Tensor& output = c.part == Part::kForward ? out : ctx.input(2);
  if (image.num_elements() == 0 || filter.num_elements() == 0 || output.num_elements() == 0) {
    return FillZero(ctx, Address(out), out.num_bytes());
  }
  return ConvolveOnGpu(ctx, c, out.dtype(), Address(image), Address(filter), Address(output)).status();
}

class GpuConv2DKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, Part part) {
    auto kernel = std::make_unique<GpuConv2DKernel>();
    kernel->part_ = part;
    kernel->is_depthwise_ = init.schema().name.starts_with("Depthwise");
    auto window = nn::ReadWindow2D(init, /*is_pool=*/false);
    // TensorFlow's kernels do not agree on the code.
    if (!window.ok() && (kernel->is_depthwise_ || part == Part::kFilter)) {
      return InvalidArgument(window.status().message());
    }
    WEIR_ASSIGN_OR_RETURN(kernel->window_, std::move(window));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const bool second = window_.channels_second;
    Shape input = ctx.input(0).shape(), filter = ctx.input(1).shape();
    if (part_ == Part::kImage) {
      WEIR_ASSIGN_OR_RETURN(input, ImageSizes(ctx.input(0), filter, ctx.input(2).shape()));
    } else if (part_ == Part::kFilter) {
      WEIR_ASSIGN_OR_RETURN(filter, ShapeInput(ctx.input(1), "filter_sizes"));
    }
    const Shape image = WithChannelsLast(input, second);
    Shape grouped = filter;
    if (is_depthwise_) {
      WEIR_ASSIGN_OR_RETURN(grouped, nn::GroupedDepthwiseFilter(image, filter));
    }
    WEIR_ASSIGN_OR_RETURN(nn::ConvGeometry g, nn::MakeConvGeometry(window_, image, grouped));
    WEIR_ASSIGN_OR_RETURN(Shape output, g.OutputShape());
    output = WithChannelsSecond(output, second);
    if (part_ != Part::kForward && ctx.input(2).shape() != output) {
      return InvalidArgument("Conv2D backprop: the size of out_backprop does not match computed: actual = ",
                             ctx.input(2).shape().ToString(), ", computed = ", output.ToString());
    }
    const Shape& result = part_ == Part::kForward ? output : part_ == Part::kImage ? input : filter;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, result));
    ImageConvolution c;
    c.part = part_;
    c.batch = g.batch;
    c.in_channels = g.in_channels;
    c.out_channels = g.out_channels;
    c.group_in = g.group_in;
    c.groups = g.groups;
    c.axes = {g.h, g.w, {}};
    c.channels_second = second;
    return RunPart(ctx, c, *out);
  }

 private:
  // Sizes of the image: all four, or height and width alone.
  StatusOr<Shape> ImageSizes(const Tensor& sizes, const Shape& filter, const Shape& gradient) const {
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(sizes, "input_sizes"));
    if (shape.rank() != 2 || filter.rank() != 4 || gradient.rank() != 4) return shape;
    const int64_t dims[] = {gradient.dim(0), shape.dim(0), shape.dim(1), filter.dim(2)};
    WEIR_ASSIGN_OR_RETURN(Shape image, Shape::Make(dims));
    return WithChannelsSecond(image, window_.channels_second);
  }

  Part part_ = Part::kForward;
  bool is_depthwise_ = false;
  nn::Window2D window_;
};

class GpuConv3DKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init, Part part) {
    auto kernel = std::make_unique<GpuConv3DKernel>();
    kernel->part_ = part;
    WEIR_ASSIGN_OR_RETURN(kernel->strides_, init.Attr<std::vector<int64_t>>("strides"));
    WEIR_ASSIGN_OR_RETURN(kernel->dilations_, init.Attr<std::vector<int64_t>>("dilations"));
    WEIR_ASSIGN_OR_RETURN(kernel->padding_, init.Attr<std::string>("padding"));
    WEIR_ASSIGN_OR_RETURN(std::string format, init.Attr<std::string>("data_format"));
    kernel->channels_second_ = format == "NCDHW";
    const size_t channels = kernel->channels_second_ ? 1 : 4;
    if (kernel->strides_.size() != 5) return InvalidArgument("Sliding window strides field must specify 5 dimensions");
    if (kernel->dilations_.size() != 5) return InvalidArgument("Dilation rates field must specify 5 dimensions");
    if (kernel->strides_[0] != 1 || kernel->strides_[channels] != 1) {
      return InvalidArgument("Current implementation does not yet support strides in the batch and depth dimensions.");
    }
    if (kernel->dilations_[0] != 1 || kernel->dilations_[channels] != 1) {
      return InvalidArgument(
          "Current implementation does not yet support dilations in the batch and depth dimensions.");
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    Shape input = ctx.input(0).shape(), filter = ctx.input(1).shape();
    if (part_ == Part::kImage) {
      WEIR_ASSIGN_OR_RETURN(input, ShapeInput(ctx.input(0), "input_sizes"));
    } else if (part_ == Part::kFilter) {
      WEIR_ASSIGN_OR_RETURN(filter, ShapeInput(ctx.input(1), "filter_sizes"));
    }
    if (input.rank() != 5) return InvalidArgument("input must be 5-dimensional");
    if (filter.rank() != 5) return InvalidArgument("filter must be 5-dimensional");
    if (part_ != Part::kForward && ctx.input(2).rank() != 5) {
      return InvalidArgument("out_backprop must be 5-dimensional");
    }
    const Shape image = WithChannelsLast(input, channels_second_);
    ImageConvolution c;
    c.part = part_;
    c.spatial = 3;
    c.channels_second = channels_second_;
    c.batch = image.dim(0);
    c.in_channels = image.dim(4);
    c.group_in = filter.dim(3);
    c.out_channels = filter.dim(4);
    if (c.group_in <= 0 || c.in_channels % c.group_in != 0) {
      return InvalidArgument("input depth must be evenly divisible by filter depth: ", c.in_channels, " vs ",
                             c.group_in);
    }
    c.groups = std::max<int64_t>(c.in_channels / c.group_in, 1);
    if (c.out_channels % c.groups != 0) {
      return InvalidArgument("output depth must be evenly divisible by number of groups: ", c.out_channels, " vs ",
                             c.groups);
    }
    Shape output({c.batch});
    for (int d = 0; d < 3; ++d) {
      const auto at = static_cast<size_t>(d + (channels_second_ ? 2 : 1));
      WEIR_ASSIGN_OR_RETURN(
          c.axes[d], nn::MakeWindowAxis(image.dim(d + 1), filter.dim(d), strides_[at], dilations_[at], padding_, 0, 0));
      WEIR_RETURN_IF_ERROR(output.AddDim(c.axes[d].output));
    }
    WEIR_RETURN_IF_ERROR(output.AddDim(c.out_channels));
    output = WithChannelsSecond(output, channels_second_);
    for (int d = 0; part_ != Part::kForward && d < 5; ++d) {
      if (ctx.input(2).dim(d) != output.dim(d)) {
        return InvalidArgument("Conv3DBackprop: Size of out_backprop doesn't match computed: actual = ",
                               ctx.input(2).dim(d), ", computed = ", output.dim(d), " spatial_dim: ", d);
      }
    }
    const Shape& result = part_ == Part::kForward ? output : part_ == Part::kImage ? input : filter;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, result));
    return RunPart(ctx, c, *out);
  }

 private:
  Part part_ = Part::kForward;
  std::vector<int64_t> strides_, dilations_;
  std::string padding_;
  bool channels_second_ = false;
};

template <typename K>
KernelFactory FactoryFor(Part part) {
  return [part](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> { return K::Make(init, part); };
}

}  // namespace

void RegisterConvolutionKernels(GpuRegistry& registry) {
  for (const char* op : {"Conv2D", "DepthwiseConv2dNative"}) {
    registry.Add(op, FactoryFor<GpuConv2DKernel>(Part::kForward));
    registry.Add(Cat(op, "BackpropInput"), FactoryFor<GpuConv2DKernel>(Part::kImage));
    registry.Add(Cat(op, "BackpropFilter"), FactoryFor<GpuConv2DKernel>(Part::kFilter));
  }
  registry.Add("Conv3D", FactoryFor<GpuConv3DKernel>(Part::kForward));
  registry.Add("Conv3DBackpropInputV2", FactoryFor<GpuConv3DKernel>(Part::kImage));
  registry.Add("Conv3DBackpropFilterV2", FactoryFor<GpuConv3DKernel>(Part::kFilter));
}

}  // namespace weir::cuda
