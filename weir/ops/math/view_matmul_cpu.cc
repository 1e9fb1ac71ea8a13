// Products of matrices that take transposed operands, and give a transposed result, without copying them
// (passes/fold_transposes.h).
#include <optional>
#include <vector>

#include "weir/device/cpu/strided_copy.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/matmul.h"
#include "weir/ops/math/matmul_views.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

class ViewMatMulKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ViewMatMulKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->spec_, ViewProductSpec::Read(init));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor x = ctx.input(0), y = ctx.input(1);
    WEIR_ASSIGN_OR_RETURN(const ViewProduct views, spec_.Views(x.shape(), y.shape()));
    const auto& [a, b, out, shape] = views;
    WEIR_ASSIGN_OR_RETURN(Tensor * result, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const float *from_a = x.data<float>() + a.offset, *from_b = y.data<float>() + b.offset;
    float* to = result->data<float>();
    const StridedProduct product = {out.dims[0], out.dims[1], out.dims[2], out.dims[3],
                                    a.dims[3],   Strides(a),  Strides(b),  Strides(out)};
    if (HasRows(a) && HasRows(b) && out.strides[3] == 1 && MultiplyStridedMatrices(ctx, product, from_a, from_b, to)) {
      return OkStatus();
    }
    return OneByOne(ctx, product, from_a, from_b, to);
  }

 private:
  static MatrixStrides Strides(const MatrixView4& view) {
    return {view.strides[0], view.strides[1], view.strides[2], view.strides[3]};
  }
  static bool HasRows(const MatrixView4& view) { return view.strides[2] == 1 || view.strides[3] == 1; }

  static Status OneByOne(KernelContext& ctx, const StridedProduct& p, const float* a, const float* b, float* out) {
    const int64_t dims[] = {p.m, p.n}, dense[] = {p.n, 1}, strides[] = {p.out.row, p.out.column};
    WEIR_ASSIGN_OR_RETURN(Tensor apart, Tensor::Allocate(DType::kFloat, Shape({p.m, p.n})));
    for (int64_t i = 0; i < p.outer; ++i) {
      for (int64_t j = 0; j < p.inner; ++j) {
        MultiplyFloatMatrices(ctx, {a + i * p.a.outer + j * p.a.inner, p.a.row, p.a.column, 0},
                              {b + i * p.b.outer + j * p.b.inner, p.b.row, p.b.column, 0}, apart.data<float>(), p.m,
                              p.n, p.k);
        WEIR_RETURN_IF_ERROR(StridedCopy(ctx, DType::kFloat, dims, apart.data<float>(), dense,
                                         out + i * p.out.outer + j * p.out.inner, strides));
      }
    }
    return OkStatus();
  }

  ViewProductSpec spec_;
};

}  // namespace

void RegisterViewMatMulKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("_BatchMatMulOfViews").Types("T", TypeList<float>{}), MakeKernel<ViewMatMulKernel>);
}

}  // namespace weir
