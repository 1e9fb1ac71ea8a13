// AudioSpectrogram and Mfcc: how loud which frequency is when, and cepstral coefficients of that.
#include <bit>
#include <cmath>
#include <numbers>

#include "weir/ops/audio/fourier.h"
#include "weir/ops/audio/register.h"

namespace weir {
namespace {

// Input [samples, channels], output [channels, windows, frequencies]; windows are periodic Hann windows.
class SpectrogramKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SpectrogramKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->window_, init.Attr<int64_t>("window_size"));
    WEIR_ASSIGN_OR_RETURN(kernel->stride_, init.Attr<int64_t>("stride"));
    WEIR_ASSIGN_OR_RETURN(kernel->squared_, init.Attr<bool>("magnitude_squared"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 2) return InvalidArgument("input must be 2-dimensional", input.shape().ToString());
    if (window_ < 2 || window_ > FourierTransform::kMaxLength || stride_ < 1) {
      return InvalidArgument("Spectrogram initialization failed for window size ", window_, " and stride ", stride_);
    }
    const int64_t samples = input.dim(0), channels = input.dim(1);
    const int64_t length = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(window_)));
    const int64_t windows = samples < window_ ? 0 : 1 + (samples - window_) / stride_, bins = length / 2 + 1;
    const int64_t dims[] = {channels, windows, bins};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    std::vector<double> hann(static_cast<size_t>(window_));
    for (int64_t i = 0; i < window_; ++i) {
      hann[i] = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(window_));
    }
    const FourierTransform transform(length);
    ctx.ParallelFor(channels * windows, 30.0 * static_cast<double>(length), [&](int64_t begin, int64_t end) {
      std::vector<std::complex<double>> line(static_cast<size_t>(length));
      for (int64_t i = begin; i < end; ++i) {
        const float* x = input.data<float>() + i % windows * stride_ * channels + i / windows;
        std::fill(line.begin(), line.end(), 0.0);
        for (int64_t k = 0; k < window_; ++k) line[k] = hann[k] * static_cast<double>(x[k * channels]);
        transform.Run(line, /*inverse=*/false);
        float* to = out->data<float>() + i * bins;
        for (int64_t k = 0; k < bins; ++k)
          to[k] = static_cast<float>(squared_ ? std::norm(line[k]) : std::abs(line[k]));
      }
    });
    return OkStatus();
  }

 private:
  int64_t window_ = 0, stride_ = 0;
  bool squared_ = false;
};

// Overlapping triangles, evenly spaced on the mel scale, over the bins of a spectrum.
class MelFilters {
 public:
  // False if the sizes make no sense.
  bool Init(int64_t bins, double sample_rate, int64_t filters, double low, double high) {
    constexpr int64_t kMostBins = 1 << 28;
    if (filters < 1 || filters > (1 << 20) || sample_rate <= 0 || bins < 2 || bins > kMostBins) return false;
    if (!(low >= 0) || !(high > low)) return false;
    const double mel_low = Mel(low), spacing = (Mel(high) - mel_low) / static_cast<double>(filters + 1);
    std::vector<double> centers;
    for (int64_t i = 0; i <= filters; ++i) centers.push_back(mel_low + spacing * static_cast<double>(i + 1));
    const double hz_per_bin = 0.5 * sample_rate / static_cast<double>(bins - 1);
    first_ = static_cast<int64_t>(std::min(1.5 + low / hz_per_bin, 1e15));
    last_ = std::min(static_cast<int64_t>(std::min(high / hz_per_bin, 1e15)), bins - 1);
    filters_ = filters;
    int64_t filter = 0;
    for (int64_t i = 0; i < bins; ++i) {
      const double mel = Mel(static_cast<double>(i) * hz_per_bin);
      double weight = 0;
      int64_t band = -2;
      if (i >= first_ && i <= last_) {
        while (filter < filters && centers[filter] < mel) ++filter;
        band = filter - 1;
        weight = band >= 0 ? (centers[band + 1] - mel) / (centers[band + 1] - centers[band])
                           : (centers[0] - mel) / (centers[0] - mel_low);
      }
      bands_.push_back({band, weight});
    }
    return true;
  }
  // The spectrum is of squared magnitudes.
  std::vector<double> Apply(const float* spectrum) const {
    std::vector<double> out(static_cast<size_t>(filters_), 0.0);
    for (int64_t i = first_; i <= last_; ++i) {
      const auto [band, weight] = bands_[i];
      const double value = std::sqrt(static_cast<double>(spectrum[i])), share = value * weight;
      if (band >= 0) out[band] += share;
      if (band + 1 < filters_) out[band + 1] += value - share;
    }
    return out;
  }

 private:
  static double Mel(double hz) { return 1127.0 * std::log1p(hz / 700.0); }

  int64_t first_ = 0, last_ = 0, filters_ = 0;
  std::vector<std::pair<int64_t, double>> bands_;  // the filter left of each bin, and its share
};

class MfccKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<MfccKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->high_, init.Attr<float>("upper_frequency_limit"));
    WEIR_ASSIGN_OR_RETURN(kernel->low_, init.Attr<float>("lower_frequency_limit"));
    WEIR_ASSIGN_OR_RETURN(kernel->filters_, init.Attr<int64_t>("filterbank_channel_count"));
    WEIR_ASSIGN_OR_RETURN(kernel->coefficients_, init.Attr<int64_t>("dct_coefficient_count"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &rate = ctx.input(1);
    if (input.rank() != 3) return InvalidArgument("spectrogram must be 3-dimensional", input.shape().ToString());
    if (rate.rank() != 0) {
      return InvalidArgument("Input sample_rate should be a scalar tensor, got ", rate.shape().ToString(), " instead.");
    }
    const int64_t bins = input.dim(2);
    MelFilters filters;
    if (coefficients_ < 1 || coefficients_ > filters_ ||
        !filters.Init(bins, rate.data<int32_t>()[0], filters_, low_, high_)) {
      return InvalidArgument("Mfcc initialization failed for channel count ", bins, ", sample rate ",
                             rate.data<int32_t>()[0], " and filterbank_channel_count ", filters_);
    }
    const int64_t dims[] = {input.dim(0), input.dim(1), coefficients_};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const double cost = 10.0 * static_cast<double>(bins) + static_cast<double>(filters_ * (20 + coefficients_));
    ctx.ParallelFor(input.dim(0) * input.dim(1), cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::vector<double> energy = filters.Apply(input.data<float>() + i * bins);
        for (double& e : energy) e = std::log(std::max(e, 1e-12));
        Cosines(energy, out->data<float>() + i * coefficients_);
      }
    });
    return OkStatus();
  }

 private:
  // The discrete cosine transform.
  void Cosines(const std::vector<double>& from, float* to) const {
    const double n = static_cast<double>(from.size()), scale = std::sqrt(2.0 / n);
    for (int64_t i = 0; i < coefficients_; ++i) {
      double sum = 0;
      for (size_t j = 0; j < from.size(); ++j) {
        sum +=
            scale * std::cos(static_cast<double>(i) * std::numbers::pi / n * (static_cast<double>(j) + 0.5)) * from[j];
      }
      to[i] = static_cast<float>(sum);
    }
  }

  float high_ = 0, low_ = 0;
  int64_t filters_ = 0, coefficients_ = 0;
};

}  // namespace

void RegisterSpectrogramKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("AudioSpectrogram"), MakeKernel<SpectrogramKernel>);
  registry.Add(KernelBuilder("Mfcc"), MakeKernel<MfccKernel>);
}

}  // namespace weir
