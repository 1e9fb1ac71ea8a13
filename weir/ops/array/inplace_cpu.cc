// Rows replaced or added to: InplaceUpdate, InplaceAdd, InplaceSub. They change their input where nobody else holds it.
#include "weir/device/cpu/index_input.h"
#include "weir/device/cpu/scatter_nd.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/array/kernel_shapes.h"
#include "weir/ops/array/register.h"

namespace weir {
namespace {

class InplaceKernel : public Kernel {
 public:
  explicit InplaceKernel(ScatterOp op) : op_(op) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor i = ctx.input(1), v = ctx.input(2);
    const Shape shape = ctx.input(0).shape();
    WEIR_RETURN_IF_ERROR(CheckInplace(shape, i.shape(), v.shape()));
    Tensor x = ctx.TakeInput(0);
    if (!x.unique()) {
      WEIR_ASSIGN_OR_RETURN(x, x.Clone());
    }
    if (x.num_elements() > 0 && i.num_elements() > 0) {
      // Indices wrap around.
      WEIR_ASSIGN_OR_RETURN(Tensor rows, ctx.AllocateTemp(DType::kInt64, Shape({i.dim(0), 1})));
      const int64_t n = shape.dim(0);
      for (int64_t k = 0; k < i.dim(0); ++k) {
        int64_t row = i.data<int32_t>()[k];
        rows.data<int64_t>()[k] = (row % n + n) % n;
      }
      WEIR_RETURN_IF_ERROR(ScatterNdInto(ctx, op_, rows, v, x, false));
    }
    ctx.set_output(0, std::move(x));
    return OkStatus();
  }

 private:
  const ScatterOp op_;
};

void Add(KernelRegistry& registry, std::string_view name, ScatterOp op) {
  registry.Add(KernelBuilder(name), [op](const KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    const DType type = init.input_type(0);
    const bool is_number = type != DType::kBool && type != DType::kString;
    if (op != ScatterOp::kAssign && !(is_number && CanScatter(op, type))) {
      return InvalidArgument("Unsupported data type: ", Name(type));
    }
    return std::make_unique<InplaceKernel>(op);
  });
}

}  // namespace

void RegisterInplaceKernels(KernelRegistry& registry) {
  Add(registry, "InplaceUpdate", ScatterOp::kAssign);
  Add(registry, "InplaceAdd", ScatterOp::kAdd);
  Add(registry, "InplaceSub", ScatterOp::kSub);
}

}  // namespace weir
