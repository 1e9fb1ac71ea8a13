// SelfAdjointEigV2 and Eig: eigenvalues and, if wanted, eigenvectors.
#include <algorithm>
#include <cmath>
#include <complex>

#include "weir/ops/linalg/decompositions.h"
#include "weir/ops/linalg/matrix_batch.h"
#include "weir/ops/linalg/register.h"

namespace weir {
namespace {

using linalg::Batch;

class EigenvalueKernel : public Kernel {
 protected:
  static Status Read(const KernelInit& init, EigenvalueKernel& kernel) {
    WEIR_ASSIGN_OR_RETURN(kernel.vectors_, init.Attr<bool>("compute_v"));
    return OkStatus();
  }
  // Memory for both outputs; that of the vectors is a scalar if they are not wanted.
  template <typename Tout>
  Status Allocate(KernelContext& ctx, const Batch& batch, Tensor*& e, Tensor*& v) const {
    WEIR_ASSIGN_OR_RETURN(Shape values, linalg::WithOuter(batch.outer, {batch.rows}));
    WEIR_ASSIGN_OR_RETURN(e, ctx.AllocateOutput(0, values));
    WEIR_ASSIGN_OR_RETURN(v, ctx.AllocateOutput(1, vectors_ ? ctx.input(0).shape() : Shape()));
    if (!vectors_) *v->data<Tout>() = Tout(0);
    return OkStatus();
  }
  bool vectors_ = true;
};

// Reads the lower triangle only; the values are sorted.
template <typename T>
class SelfAdjointKernel : public EigenvalueKernel {
 public:
  using C = std::complex<double>;
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SelfAdjointKernel>();
    WEIR_RETURN_IF_ERROR(Read(init, *kernel));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Batch batch, linalg::SquareInput(ctx));
    const int64_t n = batch.rows;
    Tensor *e = nullptr, *v = nullptr;
    WEIR_RETURN_IF_ERROR(Allocate<T>(ctx, batch, e, v));
    if (n == 0) return OkStatus();
    return linalg::ForMatrices(ctx, batch.count(), 10 * linalg::Cube(n), [&](int64_t i) {
      std::vector<double> values(static_cast<size_t>(n));
      std::vector<C> vectors(static_cast<size_t>(vectors_ ? n * n : 0));
      if (!linalg::SelfAdjointEigenvalues(linalg::Widened<T>(ctx.input(0), i, n * n).data(), n, values.data(),
                                          vectors_ ? vectors.data() : nullptr)) {
        return InvalidArgument("Self-adjoint eigen decomposition was not successful. The input might not be valid.");
      }
      linalg::Narrow(values, e->data<T>() + i * n);
      if (vectors_) linalg::Narrow(vectors, v->data<T>() + i * n * n);
      return OkStatus();
    });
  }
};

template <typename T>
class EigKernel : public EigenvalueKernel {
 public:
  using Out = linalg::ComplexOf<T>;
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<EigKernel>();
    WEIR_RETURN_IF_ERROR(Read(init, *kernel));
    if (init.output_type(0) != kDTypeOf<Out>) {
      return InvalidArgument("Invalid output dtype ", static_cast<int>(init.output_type(0)), " vs ",
                             static_cast<int>(kDTypeOf<Out>));
    }
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Batch batch, linalg::SquareInput(ctx));
    const int64_t n = batch.rows;
    Tensor *e = nullptr, *v = nullptr;
    WEIR_RETURN_IF_ERROR(Allocate<Out>(ctx, batch, e, v));
    if (n == 0) return OkStatus();
    return linalg::ForMatrices(ctx, batch.count(), 25 * linalg::Cube(n), [&](int64_t i) {
      const T* given = ctx.input(0).data<T>() + i * n * n;
      const bool is_finite = std::all_of(
          given, given + n * n, [](const T& x) { return std::isfinite(std::real(x)) && std::isfinite(std::imag(x)); });
      if (!is_finite ||
          !linalg::Eigenvalues(given, n, e->data<Out>() + i * n, vectors_ ? v->data<Out>() + i * n * n : nullptr)) {
        return InvalidArgument("Eigen decomposition was not successful. The input might not be valid.");
      }
      return OkStatus();
    });
  }
};

template <typename... Ts>
void RegisterAll(KernelRegistry& registry, TypeList<Ts...>) {
  for (std::string_view op : {"SelfAdjointEigV2", "BatchSelfAdjointEigV2"}) {
    (registry.Add(KernelBuilder(op).Types("T", TypeList<Ts>{}), MakeKernel<SelfAdjointKernel<Ts>>), ...);
  }
  (registry.Add(KernelBuilder("Eig").Types("T", TypeList<Ts>{}), MakeKernel<EigKernel<Ts>>), ...);
}

}  // namespace

void RegisterEigenvalueKernels(KernelRegistry& registry) { RegisterAll(registry, linalg::SolverTypes{}); }

}  // namespace weir
