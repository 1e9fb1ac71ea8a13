// Gradients of float filters by tensor cores in half. TensorFloat-32 has the precision of half, but cuDNN's kernels for
// it take two to three times as long where sums run over places, as in these gradients, because the tensor cores read
// its operands in one order only. Here each channel of the image and of the output's gradient is first multiplied with
// a power of two, so that its largest number is just below half's limit. Every number that is within 2^-28 of its
// channel's largest keeps all the bits that TensorFloat-32 has; a smaller one is rounded to a multiple of 2^-38 of it,
// far less than what TensorFloat-32 rounds off the large ones. Sums are float.
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "weir/base/strings.h"
#include "weir/device/cuda/blas.h"
#include "weir/device/cuda/measure.h"
#include "weir/ops/nn/cuda/convolution.h"

namespace weir::cuda {
namespace {

constexpr char kSource[] = "weir/ops/nn/cuda/scaled_halves.cu";
constexpr int64_t kPack = 4;
// A tensor of [rows, channels] in half, and the largest absolute value of each channel.
struct Halves {
  Tensor values, largest;
};

StatusOr<Halves> ToHalves(KernelContext& ctx, DeviceAddress from, int64_t rows, int64_t channels) {
  Halves halves;
  WEIR_ASSIGN_OR_RETURN(halves.values, ctx.AllocateTemp(DType::kHalf, Shape({rows, channels})));
  WEIR_ASSIGN_OR_RETURN(halves.largest, ctx.AllocateTemp(DType::kUInt32, Shape({channels})));
  WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(halves.largest), halves.largest.num_bytes()));
  unsigned lanes = 32;
  while (lanes > 4 && channels / kPack % lanes != 0) lanes /= 2;
  const int64_t columns = (channels / kPack + lanes - 1) / lanes, rows_at_once = 256 / lanes;
  const int64_t blocks = int64_t{DeviceOf(ctx).gpu().multiprocessors()} * 8 / columns;
  const LaunchShape shape{
      .grid = static_cast<unsigned>(columns),
      .grid_y = static_cast<unsigned>(std::clamp<int64_t>(rows / (4 * rows_at_once), 1, std::max<int64_t>(blocks, 1))),
      .block = lanes,
      .block_y = 256 / lanes};
  WEIR_RETURN_IF_ERROR(Launch(ctx, {kSource, Cat("LargestOfChannels<", kPack, ", ", lanes, ">")}, shape, from, rows,
                              channels, Address(halves.largest)));
  const int64_t packs = rows * (channels / kPack);
  WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {kSource, Cat("ToScaledHalves<", kPack, ">")}, packs, from, packs, channels,
                                  Address(halves.largest), Address(halves.values)));
  return halves;
}

StatusOr<bool> ConvolveInHalves(KernelContext& ctx, const ImageConvolution& c, const ConvolutionAddresses& at) {
  WEIR_ASSIGN_OR_RETURN(const Halves image, ToHalves(ctx, at.image, c.batch * c.in_places(), c.in_channels));
  WEIR_ASSIGN_OR_RETURN(const Halves output, ToHalves(ctx, at.output, c.batch * c.out_places(), c.out_channels));
  const ConvolutionAddresses halves{
      .image = Address(image.values), .filter = at.filter, .output = Address(output.values)};
  WEIR_ASSIGN_OR_RETURN(const bool is_done,
                        ConvolveByLibrary(ctx, c, DType::kHalf, halves, {}, /*has_float_filter=*/true));
  if (!is_done) return false;
  const int64_t n = c.taps() * c.in_channels * c.out_channels;
  WEIR_RETURN_IF_ERROR(LaunchOver(ctx, {kSource, "Unscale"}, n, at.filter, n, c.in_channels, c.out_channels,
                                  Address(image.largest), Address(output.largest)));
  return true;
}

double Work(const ImageConvolution& c) {
  return static_cast<double>(c.batch * c.out_places()) * static_cast<double>(c.taps() * c.in_channels) *
         static_cast<double>(c.out_channels);
}

