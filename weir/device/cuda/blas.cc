#include "weir/device/cuda/blas.h"

#include <atomic>
#include <bit>
#include <complex>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/strings.h"
#include "weir/device/cuda/abi/cublaslt_abi.h"
#include "weir/device/cuda/measure.h"
#include "weir/device/cuda/shared_libraries.h"

namespace weir::cuda {
namespace {

// Scratch memory that an algorithm may ask for: what NVIDIA recommends for Hopper.
constexpr uint64_t kMaxWorkspace = 32 << 20;
// Algorithms that are measured if nobody says otherwise, how often, and multiplications below which the choice does not
// matter.
constexpr size_t kMostAlgorithms = 8;
constexpr int kMeasuredRuns = 3;
constexpr double kLeastMeasuredWork = 1 << 21;

StatusOr<const CublasLtFunctions*> LoadCublasLt() {
  static const auto* loaded = new StatusOr<CublasLtFunctions>([]() -> StatusOr<CublasLtFunctions> {
    WEIR_ASSIGN_OR_RETURN(void* library, OpenCudaLibrary(CudaLibrary::kCublasLt));
    CublasLtFunctions functions;
#define WEIR_LOAD_TYPED(type, member, symbol, parameters) WEIR_CUDA_LOAD(member, symbol, parameters)
    WEIR_CUBLASLT_FUNCTIONS(WEIR_LOAD_TYPED)
#undef WEIR_LOAD_TYPED
    return functions;
  }());
  if (!loaded->ok()) return loaded->status();
  return &**loaded;
}

Status CheckCublas(const CublasLtFunctions& blas, CublasStatus status, std::string_view what) {
  if (status == kCublasSuccess) return OkStatus();
  const std::string message = Cat(what, ": cuBLASLt says ", blas.GetStatusString(status));
  if (status == kCublasAllocFailed) return ResourceExhausted(message);
  if (status == kCublasNotSupported) return Unimplemented(message);
  return Internal(message);
}

#define WEIR_RETURN_IF_CUBLAS_ERROR(call, what) WEIR_RETURN_IF_ERROR(CheckCublas(blas, call, what))

struct ProductTypes {
  CudaDataType data;
  CudaDataType output;
  CudaDataType scale;
  CublasComputeType compute;
};

bool IsSmallFloat(DType dtype) { return dtype == DType::kHalf || dtype == DType::kBFloat16; }

StatusOr<ProductTypes> TypesOf(DType dtype, DType output) {
  const bool widens = output == DType::kFloat;
  if (output != DType::kInvalid && output != dtype && !(widens && IsSmallFloat(dtype))) {
    return Unimplemented("cuBLASLt has no products of ", Name(dtype), " in ", Name(output));
  }
  const CublasComputeType single = AllowsTensorFloat32() ? kCublasCompute32FFastTF32 : kCublasCompute32F;
  switch (dtype) {
    case DType::kFloat:
      return ProductTypes{kCudaR32F, kCudaR32F, kCudaR32F, single};
    case DType::kDouble:
      return ProductTypes{kCudaR64F, kCudaR64F, kCudaR64F, kCublasCompute64F};
    case DType::kHalf:
      return ProductTypes{kCudaR16F, widens ? kCudaR32F : kCudaR16F, kCudaR32F, kCublasCompute32F};
    case DType::kBFloat16:
      return ProductTypes{kCudaR16BF, widens ? kCudaR32F : kCudaR16BF, kCudaR32F, kCublasCompute32F};
    case DType::kComplex64:
      return ProductTypes{kCudaC32F, kCudaC32F, kCudaC32F, single};
    case DType::kComplex128:
      return ProductTypes{kCudaC64F, kCudaC64F, kCudaC64F, kCublasCompute64F};
    default:
      return Unimplemented("cuBLASLt has no products of ", Name(dtype));
  }
}

CublasLtEpilogue EpilogueOf(const MatrixProduct& p) {
  const bool has_bias = p.bias != 0;
  switch (p.activation) {
    case MatrixProduct::Activation::kRelu:
      return has_bias ? kCublasLtEpilogueReluBias : kCublasLtEpilogueRelu;
    case MatrixProduct::Activation::kGelu:
      return has_bias ? kCublasLtEpilogueGeluBias : kCublasLtEpilogueGelu;
    case MatrixProduct::Activation::kNone:
      break;
  }
  return has_bias ? kCublasLtEpilogueBias : kCublasLtEpilogueDefault;
}

// The largest power of two, up to 256, that the address is a multiple of.
uint32_t AlignmentOf(DeviceAddress address) {
  return address == 0 ? 256 : uint32_t{1} << std::min(std::countr_zero(address), 8);
}

// Descriptors of one shape of product. cuBLASLt counts in columns: a matrix in rows is its own transpose in columns, so
// out^T = b^T a^T is asked for and the operands change places.
class ProductPlan {
 public:
  explicit ProductPlan(const CublasLtFunctions& blas) : blas_(blas) {}
  ProductPlan(const ProductPlan&) = delete;
  ~ProductPlan() {
    for (CublasLtLayout layout : {a_, b_, out_}) {
      if (layout != nullptr) blas_.MatrixLayoutDestroy(layout);
    }
  }

