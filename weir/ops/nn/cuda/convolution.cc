#include "weir/ops/nn/cuda/convolution.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "weir/base/logging.h"
#include "weir/base/strings.h"
#include "weir/device/cuda/blas.h"
#include "weir/device/cuda/measure.h"
#include "weir/device/cuda/transpose.h"

namespace weir::cuda {
namespace {

constexpr char kConvolutionSource[] = "weir/ops/nn/cuda/convolution.cu";

// As in the source.
struct DeviceAxis {
  int64_t input = 1, size = 1, stride = 1, dilation = 1, before = 0, output = 1;
};
struct DeviceGeometry {
  int64_t batch, in_channels, out_channels, group_in, group_out;
  int64_t in_place, in_channel, out_place, out_channel;
  DeviceAxis axes[3];
};
struct DeviceFrame {
  int64_t inner[3], outer[3], before[3], channels;
};

Status RunDirect(KernelContext& ctx, const ImageConvolution& c, DType dtype, DeviceAddress image, DeviceAddress filter,
                 DeviceAddress output) {
  DeviceGeometry g{.batch = c.batch,
                   .in_channels = c.in_channels,
                   .out_channels = c.out_channels,
                   .group_in = c.group_in,
                   .group_out = c.out_channels / c.groups,
                   .in_place = c.channels_second ? 1 : c.in_channels,
                   .in_channel = c.channels_second ? c.in_places() : 1,
                   .out_place = c.channels_second ? 1 : c.out_channels,
                   .out_channel = c.channels_second ? c.out_places() : 1,
                   .axes = {}};
  for (int i = 0; i < c.spatial; ++i) {
    const nn::WindowAxis& a = c.axes[i];
    g.axes[3 - c.spatial + i] = {a.input, a.size, a.stride, a.dilation, a.before, a.output};
  }
  const std::string_view type = DeviceTypeName(dtype);
  switch (c.part) {
    case Convolution::Part::kForward:
      return LaunchOver(ctx, {kConvolutionSource, Cat("ConvolveForward<", type, ">")},
                        c.batch * c.out_places() * c.out_channels, g, image, filter, output);
    case Convolution::Part::kImage:
      return LaunchOver(ctx, {kConvolutionSource, Cat("ConvolveImage<", type, ">")},
                        c.batch * c.in_places() * c.in_channels, g, filter, output, image);
    case Convolution::Part::kFilter:
      break;
  }
  const LaunchShape shape{.grid = static_cast<unsigned>((c.out_channels + 31) / 32),
                          .grid_y = static_cast<unsigned>(std::min<int64_t>(c.taps() * c.group_in, 65535)),
                          .block = 32,
                          .block_y = 8};
  return Launch(ctx, {kConvolutionSource, Cat("ConvolveFilter<", type, ">")}, shape, g, image, output, filter);
}

StatusOr<Tensor> AllocateElements(KernelContext& ctx, DType dtype, int64_t n) {
  return ctx.AllocateTemp(dtype, Shape({n}));
}

// Copies images into larger ones with zeros around them, or back out of them.
Status FrameImages(KernelContext& ctx, const Convolution& inner, const Convolution& outer, bool into,
                   DeviceAddress from, DeviceAddress to) {
  DeviceFrame frame{.inner = {1, 1, 1}, .outer = {1, 1, 1}, .before = {0, 0, 0}, .channels = inner.in_channels};
  int64_t n = inner.batch * inner.in_channels;
  for (int i = 0; i < inner.spatial; ++i) {
    const int at = 3 - inner.spatial + i;
    frame.inner[at] = inner.axes[i].input;
    frame.outer[at] = outer.axes[i].input;
    frame.before[at] = inner.axes[i].before;
    n *= into ? outer.axes[i].input : inner.axes[i].input;
  }
  return LaunchOver(ctx, {kConvolutionSource, Cat("FrameImages<", MovedAs(inner.dtype), ", ", into, ">")}, n, frame,
                    from, to, n);
}

// cuDNN's own padding, and images that are padded beforehand.
class PaddedConvolution {
 public:
  PaddedConvolution(KernelContext& ctx, const Convolution& c, const ConvolutionTensors& tensors)
      : ctx_(ctx), c_(c), padded_(c), tensors_(tensors) {
    int64_t elements = c.batch * c.in_channels;
    for (int i = 0; i < c.spatial; ++i) {
      Convolution::Axis& axis = padded_.axes[i];
      is_lopsided_ = is_lopsided_ || axis.before != axis.after;
      axis.input += axis.before + axis.after;
      axis.before = axis.after = 0;
      elements *= axis.input;
    }
    padded_elements_ = elements;
  }