// By what cuDNN reaches on an H200: 75e12 multiplications a second in TensorFloat-32, 300e12 in half, with tiles of at
// least 64 channels, and what is read and written to convert the operands. cuDNN takes most of a second to compile its
// kernels, which small gains are not worth.
bool AreProbablyFaster(const ImageConvolution& c) {
  const double bytes = 4.0 * static_cast<double>(c.batch) *
                       static_cast<double>(c.in_places() * c.in_channels + c.out_places() * c.out_channels);
  const double idle = std::max(1.0, 128.0 / static_cast<double>(std::min(c.in_channels, c.out_channels)));
  return Work(c) * (1 / 75e12 - idle / 300e12) > bytes * 2.5 / 4e12 + 40e-6;
}

std::string KeyOf(const ImageConvolution& c) {
  std::string key = Cat(c.batch, ",", c.in_channels, ",", c.out_channels);
  for (int i = 0; i < c.spatial; ++i) {
    const nn::WindowAxis& a = c.axes[i];
    key += Cat(";", a.input, ",", a.size, ",", a.stride, ",", a.dilation, ",", a.before, ",", a.output);
  }
  return key;
}

// Whether halves are faster, as the clock said; of all devices, which are mostly alike.
Findings& UsesHalves() {
  static auto* findings = new Findings;
  return *findings;
}

// Both ways, by turns; the last one that ran has left its result. The choice is kept if both work.
StatusOr<bool> Measure(KernelContext& ctx, const ImageConvolution& c, const ConvolutionAddresses& at,
                       const std::string& key) {
  static absl::Mutex one_at_a_time;
  absl::MutexLock lock(&one_at_a_time);
  if (UsesHalves().Find(key)) return ConvolveFilterFast(ctx, c, at);
  Status status;
  auto enqueue = [&](size_t way) {
    StatusOr<bool> is_done = way == 0 ? ConvolveByLibrary(ctx, c, DType::kFloat, at) : ConvolveInHalves(ctx, c, at);
    if (!is_done.ok()) status.Update(is_done.status());
    return is_done.ok() && *is_done;
  };
  WEIR_ASSIGN_OR_RETURN(const size_t fastest,
                        FindFastest(RunOf(ctx), Cat("measuring gradients of filters for ", key), 2, 6, enqueue));
  WEIR_RETURN_IF_ERROR(status);
  UsesHalves().Keep(key, fastest == 1);
  return fastest < 2;
}

}  // namespace

std::atomic<UseOfHalves>& FilterHalves() {
  static std::atomic<UseOfHalves> use = [] {
    const char* value = std::getenv("WEIR_CUDA_HALVES");
    const std::string_view text = value == nullptr ? "" : value;
    return text == "0" ? UseOfHalves::kNever : text == "1" ? UseOfHalves::kAlways : UseOfHalves::kIfFaster;
  }();
  return use;
}

bool MayUseHalves(const KernelContext& ctx, const ImageConvolution& c, DType dtype) {
  if (c.part != Convolution::Part::kFilter || dtype != DType::kFloat || !AllowsTensorFloat32()) return false;
  const bool fits =
      c.groups == 1 && !c.channels_second && c.in_channels % 8 == 0 && c.out_channels % 8 == 0 && c.taps() > 1;
  const UseOfHalves use = FilterHalves();
  if (use == UseOfHalves::kIfFaster) return fits && !ctx.step().deterministic;
  return fits && use == UseOfHalves::kAlways;
}

StatusOr<bool> ConvolveFilterFast(KernelContext& ctx, const ImageConvolution& c, const ConvolutionAddresses& at) {
  const std::string key = KeyOf(c);
  std::optional<bool> uses_halves = UsesHalves().Find(key);
  if (FilterHalves() == UseOfHalves::kAlways) {
    uses_halves = true;
  } else if (!uses_halves && !AreProbablyFaster(c)) {
    uses_halves = false;
  } else if (!uses_halves && MayMeasure() && !RunOf(ctx).is_recording()) {
    WEIR_ASSIGN_OR_RETURN(const bool is_done, Measure(ctx, c, at, key));
    if (!is_done) return false;
    uses_halves = UsesHalves().Find(key);
  }
  if (uses_halves.value_or(AreProbablyFaster(c))) {
    WEIR_ASSIGN_OR_RETURN(const bool is_done, ConvolveInHalves(ctx, c, at));
    if (is_done) return true;
    UsesHalves().Keep(key, false);
  }
  return ConvolveByLibrary(ctx, c, DType::kFloat, at);
}

}  // namespace weir::cuda
