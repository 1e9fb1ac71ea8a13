// StridedSliceAssign, ResourceStridedSliceAssign: writes a value, broadcast, into a slice of a variable.
#include "weir/device/cpu/strided_slice.h"
#include "weir/ops/state/register.h"
#include "weir/ops/state/update_variable.h"

namespace weir {
namespace {

class StridedSliceAssignKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<StridedSliceAssignKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->masks_, StridedSliceMasks::FromAttrs(init));
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    Tensor value = ctx.input(4);
    return state::UpdateVariable(ctx, value.dtype(), [&](Tensor& tensor) -> Status {
      WEIR_ASSIGN_OR_RETURN(SolvedSlice slice,
                            SolveStridedSlice(tensor.shape(), ctx.input(1), ctx.input(2), ctx.input(3), masks_));
      WEIR_RETURN_IF_ERROR(CheckAssignable(slice, value.shape()));
      // A ref variable's own memory may come back as the value.
      if (value.SharesBufferWith(tensor)) {
        WEIR_ASSIGN_OR_RETURN(value, value.Clone());
      }
      WEIR_RETURN_IF_ERROR(AssignSlice(ctx, slice, value, tensor.raw_data()));
      return OkStatus();
    });
  }

 private:
  StridedSliceMasks masks_;
};

}  // namespace

void RegisterStridedSliceAssignKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("StridedSliceAssign"), MakeKernel<StridedSliceAssignKernel>);
  registry.Add(KernelBuilder("ResourceStridedSliceAssign"), MakeKernel<StridedSliceAssignKernel>);
}

}  // namespace weir
