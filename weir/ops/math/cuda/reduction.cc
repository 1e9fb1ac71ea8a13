// Sum, Mean, Max and their kin on GPUs.
#include "weir/device/cuda/reduction.h"

#include "weir/ops/cuda/register.h"
#include "weir/ops/math/reduction.h"

namespace weir::cuda {
namespace {

class ReductionKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<ReductionKernel>();
    WEIR_ASSIGN_OR_RETURN(kernel->keep_dims_, init.Attr<bool>("keep_dims"));
    kernel->operation_ = init.schema().name;
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    WEIR_ASSIGN_OR_RETURN(AxisMask axes, ReducedAxes(ctx.input(1), in.rank()));
    const std::vector<bool> reduced(axes.begin(), axes.end());
    std::vector<int64_t> dims;
    for (int d = 0; d < in.rank(); ++d) {
      if (!reduced[d]) dims.push_back(in.dim(d));
      if (reduced[d] && keep_dims_) dims.push_back(1);
    }
    WEIR_ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    return Reduce(ctx, operation_, in, reduced, *out);
  }

 private:
  std::string operation_;
  bool keep_dims_ = false;
};

}  // namespace

void RegisterReductionKernels(GpuRegistry& registry) {
  for (const char* op : {"All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"}) {
    registry.Add(op, MakeKernel<ReductionKernel>);
  }
}

}  // namespace weir::cuda