  // Some engines accept paddings that differ on the two sides of an image, but compute as if they were the same. The
  // first run compares the chosen one's result with that of an image padded beforehand. Gradients of filters are always
  // computed from such images.
  StatusOr<bool> Run() {
    if (!is_lopsided_) return RunConvolution(ctx_, c_, tensors_);
    if (c_.part == Convolution::Part::kFilter) return RunFramed(tensors_);
    const std::string key = Key();
    std::optional<bool> is_right = PadsRight().Find(key);
    if (!is_right && !RunOf(ctx_).is_recording()) {
      WEIR_ASSIGN_OR_RETURN(is_right, IsDirectRight());
      if (is_right) PadsRight().Keep(key, *is_right);
    }
    if (!is_right.value_or(false)) return RunFramed(tensors_);
    return RunConvolution(ctx_, c_, tensors_);
  }

 private:
  static Findings& PadsRight() {
    static auto* findings = new Findings;
    return *findings;
  }
  // Of what decides which plan runs.
  std::string Key() const {
    const DeviceAddress all = tensors_.image | tensors_.filter | tensors_.output | tensors_.bias | tensors_.addend;
    return Cat(reinterpret_cast<uintptr_t>(RunOf(ctx_).parts().compute.get()), ",", ctx_.step().deterministic,
               AllowsTensorFloat32(), ",", all % 16, ",", KeyOf(c_));
  }

  // Images are copied into larger ones with zeros around them, or back out of them.
  Status Frame(bool into, DeviceAddress from, DeviceAddress to) {
    return FrameImages(ctx_, c_, padded_, into, from, to);
  }
  StatusOr<bool> RunFramed(const ConvolutionTensors& tensors) {
    WEIR_ASSIGN_OR_RETURN(Tensor image, AllocateElements(ctx_, c_.dtype, padded_elements_));
    ConvolutionTensors with_padding = tensors;
    with_padding.image = Address(image);
    if (c_.part != Convolution::Part::kImage) {
      WEIR_RETURN_IF_ERROR(Frame(/*into=*/true, tensors.image, Address(image)));
      return RunConvolution(ctx_, padded_, with_padding);
    }
    WEIR_ASSIGN_OR_RETURN(const bool is_done, RunConvolution(ctx_, padded_, with_padding));
    if (!is_done) return false;
    WEIR_RETURN_IF_ERROR(Frame(/*into=*/false, Address(image), tensors.image));
    return true;
  }

