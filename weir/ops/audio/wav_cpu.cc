// DecodeWav and EncodeWav: 16-bit PCM samples in RIFF files.
#include <cmath>

#include "weir/ops/audio/register.h"

namespace weir {
namespace {

// Reads little-endian numbers and names one after the other.
class WavReader {
 public:
  explicit WavReader(std::string_view data) : data_(data) {}

  StatusOr<std::string_view> Text(size_t n) {
    if (data_.size() - at_ < n) return InvalidArgument("Data too short when trying to read string");
    at_ += n;
    return data_.substr(at_ - n, n);
  }
  Status Expect(std::string_view name) {
    WEIR_ASSIGN_OR_RETURN(std::string_view found, Text(name.size()));
    if (found == name) return OkStatus();
    return InvalidArgument("Header mismatch: Expected ", name, " but found ", found);
  }
  StatusOr<uint32_t> Number(size_t bytes) {
    WEIR_ASSIGN_OR_RETURN(std::string_view text, Text(bytes));
    uint32_t out = 0;
    for (size_t i = 0; i < bytes; ++i) out |= static_cast<uint32_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    return out;
  }
  bool at_end() const { return at_ >= data_.size(); }

 private:
  std::string_view data_;
  size_t at_ = 0;
};

struct Wav {
  uint32_t sample_rate = 0, channels = 0;
  std::string_view samples;  // int16, channels beside each other

  int64_t count() const { return static_cast<int64_t>(samples.size()) / 2 / channels; }
  float At(int64_t sample, int64_t channel) const {
    const size_t at = static_cast<size_t>(sample * channels + channel) * 2;
    const auto low = static_cast<unsigned char>(samples[at]), high = static_cast<unsigned char>(samples[at + 1]);
    return static_cast<float>(static_cast<int16_t>(static_cast<uint16_t>(low | high << 8))) / 32768.0f;
  }
};

StatusOr<Wav> ReadWav(std::string_view data) {
  WavReader reader(data);
  WEIR_RETURN_IF_ERROR(reader.Expect("RIFF"));
  WEIR_RETURN_IF_ERROR(reader.Number(4).status());
  WEIR_RETURN_IF_ERROR(reader.Expect("WAVE"));
  WEIR_RETURN_IF_ERROR(reader.Expect("fmt "));
  WEIR_ASSIGN_OR_RETURN(uint32_t format_size, reader.Number(4));
  if (format_size != 16 && format_size != 18) {
    return InvalidArgument("Bad format chunk size for WAV: Expected 16 or 18, but got", format_size);
  }
  WEIR_ASSIGN_OR_RETURN(uint32_t format, reader.Number(2));
  if (format != 1) return InvalidArgument("Bad audio format for WAV: Expected 1 (PCM), but got", format);
  Wav wav;
  WEIR_ASSIGN_OR_RETURN(wav.channels, reader.Number(2));
  if (wav.channels < 1) return InvalidArgument("Bad number of channels for WAV: Expected at least 1, but got 0");
  WEIR_ASSIGN_OR_RETURN(wav.sample_rate, reader.Number(4));
  WEIR_ASSIGN_OR_RETURN(uint32_t bytes_per_second, reader.Number(4));
  WEIR_ASSIGN_OR_RETURN(uint32_t bytes_per_sample, reader.Number(2));
  WEIR_ASSIGN_OR_RETURN(uint32_t bits, reader.Number(2));
  if (bits != 16) return InvalidArgument("Can only read 16-bit WAV files, but received ", bits);
  const uint32_t expected = 2 * wav.channels;
  if (bytes_per_sample != expected) {
    return InvalidArgument("Bad bytes per sample in WAV header: Expected ", expected, " but got ", bytes_per_sample);
  }
  if (bytes_per_second != bytes_per_sample * wav.sample_rate) {
    return InvalidArgument("Bad bytes per second in WAV header: Expected ", bytes_per_sample * wav.sample_rate,
                           " but got ", bytes_per_second, " (sample_rate=", wav.sample_rate,
                           ", bytes_per_sample=", bytes_per_sample, ")");
  }
  if (format_size == 18) WEIR_RETURN_IF_ERROR(reader.Text(2).status());
  while (!reader.at_end()) {
    WEIR_ASSIGN_OR_RETURN(std::string_view name, reader.Text(4));
    WEIR_ASSIGN_OR_RETURN(uint32_t size, reader.Number(4));
    if (size > static_cast<uint32_t>(INT32_MAX)) return InvalidArgument("Chunk size is too large in WAV: ", size);
    WEIR_ASSIGN_OR_RETURN(std::string_view body, reader.Text(size));
    if (name != "data") continue;
    wav.samples = body.substr(0, body.size() / expected * expected);
    return wav;
  }
  return InvalidArgument("No data chunk found in WAV");
}

class DecodeKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<DecodeKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->channels_, init.Attr<int64_t>("desired_channels"));
    WEIR_ASSIGN_OR_RETURN(kernel->samples_, init.Attr<int64_t>("desired_samples"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& contents = ctx.input(0);
    if (contents.rank() != 0)
      return InvalidArgument("contents must be scalar, got shape ", contents.shape().ToString());
    WEIR_ASSIGN_OR_RETURN(Wav wav, ReadWav(contents.scalar<std::string>()));
    const int64_t dims[] = {samples_ >= 0 ? samples_ : wav.count(), channels_ >= 0 ? channels_ : wav.channels};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * audio, ctx.AllocateOutput(0, shape));
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      // Missing samples are silent, missing channels repeat the last one.
      const int64_t sample = i / dims[1], channel = std::min<int64_t>(i % dims[1], wav.channels - 1);
      audio->data<float>()[i] = sample < wav.count() ? wav.At(sample, channel) : 0.0f;
    }
    ctx.set_output(1, Tensor::Scalar(static_cast<int32_t>(wav.sample_rate)));
    return OkStatus();
  }

 private:
  int64_t channels_ = -1, samples_ = -1;
};

