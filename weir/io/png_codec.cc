#include <png.h>

#include <bit>
#include <csetjmp>
#include <cstring>
#include <vector>

#include "weir/io/image_codec.h"

namespace weir {
namespace {

// libpng leaves a function on an error by longjmp, past destructors: what it runs in owns nothing that needs one, and
// everything that lives longer is made outside.
struct PngSource {
  std::string_view left;
  bool failed = false;
};

void ReadBytes(png_structp png, png_bytep out, size_t count) {
  auto* source = static_cast<PngSource*>(png_get_io_ptr(png));
  if (source->left.size() < count) png_error(png, "cut short");
  std::memcpy(out, source->left.data(), count);
  source->left.remove_prefix(count);
}
void AppendBytes(png_structp png, png_bytep bytes, size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(bytes), count);
}
void FlushNothing(png_structp) {}
[[noreturn]] void OnError(png_structp png, png_const_charp) { longjmp(png_jmpbuf(png), 1); }
void OnWarning(png_structp, png_const_charp) {}

struct PngHeader {
  png_uint_32 width = 0, height = 0;
  int bit_depth = 0, color_type = 0;
  int channels = 0;
  int passes = 1;
};

class PngReader {
 public:
  explicit PngReader(std::string_view bytes) : source_{bytes} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, OnError, OnWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
  }
  ~PngReader() {
    png_destroy_read_struct(png_ != nullptr ? &png_ : nullptr, info_ != nullptr ? &info_ : nullptr, nullptr);
  }
  PngReader(const PngReader&) = delete;

  // Reads the header and asks for pixels of this form.
  bool Begin(int channels, bool wide) {
    if (info_ == nullptr || setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, &source_, ReadBytes);
    png_read_info(png_, info_);
    png_get_IHDR(png_, info_, &header_.width, &header_.height, &header_.bit_depth, &header_.color_type, nullptr,
                 nullptr, nullptr);
    ChooseTransforms(channels, wide);
    png_read_update_info(png_, info_);
    return header_.width > 0 && header_.height > 0;
  }
  const PngHeader& header() const { return header_; }
  size_t row_bytes() const { return png_get_rowbytes(png_, info_); }

  // REQUIRES: rows of row_bytes().
  bool ReadRows(png_bytep pixels, size_t stride) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    for (int pass = 0; pass < header_.passes; ++pass) {
      for (png_uint_32 y = 0; y < header_.height; ++y) png_read_row(png_, pixels + y * stride, nullptr);
    }
    png_read_end(png_, info_);
    return true;
  }

 private:
  void ChooseTransforms(int channels, bool wide) {
    const bool has_palette = header_.color_type == PNG_COLOR_TYPE_PALETTE;
    const bool has_transparency = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    if (channels == 0) channels = has_palette ? (has_transparency ? 4 : 3) : png_get_channels(png_, info_);
    header_.channels = channels;
    const bool has_alpha = (header_.color_type & PNG_COLOR_MASK_ALPHA) != 0;
    if (channels % 2 == 0) {
      if (!has_alpha && has_transparency) png_set_tRNS_to_alpha(png_);
      if (!has_alpha && !has_transparency) png_set_add_alpha(png_, (1u << header_.bit_depth) - 1, PNG_FILLER_AFTER);
    } else if (has_alpha || has_transparency) {
      png_set_strip_alpha(png_);
    }
    if (header_.bit_depth > 8 && !wide) png_set_strip_16(png_);
    png_set_packing(png_);
    header_.passes = png_set_interlace_handling(png_);
    if (wide && std::endian::native == std::endian::little) png_set_swap(png_);
    if (has_palette) png_set_palette_to_rgb(png_);
    const bool is_gray = (header_.color_type & PNG_COLOR_MASK_COLOR) == 0;
    if (is_gray && header_.bit_depth < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (channels < 3 && !is_gray) png_set_rgb_to_gray(png_, 1, 0.299, 0.587);
    if (channels >= 3 && is_gray) png_set_gray_to_rgb(png_);
  }

  PngSource source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  PngHeader header_;
};

}  // namespace

StatusOr<Tensor> DecodePng(std::string_view bytes, int channels, DType dtype) {
  const bool wide = dtype == DType::kUInt16;
  PngReader reader(bytes);
  if (!reader.Begin(channels, wide)) return InvalidArgument("Invalid PNG header, data size ", bytes.size());
  const PngHeader& header = reader.header();
  WEIR_RETURN_IF_ERROR(CheckImageSize(1, header.height, header.width, header.channels));
  const Shape shape({header.height, header.width, header.channels});
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, shape));
  // 8 bits that shall become 16 are read into the front half of each row and spread from its end.
  const bool spread = wide && header.bit_depth <= 8;
  const size_t row_values = static_cast<size_t>(header.width) * header.channels;
  if (reader.row_bytes() != row_values * (wide && !spread ? 2 : 1)) {
    return InvalidArgument("Invalid PNG data, size ", bytes.size());
  }
  const size_t stride = row_values * SizeOf(dtype);
  auto* pixels = static_cast<png_bytep>(out.raw_data());
  if (!reader.ReadRows(pixels, stride)) return InvalidArgument("Invalid PNG data, size ", bytes.size());
  for (png_uint_32 y = 0; spread && y < header.height; ++y) {
    uint16_t* row = out.data<uint16_t>() + y * row_values;
    const uint8_t* narrow = pixels + y * stride;
    for (size_t i = row_values; i-- > 0;) row[i] = static_cast<uint16_t>(narrow[i] * 257);
  }
  return out;
}

StatusOr<std::string> EncodePng(const void* pixels, int64_t height, int64_t width, int64_t channels, DType dtype,
                                int compression) {
  static constexpr int kColorTypes[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                        PNG_COLOR_TYPE_RGB_ALPHA};
  if (channels < 1 || channels > 4 || (dtype != DType::kUInt8 && dtype != DType::kUInt16)) {
    return InvalidArgument("image must have 1, 2, 3, or 4 channels of 8 or 16 bits");
  }
  if (height <= 0 || width <= 0 || height > PNG_UINT_31_MAX || width > PNG_UINT_31_MAX) {
    return InvalidArgument("image is too large or empty: ", height, " by ", width);
  }
  std::string out;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, OnError, OnWarning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  if (info == nullptr) {
    png_destroy_write_struct(png != nullptr ? &png : nullptr, nullptr);
    return ResourceExhausted("no memory to encode a PNG image");
  }
  const bool wide = dtype == DType::kUInt16;
  const size_t stride = static_cast<size_t>(width * channels) * SizeOf(dtype);
  if (setjmp(png_jmpbuf(png)) != 0) {
    png_destroy_write_struct(&png, &info);
    return Internal("PNG encoding failed");
  }
  png_set_write_fn(png, &out, AppendBytes, FlushNothing);
  if (compression >= 0) png_set_compression_level(png, compression);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), wide ? 16 : 8,
               kColorTypes[channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (wide && std::endian::native == std::endian::little) png_set_swap(png);
  for (int64_t y = 0; y < height; ++y) {
    png_write_row(png, static_cast<png_const_bytep>(pixels) + static_cast<size_t>(y) * stride);
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

StatusOr<std::string> EncodePng(const Tensor& image, int compression) {
  if (image.rank() != 3) return InvalidArgument("image must be 3-dimensional", image.shape().ToString());
  return EncodePng(image.raw_data(), image.dim(0), image.dim(1), image.dim(2), image.dtype(), compression);
}

}  // namespace weir
