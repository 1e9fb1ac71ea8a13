// Pools over images and volumes on GPUs, and their gradients.
#include "weir/device/cpu/index_input.h"
#include "weir/device/cuda/launch.h"
#include "weir/ops/nn/cuda/register.h"
#include "weir/ops/nn/pool_windows.h"

namespace weir::cuda {
namespace {

using nn::PoolWindows;

// As in the source.
template <typename I>
struct DevicePool {
  struct Axis {
    I input, size, stride, before, output;
  };
  I batch, channels;
  Axis axes[3];
  I channels_last;
};

template <typename I>
DevicePool<I> DevicePoolOf(const PoolWindows& g, bool channels_second) {
  DevicePool<I> pool{.batch = static_cast<I>(g.batch),
                     .channels = static_cast<I>(g.channels),
                     .axes = {},
                     .channels_last = channels_second ? 0 : 1};
  for (int i = 0; i < 3; ++i) {
    const nn::WindowAxis& a = g.axis[i];
    pool.axes[i] = {static_cast<I>(a.input), static_cast<I>(a.size), static_cast<I>(a.stride), static_cast<I>(a.before),
                    static_cast<I>(a.output)};
  }
  return pool;
}

// Whether all elements, and all that windows reach, can be counted in 31 bits.
bool HasShortIndices(const PoolWindows& g) {
  int64_t most = std::max(g.places(), g.windows()) * g.channels * g.batch;
  for (const nn::WindowAxis& a : g.axis) most = std::max(most, a.input + a.before + a.size + a.stride * a.output);
  return most < int64_t{1} << 31;
}

DeviceFunction PoolFunction(std::string_view name, DType dtype) {
  return {"weir/ops/nn/cuda/pool.cu", Cat(name, "<", DeviceTypeName(dtype), ">")};
}

Shape LastFromSecond(const Shape& shape) {
  Shape out({shape.dim(0)});
  for (int d = 2; d < shape.rank(); ++d) (void)out.AddDim(shape.dim(d));
  (void)out.AddDim(shape.dim(1));
  return out;
}
Shape SecondFromLast(const Shape& shape) {
  Shape out({shape.dim(0), shape.dim(shape.rank() - 1)});
  for (int d = 1; d < shape.rank() - 1; ++d) (void)out.AddDim(shape.dim(d));
  return out;
}

// Where the window's sizes come from, for images and volumes: attributes, or for the second versions two inputs.
class GpuPoolKernel : public Kernel {
 public:
  Status ReadAttrs(const KernelInit& init) {
    op_ = init.schema().name;
    rank_ = op_.find("3D") != std::string::npos ? 5 : 4;
    if (init.HasAttr("data_format")) {
      WEIR_ASSIGN_OR_RETURN(std::string format, init.Attr<std::string>("data_format"));
      channels_second_ = format.starts_with("NC");
    }
    WEIR_ASSIGN_OR_RETURN(padding_, init.Attr<std::string>("padding"));
    if (!init.HasAttr("ksize")) {
      size_input_ = init.num_inputs() - 2;
      return OkStatus();
    }
    if (rank_ == 5 || op_ == "MaxPoolGradGrad" || op_ == "MaxPoolGradWithArgmax") {
      WEIR_ASSIGN_OR_RETURN(sizes_, init.Attr<std::vector<int64_t>>("ksize"));
      WEIR_ASSIGN_OR_RETURN(strides_, init.Attr<std::vector<int64_t>>("strides"));
      MoveChannelsLast(sizes_);
      MoveChannelsLast(strides_);
      return nn::CheckPoolSizes(sizes_, strides_, rank_);
    }
    WEIR_ASSIGN_OR_RETURN(window_, nn::ReadPoolWindow(init, /*over_depth=*/op_ == "MaxPool"));
    has_window_ = true;
    if (op_ == "MaxPoolGrad" && window_.strides[static_cast<size_t>(window_.channels())] != 1) {
      return Unimplemented("MaxPoolingGrad is not yet supported on the depth dimension.");
    }
    return OkStatus();
  }

