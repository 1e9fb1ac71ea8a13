// Image files: pixels of PNG, JPEG, GIF, BMP and WebP, and files of pixels.
//
// Pixels are tensors [height, width, channels]; of animations [frames, height, width, channels]. No bytes, however
// damaged, do more than give INVALID_ARGUMENT, and a size that a header declares is held against kMaxImageElements
// before memory is taken.
#ifndef WEIR_IO_IMAGE_CODEC_H_
#define WEIR_IO_IMAGE_CODEC_H_

#include <optional>
#include <string>
#include <string_view>

#include "weir/tensor/tensor.h"

namespace weir {

// Pixels times channels of one image, and of all frames together.
inline constexpr int64_t kMaxImageElements = int64_t{1} << 29;

enum class ImageFormat { kUnknown, kPng, kJpeg, kGif, kBmp, kWebP };
// By the first bytes.
ImageFormat GuessImageFormat(std::string_view bytes);
// OK if so many elements may be allocated for an image.
Status CheckImageSize(int64_t frames, int64_t height, int64_t width, int64_t channels);

// `channels` 0 takes the file's own number. `dtype` is kUInt8 or kUInt16.
StatusOr<Tensor> DecodePng(std::string_view bytes, int channels, DType dtype);
// An image of type kUInt8 or kUInt16 with 1 to 4 channels. `compression` is zlib's level, -1 for its default.
StatusOr<std::string> EncodePng(const Tensor& image, int compression = -1);
// The same of pixels in memory.
StatusOr<std::string> EncodePng(const void* pixels, int64_t height, int64_t width, int64_t channels, DType dtype,
                                int compression = -1);

struct JpegWindow {
  int64_t y = 0, x = 0, height = 0, width = 0;
};
struct JpegDecodeOptions {
  int channels = 0;  // 0, 1 or 3
  int ratio = 1;     // the image is 1, 2, 4 or 8 times smaller
  bool fancy_upscaling = true;
  bool try_recover_truncated = false;
  float acceptable_fraction = 1.0f;  // of the lines that must be there
  enum class Dct { kDefault, kFast, kAccurate } dct = Dct::kDefault;
  std::optional<JpegWindow> crop;
};
StatusOr<Tensor> DecodeJpeg(std::string_view bytes, const JpegDecodeOptions& options);
struct JpegShape {
  int height = 0, width = 0, channels = 0;
};
StatusOr<JpegShape> ReadJpegShape(std::string_view bytes);

struct JpegEncodeOptions {
  int quality = 95;
  bool progressive = false;
  bool optimize_size = false;
  bool chroma_downsampling = true;
  bool density_in_cm = false;
  int x_density = 300;
  int y_density = 300;
  std::string xmp_metadata;
};
// An image of type kUInt8 with 1 or 3 channels.
StatusOr<std::string> EncodeJpeg(const Tensor& image, const JpegEncodeOptions& options);

// RGB frames, each drawn over the one before. Without `expand_animations` the first frame alone, still of rank 4.
StatusOr<Tensor> DecodeGif(std::string_view bytes, bool expand_animations);
StatusOr<Tensor> DecodeBmp(std::string_view bytes, int channels);
// Always 4-D. `channels` is 0 or the file's own number, 3 or 4.
StatusOr<Tensor> DecodeWebP(std::string_view bytes, int channels, bool expand_animations);

}  // namespace weir

#endif  // WEIR_IO_IMAGE_CODEC_H_
