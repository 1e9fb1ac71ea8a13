#include <gif_lib.h>

#include <algorithm>
#include <cstring>

#include "weir/io/image_codec.h"

namespace weir {
namespace {

constexpr int64_t kChannels = 3;

int ReadBytes(GifFileType* file, GifByteType* out, int count) {
  auto* left = static_cast<std::string_view*>(file->UserData);
  const size_t part = std::min(left->size(), static_cast<size_t>(std::max(count, 0)));
  std::memcpy(out, left->data(), part);
  left->remove_prefix(part);
  return static_cast<int>(part);
}

struct CloseGif {
  void operator()(GifFileType* file) const { DGifCloseFile(file, nullptr); }
};
using GifFile = std::unique_ptr<GifFileType, CloseGif>;

std::string ErrorText(int code) {
  const char* text = GifErrorString(code);
  return text != nullptr ? text : "Unknown error";
}

// giflib takes memory for a frame as soon as it has read its size, so sizes are looked at in a pass of our own.
Status CheckFrameSizes(std::string_view bytes) {
  const Status bad = InvalidArgument("Invalid GIF data, size ", bytes.size());
  auto byte = [&](size_t at) { return static_cast<uint8_t>(bytes[at]); };
  auto word = [&](size_t at) { return int64_t{byte(at)} | int64_t{byte(at + 1)} << 8; };
  if (bytes.size() < 13) return bad;
  size_t at = 13 + ((byte(10) & 0x80) != 0 ? size_t{3} << ((byte(10) & 7) + 1) : 0);
  int64_t pixels = 0, frames = 0, height = 0, width = 0;
  auto skip_blocks = [&] {
    while (at < bytes.size() && byte(at) != 0) at += size_t{1} + byte(at);
    ++at;
  };
  while (at < bytes.size() && byte(at) != 0x3b) {
    if (byte(at) == 0x21) {
      at += 2;
      skip_blocks();
    } else if (byte(at) == 0x2c && at + 10 <= bytes.size()) {
      const int64_t w = word(at + 5), h = word(at + 7);
      width = std::max(width, w);
      height = std::max(height, h);
      pixels += w * h;
      ++frames;
      if (pixels * kChannels >= kMaxImageElements || width * height * frames * kChannels >= kMaxImageElements) {
        return InvalidArgument("image too large: ", frames, " frames of ", height, " by ", width, " pixels");
      }
      at += 10 + ((byte(at + 9) & 0x80) != 0 ? size_t{3} << ((byte(at + 9) & 7) + 1) : 0) + 1;
      skip_blocks();
    } else {
      break;  // giflib says what is wrong
    }
  }
  return OkStatus();
}

// Draws a frame over what `canvas` holds.
Status DrawFrame(GifFileType* file, int index, int64_t height, int64_t width, uint8_t* canvas) {
  const SavedImage& image = file->SavedImages[index];
  const GifImageDesc& box = image.ImageDesc;
  GraphicsControlBlock control;
  control.TransparentColor = NO_TRANSPARENT_COLOR;
  DGifSavedExtensionToGCB(file, index, &control);
  const ColorMapObject* colors = box.ColorMap != nullptr ? box.ColorMap : file->SColorMap;
  if (colors == nullptr) return InvalidArgument("missing color map for frame ", index);
  const int64_t left = std::max(box.Left, 0), right = std::min<int64_t>(box.Left + box.Width, width);
  const int64_t top = std::max(box.Top, 0), bottom = std::min<int64_t>(box.Top + box.Height, height);
  for (int64_t y = top; y < bottom; ++y) {
    const GifByteType* row = image.RasterBits + (y - box.Top) * box.Width - box.Left;
    for (int64_t x = left; x < right; ++x) {
      const int color = row[x];
      if (color == control.TransparentColor) continue;
      if (color >= colors->ColorCount) {
        return InvalidArgument("found color index ", color, " outside of color map range ", colors->ColorCount);
      }
      const GifColorType& value = colors->Colors[color];
      uint8_t* pixel = canvas + (y * width + x) * kChannels;
      pixel[0] = value.Red;
      pixel[1] = value.Green;
      pixel[2] = value.Blue;
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Tensor> DecodeGif(std::string_view bytes, bool expand_animations) {
  WEIR_RETURN_IF_ERROR(CheckFrameSizes(bytes));
  std::string_view left = bytes;
  int error = D_GIF_SUCCEEDED;
  GifFile file(DGifOpen(&left, ReadBytes, &error));
  if (file == nullptr) {
    return InvalidArgument("Invalid GIF data (size ", bytes.size(), "), failed to open gif file: ", ErrorText(error));
  }
  // A file that is cut behind a whole frame still has frames.
  if (DGifSlurp(file.get()) != GIF_OK &&
      (file->ImageCount <= 0 || file->SavedImages[file->ImageCount - 1].RasterBits == nullptr)) {
    return InvalidArgument("Invalid GIF data (size ", bytes.size(),
                           "), failed to slurp gif file: ", ErrorText(file->Error));
  }
  if (file->ImageCount <= 0) return InvalidArgument("gif file does not contain any image");
  int64_t height = 0, width = 0;
  for (int i = 0; i < file->ImageCount; ++i) {
    height = std::max<int64_t>(height, file->SavedImages[i].ImageDesc.Height);
    width = std::max<int64_t>(width, file->SavedImages[i].ImageDesc.Width);
  }
  const int frames = expand_animations ? file->ImageCount : 1;
  WEIR_RETURN_IF_ERROR(CheckImageSize(frames, height, width, kChannels));
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Zeros(DType::kUInt8, Shape({frames, height, width, kChannels})));
  const int64_t frame_bytes = height * width * kChannels;
  for (int i = 0; i < frames; ++i) {
    uint8_t* canvas = out.data<uint8_t>() + i * frame_bytes;
    if (i > 0) std::memcpy(canvas, canvas - frame_bytes, static_cast<size_t>(frame_bytes));
    if (file->SavedImages[i].RasterBits == nullptr) return InvalidArgument("Invalid GIF data, size ", bytes.size());
    WEIR_RETURN_IF_ERROR(DrawFrame(file.get(), i, height, width, canvas));
  }
  return out;
}

}  // namespace weir
