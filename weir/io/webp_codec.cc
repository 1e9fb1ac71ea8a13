#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>

#include "weir/io/image_codec.h"

namespace weir {
namespace {

struct DeleteDecoder {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

Status Bad(std::string_view bytes) { return InvalidArgument("Failed to decode WebP image, size ", bytes.size()); }

// The frames of an animation are whole pictures with alpha; without it the fourth channel is dropped.
StatusOr<Tensor> DecodeAnimation(std::string_view bytes, int64_t channels) {
  const WebPData data{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  WebPAnimDecoderOptions options;
  if (WebPAnimDecoderOptionsInit(&options) == 0) return Internal("libwebp has another version than its headers");
  options.color_mode = MODE_RGBA;
  std::unique_ptr<WebPAnimDecoder, DeleteDecoder> decoder(WebPAnimDecoderNew(&data, &options));
  WebPAnimInfo info;
  if (decoder == nullptr || WebPAnimDecoderGetInfo(decoder.get(), &info) == 0) return Bad(bytes);
  const int64_t frames = info.frame_count, height = info.canvas_height, width = info.canvas_width;
  WEIR_RETURN_IF_ERROR(CheckImageSize(frames, height, width, 4));
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(DType::kUInt8, Shape({frames, height, width, channels})));
  uint8_t* to = out.data<uint8_t>();
  for (int64_t frame = 0; frame < frames; ++frame) {
    uint8_t* pixels = nullptr;
    int time = 0;
    if (WebPAnimDecoderGetNext(decoder.get(), &pixels, &time) == 0) return Bad(bytes);
    if (channels == 4) {
      to = std::copy_n(pixels, height * width * 4, to);
      continue;
    }
    for (int64_t i = 0; i < height * width; ++i, pixels += 4, to += 3) {
      for (int c = 0; c < 3; ++c) to[c] = pixels[c];
    }
  }
  return out;
}

}  // namespace

StatusOr<Tensor> DecodeWebP(std::string_view bytes, int channels, bool expand_animations) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, bytes.size(), &features) != VP8_STATUS_OK) return Bad(bytes);
  const int own_channels = features.has_alpha != 0 ? 4 : 3;
  if (features.has_animation != 0 && channels == 3) return InvalidArgument("WebP Animation must be 4 channel RGBA");
  if (channels != 0 && channels != own_channels) {
    return InvalidArgument("Number of channels requested does not match input");
  }
  channels = own_channels;
  // The canvas and a second picture are taken by the library too.
  WEIR_RETURN_IF_ERROR(CheckImageSize(1, features.height, features.width, 8));
  if (features.has_animation != 0) {
    WEIR_ASSIGN_OR_RETURN(Tensor frames, DecodeAnimation(bytes, channels));
    return expand_animations ? std::move(frames) : frames.Slice(0, 1).Clone();
  }
  WEIR_ASSIGN_OR_RETURN(Tensor out,
                        Tensor::Allocate(DType::kUInt8, Shape({1, features.height, features.width, channels})));
  const int stride = features.width * channels;
  uint8_t* made = channels == 4 ? WebPDecodeRGBAInto(data, bytes.size(), out.data<uint8_t>(), out.num_bytes(), stride)
                                : WebPDecodeRGBInto(data, bytes.size(), out.data<uint8_t>(), out.num_bytes(), stride);
  if (made == nullptr) return Bad(bytes);
  return out;
}

}  // namespace weir