  Status Make(CublasLtHandle handle, const MatrixProduct& p, const ProductTypes& types, const uint32_t* alignments) {
    const CublasLtFunctions& blas = blas_;
    const int64_t a_columns = p.transpose_a ? p.m : p.k, a_rows = p.transpose_a ? p.k : p.m;
    const int64_t b_columns = p.transpose_b ? p.k : p.n, b_rows = p.transpose_b ? p.n : p.k;
    WEIR_RETURN_IF_ERROR(MakeLayout(types.data, b_columns, b_rows, p.b_row, p.batch, p.b_step, &b_));
    WEIR_RETURN_IF_ERROR(MakeLayout(types.data, a_columns, a_rows, p.a_row, p.batch, p.a_step, &a_));
    WEIR_RETURN_IF_ERROR(MakeLayout(types.output, p.n, p.m, p.out_row, p.batch, p.out_step, &out_));
    CublasLtMatmulDesc desc = nullptr;
    WEIR_RETURN_IF_ERROR(MakeDesc(p, types, &desc));
    CublasLtPreference preference = nullptr;
    Status status = CheckCublas(blas, blas.MatmulPreferenceCreate(&preference), "choosing an algorithm");
    if (status.ok()) status = Choose(handle, desc, preference, alignments);
    if (preference != nullptr) blas.MatmulPreferenceDestroy(preference);
    blas.MatmulDescDestroy(desc);
    return status;
  }

