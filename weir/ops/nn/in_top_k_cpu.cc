// InTopK, InTopKV2.
#include <cmath>

#include "weir/device/cpu/index_input.h"
#include "weir/ops/nn/register.h"

namespace weir {
namespace {

// Whether fewer than `k` predictions are larger than the target's. A target out of range, or one among predictions
// that are not finite, is not in the top k.
bool IsInTopK(const float* predictions, int64_t classes, int64_t target, int64_t k) {
  if (target < 0 || target >= classes || !std::isfinite(predictions[target])) return false;
  int64_t larger = 0;
  for (int64_t i = 0; i < classes; ++i) {
    if (!std::isfinite(predictions[i])) return false;
    if (predictions[i] > predictions[target] && ++larger >= k) return false;
  }
  return larger < k;
}

class InTopKKernel : public Kernel {
 public:
  static StatusOr<std::unique_ptr<Kernel>> Make(const KernelInit& init) {
    auto kernel = std::make_unique<InTopKKernel>();
    if (init.num_inputs() == 2) {
      WEIR_ASSIGN_OR_RETURN(kernel->k_, init.Attr<int64_t>("k"));
    }
    return kernel;
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& predictions = ctx.input(0);
    const Tensor& targets = ctx.input(1);
    int64_t k = k_;
    if (ctx.num_inputs() == 3) {
      if (!ctx.input(2).shape().IsScalar()) {
        return InvalidArgument("k must be 0-D, got shape ", ctx.input(2).shape().ToString());
      }
      WEIR_ASSIGN_OR_RETURN(k, IntScalar(ctx.input(2), "k"));
    }
    if (!predictions.shape().IsMatrix()) return InvalidArgument("predictions must be 2-dimensional");
    if (!targets.shape().IsVector()) return InvalidArgument("targets must be 1-dimensional");
    if (predictions.dim(0) != targets.dim(0)) {
      return InvalidArgument("First dimension of predictions ", predictions.dim(0), " must match length of targets ",
                             targets.dim(0));
    }
    WEIR_ASSIGN_OR_RETURN(Dims classes, IntElements(targets, "targets"));
    WEIR_ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, targets.shape()));
    const int64_t n = predictions.dim(1);
    for (size_t i = 0; i < classes.size(); ++i) {
      out->data<bool>()[i] = IsInTopK(predictions.data<float>() + static_cast<int64_t>(i) * n, n, classes[i], k);
    }
    return OkStatus();
  }

 private:
  int64_t k_ = 0;
};

}  // namespace

void RegisterInTopKKernels(KernelRegistry& registry) {
  registry.Add(KernelBuilder("InTopK").Types("T", IndexTypes{}), MakeKernel<InTopKKernel>);
  registry.Add(KernelBuilder("InTopKV2").Types("T", IndexTypes{}), MakeKernel<InTopKKernel>);
}

}  // namespace weir
