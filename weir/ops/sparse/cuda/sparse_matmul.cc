// SparseTensorDenseMatMul on GPUs.
#include "weir/device/cpu/index_input.h"
#include "weir/device/cuda/launch.h"
#include "weir/ops/cuda/register.h"

namespace weir::cuda {
namespace {

class GpuSparseMatMulKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<GpuSparseMatMulKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->adjoint_a_, init.Attr<bool>("adjoint_a"));
    WEIR_ASSIGN_OR_RETURN(kernel->adjoint_b_, init.Attr<bool>("adjoint_b"));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &b = ctx.input(3);
    if (!b.shape().IsMatrix()) return InvalidArgument("Tensor 'b' is not a matrix");
    if (ctx.input(2).num_elements() != 2) return InvalidArgument("Tensor 'a_shape' must have 2 elements");
    if (!indices.shape().IsMatrix()) return InvalidArgument("Tensor 'a_indices' is not a matrix");
    if (indices.dim(1) != 2) {
      return InvalidArgument("Number of columns of a_indices does not match number of entries in a_shape");
    }
    if (!values.shape().IsVector() || values.dim(0) != indices.dim(0)) {
      return InvalidArgument("Number of rows of a_indices does not match number of entries in a_values");
    }
    WEIR_ASSIGN_OR_RETURN(Shape a, ShapeInput(ctx.input(2), "a_shape"));
    const int row_of = adjoint_a_ ? 1 : 0;
    struct {  // as in the source
      int64_t count, rows, inner, columns;
      int32_t adjoint_a, adjoint_b;
    } product = {indices.dim(0), a.dim(row_of), a.dim(1 - row_of), b.dim(adjoint_b_ ? 0 : 1), adjoint_a_, adjoint_b_};
    const int64_t inner_b = b.dim(adjoint_b_ ? 1 : 0);
    if (product.inner != inner_b) {
      return InvalidArgument("Cannot multiply A and B because inner dimension does not match: ", product.inner, " vs. ",
                             inner_b, ".  Did you forget a transpose?  Dimensions of A: [", a.dim(0), ", ", a.dim(1),
                             ").  Dimensions of B: ", b.shape().ToString());
    }
    const int64_t dims[] = {product.rows, product.columns};
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const DType dtype = out->dtype();
    Tensor wide = *out;
    if (dtype == DType::kHalf || dtype == DType::kBFloat16) {
      WEIR_ASSIGN_OR_RETURN(wide, ctx.AllocateTemp(DType::kFloat, shape));
    }
    WEIR_RETURN_IF_ERROR(FillZero(ctx, Address(wide), wide.num_bytes()));
    WEIR_ASSIGN_OR_RETURN(
        DeviceAddress error,
        ErrorWord(ctx, InvalidArgument("An index of a_indices is out of bounds of a_shape ", a.ToString())));
    const bool in_order = ctx.step().deterministic;
    const std::string types = Cat(DeviceTypeName(dtype), ", ", DeviceTypeName(indices.dtype()));
    WEIR_RETURN_IF_ERROR(LaunchOver(ctx, Function(Cat(in_order ? "AddProductsInOrder<" : "AddProducts<", types, ">")),
                                    in_order ? product.columns : product.count * product.columns, product,
                                    Address(indices), Address(values), Address(b), Address(wide), error));
    if (Address(wide) == Address(*out)) return OkStatus();
    return LaunchOver(ctx, Function(Cat("NarrowSums<", DeviceTypeName(dtype), ">")), shape.num_elements(),
                      Address(wide), Address(*out), shape.num_elements());
  }

 private:
  static DeviceFunction Function(std::string name) {
    return {"weir/ops/sparse/cuda/sparse_matmul.cu", std::move(name)};
  }

  bool adjoint_a_ = false, adjoint_b_ = false;
};

}  // namespace

void RegisterSparseMatMulKernels(GpuRegistry& registry) {
  registry.Add("SparseTensorDenseMatMul", MakeKernel<GpuSparseMatMulKernel>);
}

}  // namespace weir::cuda
