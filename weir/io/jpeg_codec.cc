#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <vector>

// It needs <cstdio> before it.
// clang-format off
#include <jpeglib.h>
// clang-format on

#include "weir/io/image_codec.h"

namespace weir {
namespace {

// libjpeg reports errors by a call that must not return: it leaves by longjmp, past destructors. What runs between
// setjmp and the calls owns nothing that needs one.
struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf escape;
};

[[noreturn]] void OnError(j_common_ptr info) { std::longjmp(reinterpret_cast<ErrorManager*>(info->err)->escape, 1); }
void OnMessage(j_common_ptr, int) {}
void OnOutput(j_common_ptr) {}

void UseErrors(jpeg_error_mgr* errors) {
  jpeg_std_error(errors);
  errors->error_exit = OnError;
  errors->emit_message = OnMessage;
  errors->output_message = OnOutput;
}

// Bytes in memory. What happens at their end is what TensorFlow's source does, so that the same pixels come of files
// that were cut: the library asks for more while it is inside a unit of the image, and knows then only where the unit
// began. If bytes are left from there on, they are given once more when a cut file is to be recovered, else reading
// stops there. If none are, an end marker is made up, once.
struct Source {
  jpeg_source_mgr base;
  const JOCTET* begin;
  bool recover;
  const JOCTET* repeated;  // from where bytes were given once more
  int repeats;             // how often, one after the other
};

// A unit is read in some thousand bytes, but bytes of padding are passed over for ever.
constexpr int kMaxRepeats = 1 << 20;

void InitSource(j_decompress_ptr) {}
void TermSource(j_decompress_ptr) {}
boolean FillInput(j_decompress_ptr info) {
  static constexpr JOCTET kEnd[2] = {0xff, JPEG_EOI};
  auto* source = reinterpret_cast<Source*>(info->src);
  const JOCTET* next = source->base.next_input_byte;
  if (source->base.bytes_in_buffer > 0) {
    if (!source->recover) return FALSE;
    source->repeats = source->repeated == next ? source->repeats + 1 : 0;
    source->repeated = next;
    if (source->repeats > kMaxRepeats) OnError(reinterpret_cast<j_common_ptr>(info));
    return TRUE;
  }
  if (next == source->begin || next == kEnd || !source->recover) OnError(reinterpret_cast<j_common_ptr>(info));
  source->base.next_input_byte = kEnd;
  source->base.bytes_in_buffer = sizeof kEnd;
  return TRUE;
}
void SkipInput(j_decompress_ptr info, long count) {
  if (count < 0) return;
  jpeg_source_mgr* source = info->src;
  if (static_cast<size_t>(count) > source->bytes_in_buffer) {
    source->bytes_in_buffer = 0;
    FillInput(info);
    return;
  }
  source->next_input_byte += count;
  source->bytes_in_buffer -= static_cast<size_t>(count);
}

class Decoder {
 public:
  enum class Line { kRead, kMissing, kFailed };

  Decoder(std::string_view bytes, bool recover) {
    UseErrors(&errors_.base);
    info_.err = &errors_.base;
    if (setjmp(errors_.escape) != 0) return;
    jpeg_create_decompress(&info_);
    created_ = true;
    source_.base.init_source = InitSource;
    source_.base.fill_input_buffer = FillInput;
    source_.base.skip_input_data = SkipInput;
    source_.base.resync_to_restart = jpeg_resync_to_restart;
    source_.base.term_source = TermSource;
    source_.base.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
    source_.base.bytes_in_buffer = bytes.size();
    source_.begin = source_.base.next_input_byte;
    source_.recover = recover;
    info_.src = &source_.base;
  }
  ~Decoder() {
    if (created_) jpeg_destroy_decompress(&info_);
  }
  Decoder(const Decoder&) = delete;

  bool ReadHeader() {
    if (!created_ || setjmp(errors_.escape) != 0) return false;
    return jpeg_read_header(&info_, TRUE) == JPEG_HEADER_OK;
  }
  const jpeg_decompress_struct& info() const { return info_; }

  // Sets what the pixels shall be and computes their number.
  bool Prepare(const JpegDecodeOptions& options) {
    if (setjmp(errors_.escape) != 0) return false;
    channels_ = options.channels != 0 ? options.channels : std::min(info_.num_components, 3);
    if (channels_ == 1) {
      info_.out_color_space = JCS_GRAYSCALE;
    } else if (channels_ == 3) {
      const bool cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
      info_.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    } else {
      return false;
    }
    info_.do_fancy_upsampling = options.fancy_upscaling ? TRUE : FALSE;
    info_.scale_num = 1;
    info_.scale_denom = static_cast<unsigned>(options.ratio);
    info_.dct_method = options.dct == JpegDecodeOptions::Dct::kFast       ? JDCT_IFAST
                       : options.dct == JpegDecodeOptions::Dct::kAccurate ? JDCT_ISLOW
                                                                          : JDCT_DEFAULT;
    jpeg_calc_output_dimensions(&info_);
    return info_.output_width > 0 && info_.output_height > 0;
  }
  int channels() const { return channels_; }
  bool is_cmyk() const { return info_.out_color_space == JCS_CMYK; }

