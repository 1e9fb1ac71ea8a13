// ExtractImagePatches, ExtractVolumePatches: windows as channels.
#include <array>
#include <cstring>

#include "weir/framework/kernel_registry.h"
#include "weir/ops/nn/patches.h"
#include "weir/ops/nn/register_extended.h"

namespace weir {
namespace {

// Images are volumes of one plane.
class PatchesKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<PatchesKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->options_, nn::PatchOptions::Read(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(nn::PatchSizes sizes, options_.SizesOf(input.shape()));
    const Shape& shape = sizes.shape;
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const int64_t bytes = input.dim(input.rank() - 1) * static_cast<int64_t>(SizeOf(input.dtype()));
    const int64_t places = shape.num_elements() / shape.dim(shape.rank() - 1), window = sizes.window;
    const char* from = static_cast<const char*>(input.raw_data());
    char* to = static_cast<char*>(out->raw_data());
    ctx.ParallelFor(places, static_cast<double>(window * (5 + bytes)), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        for (int64_t w = 0; w < window; ++w) {
          const int64_t place = Place(sizes.axes, p, w);
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
  // The place of the input that element `w` of patch `p` comes from, or -1 outside.
  static int64_t Place(const std::array<nn::PatchAxis, 3>& axis, int64_t p, int64_t w) {
    std::array<int64_t, 3> at;
    for (int i = 2; i >= 0; --i) {
      at[i] = p % axis[i].output * axis[i].stride - axis[i].before + w % axis[i].size * axis[i].rate;
      if (at[i] < 0 || at[i] >= axis[i].input) return -1;
      p /= axis[i].output;
      w /= axis[i].size;
    }
    return ((p * axis[0].input + at[0]) * axis[1].input + at[1]) * axis[2].input + at[2];
  }

  nn::PatchOptions options_;
};

}  // namespace

void RegisterPatchesKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("ExtractImagePatches").Types("T", NumberTypes{}), MakeKernel<PatchesKernel>);
  registry.Add(KernelBuilder("ExtractVolumePatches").Types("T", RealTypes{}), MakeKernel<PatchesKernel>);
}

}  // namespace weir