  // The second run measures the algorithms that the heuristics name, and keeps the fastest.
  Status Run(KernelContext& ctx, CublasLtHandle handle, const MatrixProduct& p, const ProductTypes& types,
             DeviceAddress a, DeviceAddress b, DeviceAddress out) {
    const CublasLtFunctions& blas = blas_;
    CudaRun& run = RunOf(ctx);
    WEIR_RETURN_IF_ERROR(run.parts().health());
    CublasLtMatmulDesc desc = nullptr;
    WEIR_RETURN_IF_ERROR(MakeDesc(p, types, &desc));
    const Scale alpha(types.scale, 1), beta(types.scale, p.beta);
    Tensor workspace;
    auto multiply = [&](const Algorithm& algorithm) {
      void* scratch = algorithm.workspace_size > 0 ? workspace.raw_data() : nullptr;
      return blas.Matmul(handle, desc, alpha.pointer(), reinterpret_cast<void*>(b), b_, reinterpret_cast<void*>(a), a_,
                         beta.pointer(), reinterpret_cast<void*>(out), out_, reinterpret_cast<void*>(out), out_,
                         &algorithm.algo, scratch, algorithm.workspace_size, run.stream().handle());
    };
    run.NoteWork();
    std::vector<Algorithm> algorithms = Candidates(MayBeMeasured(ctx, p));
    Status status = [&]() -> Status {
      size_t size = 0;
      for (const Algorithm& each : algorithms) size = std::max(size, each.workspace_size);
      if (size > 0) {
        WEIR_ASSIGN_OR_RETURN(workspace, ctx.AllocateTemp(DType::kUInt8, Shape({static_cast<int64_t>(size)})));
      }
      if (algorithms.size() > 1) {
        const std::string what = Cat("measuring products of ", p.m, "x", p.k, " and ", p.k, "x", p.n);
        WEIR_ASSIGN_OR_RETURN(const size_t fastest,
                              FindFastest(run, what, algorithms.size(), kMeasuredRuns,
                                          [&](size_t i) { return multiply(algorithms[i]) == kCublasSuccess; }));
        algorithms = {algorithms[fastest < algorithms.size() ? fastest : 0]};
        Keep(algorithms.front());
      }
      return CheckCublas(blas, multiply(algorithms.front()), "multiplying matrices");
    }();
    blas.MatmulDescDestroy(desc);
    return status;
  }

 private:
  struct Algorithm {
    CublasLtAlgo algo{};
    size_t workspace_size = 0;
  };

  // The algorithm to use, or several to choose from.
  std::vector<Algorithm> Candidates(bool may_measure) {
    absl::MutexLock lock(&mu_);
    const bool measures = may_measure && ++runs_ > 1;
    return measures ? algorithms_ : std::vector<Algorithm>{algorithms_.front()};
  }
  void Keep(const Algorithm& fastest) {
    absl::MutexLock lock(&mu_);
    algorithms_ = {fastest};
  }

  // Not if the product is added to what is there, since measuring would add it several times.
  static bool MayBeMeasured(KernelContext& ctx, const MatrixProduct& p) {
    const double work =
        static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    return p.beta == 0 && work >= kLeastMeasuredWork && !ctx.step().deterministic && !RunOf(ctx).is_recording() &&
           MayMeasure();
  }

  // A factor in the type that the product is scaled in.
  class Scale {
   public:
    Scale(CudaDataType type, double value) : type_(type) {
      single_ = static_cast<float>(value);
      complex_single_ = single_;
      double_ = value;
      complex_double_ = value;
    }
    const void* pointer() const {
      switch (type_) {
        case kCudaR64F:
          return &double_;
        case kCudaC32F:
          return &complex_single_;
        case kCudaC64F:
          return &complex_double_;
        default:
          return &single_;
      }
    }

   private:
    const CudaDataType type_;
    float single_;
    double double_;
    // As CUDA aligns these types, and NVIDIA's code relies on it.
    alignas(8) std::complex<float> complex_single_;
    alignas(16) std::complex<double> complex_double_;
  };

  Status MakeLayout(CudaDataType type, int64_t rows, int64_t columns, int64_t distance, int64_t batch, int64_t step,
                    CublasLtLayout* layout) {
    const CublasLtFunctions& blas = blas_;
    WEIR_RETURN_IF_CUBLAS_ERROR(blas.MatrixLayoutCreate(layout, type, static_cast<uint64_t>(rows),
                                                        static_cast<uint64_t>(columns), distance > 0 ? distance : rows),
                                "describing a matrix");
    if (batch == 1) return OkStatus();
    const int32_t count = static_cast<int32_t>(batch);
    WEIR_RETURN_IF_CUBLAS_ERROR(
        blas.MatrixLayoutSetAttribute(*layout, kCublasLtLayoutBatchCount, &count, sizeof(count)),
        "describing a batch of matrices");
    WEIR_RETURN_IF_CUBLAS_ERROR(
        blas.MatrixLayoutSetAttribute(*layout, kCublasLtLayoutStridedBatchOffset, &step, sizeof(step)),
        "describing a batch of matrices");
    return OkStatus();
  }

