// FFT, IFFT, RFFT and IRFFT over the last one, two or three dimensions on GPUs.
#include "weir/device/cuda/fft.h"

#include "weir/ops/audio/fft_sizes.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

class GpuFftKernel : public Kernel {
 public:
  explicit GpuFftKernel(FftKind kind) : kind_(kind) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(const FftSizes sizes, SizesOfFft(ctx, kind_));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, sizes.output));
    if (out->num_elements() == 0) return OkStatus();
    if (in.num_elements() == 0) return FillZero(ctx, Address(*out), out->num_bytes());
    FourierTransforms transforms;
    const bool to_real = kind_.real && kind_.inverse;
    using Kind = FourierTransforms::Kind;
    transforms.kind = !kind_.real ? Kind::kComplex : to_real ? Kind::kToReal : Kind::kFromReal;
    transforms.is_double = in.dtype() == DType::kDouble || in.dtype() == DType::kComplex128;
    transforms.inverse = kind_.inverse;
    transforms.batch = sizes.batch;
    transforms.lengths.assign(sizes.transform.end() - kind_.axes, sizes.transform.end());
    struct {
      int64_t from[3], to[3];
    } cut;
    int64_t n = sizes.batch;
    bool is_whole = true;
    for (int i = 0; i < 3; ++i) {
      cut.from[i] = sizes.input[i];
      cut.to[i] = to_real && i == 2 ? sizes.transform[i] / 2 + 1 : sizes.transform[i];
      n *= cut.to[i];
      is_whole = is_whole && cut.from[i] == cut.to[i];
    }
    Tensor covered;
    if (!is_whole || to_real) {  // which may be destroyed
      WEIR_ASSIGN_OR_RETURN(covered, ctx.AllocateTemp(in.dtype(), Shape({n})));
      WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function(Cat("CutOut<", DeviceTypeName(in.dtype()), ">")), n, cut,
                                      Address(in), Address(covered), n));
    }
    WEIR_RETURN_IF_ERROR(
        Transform(ctx, transforms, covered.has_value() ? Address(covered) : Address(in), Address(*out)));
    if (!kind_.inverse) return OkStatus();
    const int64_t numbers = out->num_elements() * (IsComplex(out->dtype()) ? 2 : 1);
    return LaunchOver(ctx, Function(transforms.is_double ? "ScaleBy<double>" : "ScaleBy<float>"), numbers,
                      Address(*out), 1.0 / static_cast<double>(sizes.count()), numbers);
  }

 private:
  static DeviceFunction Function(std::string name) { return {"weir/ops/audio/cuda/fft.cu", std::move(name)}; }

  const FftKind kind_;
};

}  // namespace

void RegisterFftKernels(GpuRegistry& registry) {
  for (int axes = 1; axes <= 3; ++axes) {
    const std::string suffix = axes == 1 ? "" : Cat(axes, "D");
    for (bool inverse : {false, true}) {
      for (bool real : {false, true}) {
        const FftKind kind{axes, inverse, real};
        const KernelFactory factory = [kind](const KernelInit&) -> StatusOr<std::unique_ptr<Kernel>> {
          return std::make_unique<GpuFftKernel>(kind);
        };
        const std::string op = Cat(inverse ? "I" : "", real ? "R" : "", "FFT", suffix);
        if (!real) {
          registry.Add(op, factory);
          continue;
        }
        // cuFFT's two sides have one precision.
        for (auto [number, pair] :
             {std::pair(DType::kFloat, DType::kComplex64), std::pair(DType::kDouble, DType::kComplex128)}) {
          registry.kernels().Add(OnGpu(op).Types("Treal", {number}).Types("Tcomplex", {pair}).HostMemory("fft_length"),
                                 factory);
        }
      }
    }
  }
}

}  // namespace weir::cuda
