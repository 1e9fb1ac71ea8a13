// An operation of one's own with its gradient, in one file: built as a library, loaded at run time.
#include <cmath>

#include "weir/client/gradients.h"
#include "weir/client/load_library.h"
#include "weir/framework/kernel_registry.h"

namespace {

using namespace weir;

class HypotenuseKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Shape shape = ctx.input(0).shape();
    if (shape != ctx.input(1).shape()) {
      return InvalidArgument("Incompatible shapes: ", shape.ToString(), " vs. ", ctx.input(1).shape().ToString());
    }
    const float* x = ctx.input(0).data<float>();
    const float* y = ctx.input(1).data<float>();
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocateOutput({0, 1}, 0, shape));
    float* z = out->data<float>();
    ctx.ParallelFor(shape.num_elements(), /*unit_cost_ns=*/5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) z[i] = std::hypot(x[i], y[i]);
    });
    return OkStatus();
  }
};

// dz/dx = x / z, dz/dy = y / z, in operations that exist.
weir::Gradients HypotenuseGradient(GradientContext& g) {
  Value scale = g.Op("RealDiv", {g.grad(0), g.output(0)});
  return {g.Op("Mul", {scale, g.input(0)}), g.Op("Mul", {scale, g.input(1)})};
}

}  // namespace

WEIR_LIBRARY(environment) {
  WEIR_RETURN_IF_ERROR(environment->ops.RegisterTable(R"(
    op Hypotenuse(x: T, y: T) -> (z: T)
      T: {f32}
      shape broadcast
      gradient yes
      doc "Square root of x * x + y * y."
  )",
                                                      "custom_op"));
  environment->kernels.Add(KernelBuilder("Hypotenuse"), MakeKernel<HypotenuseKernel>);
  weir::BuiltinGradients().Add("Hypotenuse", HypotenuseGradient);
  return weir::OkStatus();
}
