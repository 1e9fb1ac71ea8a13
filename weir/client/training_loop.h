// TrainUntil: a training loop that survives: it begins with the last checkpoint of a folder if there is one, saves now
// and then and at the end, writes summaries, and stops when it is told to.
#ifndef WEIR_CLIENT_TRAINING_LOOP_H_
#define WEIR_CLIENT_TRAINING_LOOP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "weir/client/client_session.h"
#include "weir/client/optimizer.h"

namespace weir {

// What may happen around steps. An error ends the loop; the model is saved first where that is possible.
class TrainingHook {
 public:
  virtual ~TrainingHook() = default;
  virtual Status OnBegin(ClientSession& session, int64_t step) { return OkStatus(); }
  // `step` steps are done; `loss` as the step gave it. Setting `stop` ends the loop.
  virtual Status OnStep(ClientSession& session, int64_t step, double loss, bool* stop) { return OkStatus(); }
  virtual Status OnEnd(ClientSession& session, int64_t step) { return OkStatus(); }
};

struct TrainingLoopOptions {
  std::string folder;  // of checkpoints and event files; empty: neither is written
  int64_t last_step = 0;
  int64_t save_every_steps = 0;
  absl::Duration save_every = absl::Minutes(10);
  int max_to_keep = 5;
  int64_t summary_every_steps = 100;
  std::map<std::string, Output> summaries;  // scalars; the loss is one by itself
  // The feeds of the step after `step`. OUT_OF_RANGE: the data are used up, which ends the loop.
  std::function<StatusOr<ClientSession::Feeds>(int64_t step)> feeds;
  std::vector<std::shared_ptr<TrainingHook>> hooks;
};

// Initialises or restores the graph's variables, then runs steps. Returns how many there are now.
StatusOr<int64_t> TrainUntil(ClientSession& session, const Training& training, const Output& loss,
                             const TrainingLoopOptions& options);

}  // namespace weir

#endif  // WEIR_CLIENT_TRAINING_LOOP_H_