  Status MakeDesc(const MatrixProduct& p, const ProductTypes& types, CublasLtMatmulDesc* desc) const {
    const CublasLtFunctions& blas = blas_;
    auto set = [&](CublasLtMatmulDescAttribute attribute, const auto& value) {
      return CheckCublas(blas, blas.MatmulDescSetAttribute(*desc, attribute, &value, sizeof(value)),
                         "describing a product");
    };
    auto operation = [](bool transpose, bool conjugate) -> int32_t {
      return !transpose ? kCublasOpN : conjugate ? kCublasOpC : kCublasOpT;
    };
    WEIR_RETURN_IF_CUBLAS_ERROR(blas.MatmulDescCreate(desc, types.compute, types.scale), "describing a product");
    Status status = set(kCublasLtMatmulTransA, operation(p.transpose_b, p.conjugate_b));
    if (status.ok()) status = set(kCublasLtMatmulTransB, operation(p.transpose_a, p.conjugate_a));
    if (const CublasLtEpilogue epilogue = EpilogueOf(p); status.ok() && epilogue != kCublasLtEpilogueDefault) {
      status = set(kCublasLtMatmulEpilogue, static_cast<uint32_t>(epilogue));
      if (status.ok() && p.bias != 0) status = set(kCublasLtMatmulBiasPointer, reinterpret_cast<void*>(p.bias));
    }
    if (!status.ok()) blas.MatmulDescDestroy(*desc);
    return status;
  }

  Status Choose(CublasLtHandle handle, CublasLtMatmulDesc desc, CublasLtPreference preference,
                const uint32_t* alignments) {
    const CublasLtFunctions& blas = blas_;
    WEIR_RETURN_IF_CUBLAS_ERROR(blas.MatmulPreferenceSetAttribute(preference, kCublasLtPreferenceMaxWorkspaceBytes,
                                                                  &kMaxWorkspace, sizeof(kMaxWorkspace)),
                                "choosing an algorithm");
    constexpr CublasLtPreferenceAttribute kAlignments[] = {
        kCublasLtPreferenceMinAlignmentABytes, kCublasLtPreferenceMinAlignmentBBytes,
        kCublasLtPreferenceMinAlignmentCBytes, kCublasLtPreferenceMinAlignmentDBytes};
    for (int i = 0; i < 4; ++i) {
      WEIR_RETURN_IF_CUBLAS_ERROR(
          blas.MatmulPreferenceSetAttribute(preference, kAlignments[i], &alignments[std::min(i, 2)], sizeof(uint32_t)),
          "choosing an algorithm");
    }
    std::vector<CublasLtHeuristicResult> results(std::max<size_t>(MostMeasured(kMostAlgorithms), 1));
    int count = 0;
    WEIR_RETURN_IF_CUBLAS_ERROR(blas.MatmulAlgoGetHeuristic(handle, desc, b_, a_, out_, out_, preference,
                                                            static_cast<int>(results.size()), results.data(), &count),
                                "choosing an algorithm");
    absl::MutexLock lock(&mu_);
    for (const CublasLtHeuristicResult& result : std::span(results).first(static_cast<size_t>(count))) {
      if (result.state == kCublasSuccess) algorithms_.push_back({result.algo, result.workspace_size});
    }
    return algorithms_.empty() ? Unimplemented("cuBLASLt has no algorithm for a product") : OkStatus();
  }

