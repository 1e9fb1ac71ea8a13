// Loss scaling, for training in float16. Gradients that would underflow in float16 are computed from a scaled loss; the
// scale adapts to the gradients, like that of TensorFlow's LossScaleOptimizer.
//
//   Training training = optimizer::Adam().Minimize(root, loss, {.loss_scale = LossScaleOptions()});
#ifndef WEIR_CLIENT_LOSS_SCALE_H_
#define WEIR_CLIENT_LOSS_SCALE_H_

#include <cstdint>

#include "weir/base/export.h"
#include "weir/client/variable.h"

namespace WEIR_PUBLIC weir {

struct LossScaleOptions {
  double initial = 1 << 15;
  int64_t growth_interval = 2000;  // the scale doubles after this many consecutive updates with finite gradients
};

// The loss scale of a graph, in the variables `current_loss_scale` and `good_steps`. A step whose gradients are not
// finite only updates the scale, which it halves (but not below 1).
class LossScale {
 public:
  LossScale() = default;  // no scaling
  explicit LossScale(const Scope& scope, const LossScaleOptions& options = {});

  bool has_value() const { return scale_.has_value(); }
  // Returns the scaled loss, to be differentiated instead of `loss`.
  Output Scale(const Scope& scope, const Output& loss) const;

  const Variable& scale() const { return scale_; }
  const Variable& good_steps() const { return good_steps_; }
  int64_t growth_interval() const { return growth_interval_; }

 private:
  Variable scale_, good_steps_;
  int64_t growth_interval_ = 0;
};

}  // namespace weir

#endif  // WEIR_CLIENT_LOSS_SCALE_H_
