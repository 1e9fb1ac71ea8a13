// TrainUntil: a fault-tolerant training loop. It starts from the last checkpoint of a folder if there is one, saves
// regularly and at the end, writes summaries, and stops on request. On a cluster, it creates a new session when a task
// was lost, and continues from the last checkpoint.
#ifndef WEIR_CLIENT_TRAINING_LOOP_H_
#define WEIR_CLIENT_TRAINING_LOOP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "weir/base/export.h"
#include "weir/client/client_session.h"
#include "weir/client/optimizer.h"

namespace WEIR_PUBLIC weir {

// Callbacks around steps. An error ends the loop, after saving the model if possible.
class TrainingHook {
 public:
  virtual ~TrainingHook() = default;
  virtual Status OnBegin(ClientSession& session, int64_t step) { return OkStatus(); }
  // `step` steps have been done; `loss` is that of the last one. Setting `stop` ends the loop.
  virtual Status OnStep(ClientSession& session, int64_t step, double loss, bool* stop) { return OkStatus(); }
  virtual Status OnEnd(ClientSession& session, int64_t step) { return OkStatus(); }
  // The loop ends, or loses its session, with this error; the hook must not use the session any more. It may return an
  // error that explains the reason better.
  virtual Status OnError(ClientSession& session, const Status& error) { return error; }
};

struct TrainingLoopOptions {
  std::string folder;  // for checkpoints and event files; empty: neither is written
  int64_t last_step = 0;
  int64_t save_every_steps = 0;
  absl::Duration save_every = absl::Minutes(10);
  int max_to_keep = 5;
  // Continue with steps while a checkpoint is being written; the next save, or the end of the loop, reports an error of
  // that.
  bool save_in_background = false;
  int64_t summary_every_steps = 100;
  std::map<std::string, Output> summaries;  // scalars, in addition to the loss
  // Returns the feeds of the step after `step`. OUT_OF_RANGE means the end of the data and ends the loop.
  std::function<StatusOr<ClientSession::Feeds>(int64_t step)> feeds;
  // The position of training in the data, which is saved with every checkpoint and restored with it (for example,
  // data::Elements::Save and Restore). `restore_position` gets a tensor without a value if a lost session restarts
  // without a checkpoint. With several workers, the chief's position is used.
  std::function<StatusOr<Tensor>()> save_position;
  std::function<Status(const Tensor& position)> restore_position;
  std::vector<std::shared_ptr<TrainingHook>> hooks;

  // Several workers train the same variables, which outlive their sessions. Then only the chief initializes variables
  // (if they have no values), saves and writes summaries; the others wait for it. The number of steps is the graph's
  // own count, to which all workers add.
  bool shared = false;
  bool is_chief = true;
  absl::Duration ready_timeout = absl::Minutes(10);  // how long the other workers wait for the chief
  int max_recoveries = 20;                           // consecutive recoveries without a step in between
};

// Initializes or restores the graph's variables, then runs steps. Returns the number of steps done.
StatusOr<int64_t> TrainUntil(ClientSession& session, const Training& training, const Output& loss,
                             const TrainingLoopOptions& options);

// The same, but creates its sessions itself: when a session is lost, a new one continues from the last checkpoint.
using MakeSession = std::function<StatusOr<std::unique_ptr<ClientSession>>()>;
StatusOr<int64_t> TrainUntil(const Scope& scope, const MakeSession& make_session, const Training& training,
                             const Output& loss, const TrainingLoopOptions& options);

// True for errors after which a new session may succeed: a task has died or restarted.
bool IsSessionLost(const Status& status);

}  // namespace weir

#endif  // WEIR_CLIENT_TRAINING_LOOP_H_
