// Callbacks for training in several processes (weir/client/collective_ops.h).
#ifndef WEIR_CLIENT_NN_COLLECTIVE_CALLBACKS_H_
#define WEIR_CLIENT_NN_COLLECTIVE_CALLBACKS_H_

#include "weir/base/export.h"
#include "weir/client/elastic_state.h"
#include "weir/client/nn/callbacks.h"

namespace WEIR_PUBLIC weir {
namespace nn::callback {

// At the start of training, copies the root's variables, including the optimizer's, to all ranks.
CallbackPtr BroadcastVariables(int root = 0);

// Averages the loss and metrics of each epoch over all ranks, for later callbacks and the history.
CallbackPtr AverageMetrics();

struct WarmupOptions {
  double learning_rate = 0.001;  // the final rate: usually the rate for a single rank times the number of ranks
  int64_t epochs = 5;
  int64_t steps_per_epoch = 0;  // 0: the rate only changes between epochs
};
// Raises the rate from learning_rate / ranks to learning_rate in equal steps.
CallbackPtr LearningRateWarmup(const WarmupOptions& options);

struct CommitOptions {
  int64_t every_batches = 0;  // 0: only after epochs
  std::string epoch;          // the number in the state that holds the next epoch to train; empty: none
};
// Commits the state of an elastic job (weir/client/elastic_state.h) after epochs and batches. If Fit restarts in the
// middle of an epoch, it repeats that epoch from its beginning.
CallbackPtr CommitState(collective::SessionState& state, const CommitOptions& options = {});

}  // namespace nn::callback
}  // namespace weir

#endif  // WEIR_CLIENT_NN_COLLECTIVE_CALLBACKS_H_