void Append(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

class EncodeKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor &audio = ctx.input(0), &rate = ctx.input(1);
    if (audio.rank() != 2) return InvalidArgument("audio must be 2-dimensional", audio.shape().ToString());
    if (rate.rank() != 0) {
      return InvalidArgument("Input sample_rate should be a scalar tensor, got ", rate.shape().ToString(), " instead.");
    }
    const int64_t sample_rate = rate.scalar<int32_t>(), channels = audio.dim(1);
    if (sample_rate <= 0) return InvalidArgument("sample_rate must be in (0, 2^32), got: ", sample_rate);
    if (channels <= 0 || channels > 0x7fff)
      return InvalidArgument("num_channels must be in [1, 32767], got: ", channels);
    const int64_t bytes = audio.num_elements() * 2;
    if (bytes > static_cast<int64_t>(UINT32_MAX) - 36)
      return InvalidArgument("Provided channels and frames cannot be encoded as a WAV.");
    std::string out = "RIFF";
    Append(out, static_cast<uint64_t>(bytes) + 36, 4);
    out += "WAVEfmt ";
    Append(out, 16, 4);
    Append(out, 1, 2);
    Append(out, static_cast<uint64_t>(channels), 2);
    Append(out, static_cast<uint64_t>(sample_rate), 4);
    Append(out, static_cast<uint64_t>(sample_rate * channels * 2), 4);
    Append(out, static_cast<uint64_t>(channels) * 2, 2);
    Append(out, 16, 2);
    out += "data";
    Append(out, static_cast<uint64_t>(bytes), 4);
    for (float x : audio.span<float>()) {
      const float level = std::isnan(x) ? 0.0f : std::round(x * 32768.0f);
      Append(out, static_cast<uint64_t>(static_cast<int64_t>(std::min(std::max(level, -32768.0f), 32767.0f))), 2);
    }
    ctx.set_output(0, Tensor::Scalar(std::move(out)));
    return OkStatus();
  }
};

}  // namespace

void RegisterWavKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("DecodeWav"), MakeKernel<DecodeKernel>);
  registry.Add(KernelBuilder("EncodeWav"), MakeKernel<EncodeKernel>);
}

}  // namespace weir
