#include "weir/io/image_codec.h"

namespace weir {

ImageFormat GuessImageFormat(std::string_view bytes) {
  if (bytes.starts_with("\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  if (bytes.starts_with("GIF8")) return ImageFormat::kGif;
  if (bytes.starts_with("BM")) return ImageFormat::kBmp;
  if (bytes.size() >= 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP") return ImageFormat::kWebP;
  return ImageFormat::kUnknown;
}

Status CheckImageSize(int64_t frames, int64_t height, int64_t width, int64_t channels) {
  std::optional<int64_t> total = CheckedMultiply(height, width);
  if (total) total = CheckedMultiply(*total, channels);
  if (total) total = CheckedMultiply(*total, frames);
  if (height <= 0 || width <= 0 || !total || *total >= kMaxImageElements || width >= (int64_t{1} << 27)) {
    return InvalidArgument("image too large: ", frames, " frames of ", height, " by ", width, " pixels with ", channels,
                           " channels");
  }
  return OkStatus();
}

}  // namespace weir
