#include "weir/device/cpu/arithmetic.h"
#include "weir/framework/kernel_registry.h"
#include "weir/ops/math/kernel_shapes.h"
#include "weir/ops/math/register.h"

namespace weir {
namespace {

// The vector product of rows of three.
class CrossKernel : public Kernel {
 public:
  Status Compute(KernelContext& ctx) override {
    const Tensor a = ctx.input(0), b = ctx.input(1);
    WEIR_RETURN_IF_ERROR(CheckCross(a.shape(), b.shape()));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, a.shape()));
    DispatchDType(a.dtype(), RealTypes{}, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T *x = a.data<T>(), *y = b.data<T>();
      T* to = out->data<T>();
      for (int64_t i = 0; i < a.num_elements(); i += 3) {
        for (int k = 0; k < 3; ++k) {
          const int p = (k + 1) % 3, q = (k + 2) % 3;
          to[i + k] = static_cast<T>(
              WrapSub(WrapMul(Widen(x[i + p]), Widen(y[i + q])), WrapMul(Widen(x[i + q]), Widen(y[i + p]))));
        }
      }
    });
    return OkStatus();
  }
};

}  // namespace

void RegisterCrossKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("Cross").Types("T", RealTypes{}), MakeKernel<CrossKernel>);
}

}  // namespace weir
