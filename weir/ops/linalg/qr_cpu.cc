// Qr by Householder reflections.
#include "weir/ops/linalg/decompositions.h"
#include "weir/ops/linalg/matrix_batch.h"
#include "weir/ops/linalg/register.h"

namespace weir {
namespace {

using linalg::Batch;

template <typename T>
class QrKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<QrKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->full_, init.Attr<bool>("full_matrices"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    using C = std::complex<double>;
    WEIR_ASSIGN_OR_RETURN(std::vector<Batch> batches, linalg::BatchInputs(ctx, 1));
    const int64_t m = batches[0].rows, n = batches[0].columns, k = full_ ? m : std::min(m, n);
    WEIR_ASSIGN_OR_RETURN(Shape q_shape, linalg::WithOuter(batches[0].outer, {m, k}));
    WEIR_ASSIGN_OR_RETURN(Shape r_shape, linalg::WithOuter(batches[0].outer, {k, n}));
    WEIR_ASSIGN_OR_RETURN(Tensor * q, ctx.AllocateOutput(0, q_shape));
    WEIR_ASSIGN_OR_RETURN(Tensor * r, ctx.AllocateOutput(1, r_shape));
    if (q->num_elements() == 0) return OkStatus();
    const double operations = 4.0 * static_cast<double>(m) * static_cast<double>(n + k) * static_cast<double>(k);
    return linalg::ForMatrices(ctx, batches[0].count(), operations, [&](int64_t i) {
      std::vector<C> q_values(static_cast<size_t>(m * k)), r_values(static_cast<size_t>(k * n));
      if (n == 0) {
        for (int64_t d = 0; d < k; ++d) q_values[d * k + d] = C(1);
      } else {
        linalg::FactorQr(linalg::Widened<T>(ctx.input(0), i, m * n).data(), m, n, k, q_values.data(), r_values.data());
      }
      linalg::Narrow(q_values, q->data<T>() + i * m * k);
      linalg::Narrow(r_values, r->data<T>() + i * k * n);
      return OkStatus();
    });
  }

 private:
  bool full_ = false;
};

template <typename... Ts>
void RegisterAll(KernelRegistry& registry, TypeList<Ts...>) {
  (registry.Add(KernelBuilder("Qr").Types("T", TypeList<Ts>{}), MakeKernel<QrKernel<Ts>>), ...);
}

}  // namespace

void RegisterQrKernels(KernelRegistry& registry) { RegisterAll(registry, TypeList<Half>{} + linalg::SolverTypes{}); }

}  // namespace weir