  const CublasLtFunctions& blas_;
  CublasLtLayout a_ = nullptr, b_ = nullptr, out_ = nullptr;
  absl::Mutex mu_;
  std::vector<Algorithm> algorithms_ ABSL_GUARDED_BY(mu_);  // the likely fastest first
  int runs_ ABSL_GUARDED_BY(mu_) = 0;
};

// The handle and the plans of one GPU's context. Thread-safe; never destroyed.
class ProductPlans {
 public:
  static StatusOr<ProductPlans*> Of(ContextHandle context) {
    static absl::Mutex mu;
    static auto* all = new std::map<ContextHandle, std::unique_ptr<ProductPlans>>;
    absl::MutexLock lock(&mu);
    std::unique_ptr<ProductPlans>& plans = (*all)[context];
    if (plans == nullptr) {
      WEIR_ASSIGN_OR_RETURN(const CublasLtFunctions* functions, LoadCublasLt());
      auto made = std::make_unique<ProductPlans>(*functions);
      WEIR_RETURN_IF_ERROR(CheckCublas(*functions, functions->Create(&made->handle_), "starting cuBLASLt"));
      plans = std::move(made);
    }
    return plans.get();
  }
  explicit ProductPlans(const CublasLtFunctions& blas) : blas_(blas) {}

  CublasLtHandle handle() const { return handle_; }

  StatusOr<std::shared_ptr<ProductPlan>> Find(const MatrixProduct& p, const ProductTypes& types, DeviceAddress a,
                                              DeviceAddress b, DeviceAddress out) {
    const uint32_t alignments[] = {AlignmentOf(b), AlignmentOf(a), AlignmentOf(out)};
    const int64_t numbers[] = {types.data,    types.output,  types.compute, p.batch,       p.m,           p.n,
                               p.k,           p.transpose_a, p.transpose_b, p.conjugate_a, p.conjugate_b, p.a_row,
                               p.b_row,       p.out_row,     p.a_step,      p.b_step,      p.out_step,    p.beta != 0,
                               EpilogueOf(p), alignments[0], alignments[1], alignments[2]};
    const std::string key(reinterpret_cast<const char*>(numbers), sizeof(numbers));
    absl::MutexLock lock(&mu_);
    std::shared_ptr<ProductPlan>& plan = plans_[key];
    if (plan == nullptr) {
      auto made = std::make_shared<ProductPlan>(blas_);
      WEIR_RETURN_IF_ERROR(made->Make(handle_, p, types, alignments));
      plan = std::move(made);
    }
    return plan;
  }

 private:
  const CublasLtFunctions& blas_;
  CublasLtHandle handle_ = nullptr;
  absl::Mutex mu_;
  StringMap<std::shared_ptr<ProductPlan>> plans_ ABSL_GUARDED_BY(mu_);
};

std::atomic<bool>& TensorFloat32() {
  static std::atomic<bool> allowed = [] {
    const char* value = std::getenv("WEIR_CUDA_TF32");
    return value == nullptr || std::string_view(value) != "0";
  }();
  return allowed;
}

}  // namespace

bool AllowsTensorFloat32() { return TensorFloat32().load(std::memory_order_relaxed); }
void SetTensorFloat32(bool allowed) { TensorFloat32().store(allowed, std::memory_order_relaxed); }

bool HasEpilogues(DType dtype) { return dtype == DType::kFloat || dtype == DType::kHalf || dtype == DType::kBFloat16; }

Status Multiply(KernelContext& ctx, const MatrixProduct& product, DeviceAddress a, DeviceAddress b, DeviceAddress out) {
  WEIR_ASSIGN_OR_RETURN(const ProductTypes types, TypesOf(product.dtype, product.output));
  if (product.batch > int64_t{1} << 30) return Unimplemented("A batch of ", product.batch, " products");
  const ContextHandle context = RunOf(ctx).stream().context();
  UseContext(context);
  WEIR_ASSIGN_OR_RETURN(ProductPlans * plans, ProductPlans::Of(context));
  WEIR_ASSIGN_OR_RETURN(auto plan, plans->Find(product, types, a, b, out));
  return plan->Run(ctx, plans->handle(), product, types, a, b, out);
}

}  // namespace weir::cuda
