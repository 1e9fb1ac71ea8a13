// ExtractGlimpse: windows of images; what lies outside is noise or zero.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "weir/base/philox.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/register.h"
#include "weir/tensor/copy_elements.h"

namespace weir {
namespace {

enum class Noise { kUniform, kGaussian, kZero };

// One dimension of a window that may reach over the image's ends.
struct Extent {
  Extent(int64_t offset, int64_t window, int64_t size) {
    from = std::max<int64_t>(offset, 0);
    // In front of the image nothing is cut off at its other end: such a window keeps its last pixels.
    int64_t count = window;
    if (offset < 0) {
      count = std::max<int64_t>(0, window + offset);
      to = window - count;
      partial = true;
    } else if (offset + window >= size) {
      count = std::max<int64_t>(0, size - offset);
      partial = true;
    }
    length = std::min(count, size);
    length = std::max<int64_t>(0, std::min(length, size - from));
  }
  int64_t from = 0, to = 0, length = 0;
  bool partial = false;
};

class GlimpseKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GlimpseKernel>();
    kernel->is_v2_ = init.schema().name == "ExtractGlimpseV2";
    WEIR_ASSIGN_OR_RETURN(kernel->centered_, init.Attr<bool>("centered"));
    WEIR_ASSIGN_OR_RETURN(kernel->normalized_, init.Attr<bool>("normalized"));
    WEIR_ASSIGN_OR_RETURN(bool uniform, init.Attr<bool>("uniform_noise"));
    WEIR_ASSIGN_OR_RETURN(std::string noise, init.Attr<std::string>("noise"));
    if (uniform && !noise.empty() && noise != "uniform") {
      return InvalidArgument("The uniform_noise and noise should not be specified at the same time");
    }
    kernel->noise_ = noise == "zero"                  ? Noise::kZero
                     : uniform && noise != "gaussian" ? Noise::kUniform
                                                      : Noise::kGaussian;
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor image = ctx.input(0), size = ctx.input(1), offsets = ctx.input(2);
    if (image.rank() != 4) return InvalidArgument("input must be 4-dimensional", image.shape().ToString());
    if (size.rank() != 1) return InvalidArgument("input must be a vector", size.shape().ToString());
    if (size.num_elements() != 2)
      return InvalidArgument("input must be a vector of 2 elements", size.shape().ToString());
    const int64_t height = size.data<int32_t>()[0], width = size.data<int32_t>()[1];
    if (height <= 0 || width <= 0) return InvalidArgument("glimpse size must be positive, got ", height, " by ", width);
    if (offsets.rank() != 2) return InvalidArgument("input must be a matrix", offsets.shape().ToString());
    if (offsets.dim(0) != image.dim(0)) {
      return InvalidArgument("offsets must have shape [", image.dim(0), ", 2], got ", offsets.shape().ToString());
    }
    if (offsets.dim(1) != 2) return InvalidArgument("input must have shape [?, 2]", offsets.shape().ToString());
    const int64_t dims[] = {image.dim(0), height, width, image.dim(3)};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(DType::kFloat, shape));
    if (out.num_elements() > 0 && image.num_elements() > 0) {
      for (int64_t b = 0; b < image.dim(0); ++b) Extract(image, b, offsets.data<float>() + 2 * b, out);
    }
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }

 private:
  // The first pixel of the window.
  int64_t Begin(float offset, int64_t window, int64_t size) const {
    const auto whole = static_cast<float>(size);
    float place = offset;
    if (normalized_) place *= whole;
    if (centered_) {
      if (!is_v2_ || normalized_) place /= 2.0f;
      place += whole / 2.0f;
    }
    if (!is_v2_ || (centered_ && normalized_)) place -= static_cast<float>(window) / 2.0f;
    constexpr float kFar = 1e15f;
    return std::isnan(place) ? 0 : static_cast<int64_t>(std::clamp(place, -kFar, kFar));
  }

  void Extract(const Tensor& image, int64_t b, const float* offset, Tensor& out) const {
    const int64_t height = image.dim(1), width = image.dim(2), channels = image.dim(3);
    const int64_t out_height = out.dim(1), out_width = out.dim(2);
    const Extent rows(Begin(offset[0], out_height, height), out_height, height);
    const Extent columns(Begin(offset[1], out_width, width), out_width, width);
    float* window = out.data<float>() + b * out_height * out_width * channels;
    if (rows.partial || columns.partial) Fill(image, window, out_height * out_width * channels);
    for (int64_t y = 0; y < rows.length; ++y) {
      const float* from = image.data<float>() + (((b * height) + rows.from + y) * width + columns.from) * channels;
      std::copy(from, from + columns.length * channels, window + ((rows.to + y) * out_width + columns.to) * channels);
    }
  }

  void Fill(const Tensor& image, float* out, int64_t count) const {
    if (noise_ == Noise::kZero) return;
    PhiloxNumbers numbers(Philox::FromSeeds(0, 0));
    auto unit = [&] { return static_cast<float>(numbers.Next() >> 8) * 0x1p-24f; };
    std::span<const float> values = image.span<float>();
    if (noise_ == Noise::kUniform) {
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      for (int64_t i = 0; i < count; ++i) out[i] = *low + unit() * (*high - *low);
      return;
    }
    double sum = 0, squares = 0;
    for (float value : values) sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (float value : values) squares += (value - mean) * (value - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
    for (int64_t i = 0; i < count; ++i) {
      const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
      out[i] = static_cast<float>(mean + deviation * radius * std::cos(2 * std::numbers::pi * unit()));
    }
  }

  bool is_v2_ = false, centered_ = true, normalized_ = true;
  Noise noise_ = Noise::kUniform;
};

}  // namespace

void RegisterGlimpseKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ExtractGlimpse"), MakeKernel<GlimpseKernel>);
  registry.Add(KernelBuilder("ExtractGlimpseV2"), MakeKernel<GlimpseKernel>);
}

}  // namespace weir
