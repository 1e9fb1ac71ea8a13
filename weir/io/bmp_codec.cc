#include <cstring>

#include "weir/io/coding.h"
#include "weir/io/image_codec.h"

namespace weir {
namespace {

constexpr size_t kHeaderBytes = 32;

// One row of grey or of blue, green, red(, alpha) as grey or red, green, blue(, alpha).
void CopyRow(const uint8_t* from, int stored, int64_t width, int channels, uint8_t* to) {
  if (channels == 1) {
    std::memcpy(to, from, static_cast<size_t>(width));
    return;
  }
  const bool grey = stored == 1;
  for (int64_t x = 0; x < width; ++x, from += stored, to += channels) {
    to[0] = from[grey ? 0 : 2];
    to[1] = from[grey ? 0 : 1];
    to[2] = from[0];
    if (channels == 4) to[3] = stored == 4 ? from[3] : 255;
  }
}

}  // namespace

StatusOr<Tensor> DecodeBmp(std::string_view bytes, int channels) {
  if (bytes.size() < kHeaderBytes) {
    return InvalidArgument(
        "Incomplete bmp content, requires at least 32 bytes to find the header size, width, height, ", "and bpp, got ",
        bytes.size(), " bytes");
  }
  const auto number = [&](size_t at) { return static_cast<int32_t>(DecodeFixed32(bytes.data() + at)); };
  const int64_t begin = number(10), width = number(18), signed_height = number(22);
  const int bits = static_cast<uint8_t>(bytes[28]) | static_cast<uint8_t>(bytes[29]) << 8;
  const int64_t height = signed_height < 0 ? -signed_height : signed_height;
  if (begin < 0) return InvalidArgument("header size must be nonnegative, got ", begin);
  const int stored = bits / 8;
  if (channels == 1) return InvalidArgument("`channels` must be 0, 3 or 4 for BMP, but got ", channels);
  if (stored != 1 && stored != 3 && stored != 4) {
    return InvalidArgument("Number of channels inherent in the image must be 1, 3 or 4, was ", stored);
  }
  if (channels == 0) channels = stored;
  if (width <= 0 || height == 0) {
    return InvalidArgument("image must have a positive size, got ", width, " by ", signed_height);
  }
  WEIR_RETURN_IF_ERROR(CheckImageSize(1, height, width, channels));
  // Rows end at multiples of four bytes; the last one need not.
  const int64_t stride = (8 * stored * width + 31) / 32 * 4;
  const int64_t needed = begin + (height - 1) * stride + width * stored;
  if (needed > static_cast<int64_t>(bytes.size())) {
    return InvalidArgument("Incomplete bmp content, requires at least ", needed, " bytes, got ", bytes.size(),
                           " bytes");
  }
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kUInt8, Shape({height, width, channels})));
  const auto* pixels = reinterpret_cast<const uint8_t*>(bytes.data()) + begin;
  for (int64_t y = 0; y < height; ++y) {
    const int64_t row = signed_height < 0 ? y : height - 1 - y;
    CopyRow(pixels + row * stride, stored, width, channels, out.data<uint8_t>() + y * width * channels);
  }
  return out;
}

}  // namespace weir
