// MatrixSquareRoot and MatrixLogarithm.
#include <limits>

#include "weir/ops/linalg/decompositions.h"
#include "weir/ops/linalg/matrix_batch.h"
#include "weir/ops/linalg/register.h"

namespace weir {
namespace {

using linalg::Batch;

struct SquareRoot {
  static void Run(const linalg::Complex* a, int64_t n, linalg::Complex* out) { linalg::SquareRoot(a, n, out); }
};
struct Logarithm {
  static void Run(const linalg::Complex* a, int64_t n, linalg::Complex* out) { linalg::Logarithm(a, n, out); }
};

template <typename T, typename Function>
class MatrixFunctionKernel : public Kernel {
 public:
  using C = std::complex<double>;
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(Batch batch, linalg::SquareInput(ctx));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, ctx.input(0).shape()));
    const int64_t n = batch.rows;
    if (n == 0) return OkStatus();
    return linalg::ForMatrices(ctx, batch.count(), 30 * linalg::Cube(n), [&](int64_t i) {
      const std::vector<C> matrix = linalg::Widened<T>(ctx.input(0), i, n * n);
      std::vector<C> result(matrix.size(), C(std::numeric_limits<double>::quiet_NaN()));
      if (linalg::AllFinite(matrix)) Function::Run(matrix.data(), n, result.data());
      if constexpr (!kIsComplex<T>) CheckReal(result);
      linalg::Narrow(result, out->data<T>() + i * n * n);
      return OkStatus();
    });
  }

 private:
  // A real matrix whose root is not real has none.
  static void CheckReal(std::vector<C>& result) {
    double size = 0, imaginary = 0;
    for (const C& x : result) {
      size = std::max(size, std::abs(x.real()));
      imaginary = std::max(imaginary, std::abs(x.imag()));
    }
    if (imaginary > 1e-6 * size) std::fill(result.begin(), result.end(), C(std::numeric_limits<double>::quiet_NaN()));
  }
};

template <typename Function, typename... Ts>
void RegisterFunction(KernelRegistry& registry, std::string_view op, TypeList<Ts...>) {
  (registry.Add(KernelBuilder(op).Types("T", TypeList<Ts>{}), MakeKernel<MatrixFunctionKernel<Ts, Function>>), ...);
}

}  // namespace

void RegisterMatrixFunctionKernels(KernelRegistry& registry) {
  RegisterFunction<SquareRoot>(registry, "MatrixSquareRoot", linalg::SolverTypes{});
  RegisterFunction<Logarithm>(registry, "MatrixLogarithm", ComplexTypes{});
}

}  // namespace weir