  // With a window, moves to its first line; `offset` is where its first pixel stands in a line.
  bool Start(const JpegWindow* window, int64_t* offset) {
    if (setjmp(errors_.escape) != 0) return false;
    if (jpeg_start_decompress(&info_) == FALSE) return false;
    *offset = 0;
    if (window == nullptr) return true;
    // The library widens the window to whole blocks.
    JDIMENSION x = static_cast<JDIMENSION>(window->x), width = static_cast<JDIMENSION>(window->width);
    jpeg_crop_scanline(&info_, &x, &width);
    *offset = window->x - x;
    const auto skipped = static_cast<JDIMENSION>(window->y);
    return skipped == 0 || jpeg_skip_scanlines(&info_, skipped) == skipped;
  }
  Line ReadLine(JSAMPLE* line) {
    if (setjmp(errors_.escape) != 0) return Line::kFailed;
    return jpeg_read_scanlines(&info_, &line, 1) == 1 ? Line::kRead : Line::kMissing;
  }
  // After the last line that is wanted: what follows it must be in order too. Lines before `end` count as read.
  bool Finish(int64_t end) {
    if (setjmp(errors_.escape) != 0) return false;
    info_.output_scanline = static_cast<JDIMENSION>(end);
    if (info_.output_scanline < info_.output_height) {
      jpeg_skip_scanlines(&info_, info_.output_height - info_.output_scanline);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

 private:
  jpeg_decompress_struct info_{};
  ErrorManager errors_{};
  Source source_{};
  bool created_ = false;
  int channels_ = 0;
};

// Adobe's writers store the inks inverted.
void CmykToRgb(const JSAMPLE* from, int64_t width, bool inverted, uint8_t* to) {
  for (int64_t x = 0; x < width; ++x, from += 4, to += 3) {
    const int black = from[3];
    for (int i = 0; i < 3; ++i) {
      to[i] = static_cast<uint8_t>(inverted ? black * from[i] / 255 : (255 - black) * (255 - from[i]) / 255);
    }
  }
}

Status BadJpeg() { return InvalidArgument("jpeg::Uncompress failed. Invalid JPEG data or crop window."); }

bool IsInside(const JpegWindow& window, int64_t height, int64_t width) {
  return window.height > 0 && window.width > 0 && window.y >= 0 && window.x >= 0 &&
         window.y <= height - window.height && window.x <= width - window.width;
}

// Lines that are missing repeat the last one.
void FillMissing(uint8_t* pixels, int64_t stride, int64_t begin, int64_t end) {
  for (int64_t y = begin; y < end; ++y) {
    if (y == 0) {
      std::memset(pixels, 0, static_cast<size_t>(stride));
    } else {
      std::memcpy(pixels + y * stride, pixels + (y - 1) * stride, static_cast<size_t>(stride));
    }
  }
}

}  // namespace

StatusOr<JpegShape> ReadJpegShape(std::string_view bytes) {
  Decoder decoder(bytes, false);
  if (!decoder.ReadHeader()) return InvalidArgument("Invalid JPEG data, size ", bytes.size());
  const jpeg_decompress_struct& info = decoder.info();
  return JpegShape{static_cast<int>(info.image_height), static_cast<int>(info.image_width), info.num_components};
}

StatusOr<Tensor> DecodeJpeg(std::string_view bytes, const JpegDecodeOptions& options) {
  Decoder decoder(bytes, options.try_recover_truncated);
  if (!decoder.ReadHeader() || !decoder.Prepare(options)) return BadJpeg();
  const jpeg_decompress_struct& info = decoder.info();
  const int64_t full_width = info.output_width, full_height = info.output_height;
  WEIR_RETURN_IF_ERROR(CheckImageSize(1, full_height, full_width, info.num_components));
  const JpegWindow* window = options.crop ? &*options.crop : nullptr;
  if (window != nullptr && !IsInside(*window, full_height, full_width)) return BadJpeg();
  const int64_t height = window != nullptr ? window->height : full_height;
  const int64_t width = window != nullptr ? window->width : full_width;
  int64_t offset = 0;
  if (!decoder.Start(window, &offset)) return BadJpeg();
  const int64_t channels = decoder.channels();
  const int64_t stored = decoder.is_cmyk() ? 4 : channels;
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kUInt8, Shape({height, width, channels})));
  std::vector<JSAMPLE> line(static_cast<size_t>(info.output_width) * stored);
  uint8_t* pixels = out.data<uint8_t>();
  const int64_t stride = width * channels;
  int64_t lines = 0;
  for (; lines < height; ++lines) {
    const Decoder::Line result = decoder.ReadLine(line.data());
    if (result == Decoder::Line::kFailed) return BadJpeg();
    if (result == Decoder::Line::kMissing) break;
    const JSAMPLE* first = line.data() + offset * stored;
    if (decoder.is_cmyk()) {
      CmykToRgb(first, width, info.saw_Adobe_marker != FALSE, pixels + lines * stride);
    } else {
      std::memcpy(pixels + lines * stride, first, static_cast<size_t>(stride));
    }
  }
  if (lines == height || options.try_recover_truncated) {
    FillMissing(pixels, stride, lines, height);
    if (!decoder.Finish((window != nullptr ? window->y : 0) + height)) return BadJpeg();
    return out;
  }
  const float fraction = static_cast<float>(lines) / static_cast<float>(height);
  if (fraction < std::min(1.0f, options.acceptable_fraction)) return BadJpeg();
  std::memset(pixels + lines * stride, 0, static_cast<size_t>((height - lines) * stride));
  return out;
}

