#include "weir/ops/summary/summary_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/io/coding.h"
#include "weir/io/image_codec.h"
#include "weir/proto/summary.pb.h"

namespace weir {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();

// Upper ends of the ranges: each ten per cent wider than the one before, on both sides of zero.
const std::vector<double>& BucketLimits() {
  static const auto* limits = [] {
    std::vector<double> positive;
    for (double limit = 1.0e-12; limit < 1.0e20; limit *= 1.1) positive.push_back(limit);
    positive.push_back(kLargest);
    auto* all = new std::vector<double>;
    for (auto it = positive.rbegin(); it != positive.rend(); ++it) all->push_back(-*it);
    all->push_back(0.0);
    all->insert(all->end(), positive.begin(), positive.end());
    return all;
  }();
  return *limits;
}

// Ranges without values that follow each other are written as one.
void PutBuckets(const std::vector<double>& counts, HistogramProto* histogram) {
  const std::vector<double>& limits = BucketLimits();
  for (size_t i = 0; i < counts.size();) {
    double end = limits[i];
    const double count = counts[i++];
    for (; count <= 0 && i < counts.size() && counts[i] <= 0; ++i) end = limits[i];
    histogram->add_bucket_limit(end);
    histogram->add_bucket(count);
  }
}

template <typename T>
bool IsFinitePixel(const T* pixel, int64_t channels) {
  return std::all_of(pixel, pixel + channels, [](T value) { return std::isfinite(static_cast<float>(value)); });
}

// Values from 0 on are scaled to the largest; with negative ones among them, zero becomes gray.
template <typename T>
void ScalePixels(const T* from, int64_t pixels, int64_t channels, const uint8_t* bad_color, uint8_t* to) {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (int64_t i = 0; i < pixels; ++i) {
    const T* pixel = from + i * channels;
    if (!IsFinitePixel(pixel, channels)) continue;
    for (int64_t c = 0; c < channels; ++c) {
      low = std::min(low, static_cast<float>(pixel[c]));
      high = std::max(high, static_cast<float>(pixel[c]));
    }
  }
  constexpr float kZero = 1e-6f;
  const bool centered = low < 0;
  const float range = centered ? std::max(std::abs(low), high) : high;
  const auto scale = Widen(static_cast<T>(range < kZero ? 0.0f : (centered ? 127.0f : 255.0f) / range));
  const ComputeType<T> offset = centered ? 128.0f : 0.0f;
  for (int64_t i = 0; i < pixels; ++i, from += channels, to += channels) {
    const bool finite = IsFinitePixel(from, channels);
    for (int64_t c = 0; c < channels; ++c) {
      // In the image's own type, step by step, as rounding is seen in the pixels.
      const auto product = static_cast<T>(Widen(from[c]) * scale);
      to[c] = finite ? static_cast<uint8_t>(Widen(static_cast<T>(Widen(product) + offset))) : bad_color[c];
    }
  }
}

Status PutPng(const uint8_t* pixels, const Shape& shape, Summary::Image* image) {
  const int64_t height = shape.dim(1), width = shape.dim(2), channels = shape.dim(3);
  image->set_height(static_cast<int32_t>(height));
  image->set_width(static_cast<int32_t>(width));
  image->set_colorspace(static_cast<int32_t>(channels));
  WEIR_ASSIGN_OR_RETURN(std::string png, EncodePng(pixels, height, width, channels, DType::kUInt8));
  image->set_encoded_image_string(std::move(png));
  return OkStatus();
}

// The tag depends on how many were asked for, not on how many there are.
std::string TagOf(const std::string& tag, std::string_view kind, int64_t index, int64_t max_outputs) {
  return max_outputs > 1 ? Cat(tag, "/", kind, "/", index) : Cat(tag, "/", kind);
}

std::string EncodeWav(const float* samples, uint32_t rate, uint16_t channels, int64_t frames) {
  constexpr uint16_t kBytes = 2;
  const auto data_bytes = static_cast<uint32_t>(frames * channels * kBytes);
  std::string out = "RIFF";
  auto word = [&](uint16_t value) { out.append({static_cast<char>(value & 0xff), static_cast<char>(value >> 8)}); };
  AppendFixed32(&out, data_bytes + 36);
  out += "WAVEfmt ";
  AppendFixed32(&out, 16);
  word(1);  // plain samples
  word(channels);
  AppendFixed32(&out, rate);
  AppendFixed32(&out, rate * channels * kBytes);
  word(static_cast<uint16_t>(channels * kBytes));
  word(8 * kBytes);
  out += "data";
  AppendFixed32(&out, data_bytes);
  for (int64_t i = 0; i < frames * channels; ++i) {
    const float scaled = std::round(samples[i] * 32768.0f);
    word(static_cast<uint16_t>(
        static_cast<int16_t>(std::isnan(scaled) ? 0.0f : std::clamp(scaled, -32768.0f, 32767.0f))));
  }
  return out;
}

}  // namespace

double NumberAt(const Tensor& tensor, int64_t index) {
  double out = 0;
  DispatchDType(tensor.dtype(), RealTypes{} + TypeList<bool>{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    out = static_cast<double>(Widen(tensor.data<T>()[index]));
  });
  return out;
}