 protected:
  // The windows over images of shape `input`; the output's shape is that of the op.
  StatusOr<PoolWindows> Windows(const KernelContext& ctx, const Shape& input) const {
    if (input.rank() != rank_) return InvalidArgument("tensor_in must be ", rank_, "-dimensional");
    const Shape last = channels_second_ ? LastFromSecond(input) : input;
    StatusOr<PoolWindows> windows = MakeWindows(ctx, last);
    if (windows.ok() && channels_second_) windows->output = SecondFromLast(windows->output);
    if (windows.ok() && windows->places() >= int64_t{1} << 31) {
      return Unimplemented("A pool over images of ", windows->places(), " places");
    }
    return windows;
  }
  // Launches a kernel template of the type, the type of indices and `more`, with one thread for about every one of n.
  template <typename... Args>
  Status Run(KernelContext& ctx, const PoolWindows& g, std::string_view name, DType dtype, std::string_view more,
             int64_t n, const Args&... args) const {
    const bool is_short = HasShortIndices(g);
    const DeviceFunction function{"weir/ops/nn/cuda/pool.cu",
                                  Cat(name, "<", DeviceTypeName(dtype), is_short ? ", int32" : ", int64", more, ">")};
    if (is_short) return LaunchOver(ctx, function, n, DevicePoolOf<int32_t>(g, channels_second_), args...);
    return LaunchOver(ctx, function, n, DevicePoolOf<int64_t>(g, channels_second_), args...);
  }
  // Channels that a thread can take at once, if the tensors allow it: images with channels last whose elements, and
  // whose windows' places, can be counted in few bits. Else 0.
  int PackFor(const PoolWindows& g, const Tensor& x, std::initializer_list<DeviceAddress> addresses) const {
    const int pack = static_cast<int>(16 / SizeOf(x.dtype()));
    DeviceAddress all = Address(x);
    for (DeviceAddress address : addresses) all |= address;
    const bool fits = rank_ == 4 && !channels_second_ && !is_over_depth(g, x.shape()) && HasShortIndices(g) &&
                      g.axis[1].size * g.axis[2].size < 255;
    const bool is_float = IsFloating(x.dtype()) && x.dtype() != DType::kDouble;
    return fits && is_float && g.channels % pack == 0 && all % 16 == 0 ? pack : 0;
  }
  template <typename... Args>
  Status RunPacks(KernelContext& ctx, const PoolWindows& g, std::string_view name, DType dtype, std::string_view more,
                  int64_t n, const Args&... args) const {
    const DeviceFunction function{"weir/ops/nn/cuda/pool.cu", Cat(name, "<", DeviceTypeName(dtype), more, ">")};
    return LaunchOver(ctx, function, n, DevicePoolOf<int32_t>(g, channels_second_), args..., n);
  }
  bool is_over_depth(const PoolWindows& g, const Shape& input) const { return g.channels != input.dim(rank_ - 1); }

  // The first largest element's place in each window.
  StatusOr<Tensor> Places(KernelContext& ctx, const PoolWindows& g, const Tensor& x) const {
    const int64_t n = g.output.num_elements();
    WEIR_ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemp(DType::kInt32, Shape({n})));
    WEIR_RETURN_IF_ERROR(Run(ctx, g, "MaxPlaces", x.dtype(), "", n, Address(x), Address(places), n));
    return places;
  }

  std::string op_;
  int rank_ = 4;
  bool channels_second_ = false;

 private:
  void MoveChannelsLast(std::vector<int64_t>& values) const {
    if (!channels_second_ || values.size() != static_cast<size_t>(rank_)) return;
    std::rotate(values.begin() + 1, values.begin() + 2, values.end());
  }
  StatusOr<PoolWindows> MakeWindows(const KernelContext& ctx, const Shape& input) const {
    if (has_window_) return nn::MakeImageWindows(window_, input);
    if (size_input_ < 0) return nn::MakePoolWindows(input, sizes_, strides_, padding_);
    WEIR_ASSIGN_OR_RETURN(Dims given_sizes, IntElements(ctx.input(size_input_), "ksize"));
    WEIR_ASSIGN_OR_RETURN(Dims given_strides, IntElements(ctx.input(size_input_ + 1), "strides"));
    std::vector<int64_t> sizes(given_sizes.begin(), given_sizes.end());
    std::vector<int64_t> strides(given_strides.begin(), given_strides.end());
    MoveChannelsLast(sizes);
    MoveChannelsLast(strides);
    WEIR_RETURN_IF_ERROR(nn::CheckPoolSizes(sizes, strides, 4, /*over_depth=*/op_ == "MaxPoolV2" && !channels_second_));
    if (sizes[3] != 1) return nn::MakeDepthWindows(input, sizes, strides);
    return nn::MakePoolWindows(input, sizes, strides, padding_);
  }