  // Runs both ways and compares; nothing if the results do not tell. True too if no engine takes padded images.
  StatusOr<std::optional<bool>> IsDirectRight() {
    WEIR_ASSIGN_OR_RETURN(const bool is_direct, RunConvolution(ctx_, c_, tensors_));
    if (!is_direct) return std::optional(false);
    const bool gives_image = c_.part == Convolution::Part::kImage;
    int64_t n = c_.batch * (gives_image ? c_.in_channels : c_.out_channels);
    for (int i = 0; i < c_.spatial; ++i) n *= gives_image ? c_.axes[i].input : c_.axes[i].output;
    WEIR_ASSIGN_OR_RETURN(Tensor other, AllocateElements(ctx_, c_.dtype, n));
    ConvolutionTensors framed = tensors_;
    (gives_image ? framed.image : framed.output) = Address(other);
    WEIR_ASSIGN_OR_RETURN(const bool is_framed, RunFramed(framed));
    if (!is_framed) return std::optional(true);
    uint32_t largest[2] = {};
    WEIR_ASSIGN_OR_RETURN(Tensor bits, ctx_.AllocateTemp(DType::kUInt32, Shape({2})));
    WEIR_RETURN_IF_ERROR(FillZero(ctx_, Address(bits), sizeof(largest)));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx_,
                                    {kConvolutionSource, Cat("LargestDifference<", DeviceTypeName(c_.dtype), ">")}, n,
                                    gives_image ? tensors_.image : tensors_.output, Address(other), n, Address(bits)));
    CudaRun& run = RunOf(ctx_);
    UseContext(run.stream().context());
    WEIR_RETURN_IF_ERROR(CheckDriver(
        Driver().MemcpyDtoHAsync(largest, Address(bits), sizeof(largest), run.stream().handle()), "comparing results"));
    WEIR_RETURN_IF_ERROR(run.stream().Synchronize());
    const float difference = std::bit_cast<float>(largest[0]), size = std::bit_cast<float>(largest[1]);
    if (size == 0 || !std::isfinite(size)) return std::optional<bool>();
    const bool is_right = difference <= kRounding * size;
    WEIR_LOG(DEBUG) << "cuDNN's engine " << (is_right ? "pads" : "does not pad") << " as told: results differ by "
                    << difference << " of " << size;
    return std::optional(is_right);
  }

  // What the order of sums and TensorFloat-32 may make of the largest result; wrong paddings make more.
  static constexpr float kRounding = 0.05f;

  KernelContext& ctx_;
  const Convolution& c_;
  Convolution padded_;
  const ConvolutionTensors& tensors_;
  bool is_lopsided_ = false;
  int64_t padded_elements_ = 0;
};

}  // namespace

StatusOr<bool> ConvolveByLibrary(KernelContext& ctx, const ImageConvolution& image, DType dtype,
                                 const ConvolutionAddresses& addresses, const FusedAddresses& fused,
                                 bool has_float_filter) {
  ConvolutionTensors tensors{.image = addresses.image, .filter = addresses.filter, .output = addresses.output};
  Convolution c{.part = image.part,
                .dtype = dtype,
                .batch = image.batch,
                .in_channels = image.in_channels,
                .out_channels = image.out_channels,
                .groups = image.groups,
                .spatial = image.spatial,
                .axes = {},
                .has_bias = fused.bias != 0,
                .has_addend = fused.addend != 0,
                .has_relu = fused.relu,
                .has_float_filter = has_float_filter};
  tensors.bias = fused.bias;
  tensors.addend = fused.addend;
  for (int i = 0; i < image.spatial; ++i) {
    const nn::WindowAxis& a = image.axes[i];
    const int64_t window = (a.size - 1) * a.dilation + 1, reach = (a.output - 1) * a.stride + window;
    int64_t after = std::max<int64_t>(0, reach - a.input - a.before);
    // As much as before if nothing reads it: more engines take that.
    if (after < a.before && (a.input + 2 * a.before - window) / a.stride + 1 == a.output) after = a.before;
    c.axes[i] = {a.input, a.size, a.stride, a.dilation, a.before, after, a.output};
  }
  // The layouts that cuDNN is fast with.
  const int64_t filter_rows = image.taps() * image.group_in;
  const DType filter_dtype = has_float_filter ? DType::kFloat : dtype;
  WEIR_ASSIGN_OR_RETURN(Tensor filter, AllocateElements(ctx, filter_dtype, filter_rows * c.out_channels));
  const ConvolutionTensors given = tensors;
  tensors.filter = Address(filter);
  if (c.part != Convolution::Part::kFilter) {
    WEIR_RETURN_IF_ERROR(SwapRowsAndColumns(ctx, dtype, given.filter, tensors.filter, 1, filter_rows, c.out_channels));
  }
  Tensor in, out;
  if (image.channels_second) {
    if (fused.addend != 0) return false;
    WEIR_ASSIGN_OR_RETURN(in, AllocateElements(ctx, dtype, c.batch * image.in_places() * c.in_channels));
    WEIR_ASSIGN_OR_RETURN(out, AllocateElements(ctx, dtype, c.batch * image.out_places() * c.out_channels));
    tensors.image = Address(in);
    tensors.output = Address(out);
    if (c.part != Convolution::Part::kImage) {
      WEIR_RETURN_IF_ERROR(
          SwapRowsAndColumns(ctx, dtype, given.image, Address(in), c.batch, c.in_channels, image.in_places()));
    }
    if (c.part != Convolution::Part::kForward) {
      WEIR_RETURN_IF_ERROR(
          SwapRowsAndColumns(ctx, dtype, given.output, Address(out), c.batch, c.out_channels, image.out_places()));
    }
  }
  WEIR_ASSIGN_OR_RETURN(const bool is_done, PaddedConvolution(ctx, c, tensors).Run());
  if (!is_done) return false;
  if (c.part == Convolution::Part::kFilter) {
    WEIR_RETURN_IF_ERROR(
        SwapRowsAndColumns(ctx, filter_dtype, tensors.filter, given.filter, 1, c.out_channels, filter_rows));
  } else if (image.channels_second && c.part == Convolution::Part::kForward) {
    WEIR_RETURN_IF_ERROR(
        SwapRowsAndColumns(ctx, dtype, Address(out), given.output, c.batch, image.out_places(), c.out_channels));
  } else if (image.channels_second) {
    WEIR_RETURN_IF_ERROR(
        SwapRowsAndColumns(ctx, dtype, Address(in), given.image, c.batch, image.in_places(), c.in_channels));
  }
  return true;
}

