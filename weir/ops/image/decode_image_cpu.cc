// Pixels of image files. One kernel serves all: each op takes any format, except where it says which it means.
#include "weir/framework/kernel_registry.h"
#include "weir/io/image_codec.h"
#include "weir/ops/image/register.h"

namespace weir {
namespace {

struct FormatNames {
  const char* name;
  const char* decoder;
};

FormatNames NamesOf(ImageFormat format) {
  switch (format) {
    case ImageFormat::kPng:
      return {"PNG", "decode_png"};
    case ImageFormat::kJpeg:
      return {"JPEG", "decode_jpeg"};
    case ImageFormat::kGif:
      return {"GIF", "decode_gif"};
    case ImageFormat::kBmp:
      return {"BMP", "decode_bmp"};
    case ImageFormat::kWebP:
      return {"WebP", "decode_webp"};
    default:
      return {"unknown", ""};
  }
}

// 8-bit values in another type, as the pixels of formats that know nothing else.
StatusOr<Tensor> Widen(Tensor image, DType dtype) {
  if (dtype == DType::kUInt8) return image;
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, image.shape()));
  const uint8_t* from = image.data<uint8_t>();
  for (int64_t i = 0; i < image.num_elements(); ++i) {
    if (dtype == DType::kUInt16) {
      out.data<uint16_t>()[i] = static_cast<uint16_t>(from[i] << 8);
    } else {
      out.data<float>()[i] = static_cast<float>(from[i]) * (1.0f / 255.0f);
    }
  }
  return out;
}

class DecodeImageKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<DecodeImageKernel>();
    kernel->op_ = init.schema().name;
    if (init.HasAttr("channels")) {
      WEIR_ASSIGN_OR_RETURN(kernel->channels_, init.Attr<int64_t>("channels"));
      const int64_t channels = kernel->channels_;
      if (kernel->op_ == "DecodeWebP" && channels != 0 && channels != 3 && channels != 4) {
        return InvalidArgument("WebP only supports 3 or 4 channels");
      }
      if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
        return InvalidArgument("`channels` must be 0, 1, 3 or 4 but got ", channels);
      }
    }
    if (init.HasAttr("expand_animations")) {
      WEIR_ASSIGN_OR_RETURN(kernel->expand_animations_, init.Attr<bool>("expand_animations"));
    }
    kernel->dtype_ = init.output_type(0);
    if (init.HasAttr("dct_method")) WEIR_RETURN_IF_ERROR(kernel->ReadJpegAttrs(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor contents = ctx.input(0);
    if (!contents.shape().IsScalar()) {
      return InvalidArgument("`contents` must be scalar but got shape", contents.shape().ToString());
    }
    const std::string& bytes = contents.scalar<std::string>();
    if (bytes.empty()) return InvalidArgument("Input is empty.");
    const ImageFormat format = GuessImageFormat(bytes);
    WEIR_RETURN_IF_ERROR(CheckFormat(format));
    JpegDecodeOptions jpeg = jpeg_;
    if (ctx.num_inputs() == 2) {
      const Tensor& window = ctx.input(1);
      if (!window.shape().IsVector()) {
        return InvalidArgument("crop_window must be 1-D, got shape ", window.shape().ToString());
      }
      if (window.num_elements() != 4) {
        return InvalidArgument("crop_size must have four elements ", window.shape().ToString());
      }
      const int32_t* w = window.data<int32_t>();
      jpeg.crop = JpegWindow{.y = w[0], .x = w[1], .height = w[2], .width = w[3]};
    }
    WEIR_ASSIGN_OR_RETURN(Tensor image, Decode(format, bytes, jpeg));
    WEIR_ASSIGN_OR_RETURN(image, WithRank(std::move(image)));
    ctx.set_output(0, std::move(image));
    return OkStatus();
  }

 private:
  Status ReadJpegAttrs(const KernelInit& init) {
    WEIR_ASSIGN_OR_RETURN(int64_t ratio, init.Attr<int64_t>("ratio"));
    if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
      return InvalidArgument("ratio must be 1, 2, 4, or 8, got ", ratio);
    }
    jpeg_.ratio = static_cast<int>(ratio);
    WEIR_ASSIGN_OR_RETURN(jpeg_.fancy_upscaling, init.Attr<bool>("fancy_upscaling"));
    WEIR_ASSIGN_OR_RETURN(jpeg_.try_recover_truncated, init.Attr<bool>("try_recover_truncated"));
    WEIR_ASSIGN_OR_RETURN(jpeg_.acceptable_fraction, init.Attr<float>("acceptable_fraction"));
    WEIR_ASSIGN_OR_RETURN(std::string method, init.Attr<std::string>("dct_method"));
    if (method != "" && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE") {
      return InvalidArgument("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}");
    }
    jpeg_.dct = method == "INTEGER_ACCURATE" ? JpegDecodeOptions::Dct::kAccurate : JpegDecodeOptions::Dct::kFast;
    return OkStatus();
  }

  Status CheckFormat(ImageFormat format) const {
    if (format == ImageFormat::kUnknown) {
      return InvalidArgument("Unknown image file format. One of JPEG, JPEG XL, PNG, GIF, BMP, WebP required.");
    }
    const FormatNames names = NamesOf(format);
    if (op_ == "DecodeAndCropJpeg" && format != ImageFormat::kJpeg) {
      return InvalidArgument("DecodeAndCropJpeg operation can run on JPEG only, but detected ", names.name, ".");
    }
    for (const auto& [op, own] : {std::pair("DecodeBmp", ImageFormat::kBmp), {"DecodeWebP", ImageFormat::kWebP}}) {
      if (op_ == op && format != own) {
        return InvalidArgument("Trying to decode ", names.name, " format using ", op, " op. Use `", names.decoder,
                               "` or `decode_image` instead.");
      }
      if (format == own && op_ != op && op_ != "DecodeImage") {
        return InvalidArgument("Trying to decode ", names.name, " format using a wrong op. Use `", names.decoder,
                               "` or `decode_image` instead. Op used: ", op_);
      }
    }
    return OkStatus();
  }

  StatusOr<Tensor> Decode(ImageFormat format, std::string_view bytes, JpegDecodeOptions jpeg) const {
    const int channels = static_cast<int>(channels_);
    switch (format) {
      case ImageFormat::kPng:
        return DecodePngAs(bytes, channels);
      case ImageFormat::kJpeg: {
        if (channels == 4) return InvalidArgument("JPEG does not support 4 channels");
        jpeg.channels = channels;
        WEIR_ASSIGN_OR_RETURN(Tensor image, DecodeJpeg(bytes, jpeg));
        return Widen(std::move(image), dtype_);
      }
      case ImageFormat::kGif: {
        if (channels != 0 && channels != 3) return InvalidArgument("channels must be 0 or 3 for GIF, got ", channels);
        WEIR_ASSIGN_OR_RETURN(Tensor image, DecodeGif(bytes, expand_animations_));
        return Widen(std::move(image), dtype_);
      }
      case ImageFormat::kBmp: {
        if (dtype_ == DType::kFloat && op_ != "DecodeImage") return InvalidArgument("BMP gives uint8");
        WEIR_ASSIGN_OR_RETURN(Tensor image, DecodeBmp(bytes, channels));
        return Widen(std::move(image), dtype_);
      }
      case ImageFormat::kWebP:
        if (dtype_ != DType::kUInt8) return InvalidArgument("WebP only supports uint8 for dtype");
        if (channels == 1) return InvalidArgument("WebP only supports 3 or 4 channels");
        return DecodeWebP(bytes, channels, expand_animations_);
      default:
        return Internal("no image");
    }
  }

  StatusOr<Tensor> DecodePngAs(std::string_view bytes, int channels) const {
    if (dtype_ != DType::kFloat) return DecodePng(bytes, channels, dtype_);
    WEIR_ASSIGN_OR_RETURN(Tensor wide, DecodePng(bytes, channels, DType::kUInt16));
    WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kFloat, wide.shape()));
    for (int64_t i = 0; i < wide.num_elements(); ++i) {
      out.data<float>()[i] = static_cast<float>(wide.data<uint16_t>()[i]) * (1.0f / 65535.0f);
    }
    return out;
  }

  // An animation has a dimension of frames; single pictures only where the op promises it.
  StatusOr<Tensor> WithRank(Tensor image) const {
    const Shape shape = image.shape();
    if (op_ == "DecodeWebP") return image;
    if (op_ == "DecodeGif") {
      if (shape.rank() == 4) return image;
      return std::move(image).Reshaped(Shape({1, shape.dim(0), shape.dim(1), shape.dim(2)}));
    }
    if (shape.rank() == 3 || (op_ == "DecodeImage" && expand_animations_)) return image;
    if (shape.dim(0) != 1) {
      return InvalidArgument("Got ", shape.dim(0),
                             " frames, but animated gifs can only be decoded by tf.io.decode_gif ",
                             "or tf.io.decode_image");
    }
    return std::move(image).Reshaped(Shape({shape.dim(1), shape.dim(2), shape.dim(3)}));
  }

  std::string op_;
  int64_t channels_ = 0;
  DType dtype_ = DType::kUInt8;
  bool expand_animations_ = true;
  JpegDecodeOptions jpeg_{.dct = JpegDecodeOptions::Dct::kFast};
};

class ExtractJpegShapeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor contents = ctx.input(0);
    if (!contents.shape().IsScalar()) {
      return InvalidArgument("contents must be scalar, got shape ", contents.shape().ToString());
    }
    WEIR_ASSIGN_OR_RETURN(JpegShape shape, ReadJpegShape(contents.scalar<std::string>()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({3})));
    DispatchDType(out->dtype(), IndexTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      out->data<T>()[0] = static_cast<T>(shape.height);
      out->data<T>()[1] = static_cast<T>(shape.width);
      out->data<T>()[2] = static_cast<T>(shape.channels);
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterDecodeImageKernels(KernelRegistry& registry) {
  for (const char* op :
       {"DecodeImage", "DecodePng", "DecodeJpeg", "DecodeAndCropJpeg", "DecodeGif", "DecodeBmp", "DecodeWebP"}) {
    registry.Add(KernelBuilder(op), MakeKernel<DecodeImageKernel>);
  }
  registry.Add(KernelBuilder("ExtractJpegShape"), MakeKernel<ExtractJpegShapeKernel>);
}

}  // namespace weir