  bool has_window_ = false;
  nn::Window2D window_;
  std::vector<int64_t> sizes_, strides_;
  std::string padding_;
  int size_input_ = -1;
};

class GpuMaxPool : public GpuPoolKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(const PoolWindows g, Windows(ctx, x.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, g.output));
    const bool first = op_ == "MaxPoolV2" || (!channels_second_ && is_over_depth(g, x.shape()));
    const char* nan = rank_ == 5 ? ", kNanLatest" : first ? ", kNanFirst" : ", kNanNever";
    const int64_t n = g.output.num_elements();
    if (const int pack = PackFor(g, x, {Address(*y)}); pack > 0) {
      return RunPacks(ctx, g, "MaxPoolPacks", x.dtype(), Cat(nan, ", ", pack), n / pack, Address(x), Address(*y));
    }
    return Run(ctx, g, "MaxPool", x.dtype(), nan, n, Address(x), Address(*y), n);
  }
};

class GpuMaxPoolWithArgmax : public GpuPoolKernel {
 public:
  Status ReadMore(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(include_batch_, init.Attr<bool>("include_batch_in_index"));
    return OkStatus();
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(const PoolWindows g, Windows(ctx, x.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, g.output));
    WEIR_ASSIGN_OR_RETURN(Tensor * argmax, ctx.AllocateOutput(1, g.output));
    WEIR_ASSIGN_OR_RETURN(Tensor places, Places(ctx, g, x));
    const int64_t n = g.output.num_elements();
    return Run(ctx, g, "TakePlaces", x.dtype(), "", n, Address(x), Address(places), Address(*y), Address(*argmax),
               int64_t{include_batch_}, n);
  }

 private:
  bool include_batch_ = false;
};

class GpuMaxPoolGrad : public GpuPoolKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &x = ctx.input(0), &y = ctx.input(1), &dy = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(const PoolWindows g, Windows(ctx, x.shape()));
    for (int i = 1; i < 3; ++i) WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, i, g.output));
    WEIR_ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.shape()));
    const int64_t n = x.num_elements();
    if (rank_ == 5) {
      return Run(ctx, g, "MaxPoolGradOfEqual", x.dtype(), "", n, Address(x), Address(y), Address(dy), Address(*dx), n);
    }
    if (const int pack = PackFor(g, x, {Address(dy), Address(*dx)}); pack > 0) {
      const std::string more = Cat(", ", pack);
      const int64_t windows = g.output.num_elements();
      WEIR_ASSIGN_OR_RETURN(Tensor steps, ctx.AllocateTemp(DType::kUInt8, Shape({windows})));
      WEIR_RETURN_IF_ERROR(
          RunPacks(ctx, g, "MaxStepsOfPacks", x.dtype(), more, windows / pack, Address(x), Address(steps)));
      return RunPacks(ctx, g, "MaxPoolGradOfPacks", x.dtype(), more, n / pack, Address(steps), Address(dy),
                      Address(*dx));
    }
    WEIR_ASSIGN_OR_RETURN(Tensor places, Places(ctx, g, x));
    return Run(ctx, g, "MaxPoolGrad", x.dtype(), "", n, Address(places), Address(dy), Address(*dx), n);
  }
};

// What stands where the first largest element of each window is.
class GpuMaxPoolGradGrad : public GpuPoolKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &x = ctx.input(0), &gradient = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(const PoolWindows g, Windows(ctx, x.shape()));
    WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, 1, g.output));
    WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, 2, x.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, g.output));
    WEIR_ASSIGN_OR_RETURN(Tensor places, Places(ctx, g, x));
    const int64_t n = g.output.num_elements();
    return Run(ctx, g, "TakePlaces", x.dtype(), "", n, Address(gradient), Address(places), Address(*out),
               DeviceAddress{0}, int64_t{0}, n);
  }
};