StatusOr<bool> ConvolveOnGpu(KernelContext& ctx, const ImageConvolution& c, DType dtype, DeviceAddress image,
                             DeviceAddress filter, DeviceAddress output, const FusedAddresses& fused) {
  const bool has_type = dtype == DType::kFloat || dtype == DType::kHalf || dtype == DType::kBFloat16;
  const bool is_depthwise = c.group_in == 1 && c.groups > 1;
  const bool is_aligned = (image | filter | output | fused.addend) % 32 == 0;
  const ConvolutionAddresses addresses{.image = image, .filter = filter, .output = output};
  if (has_type && is_aligned && HasFewTaps(c)) {
    WEIR_RETURN_IF_ERROR(ConvolveFewTaps(ctx, c, dtype, addresses, fused));
    return true;
  }
  if (has_type && fused.addend == 0 && IsPointwise(c)) {
    WEIR_RETURN_IF_ERROR(ConvolvePointwise(ctx, c, dtype, addresses, fused));
    return true;
  }
  if (has_type && is_aligned && fused.addend == 0 && IsNarrow(ctx, c, dtype)) {
    WEIR_RETURN_IF_ERROR(ConvolveNarrow(ctx, c, dtype, addresses, fused));
    return true;
  }
  if (has_type && is_aligned && fused.addend == 0 && IsOfFewChannels(c)) {
    WEIR_RETURN_IF_ERROR(ConvolvePatches(ctx, c, dtype, addresses, fused));
    return true;
  }
  if (has_type && !is_depthwise) {
    WEIR_ASSIGN_OR_RETURN(const bool is_done, MayUseHalves(ctx, c, dtype)
                                                  ? ConvolveFilterFast(ctx, c, addresses)
                                                  : ConvolveByLibrary(ctx, c, dtype, addresses, fused));
    if (is_done) return true;
  }
  if (!fused.empty()) return false;
  WEIR_RETURN_IF_ERROR(RunDirect(ctx, c, dtype, image, filter, output));
  return true;
}

}  // namespace weir::cuda
