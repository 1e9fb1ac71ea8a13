// Shapes of sounds: [samples, channels] and spectrograms of them.
#include <bit>

#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknown;

Status AudioSpectrogram(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape sound, ctx.WithRank(0, 2));
  WEIR_ASSIGN_OR_RETURN(int64_t window, ctx.Attr<int64_t>("window_size"));
  WEIR_ASSIGN_OR_RETURN(int64_t stride, ctx.Attr<int64_t>("stride"));
  if (window <= 1) return InvalidArgument("window size must be > 1, got ", window);
  if (stride <= 0) return InvalidArgument("stride must be strictly positive, got ", stride);
  const int64_t length = sound.has_rank() ? sound.dim(0) : kUnknown;
  int64_t frames = kUnknown;
  if (length >= 0) frames = length < window ? 0 : 1 + (length - window) / stride;
  const int64_t bins = window <= int64_t{1} << 62
                           ? 1 + static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(window)) / 2)
                           : kUnknown;
  ctx.set_output(0, PartialShape{sound.has_rank() ? sound.dim(1) : kUnknown, frames, bins});
  return OkStatus();
}

Status Mfcc(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape spectrogram, ctx.WithRank(0, 3));
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 0).status());
  WEIR_ASSIGN_OR_RETURN(int64_t count, ctx.Attr<int64_t>("dct_coefficient_count"));
  if (count < 0) return InvalidArgument("Dimension size must be non-negative, got ", count);
  const bool known = spectrogram.has_rank();
  ctx.set_output(0, PartialShape{known ? spectrogram.dim(0) : kUnknown, known ? spectrogram.dim(1) : kUnknown, count});
  return OkStatus();
}

Status DecodeWav(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 0).status());
  WEIR_ASSIGN_OR_RETURN(int64_t channels, ctx.Attr<int64_t>("desired_channels"));
  WEIR_ASSIGN_OR_RETURN(int64_t samples, ctx.Attr<int64_t>("desired_samples"));
  if (channels < -1) return InvalidArgument("channels must be non-negative, got ", channels);
  if (samples < -1) return InvalidArgument("samples must be non-negative, got ", samples);
  ctx.set_output(0, PartialShape{samples, channels});
  ctx.set_output(1, Shape());
  return OkStatus();
}

}  // namespace

void RegisterAudioShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("audio_spectrogram", AudioSpectrogram);
  registry.RegisterShapeFunction("mfcc", Mfcc);
  registry.RegisterShapeFunction("decode_wav", DecodeWav);
}

}  // namespace weir
