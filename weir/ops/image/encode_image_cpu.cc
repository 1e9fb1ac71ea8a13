// Image files of pixels.
#include "weir/framework/kernel_registry.h"
#include "weir/io/image_codec.h"
#include "weir/ops/image/register.h"

namespace weir {
namespace {

class EncodePngKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<EncodePngKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->compression_, init.Attr<int64_t>("compression"));
    if (kernel->compression_ < -1 || kernel->compression_ > 9) {
      return InvalidArgument("compression should be in [-1,9], got ", kernel->compression_);
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor images = ctx.input(0);
    const int rank = images.rank();
    if (rank < 3) return InvalidArgument("images must be at least rank 3", images.shape().ToString());
    const int64_t height = images.dim(rank - 3), width = images.dim(rank - 2), channels = images.dim(rank - 1);
    if (channels < 1 || channels > 4) {
      return InvalidArgument("image must have 1, 2, 3, or 4 channels, got ", channels);
    }
    const Shape batch = images.shape().Slice(0, rank - 3);
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, batch));
    const auto image_bytes = static_cast<size_t>(height * width * channels) * SizeOf(images.dtype());
    const char* pixels = static_cast<const char*>(images.raw_data());
    for (int64_t i = 0; i < batch.num_elements(); ++i) {
      StatusOr<std::string> png = EncodePng(pixels + static_cast<size_t>(i) * image_bytes, height, width, channels,
                                            images.dtype(), static_cast<int>(compression_));
      if (!png.ok()) return Internal("PNG encoding failed at the following flattened batch indices: ", i);
      out->data<std::string>()[i] = *std::move(png);
    }
    return OkStatus();
  }

 private:
  int64_t compression_ = -1;
};

class EncodeJpegKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<EncodeJpegKernel>();
    if (!init.HasAttr("format")) return std::unique_ptr<Kernel>(std::move(kernel));
    JpegEncodeOptions& options = kernel->options_;
    WEIR_ASSIGN_OR_RETURN(kernel->format_, init.Attr<std::string>("format"));
    WEIR_ASSIGN_OR_RETURN(int64_t quality, init.Attr<int64_t>("quality"));
    if (quality < 0 || quality > 100) return InvalidArgument("quality must be in [0,100], got ", quality);
    options.quality = static_cast<int>(quality);
    WEIR_ASSIGN_OR_RETURN(options.progressive, init.Attr<bool>("progressive"));
    WEIR_ASSIGN_OR_RETURN(options.optimize_size, init.Attr<bool>("optimize_size"));
    WEIR_ASSIGN_OR_RETURN(options.chroma_downsampling, init.Attr<bool>("chroma_downsampling"));
    WEIR_ASSIGN_OR_RETURN(std::string unit, init.Attr<std::string>("density_unit"));
    options.density_in_cm = unit == "cm";
    WEIR_ASSIGN_OR_RETURN(int64_t x_density, init.Attr<int64_t>("x_density"));
    WEIR_ASSIGN_OR_RETURN(int64_t y_density, init.Attr<int64_t>("y_density"));
    options.x_density = static_cast<int>(x_density);
    options.y_density = static_cast<int>(y_density);
    WEIR_ASSIGN_OR_RETURN(options.xmp_metadata, init.Attr<std::string>("xmp_metadata"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor image = ctx.input(0);
    if (image.rank() != 3) return InvalidArgument("image must be 3-dimensional", image.shape().ToString());
    const int64_t channels = image.dim(2);
    if (!format_.empty() && channels != (format_ == "rgb" ? 3 : 1)) {
      return InvalidArgument("format ", format_, " expects ", format_ == "rgb" ? 3 : 1, " channels, got ",
                             image.shape().ToString());
    }
    JpegEncodeOptions options = options_;
    if (ctx.num_inputs() == 2) {
      const Tensor& quality = ctx.input(1);
      if (!quality.shape().IsScalar()) {
        return InvalidArgument("quality must be scalar: ", quality.shape().ToString());
      }
      options.quality = quality.scalar<int32_t>();
      if (options.quality < 0 || options.quality > 100) {
        return InvalidArgument("quality must be in [0,100], got ", options.quality);
      }
    }
    WEIR_ASSIGN_OR_RETURN(std::string jpeg, EncodeJpeg(image, options));
    ctx.set_output(0, Tensor::Scalar(std::move(jpeg)));
    return OkStatus();
  }

 private:
  std::string format_;
  JpegEncodeOptions options_;
};

}  // namespace

void RegisterEncodeImageKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("EncodePng").Types("T", TypeList<uint8_t, uint16_t>{}), MakeKernel<EncodePngKernel>);
  registry.Add(KernelBuilder("EncodeJpeg"), MakeKernel<EncodeJpegKernel>);
  registry.Add(KernelBuilder("EncodeJpegVariableQuality"), MakeKernel<EncodeJpegKernel>);
}

}  // namespace weir
