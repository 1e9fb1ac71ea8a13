#include "weir/device/cuda/fft.h"

#include <map>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "weir/base/strings.h"
#include "weir/device/cuda/abi/cufft_abi.h"
#include "weir/device/cuda/recording.h"
#include "weir/device/cuda/shared_libraries.h"

namespace weir::cuda {
namespace {

StatusOr<const CufftFunctions*> LoadCufft() {
  static const auto* loaded = new StatusOr<CufftFunctions>([]() -> StatusOr<CufftFunctions> {
    WEIR_ASSIGN_OR_RETURN(void* library, OpenCudaLibrary(CudaLibrary::kCufft));
    CufftFunctions functions;
#define WEIR_LOAD_TYPED(type, member, symbol, parameters) WEIR_CUDA_LOAD(member, symbol, parameters)
    WEIR_CUFFT_FUNCTIONS(WEIR_LOAD_TYPED)
#undef WEIR_LOAD_TYPED
    return functions;
  }());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

Status CheckCufft(CufftResult result, std::string_view what) {
  if (result == kCufftSuccess) return OkStatus();
  const std::string message = Cat(what, ": cuFFT's error ", static_cast<int>(result));
  if (result == kCufftAllocFailed) return ResourceExhausted(message);
  if (result == kCufftInvalidSize || result == kCufftNotSupported) return Unimplemented(message);
  return Internal(message);
}

CufftType TypeOf(const FourierTransforms& t) {
  switch (t.kind) {
    case FourierTransforms::Kind::kFromReal:
      return t.is_double ? kCufftD2Z : kCufftR2C;
    case FourierTransforms::Kind::kToReal:
      return t.is_double ? kCufftZ2D : kCufftC2R;
    case FourierTransforms::Kind::kComplex:
      break;
  }
  return t.is_double ? kCufftZ2Z : kCufftC2C;
}

struct FourierPlan {
  CufftHandle handle = 0;
  size_t work_size = 0;
};

// The plans of one stream. Thread-safe; never destroyed.
class FourierPlans {
 public:
  static StatusOr<FourierPlans*> Of(CudaStream& stream) {
    static absl::Mutex mu;
    static auto* all = new std::map<StreamHandle, std::unique_ptr<FourierPlans>>;
    absl::MutexLock lock(&mu);
    std::unique_ptr<FourierPlans>& plans = (*all)[stream.handle()];
    if (plans == nullptr) {
      WEIR_ASSIGN_OR_RETURN(const CufftFunctions* functions, LoadCufft());
      plans = std::make_unique<FourierPlans>(*functions, stream.handle());
    }
    return plans.get();
  }
  FourierPlans(const CufftFunctions& fft, StreamHandle stream) : fft_(fft), stream_(stream) {}

  Status Run(KernelContext& ctx, const FourierTransforms& t, DeviceAddress in, DeviceAddress out) {
    WEIR_RETURN_IF_ERROR(RefuseRecording(ctx, "Fourier transforms"));
    CudaRun& run = RunOf(ctx);
    WEIR_RETURN_IF_ERROR(run.parts().health());
    absl::MutexLock lock(&mu_);
    WEIR_ASSIGN_OR_RETURN(const FourierPlan plan, Find(t));
    Tensor work;
    if (plan.work_size > 0) {
      WEIR_ASSIGN_OR_RETURN(work, ctx.AllocateTemp(DType::kUInt8, Shape({static_cast<int64_t>(plan.work_size)})));
      WEIR_RETURN_IF_ERROR(CheckCufft(fft_.SetWorkArea(plan.handle, work.raw_data()), "giving cuFFT memory"));
    }
    run.NoteWork();
    void *from = reinterpret_cast<void*>(in), *to = reinterpret_cast<void*>(out);
    const int direction = t.inverse ? kCufftInverse : kCufftForward;
    CufftResult result = kCufftSuccess;
    switch (TypeOf(t)) {
      case kCufftC2C:
        result = fft_.ExecC2C(plan.handle, from, to, direction);
        break;
      case kCufftZ2Z:
        result = fft_.ExecZ2Z(plan.handle, from, to, direction);
        break;
      case kCufftR2C:
        result = fft_.ExecR2C(plan.handle, from, to);
        break;
      case kCufftD2Z:
        result = fft_.ExecD2Z(plan.handle, from, to);
        break;
      case kCufftC2R:
        result = fft_.ExecC2R(plan.handle, from, to);
        break;
      case kCufftZ2D:
        result = fft_.ExecZ2D(plan.handle, from, to);
        break;
    }
    return CheckCufft(result, "a Fourier transform");
  }

 private:
  StatusOr<FourierPlan> Find(const FourierTransforms& t) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::string key = Cat(static_cast<int>(TypeOf(t)), ",", t.batch);
    for (int64_t length : t.lengths) key += Cat(",", length);
    if (auto found = plans_.find(key); found != plans_.end()) return found->second;
    FourierPlan plan;
    WEIR_RETURN_IF_ERROR(CheckCufft(fft_.Create(&plan.handle), "making a plan of cuFFT"));
    std::vector<long long> lengths(t.lengths.begin(), t.lengths.end());
    Status status = CheckCufft(fft_.SetAutoAllocation(plan.handle, 0), "making a plan of cuFFT");
    if (status.ok()) {
      status = CheckCufft(fft_.MakePlanMany64(plan.handle, static_cast<int>(lengths.size()), lengths.data(), nullptr, 1,
                                              0, nullptr, 1, 0, TypeOf(t), t.batch, &plan.work_size),
                          "making a plan of cuFFT");
    }
    if (status.ok()) status = CheckCufft(fft_.SetStream(plan.handle, stream_), "giving cuFFT a stream");
    if (!status.ok()) {
      fft_.Destroy(plan.handle);
      return status;
    }
    plans_[key] = plan;
    return plan;
  }

  const CufftFunctions& fft_;
  const StreamHandle stream_;
  absl::Mutex mu_;  // held while a plan is used: its work area is set for each call
  StringMap<FourierPlan> plans_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

Status Transform(KernelContext& ctx, const FourierTransforms& transforms, DeviceAddress in, DeviceAddress out) {
  CudaStream& stream = RunOf(ctx).stream();
  UseContext(stream.context());
  WEIR_ASSIGN_OR_RETURN(FourierPlans * plans, FourierPlans::Of(stream));
  return plans->Run(ctx, transforms, in, out);
}

}  // namespace weir::cuda
