// ImageProjectiveTransform: each pixel of the result comes from where a projective map sends it.
#include <algorithm>
#include <cmath>

#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/image/projective_transform.h"
#include "weir/ops/image/register.h"

namespace weir {
namespace {

using ImageTypes = TypeList<uint8_t, int32_t, int64_t, Half, BFloat16, float, double>;

float Inside(float place, int64_t size) { return std::clamp(place, 0.0f, static_cast<float>(size - 1)); }

// abcd as dcba|abcd|dcba.
float Reflect(float place, int64_t size) {
  const auto whole = static_cast<float>(2 * size);
  const auto length = static_cast<float>(size);
  if (size <= 1) return 0;
  if (place < 0) {
    place += whole * std::trunc(-place / whole);
    place = place < -length ? place + whole : -place - 1;
  } else if (place > length - 1) {
    place -= whole * std::trunc(place / whole);
    if (place >= length) place = whole - place - 1;
  }
  return Inside(place, size);
}

// abcd as abcd|abcd|abcd.
float Wrap(float place, int64_t size) {
  if (size <= 1) return 0;
  const auto length = static_cast<float>(size), last = static_cast<float>(size - 1);
  if (place < 0) {
    place += length * (std::trunc(-place / last) + 1);
  } else if (place > last) {
    place -= length * std::trunc(place / last);
  }
  return Inside(place, size);
}

float Map(float place, int64_t size, FillMode mode) {
  switch (mode) {
    case FillMode::kReflect:
      return Reflect(place, size);
    case FillMode::kWrap:
      return Wrap(place, size);
    case FillMode::kNearest:
      return Inside(place, size);
    default:
      return place;
  }
}

template <typename T>
struct Picture {
  const T* pixels;
  int64_t height, width, channels;
  T fill;
  T At(float y, float x, int64_t c) const {
    // Comparisons as floats: a place far outside is no integer.
    if (!(y >= 0 && y < static_cast<float>(height) && x >= 0 && x < static_cast<float>(width))) return fill;
    return pixels[(static_cast<int64_t>(y) * width + static_cast<int64_t>(x)) * channels + c];
  }
  T Nearest(float y, float x, int64_t c) const { return At(std::round(y), std::round(x), c); }
  T Bilinear(float y, float x, int64_t c) const {
    const float top = std::floor(y), left = std::floor(x), bottom = top + 1, right = left + 1;
    const auto value = [&](float row, float column) { return static_cast<float>(At(row, column, c)); };
    const float upper = (right - x) * value(top, left) + (x - left) * value(top, right);
    const float lower = (right - x) * value(bottom, left) + (x - left) * value(bottom, right);
    return static_cast<T>((bottom - y) * upper + (y - top) * lower);
  }
};

class ProjectiveTransformKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ProjectiveTransformKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->options_, ReadProjectionOptions(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor images = ctx.input(0), transforms = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(ProjectionSizes sizes, ReadProjectionSizes(ctx));
    const int64_t height = sizes.shape.dim(1), width = sizes.shape.dim(2);
    const float fill = sizes.fill;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.shape));
    DispatchDType(images.dtype(), ImageTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t channels = images.dim(3), in_pixels = images.dim(1) * images.dim(2) * channels;
      ctx.ParallelFor(images.dim(0) * height, static_cast<double>(20 * width * (channels + 1)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t line = begin; line < end; ++line) {
                          const int64_t b = line / height;
                          const Picture<T> picture{images.data<T>() + b * in_pixels, images.dim(1), images.dim(2),
                                                   channels, static_cast<T>(fill)};
                          const float* map = transforms.data<float>() + (transforms.dim(0) == 1 ? 0 : 8 * b);
                          Line(picture, map, line % height, width, out->data<T>() + line * width * channels);
                        }
                      });
    });
    return OkStatus();
  }

 private:
  template <typename T>
  void Line(const Picture<T>& picture, const float* map, int64_t row, int64_t width, T* out) const {
    const auto y = static_cast<float>(row);
    for (int64_t column = 0; column < width; ++column, out += picture.channels) {
      const auto x = static_cast<float>(column);
      const float projection = map[6] * x + map[7] * y + 1.0f;
      if (projection == 0) {
        std::fill(out, out + picture.channels, picture.fill);
        continue;
      }
      const float from_x = Map((map[0] * x + map[1] * y + map[2]) / projection, picture.width, options_.mode);
      const float from_y = Map((map[3] * x + map[4] * y + map[5]) / projection, picture.height, options_.mode);
      for (int64_t c = 0; c < picture.channels; ++c) {
        out[c] = options_.is_bilinear ? picture.Bilinear(from_y, from_x, c) : picture.Nearest(from_y, from_x, c);
      }
    }
  }

  ProjectionOptions options_;
};

}  // namespace

StatusOr<ProjectionOptions> ReadProjectionOptions(const KernelInit& init) {
  ProjectionOptions out;
  WEIR_ASSIGN_OR_RETURN(std::string interpolation, init.Attr<std::string>("interpolation"));
  if (interpolation != "NEAREST" && interpolation != "BILINEAR") {
    return InvalidArgument("Invalid interpolation ", interpolation, ". Supported types: NEAREST, BILINEAR");
  }
  out.is_bilinear = interpolation == "BILINEAR";
  WEIR_ASSIGN_OR_RETURN(std::string mode, init.Attr<std::string>("fill_mode"));
  if (mode == "REFLECT") {
    out.mode = FillMode::kReflect;
  } else if (mode == "WRAP") {
    out.mode = FillMode::kWrap;
  } else if (mode == "NEAREST") {
    out.mode = FillMode::kNearest;
  } else if (mode != "CONSTANT") {
    return InvalidArgument("Invalid mode ", mode, ". Supported types: REFLECT, WRAP, CONSTANT, NEAREST");
  }
  return out;
}

StatusOr<ProjectionSizes> ReadProjectionSizes(KernelContext& ctx) {
  ProjectionSizes out;
  const Tensor images = ctx.input(0), transforms = ctx.input(1), size = ctx.input(2);
  if (images.rank() != 4) return InvalidArgument("Input images must have rank 4");
  if (transforms.rank() != 2 || (transforms.dim(0) != images.dim(0) && transforms.dim(0) != 1) ||
      transforms.dim(1) != 8) {
    return InvalidArgument("Input transform should be num_images x 8 or 1 x 8");
  }
  if (size.rank() != 1) return InvalidArgument("output shape must be 1-dimensional", size.shape().ToString());
  if (size.num_elements() != 2) {
    return InvalidArgument("output shape must have two elements", size.shape().ToString());
  }
  const int64_t height = size.data<int32_t>()[0], width = size.data<int32_t>()[1];
  if (height <= 0 || width <= 0) return InvalidArgument("output dimensions must be positive");
  if (ctx.num_inputs() > 3) {
    if (!ctx.input(3).shape().IsScalar()) {
      return InvalidArgument("fill_value must be a scalar", ctx.input(3).shape().ToString());
    }
    out.fill = ctx.input(3).scalar<float>();
  }
  const int64_t dims[] = {images.dim(0), height, width, images.dim(3)};
  WEIR_ASSIGN_OR_RETURN(out.shape, Shape::Make(dims));
  return out;
}

void RegisterProjectiveTransformKernels(KernelRegistry& registry) {
  for (const char* op : {"ImageProjectiveTransformV2", "ImageProjectiveTransformV3"}) {
    registry.Add(KernelBuilder(op).Types("dtype", ImageTypes{}), MakeKernel<ProjectiveTransformKernel>);
  }
}

}  // namespace weir