namespace {

// A string as the destination of a compressor.
struct Destination {
  jpeg_destination_mgr base;
  std::string* out;
  JOCTET buffer[16384];
};

void InitDestination(j_compress_ptr info) {
  auto* destination = reinterpret_cast<Destination*>(info->dest);
  destination->base.next_output_byte = destination->buffer;
  destination->base.free_in_buffer = sizeof destination->buffer;
}
boolean EmptyBuffer(j_compress_ptr info) {
  auto* destination = reinterpret_cast<Destination*>(info->dest);
  destination->out->append(reinterpret_cast<const char*>(destination->buffer), sizeof destination->buffer);
  InitDestination(info);
  return TRUE;
}
void TermDestination(j_compress_ptr info) {
  auto* destination = reinterpret_cast<Destination*>(info->dest);
  destination->out->append(reinterpret_cast<const char*>(destination->buffer),
                           sizeof destination->buffer - destination->base.free_in_buffer);
}

void WriteXmp(j_compress_ptr info, const std::string& xmp) {
  constexpr std::string_view kName("http://ns.adobe.com/xap/1.0/\0", 29);
  constexpr size_t kMaxMarker = 65533;
  const size_t length = std::min(xmp.size() + kName.size(), kMaxMarker);
  jpeg_write_m_header(info, JPEG_APP0 + 1, static_cast<unsigned>(length));
  for (size_t i = 0; i < length; ++i) {
    jpeg_write_m_byte(info, static_cast<uint8_t>(i < kName.size() ? kName[i] : xmp[i - kName.size()]));
  }
}

class Encoder {
 public:
  ~Encoder() {
    if (created_) jpeg_destroy_compress(&info_);
  }
  bool Encode(const Tensor& image, const JpegEncodeOptions& options, std::string* out) {
    UseErrors(&errors_.base);
    info_.err = &errors_.base;
    if (setjmp(errors_.escape) != 0) return false;
    jpeg_create_compress(&info_);
    created_ = true;
    destination_.base.init_destination = InitDestination;
    destination_.base.empty_output_buffer = EmptyBuffer;
    destination_.base.term_destination = TermDestination;
    destination_.out = out;
    info_.dest = &destination_.base;
    info_.image_height = static_cast<JDIMENSION>(image.dim(0));
    info_.image_width = static_cast<JDIMENSION>(image.dim(1));
    info_.input_components = static_cast<int>(image.dim(2));
    info_.in_color_space = info_.input_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info_);
    SetOptions(options);
    jpeg_start_compress(&info_, TRUE);
    if (!options.xmp_metadata.empty()) WriteXmp(&info_, options.xmp_metadata);
    auto* line = const_cast<JSAMPLE*>(image.data<uint8_t>());
    const size_t stride = static_cast<size_t>(image.dim(1) * image.dim(2));
    for (; info_.next_scanline < info_.image_height; line += stride) jpeg_write_scanlines(&info_, &line, 1);
    jpeg_finish_compress(&info_);
    return true;
  }

 private:
  void SetOptions(const JpegEncodeOptions& options) {
    if (options.optimize_size) info_.optimize_coding = TRUE;
    info_.density_unit = options.density_in_cm ? 2 : 1;
    info_.X_density = static_cast<UINT16>(options.x_density);
    info_.Y_density = static_cast<UINT16>(options.y_density);
    jpeg_set_quality(&info_, options.quality, TRUE);
    if (options.progressive) jpeg_simple_progression(&info_);
    if (!options.chroma_downsampling) {
      for (int i = 0; i < info_.num_components; ++i) {
        info_.comp_info[i].h_samp_factor = 1;
        info_.comp_info[i].v_samp_factor = 1;
      }
    }
  }

  jpeg_compress_struct info_{};
  ErrorManager errors_{};
  Destination destination_{};
  bool created_ = false;
};

}  // namespace

StatusOr<std::string> EncodeJpeg(const Tensor& image, const JpegEncodeOptions& options) {
  if (image.rank() != 3 || image.dtype() != DType::kUInt8 || (image.dim(2) != 1 && image.dim(2) != 3)) {
    return InvalidArgument("image must have 1 or 3 channels, got ", image.shape().ToString());
  }
  std::string out;
  Encoder encoder;
  if (image.num_elements() == 0 || image.dim(0) > JPEG_MAX_DIMENSION || image.dim(1) > JPEG_MAX_DIMENSION ||
      !encoder.Encode(image, options, &out)) {
    return Internal("JPEG encoding failed");
  }
  return out;
}

}  // namespace weir
