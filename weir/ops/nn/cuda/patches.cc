// ExtractImagePatches and ExtractVolumePatches on GPUs.
#include "weir/ops/nn/patches.h"

#include "weir/device/cuda/launch.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

// The type that is as wide as an element.
std::string_view WordOf(DType dtype) {
  constexpr std::string_view kWords[] = {"uint8", "uint16", "uint32", "uint64", "Word16"};
  int log = 0;
  while (size_t{1} << log < SizeOf(dtype)) ++log;
  return kWords[log];
}

class PatchesKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<PatchesKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->options_, nn::PatchOptions::Read(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(nn::PatchSizes sizes, options_.SizesOf(input.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.shape));
    const int64_t n = out->num_elements(), channels = input.dim(input.rank() - 1);
    return LaunchOver(ctx, {"weir/ops/nn/cuda/patches.cu", Cat("ExtractPatches<", WordOf(input.dtype()), ">")}, n,
                      sizes.axes, Address(input), channels, sizes.window, Address(*out), n);
  }

 private:
  nn::PatchOptions options_;
};

}  // namespace

void RegisterPatchesKernels(GpuRegistry& registry) {
  registry.Add("ExtractImagePatches", MakeKernel<PatchesKernel>);
  registry.Add("ExtractVolumePatches", MakeKernel<PatchesKernel>);
}

}  // namespace weir::cuda
