#include "weir/device/cuda/solver.h"

#include <map>
#include <memory>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/strings.h"
#include "weir/device/cuda/abi/cusolver_abi.h"
#include "weir/device/cuda/recording.h"
#include "weir/device/cuda/shared_libraries.h"

namespace weir::cuda {
namespace {

struct CusolverLibrary {
  CusolverHandleFunctions handles;
  CusolverTypedFunctions types[4];  // float, double, complex64, complex128
};

StatusOr<CusolverTypedFunctions> LoadTyped(void* library, char letter) {
  const bool is_complex = letter == 'C' || letter == 'Z';
  CusolverTypedFunctions functions;
  auto name_of = [&](std::string name) {
    if (is_complex && name.starts_with("orgqr")) name.replace(0, 5, "ungqr");
    if (is_complex && name.starts_with("syevd")) name.replace(0, 5, "heevd");
    return Cat("cusolverDn", std::string(1, letter), name);
  };
#define WEIR_LOAD_ROUTINE(type, member, symbol, parameters)                                     \
  {                                                                                             \
    WEIR_ASSIGN_OR_RETURN(void* found_function, FindSymbol(library, name_of(#symbol).c_str())); \
    functions.member = reinterpret_cast<decltype(functions.member)>(found_function);            \
  }
  WEIR_CUSOLVER_TYPED_FUNCTIONS(WEIR_LOAD_ROUTINE)
#undef WEIR_LOAD_ROUTINE
  return functions;
}

StatusOr<const CusolverLibrary*> LoadCusolver() {
  static const auto* loaded = new StatusOr<CusolverLibrary>([]() -> StatusOr<CusolverLibrary> {
    WEIR_ASSIGN_OR_RETURN(void* library, OpenCudaLibrary(CudaLibrary::kCusolver));
    CusolverLibrary made;
    CusolverHandleFunctions& functions = made.handles;
#define WEIR_LOAD_TYPED(type, member, symbol, parameters) WEIR_CUDA_LOAD(member, symbol, parameters)
    WEIR_CUSOLVER_HANDLE_FUNCTIONS(WEIR_LOAD_TYPED)
#undef WEIR_LOAD_TYPED
    for (int i = 0; i < 4; ++i) {
      WEIR_ASSIGN_OR_RETURN(made.types[i], LoadTyped(library, "SDCZ"[i]));
    }
    return made;
  }());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

Status CheckCusolver(CusolverStatus status, std::string_view what) {
  if (status == kCusolverSuccess) return OkStatus();
  const std::string message = Cat(what, ": cuSOLVER's error ", static_cast<int>(status));
  if (status == kCusolverAllocFailed) return ResourceExhausted(message);
  if (status == kCusolverNotSupported) return Unimplemented(message);
  return Internal(message);
}

// cuSOLVER as one stream uses it. Thread-safe; never destroyed.
struct SolverStream {
  const CusolverLibrary* library = nullptr;
  absl::Mutex mu;  // held while the handle is used
  CusolverHandle handle ABSL_GUARDED_BY(mu) = nullptr;

  static StatusOr<SolverStream*> Of(CudaStream& stream) {
    static absl::Mutex mu;
    static auto* all = new std::map<StreamHandle, std::unique_ptr<SolverStream>>;
    absl::MutexLock lock(&mu);
    std::unique_ptr<SolverStream>& found = (*all)[stream.handle()];
    if (found == nullptr) {
      auto made = std::make_unique<SolverStream>();
      WEIR_ASSIGN_OR_RETURN(made->library, LoadCusolver());
      const CusolverHandleFunctions& functions = made->library->handles;
      absl::MutexLock handle_lock(&made->mu);
      WEIR_RETURN_IF_ERROR(CheckCusolver(functions.Create(&made->handle), "starting cuSOLVER"));
      WEIR_RETURN_IF_ERROR(
          CheckCusolver(functions.SetStream(made->handle, stream.handle()), "giving cuSOLVER a stream"));
      found = std::move(made);
    }
    return found.get();
  }
};

// One call of a routine for a batch: the handle, the functions of the type, and memory.
class SolverCall {
 public:
  static StatusOr<std::unique_ptr<SolverCall>> Start(KernelContext& ctx, DType dtype) {
    WEIR_RETURN_IF_ERROR(RefuseRecording(ctx, "decompositions"));
    CudaRun& run = RunOf(ctx);
    WEIR_RETURN_IF_ERROR(run.parts().health());
    UseContext(run.stream().context());
    WEIR_ASSIGN_OR_RETURN(SolverStream * stream, SolverStream::Of(run.stream()));
    run.NoteWork();
    return std::make_unique<SolverCall>(ctx, *stream, dtype);
  }
  SolverCall(KernelContext& ctx, SolverStream& stream, DType dtype)
      : ctx_(ctx), stream_(stream), lock_(&stream.mu), element_(SizeOf(dtype)), index_(IndexOf(dtype)) {}

  const CusolverTypedFunctions& functions() const { return stream_.library->types[index_]; }
  CusolverHandle handle() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return stream_.handle; }
  size_t element() const { return element_; }

  // Scratch memory of as many elements.
  StatusOr<void*> Work(int size) {
    const int64_t bytes = std::max<int64_t>(size, 1) * static_cast<int64_t>(element_);
    WEIR_ASSIGN_OR_RETURN(work_, ctx_.AllocateTemp(DType::kUInt8, Shape({bytes})));
    return work_.raw_data();
  }

 private:
  static int IndexOf(DType dtype) {
    return dtype == DType::kFloat ? 0 : dtype == DType::kDouble ? 1 : dtype == DType::kComplex64 ? 2 : 3;
  }

  KernelContext& ctx_;
  SolverStream& stream_;
  absl::MutexLock lock_;
  const size_t element_;
  const int index_;
  Tensor work_;
};

void* At(DeviceAddress base, int64_t index, int64_t size, size_t element) {
  return reinterpret_cast<void*>(base + static_cast<size_t>(index * size) * element);
}
int* InfoAt(DeviceAddress info, int64_t index) { return static_cast<int*>(At(info, index, 1, sizeof(int))); }

}  // namespace

Status FactorCholesky(KernelContext& ctx, const SquareMatrices& matrices, DeviceAddress a, DeviceAddress info) {
  constexpr int64_t kMaxBatched = 512;  // larger matrices keep the card busy one by one
  const int n = static_cast<int>(matrices.n);
  const size_t element = SizeOf(matrices.dtype);
  if (matrices.batch > 1 && matrices.n <= kMaxBatched) {
    std::vector<DeviceAddress> addresses;
    for (int64_t i = 0; i < matrices.batch; ++i) {
      addresses.push_back(a + static_cast<size_t>(i * matrices.n * matrices.n) * element);
    }
    WEIR_ASSIGN_OR_RETURN(Tensor uploaded, Upload(ctx, addresses));
    WEIR_ASSIGN_OR_RETURN(auto call, SolverCall::Start(ctx, matrices.dtype));
    return CheckCusolver(
        call->functions().potrfBatched(call->handle(), kCublasFillUpper, n, static_cast<void**>(uploaded.raw_data()), n,
                                       InfoAt(info, 0), static_cast<int>(matrices.batch)),
        "Cholesky decompositions");
  }
  WEIR_ASSIGN_OR_RETURN(auto call, SolverCall::Start(ctx, matrices.dtype));
  const CusolverTypedFunctions& functions = call->functions();
  int size = 0;
  WEIR_RETURN_IF_ERROR(
      CheckCusolver(functions.potrf_bufferSize(call->handle(), kCublasFillUpper, n, At(a, 0, 0, 1), n, &size),
                    "a Cholesky decomposition"));
  WEIR_ASSIGN_OR_RETURN(void* work, call->Work(size));
  for (int64_t i = 0; i < matrices.batch; ++i) {
    WEIR_RETURN_IF_ERROR(
        CheckCusolver(functions.potrf(call->handle(), kCublasFillUpper, n, At(a, i, matrices.n * matrices.n, element),
                                      n, work, size, InfoAt(info, i)),
                      "a Cholesky decomposition"));
  }
  return OkStatus();
}

Status FactorLu(KernelContext& ctx, const SquareMatrices& matrices, DeviceAddress a, DeviceAddress pivots,
                DeviceAddress info) {
  WEIR_ASSIGN_OR_RETURN(auto call, SolverCall::Start(ctx, matrices.dtype));
  const CusolverTypedFunctions& functions = call->functions();
  const int n = static_cast<int>(matrices.n);
  int size = 0;
  WEIR_RETURN_IF_ERROR(
      CheckCusolver(functions.getrf_bufferSize(call->handle(), n, n, At(a, 0, 0, 1), n, &size), "an LU decomposition"));
  WEIR_ASSIGN_OR_RETURN(void* work, call->Work(size));
  for (int64_t i = 0; i < matrices.batch; ++i) {
    WEIR_RETURN_IF_ERROR(
        CheckCusolver(functions.getrf(call->handle(), n, n, At(a, i, matrices.n * matrices.n, call->element()), n, work,
                                      static_cast<int*>(At(pivots, i, matrices.n, sizeof(int))), InfoAt(info, i)),
                      "an LU decomposition"));
  }
  return OkStatus();
}

Status SolveByLu(KernelContext& ctx, const SquareMatrices& matrices, CublasOperation operation, DeviceAddress lu,
                 DeviceAddress pivots, DeviceAddress b, int64_t columns, DeviceAddress info) {
  WEIR_ASSIGN_OR_RETURN(auto call, SolverCall::Start(ctx, matrices.dtype));
  const int n = static_cast<int>(matrices.n);
  for (int64_t i = 0; i < matrices.batch; ++i) {
    WEIR_RETURN_IF_ERROR(
        CheckCusolver(call->functions().getrs(call->handle(), operation, n, static_cast<int>(columns),
                                              At(lu, i, matrices.n * matrices.n, call->element()), n,
                                              static_cast<int*>(At(pivots, i, matrices.n, sizeof(int))),
                                              At(b, i, matrices.n * columns, call->element()), n, InfoAt(info, i)),
                      "solving by LU factors"));
  }
  return OkStatus();
}

Status SelfAdjointEigenvalues(KernelContext& ctx, const SquareMatrices& matrices, bool vectors, DeviceAddress a,
                              DeviceAddress values, DeviceAddress info) {
  WEIR_ASSIGN_OR_RETURN(auto call, SolverCall::Start(ctx, matrices.dtype));
  const CusolverTypedFunctions& functions = call->functions();
  const CusolverEigMode mode = vectors ? kCusolverVectors : kCusolverNoVectors;
  const int n = static_cast<int>(matrices.n);
  const size_t real = call->element() / (IsComplex(matrices.dtype) ? 2 : 1);
  int size = 0;
  WEIR_RETURN_IF_ERROR(CheckCusolver(functions.syevd_bufferSize(call->handle(), mode, kCublasFillUpper, n,
                                                                At(a, 0, 0, 1), n, At(values, 0, 0, 1), &size),
                                     "eigenvalues"));
  WEIR_ASSIGN_OR_RETURN(void* work, call->Work(size));
  for (int64_t i = 0; i < matrices.batch; ++i) {
    WEIR_RETURN_IF_ERROR(CheckCusolver(
        functions.syevd(call->handle(), mode, kCublasFillUpper, n, At(a, i, matrices.n * matrices.n, call->element()),
                        n, At(values, i, matrices.n, real), work, size, InfoAt(info, i)),
        "eigenvalues"));
  }
  return OkStatus();
}

Status FactorSvd(KernelContext& ctx, const TallMatrices& matrices, bool full, DeviceAddress a, DeviceAddress s,
                 DeviceAddress u, DeviceAddress vt, DeviceAddress info) {
  const int64_t m = matrices.rows, n = matrices.columns;
  const int rows = static_cast<int>(m), columns = static_cast<int>(n);
  const bool vectors = u != 0;
  WEIR_ASSIGN_OR_RETURN(auto call, SolverCall::Start(ctx, matrices.dtype));
  const CusolverTypedFunctions& functions = call->functions();
  const size_t element = call->element(), real = element / (IsComplex(matrices.dtype) ? 2 : 1);
  int size = 0;
  WEIR_RETURN_IF_ERROR(CheckCusolver(functions.gesvd_bufferSize(call->handle(), rows, columns, &size),
                                     "a singular value decomposition"));
  WEIR_ASSIGN_OR_RETURN(void* work, call->Work(size));
  const auto job = static_cast<signed char>(!vectors ? 'N' : full ? 'A' : 'S');
  for (int64_t i = 0; i < matrices.batch; ++i) {
    WEIR_RETURN_IF_ERROR(CheckCusolver(
        functions.gesvd(call->handle(), job, job, rows, columns, At(a, i, m * n, element), rows, At(s, i, n, real),
                        vectors ? At(u, i, m * (full ? m : n), element) : nullptr, rows,
                        vectors ? At(vt, i, n * n, element) : nullptr, columns, work, size, nullptr, InfoAt(info, i)),
        "a singular value decomposition"));
  }
  return OkStatus();
}

}  // namespace weir::cuda
