// Convolutions of images with few channels, as color photographs, as products of cuBLASLt: the windows of some images
// at a time become rows of a matrix. cuDNN's kernels for so few channels reach a tenth of the card's speed.
#include <algorithm>

#include "weir/base/strings.h"
#include "weir/device/cuda/blas.h"
#include "weir/ops/nn/cuda/convolution.h"

namespace weir::cuda {
namespace {

constexpr char kSource[] = "weir/ops/nn/cuda/patch_convolution.cu";
constexpr int64_t kMostInChannels = 4, kLeastTaps = 16, kMostTaps = 1024;
constexpr int64_t kLeastPlaces = 4096;                  // below, the launches take longer than they save
constexpr int64_t kMostPatchBytes = int64_t{32} << 20;  // of one matrix of windows: it stays in the cache

// As in the source.
struct Geometry {
  int64_t height, width, out_height, out_width;
  int32_t stride_y, stride_x, dilation_y, dilation_x, before_y, before_x;
};

int64_t TapsOf(const ImageConvolution& c) { return c.taps() * c.in_channels; }

// How a window lies in a row of the matrix: its lines one after the other, each filled up to whole loads of 16 bytes if
// that does not make rows much longer, else all of it.
struct Rows {
  int64_t lines = 1, taps = 0, line = 0;  // elements of a line: of the window, and with what it is filled up
  int64_t pack = 1;                       // elements of a load
  bool by_line = false;
  int64_t length() const { return lines * line; }
};
Rows RowsOf(const ImageConvolution& c, DType dtype) {
  Rows rows{.pack = static_cast<int64_t>(16 / SizeOf(dtype))};
  auto filled = [&](int64_t taps) { return (taps + rows.pack - 1) / rows.pack * rows.pack; };
  const int64_t taps = c.axes[1].size * c.in_channels;
  rows.by_line = c.axes[1].dilation == 1 && filled(taps) * 3 <= taps * 4;
  rows.lines = rows.by_line ? c.axes[0].size : 1;
  rows.taps = rows.by_line ? taps : TapsOf(c);
  rows.line = filled(rows.taps);
  return rows;
}

Geometry GeometryOf(const ImageConvolution& c) {
  const nn::WindowAxis &y = c.axes[0], &x = c.axes[1];
  auto narrow = [](int64_t number) { return static_cast<int32_t>(number); };
  return {.height = y.input,
          .width = x.input,
          .out_height = y.output,
          .out_width = x.output,
          .stride_y = narrow(y.stride),
          .stride_x = narrow(x.stride),
          .dilation_y = narrow(y.dilation),
          .dilation_x = narrow(x.dilation),
          .before_y = narrow(y.before),
          .before_x = narrow(x.before)};
}

// A convolution, some images at a time.
class PatchConvolution {
 public:
  PatchConvolution(KernelContext& ctx, const ImageConvolution& c, DType dtype, const ConvolutionAddresses& at)
      : ctx_(ctx), c_(c), dtype_(dtype), at_(at), rows_(RowsOf(c, dtype)) {
    const auto bytes = static_cast<int64_t>(SizeOf(dtype)) * rows_.length() * c.out_places();
    images_ = std::clamp<int64_t>(kMostPatchBytes / bytes, 1, c.batch);
  }

  Status Forward(const FusedAddresses& fused) {
    WEIR_ASSIGN_OR_RETURN(Tensor filter, ctx_.AllocateTemp(dtype_, Shape({rows_.length(), c_.out_channels})));
    WEIR_RETURN_IF_ERROR(
        CopyLines(dtype_, at_.filter, rows_.taps, dtype_, Address(filter), rows_.line, rows_.length()));
    WEIR_ASSIGN_OR_RETURN(Tensor patches, AllocatePatches());
    for (int64_t first = 0; first < c_.batch; first += images_) {
      const int64_t places = PlacesFrom(first);
      WEIR_RETURN_IF_ERROR(MakePatches(first, places, patches));
      const MatrixProduct product{
          .dtype = dtype_,
          .m = places,
          .n = c_.out_channels,
          .k = rows_.length(),
          .bias = fused.bias,
          .activation = fused.relu ? MatrixProduct::Activation::kRelu : MatrixProduct::Activation::kNone};
      WEIR_RETURN_IF_ERROR(Multiply(ctx_, product, Address(patches), Address(filter), OutputFrom(first)));
    }
    return OkStatus();
  }

