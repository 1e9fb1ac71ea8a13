// Svd: singular values, largest first, and their vectors.
#include <limits>

#include "weir/ops/linalg/decompositions.h"
#include "weir/ops/linalg/matrix_batch.h"
#include "weir/ops/linalg/register.h"

namespace weir {
namespace {

using linalg::Batch;

struct Outputs {
  Tensor *s = nullptr, *u = nullptr, *v = nullptr;
};

template <typename T>
class SvdKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SvdKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->vectors_, init.Attr<bool>("compute_uv"));
    WEIR_ASSIGN_OR_RETURN(kernel->full_, init.Attr<bool>("full_matrices"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    WEIR_ASSIGN_OR_RETURN(std::vector<Batch> batches, linalg::BatchInputs(ctx, 1));
    const int64_t m = batches[0].rows, n = batches[0].columns, k = std::min(m, n);
    const Shape& outer = batches[0].outer;
    Outputs out;
    WEIR_ASSIGN_OR_RETURN(Shape s_shape, linalg::WithOuter(outer, {k}));
    WEIR_ASSIGN_OR_RETURN(out.s, ctx.AllocateOutput(0, s_shape));
    if (!vectors_) {
      for (int i = 1; i < 3; ++i) {
        WEIR_ASSIGN_OR_RETURN(Tensor * unused, ctx.AllocateOutput(i, Shape()));
        *unused->data<T>() = T(0);
      }
    } else {
      WEIR_ASSIGN_OR_RETURN(Shape u_shape, linalg::WithOuter(outer, {m, full_ ? m : k}));
      WEIR_ASSIGN_OR_RETURN(Shape v_shape, linalg::WithOuter(outer, {n, full_ ? n : k}));
      WEIR_ASSIGN_OR_RETURN(out.u, ctx.AllocateOutput(1, u_shape));
      WEIR_ASSIGN_OR_RETURN(out.v, ctx.AllocateOutput(2, v_shape));
    }
    const double operations = 20.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    return linalg::ForMatrices(ctx, batches[0].count(), operations, [&](int64_t i) {
      One(linalg::Widened<T>(ctx.input(0), i, m * n), m, n, out, i);
      return OkStatus();
    });
  }

 private:
  using C = std::complex<double>;

  void One(const std::vector<C>& matrix, int64_t m, int64_t n, const Outputs& out, int64_t i) const {
    const int64_t k = std::min(m, n), u_columns = full_ ? m : k, v_columns = full_ ? n : k;
    std::vector<double> s(static_cast<size_t>(k));
    std::vector<C> u(static_cast<size_t>(vectors_ ? m * u_columns : 0)),
        v(static_cast<size_t>(vectors_ ? n * v_columns : 0));
    if (k == 0) {  // whatever basis
      for (int64_t d = 0; vectors_ && d < u_columns; ++d) u[d * u_columns + d] = C(1);
      for (int64_t d = 0; vectors_ && d < v_columns; ++d) v[d * v_columns + d] = C(1);
    } else if (!linalg::AllFinite(matrix)) {
      // TensorFlow leaves zeros for complex numbers.
      const double unknown = kIsComplex<T> ? 0 : std::numeric_limits<double>::quiet_NaN();
      for (double& x : s) x = unknown;
      for (std::vector<C>* vectors : {&u, &v}) {
        for (C& x : *vectors) x = unknown;
      }
    } else {
      linalg::FactorSvd(matrix.data(), m, n, full_, s.data(), vectors_ ? u.data() : nullptr,
                        vectors_ ? v.data() : nullptr);
    }
    linalg::Narrow(s, out.s->data<T>() + i * k);
    if (!vectors_) return;
    linalg::Narrow(u, out.u->data<T>() + i * m * u_columns);
    linalg::Narrow(v, out.v->data<T>() + i * n * v_columns);
  }

  bool vectors_ = true, full_ = false;
};

template <typename... Ts>
void RegisterAll(KernelRegistry& registry, TypeList<Ts...>) {
  for (std::string_view op : {"Svd", "BatchSvd"}) {
    (registry.Add(KernelBuilder(op).Types("T", TypeList<Ts>{}), MakeKernel<SvdKernel<Ts>>), ...);
  }
}

}  // namespace

void RegisterSvdKernels(KernelRegistry& registry) { RegisterAll(registry, linalg::SolverTypes{}); }

}  // namespace weir