void AddScalar(const std::string& tag, const Tensor& value, Summary* summary) {
  Summary::Value* out = summary->add_value();
  out->set_tag(tag);
  out->set_simple_value(static_cast<float>(NumberAt(value, 0)));
}

Status AddHistogram(const std::string& tag, const Tensor& values, std::string_view node, Summary* summary) {
  const std::vector<double>& limits = BucketLimits();
  std::vector<double> counts(limits.size(), 0.0);
  double low = kLargest, high = -kLargest, sum = 0, squares = 0;
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    const double value = NumberAt(values, i);
    if (std::isnan(value)) return InvalidArgument("Nan in summary histogram for: ", node);
    if (std::isinf(value)) return InvalidArgument("Infinity in Histogram for: ", node);
    const auto above = std::upper_bound(limits.begin(), limits.end(), value);
    ++counts[std::min<size_t>(static_cast<size_t>(above - limits.begin()), counts.size() - 1)];
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
    squares += value * value;
  }
  Summary::Value* out = summary->add_value();
  out->set_tag(tag);
  HistogramProto* histogram = out->mutable_histo();
  histogram->set_min(low);
  histogram->set_max(high);
  histogram->set_num(static_cast<double>(values.num_elements()));
  histogram->set_sum(sum);
  histogram->set_sum_squares(squares);
  PutBuckets(counts, histogram);
  return OkStatus();
}

Status AddImages(const std::string& tag, const Tensor& images, int64_t max_images, const Tensor& bad_color,
                 Summary* summary) {
  const Shape& shape = images.shape();
  if (shape.rank() != 4 || (shape.dim(3) != 1 && shape.dim(3) != 3 && shape.dim(3) != 4)) {
    return InvalidArgument("Tensor must be 4-D with last dim 1, 3, or 4, not ", shape.ToString());
  }
  const int64_t channels = shape.dim(3);
  if (shape.dim(0) > INT32_MAX || shape.dim(1) > INT32_MAX || shape.dim(2) > INT32_MAX) {
    return InvalidArgument("Tensor too large for summary ", shape.ToString());
  }
  if (bad_color.dtype() != DType::kUInt8) {
    return InvalidArgument("bad_color must be uint8, got ", Name(bad_color.dtype()));
  }
  if (!bad_color.shape().IsVector()) {
    return InvalidArgument("bad_color must be a vector, got shape ", bad_color.shape().ToString());
  }
  if (bad_color.num_elements() < channels) {
    return InvalidArgument("expected depth <= bad_color.size, got depth = ", channels,
                           ", bad_color.size = ", bad_color.num_elements());
  }
  const int64_t pixels = shape.dim(1) * shape.dim(2);
  std::vector<uint8_t> scaled(images.dtype() == DType::kUInt8 ? 0 : static_cast<size_t>(pixels * channels));
  for (int64_t i = 0; i < std::min(max_images, shape.dim(0)); ++i) {
    const uint8_t* picture = scaled.data();
    if (images.dtype() == DType::kUInt8) {
      picture = images.data<uint8_t>() + i * pixels * channels;
    } else {
      DispatchDType(images.dtype(), TypeList<Half, float, double>{}, [&](auto type) {
        using T = typename decltype(type)::type;
        ScalePixels(images.data<T>() + i * pixels * channels, pixels, channels, bad_color.data<uint8_t>(),
                    scaled.data());
      });
    }
    Summary::Value* out = summary->add_value();
    out->set_tag(TagOf(tag, "image", i, max_images));
    WEIR_RETURN_IF_ERROR(PutPng(picture, shape, out->mutable_image()));
  }
  return OkStatus();
}

Status AddAudio(const std::string& tag, const Tensor& audio, float sample_rate, int64_t max_outputs, Summary* summary) {
  if (audio.rank() != 2 && audio.rank() != 3) {
    return InvalidArgument("Tensor must be 3-D or 2-D, got: ", audio.shape().ToString());
  }
  if (!(sample_rate > 0)) return InvalidArgument("sample_rate must be > 0");
  const int64_t frames = audio.dim(1);
  const int64_t channels = audio.rank() == 2 ? 1 : audio.dim(2);
  constexpr int64_t kMaxWavBytes = int64_t{1} << 31;
  if (channels > INT16_MAX || sample_rate > 4e9f || frames * channels > kMaxWavBytes / 2 - 64) {
    return InvalidArgument("Audio too large for a summary: ", audio.shape().ToString());
  }
  if (channels == 0) return InvalidArgument("Audio without channels: ", audio.shape().ToString());
  for (int64_t i = 0; i < std::min(max_outputs, audio.dim(0)); ++i) {
    Summary::Value* out = summary->add_value();
    out->set_tag(TagOf(tag, "audio", i, max_outputs));
    Summary::Audio* sound = out->mutable_audio();
    sound->set_sample_rate(sample_rate);
    sound->set_num_channels(channels);
    sound->set_length_frames(frames);
    sound->set_content_type("audio/wav");
    sound->set_encoded_audio_string(EncodeWav(audio.data<float>() + i * frames * channels,
                                              static_cast<uint32_t>(sample_rate), static_cast<uint16_t>(channels),
                                              frames));
  }
  return OkStatus();
}

}  // namespace weir
