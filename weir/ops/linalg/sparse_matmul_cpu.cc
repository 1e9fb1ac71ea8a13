// SparseMatMul: a product of matrices of float or bfloat16 in which many elements may be zero.
#include <vector>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/contraction.h"
#include "weir/ops/linalg/register.h"

namespace weir {
namespace {

std::vector<float> Floats(const Tensor& tensor) {
  std::vector<float> out(static_cast<size_t>(tensor.num_elements()));
  DispatchDType(tensor.dtype(), TypeList<float, BFloat16>{}, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (size_t i = 0; i < out.size(); ++i) out[i] = Widen(tensor.data<T>()[i]);
  });
  return out;
}

class SparseMatMulKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<SparseMatMulKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->transpose_a_, init.Attr<bool>("transpose_a"));
    WEIR_ASSIGN_OR_RETURN(kernel->transpose_b_, init.Attr<bool>("transpose_b"));
    return kernel;
  }
  Status Compute(KernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    if (a.rank() != 2) return InvalidArgument("a is not a matrix");
    if (b.rank() != 2) return InvalidArgument("b is not a matrix");
    const int64_t m = a.dim(transpose_a_), k = a.dim(!transpose_a_), n = b.dim(!transpose_b_);
    if (b.dim(transpose_b_) != k) {
      return InvalidArgument("Matrix size incompatible: a: ", a.shape().ToString(), ", b: ", b.shape().ToString());
    }
    const int64_t dims[] = {m, n};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return OkStatus();
    const std::vector<float> left = Floats(a), right = Floats(b);
    const MatrixOperand x{left.data(), transpose_a_ ? 1 : k, transpose_a_ ? m : 1, 0};
    const MatrixOperand y{right.data(), transpose_b_ ? 1 : n, transpose_b_ ? k : 1, 0};
    if (k > 0 && MultiplyMatrices(ctx, {1, m, n, k}, x, y, Epilogue(), out->data<float>())) return OkStatus();
    ctx.ParallelFor(m, static_cast<double>(n * k), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float* row = out->data<float>() + i * n;
        std::fill_n(row, n, 0.0f);
        for (int64_t p = 0; p < k; ++p) {
          const float factor = x.data[i * x.row_stride + p * x.column_stride];
          if (factor == 0) continue;
          for (int64_t j = 0; j < n; ++j) row[j] += factor * y.data[p * y.row_stride + j * y.column_stride];
        }
      }
    });
    return OkStatus();
  }

 private:
  bool transpose_a_ = false, transpose_b_ = false;
};

}  // namespace

void RegisterSparseMatMulKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("SparseMatMul"), MakeKernel<SparseMatMulKernel>);
}

}  // namespace weir
