#include "weir/device/cpu/elementwise.h"
#include "weir/device/cpu/special_functions.h"
#include "weir/ops/random/register.h"

namespace weir {
namespace {

struct GammaGradOp {
  template <typename T>
  static T Do(T alpha, T x) {
    return static_cast<T>(GammaSampleGrad(static_cast<double>(alpha), static_cast<double>(x)));
  }
};

}  // namespace

void RegisterGammaGradKernels(KernelRegistry& registry) {
  RegisterBinary<GammaGradOp>(registry, "RandomGammaGrad", TypeList<float, double>{});
}

}  // namespace weir
