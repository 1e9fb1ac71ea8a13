// Callbacks for training in several processes (weir/client/collective_ops.h).
#ifndef WEIR_CLIENT_NN_COLLECTIVE_CALLBACKS_H_
#define WEIR_CLIENT_NN_COLLECTIVE_CALLBACKS_H_

#include "weir/base/export.h"
#include "weir/client/elastic_state.h"
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

struct CommitOptions {
  int64_t every_batches = 0;  // 0: after epochs only
  std::string epoch;          // a number of the state that becomes the next epoch to be trained; empty: none
};
// Commits the state of an elastic job (weir/client/elastic_state.h) after epochs and batches. Where Fit begins anew
// within an epoch, it begins that epoch anew.
CallbackPtr CommitState(collective::SessionState& state, const CommitOptions& options = {});

}  // namespace nn::callback
}  // namespace weir

#endif  // WEIR_CLIENT_NN_COLLECTIVE_CALLBACKS_H_