  // Sums are float.
  Status Filter() {
    WEIR_ASSIGN_OR_RETURN(Tensor sums, ctx_.AllocateTemp(DType::kFloat, Shape({rows_.length(), c_.out_channels})));
    WEIR_ASSIGN_OR_RETURN(Tensor patches, AllocatePatches());
    for (int64_t first = 0; first < c_.batch; first += images_) {
      const int64_t places = PlacesFrom(first);
      WEIR_RETURN_IF_ERROR(MakePatches(first, places, patches));
      const MatrixProduct product{.dtype = dtype_,
                                  .output = DType::kFloat,
                                  .m = rows_.length(),
                                  .n = c_.out_channels,
                                  .k = places,
                                  .transpose_a = true,
                                  .beta = first > 0 ? 1.0 : 0.0};
      WEIR_RETURN_IF_ERROR(Multiply(ctx_, product, Address(patches), OutputFrom(first), Address(sums)));
    }
    return CopyLines(DType::kFloat, Address(sums), rows_.line, dtype_, at_.filter, rows_.taps, TapsOf(c_));
  }

 private:
  StatusOr<Tensor> AllocatePatches() {
    return ctx_.AllocateTemp(dtype_, Shape({images_ * c_.out_places(), rows_.length()}));
  }
  int64_t PlacesFrom(int64_t image) const { return std::min(images_, c_.batch - image) * c_.out_places(); }
  DeviceAddress OutputFrom(int64_t image) const {
    return at_.output + static_cast<size_t>(image * c_.out_places() * c_.out_channels) * SizeOf(dtype_);
  }
  Status MakePatches(int64_t first, int64_t places, const Tensor& patches) {
    const std::string name =
        Cat(rows_.by_line ? "MakeLinePatches<" : "MakePatches<", DeviceTypeName(dtype_), ", ", c_.axes[0].size, ", ",
            c_.axes[1].size, ", ", c_.in_channels, ", ", rows_.line, ", ", rows_.pack, ">");
    const DeviceAddress from =
        at_.image + static_cast<size_t>(first * c_.in_places() * c_.in_channels) * SizeOf(dtype_);
    LaunchShape shape = ShapeFor(ctx_, places * rows_.length() / rows_.pack);
    if (rows_.by_line) shape.grid = static_cast<unsigned>(std::min<int64_t>(places / c_.axes[1].output, 1 << 20));
    return Launch(ctx_, {kSource, name}, shape, GeometryOf(c_), from, places, Address(patches));
  }
  // Copies a filter whose lines have one number of rows to one whose lines have another.
  Status CopyLines(DType from_type, DeviceAddress from, int64_t from_line, DType to_type, DeviceAddress to,
                   int64_t to_line, int64_t to_rows) {
    const std::string name = Cat("CopyLines<", DeviceTypeName(from_type), ", ", DeviceTypeName(to_type), ">");
    const int64_t n = to_rows * c_.out_channels;
    return LaunchOver(ctx_, {kSource, name}, n, from, from_line, to, to_line, c_.out_channels, n);
  }

  KernelContext& ctx_;
  const ImageConvolution& c_;
  const DType dtype_;
  const ConvolutionAddresses& at_;
  const Rows rows_;
  int64_t images_ = 1;
};

}  // namespace

bool IsOfFewChannels(const ImageConvolution& c) {
  const bool fits_int = std::ranges::all_of(std::span(c.axes).first(2), [](const nn::WindowAxis& axis) {
    return std::max({axis.input, axis.output, axis.stride, axis.dilation, std::abs(axis.before)}) <= 1 << 14;
  });
  return c.part != Convolution::Part::kImage && c.spatial == 2 && c.groups == 1 && !c.channels_second &&
         c.in_channels <= kMostInChannels && TapsOf(c) >= kLeastTaps && TapsOf(c) <= kMostTaps &&
         c.out_channels % 8 == 0 && c.batch * c.out_places() >= kLeastPlaces && c.out_places() * TapsOf(c) <= 1 << 30 &&
         fits_int;
}

Status ConvolvePatches(KernelContext& ctx, const ImageConvolution& c, DType dtype,
                       const ConvolutionAddresses& addresses, const FusedAddresses& fused) {
  PatchConvolution convolution(ctx, c, dtype, addresses);
  return c.part == Convolution::Part::kFilter ? convolution.Filter() : convolution.Forward(fused);
}

}  // namespace weir::cuda
