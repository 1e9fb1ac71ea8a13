// Callbacks for training in several processes (weir/client/collective_ops.h).
#ifndef WEIR_CLIENT_NN_COLLECTIVE_CALLBACKS_H_
#define WEIR_CLIENT_NN_COLLECTIVE_CALLBACKS_H_

#include "weir/base/export.h"
#include "weir/client/nn/callbacks.h"

namespace WEIR_PUBLIC weir {
namespace nn::callback {

// When training begins, all ranks get the root's variables, the optimizer's too.
CallbackPtr BroadcastVariables(int root = 0);

// Loss and metrics of an epoch become averages over all ranks, for the callbacks after it and the history.
CallbackPtr AverageMetrics();

struct WarmupOptions {
  double learning_rate = 0.001;  // to be reached: usually the one for one rank times the number of ranks
  int64_t epochs = 5;
  int64_t steps_per_epoch = 0;  // 0: the rate changes between epochs only
};
// Raises the rate from learning_rate / ranks to learning_rate in equal steps.
CallbackPtr LearningRateWarmup(const WarmupOptions& options);

}  // namespace nn::callback
}  // namespace weir

#endif  // WEIR_CLIENT_NN_COLLECTIVE_CALLBACKS_H_