// The places are inside an image, or inside the batch.
class GpuMaxPoolGradWithArgmax : public GpuPoolKernel {
 public:
  Status ReadMore(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(include_batch_, init.Attr<bool>("include_batch_in_index"));
    return OkStatus();
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor &x = ctx.input(0), &dy = ctx.input(1), &argmax = ctx.input(2);
    WEIR_ASSIGN_OR_RETURN(const PoolWindows g, Windows(ctx, x.shape()));
    for (int i = 1; i < 3; ++i) WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, i, g.output));
    WEIR_ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.shape()));
    const int64_t n = x.num_elements();
    if (n == 0) return OkStatus();
    const DType wide = x.dtype() == DType::kDouble ? DType::kDouble : DType::kFloat;
    WEIR_ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(wide, x.shape()));
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(sums), sums.num_bytes()));
    WEIR_ASSIGN_OR_RETURN(
        DeviceAddress error,
        ErrorWord(ctx, InvalidArgument("Invalid output gradient index in argmax of ", ctx.node_name())));
    const bool in_order = ctx.step().deterministic;
    const int64_t image = n / g.batch, pooled = g.windows() * g.channels;
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, PoolFunction(in_order ? "ScatterByArgmax" : "AddByArgmax", x.dtype()),
                                    in_order ? g.batch : g.batch * pooled, Address(dy), Address(argmax), Address(sums),
                                    g.batch, image, pooled, int64_t{include_batch_}, error));
    return LaunchOver(ctx, PoolFunction("NarrowSums", x.dtype()), n, Address(sums), Address(*dx), n);
  }

 private:
  bool include_batch_ = false;
};

class GpuAvgPool : public GpuPoolKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(const PoolWindows g, Windows(ctx, x.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, g.output));
    const int64_t n = g.output.num_elements();
    return Run(ctx, g, "AvgPool", x.dtype(), "", n, Address(x), Address(*y), n);
  }
};

class GpuAvgPoolGrad : public GpuPoolKernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &sizes = ctx.input(0), &dy = ctx.input(1);
    if (!sizes.shape().IsVector() || sizes.dim(0) != rank_) {
      return InvalidArgument(rank_ == 5 ? "orig_input_shape" : "out_backprop", " must be 1-dimensional and ", rank_,
                             " elements");
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(sizes, "orig_input_shape"));
    WEIR_ASSIGN_OR_RETURN(const PoolWindows g, Windows(ctx, shape));
    WEIR_RETURN_IF_ERROR(nn::CheckShape(ctx, 1, g.output));
    WEIR_ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, shape));
    const int64_t n = shape.num_elements();
    return Run(ctx, g, "AvgPoolGrad", dy.dtype(), "", n, Address(dy), Address(*dx), n);
  }
};

template <typename K>
StatusOr<std::unique_ptr<Kernel>> MakeGpuPool(const KernelInit& init) {
  auto kernel = std::make_unique<K>();
  WEIR_RETURN_IF_ERROR(kernel->ReadAttrs(init));
  if constexpr (requires { kernel->ReadMore(init); }) WEIR_RETURN_IF_ERROR(kernel->ReadMore(init));
  return kernel;
}

}  // namespace

void RegisterPoolKernels(GpuRegistry& registry) {
  const std::vector<DType> floats = {DType::kHalf, DType::kBFloat16, DType::kFloat, DType::kDouble};
  for (const char* op : {"MaxPool", "MaxPoolV2", "MaxPool3D"}) registry.Add(op, MakeGpuPool<GpuMaxPool>, "T", floats);
  for (const char* op : {"MaxPoolGrad", "MaxPoolGradV2", "MaxPool3DGrad"}) {
    registry.Add(op, MakeGpuPool<GpuMaxPoolGrad>);
  }
  for (const char* op : {"MaxPoolGradGrad", "MaxPoolGradGradV2", "MaxPool3DGradGrad"}) {
    registry.Add(op, MakeGpuPool<GpuMaxPoolGradGrad>);
  }
  registry.Add("MaxPoolWithArgmax", MakeGpuPool<GpuMaxPoolWithArgmax>);
  registry.Add("MaxPoolGradWithArgmax", MakeGpuPool<GpuMaxPoolGradWithArgmax>);
  for (const char* op : {"AvgPool", "AvgPool3D"}) registry.Add(op, MakeGpuPool<GpuAvgPool>);
  for (const char* op : {"AvgPoolGrad", "AvgPool3DGrad"}) registry.Add(op, MakeGpuPool<GpuAvgPoolGrad>);
}

}  // namespace weir::cuda
