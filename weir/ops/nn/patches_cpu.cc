// ExtractImagePatches, ExtractVolumePatches: windows as channels.
#include <array>
#include <cstring>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

struct Axis {
  int64_t input, size, stride, rate, before, output;
};

StatusOr<Axis> MakeAxis(int64_t input, int64_t size, int64_t stride, int64_t rate, bool same) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (size <= 0 || stride <= 0 || std::max({input, size, stride, rate}) >= kLimit) {
    return InvalidArgument("Sizes and strides of a window must be positive");
  }
  Axis axis{input, size, stride, rate, 0, 0};
  const int64_t reach = (size - 1) * rate + 1;
  axis.output = same ? (input + stride - 1) / stride : (input - reach + stride) / stride;
  if (axis.output < 0) {
    return InvalidArgument("Computed output size would be negative: ", axis.output, " [input_size: ", input,
                           ", effective_filter_size: ", reach, ", stride: ", stride, "]");
  }
  if (same) axis.before = ((axis.output - 1) * stride + reach - input) / 2;
  return axis;
}

// Images are volumes of one plane.
class PatchesKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<PatchesKernel>();
    kernel->rank_ = init.HasAttr("rates") ? 4 : 5;
    kernel->rates_.assign(static_cast<size_t>(kernel->rank_), 1);
    WEIR_RETURN_IF_ERROR(Read(init, "ksizes", kernel->rank_, kernel->sizes_));
    WEIR_RETURN_IF_ERROR(Read(init, "strides", kernel->rank_, kernel->strides_));
    if (init.HasAttr("rates")) WEIR_RETURN_IF_ERROR(Read(init, "rates", kernel->rank_, kernel->rates_));
    WEIR_ASSIGN_OR_RETURN(std::string padding, init.Attr<std::string>("padding"));
    kernel->same_ = padding == "SAME";
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != rank_) {
      return InvalidArgument("input must be ", rank_, "-dimensional", input.shape().ToString());
    }
    std::array<Axis, 3> axis;
    axis.fill(Axis{1, 1, 1, 1, 0, 1});
    Shape shape({input.dim(0)});
    int64_t window = 1;
    for (int i = 1; i < rank_ - 1; ++i) {
      WEIR_ASSIGN_OR_RETURN(Axis a, MakeAxis(input.dim(i), sizes_[i], strides_[i], rates_[i], same_));
      WEIR_RETURN_IF_ERROR(shape.AddDim(a.output));
      // Where strides leave something over, the patches of a volume are in its middle, those of an image are not.
      if (rank_ == 4) a.before = std::max<int64_t>(a.before, 0);
      window *= a.size;
      axis[i + 4 - rank_] = a;
    }
    const int64_t channels = input.dim(rank_ - 1);
    auto depth = CheckedMultiply(window, channels);
    if (!depth) return InvalidArgument("Patches are too large");
    WEIR_RETURN_IF_ERROR(shape.AddDim(*depth));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t bytes = channels * static_cast<int64_t>(SizeOf(input.dtype()));
    const int64_t places = shape.num_elements() / *depth;
    const char* from = static_cast<const char*>(input.raw_data());
    char* to = static_cast<char*>(out->raw_data());
    ctx.ParallelFor(places, static_cast<double>(window * (5 + bytes)), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        for (int64_t w = 0; w < window; ++w) {
          const int64_t place = Place(axis, p, w);
          char* cell = to + (p * window + w) * bytes;
          if (place < 0) {
            std::memset(cell, 0, static_cast<size_t>(bytes));
          } else {
            std::memcpy(cell, from + place * bytes, static_cast<size_t>(bytes));
          }
        }
      }
    });
    return OkStatus();
  }

 private:
  static Status Read(const KernelInit& init, std::string_view name, int rank, std::vector<int64_t>& out) {
    WEIR_ASSIGN_OR_RETURN(out, init.Attr<std::vector<int64_t>>(name));
    if (static_cast<int>(out.size()) != rank) {
      return InvalidArgument("Sliding window ", name, " field must specify ", rank, " dimensions");
    }
    if (out.front() != 1 || out.back() != 1) return Unimplemented("Only support ", name, " across space.");
    for (int64_t value : out) {
      if (value < 1 || value > INT32_MAX) return OutOfRange(name, " is out of range.");
    }
    return OkStatus();
  }
  // The place of the input that element `w` of patch `p` comes from, or -1 outside.
  static int64_t Place(const std::array<Axis, 3>& axis, int64_t p, int64_t w) {
    std::array<int64_t, 3> at;
    for (int i = 2; i >= 0; --i) {
      at[i] = p % axis[i].output * axis[i].stride - axis[i].before + w % axis[i].size * axis[i].rate;
      if (at[i] < 0 || at[i] >= axis[i].input) return -1;
      p /= axis[i].output;
      w /= axis[i].size;
    }
    return ((p * axis[0].input + at[0]) * axis[1].input + at[1]) * axis[2].input + at[2];
  }

  int rank_ = 4;
  std::vector<int64_t> sizes_, strides_, rates_;
  bool same_ = false;
};

}  // namespace

void RegisterPatchesKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ExtractImagePatches").Types("T", NumberTypes{}), MakeKernel<PatchesKernel>);
  registry.Add(KernelBuilder("ExtractVolumePatches").Types("T", RealTypes{}), MakeKernel<PatchesKernel>);
}

}  // namespace weir
