// TrainUntil: a training loop that survives: it begins with the last checkpoint of a folder if there is one, saves now
// and then and at the end, writes summaries, and stops when it is told to. On a cluster it makes a new session when a
// task was lost, and goes on from the last checkpoint.
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

// What may happen around steps. An error ends the loop; the model is saved first where that is possible.
class TrainingHook {
 public:
  virtual ~TrainingHook() = default;
  virtual Status OnBegin(ClientSession& session, int64_t step) { return OkStatus(); }
  // `step` steps are done; `loss` as the step gave it. Setting `stop` ends the loop.
  virtual Status OnStep(ClientSession& session, int64_t step, double loss, bool* stop) { return OkStatus(); }
  virtual Status OnEnd(ClientSession& session, int64_t step) { return OkStatus(); }
  // The loop ends, or loses its session, with this error: the hook must not use the session any more. It may know a
  // better reason than the step did.
  virtual Status OnError(ClientSession& session, const Status& error) { return error; }
};

struct TrainingLoopOptions {
  std::string folder;  // of checkpoints and event files; empty: neither is written
  int64_t last_step = 0;
  int64_t save_every_steps = 0;
  absl::Duration save_every = absl::Minutes(10);
  int max_to_keep = 5;
  // Steps go on while a checkpoint's files are written; an error of that comes with the next save or the loop's end.
  bool save_in_background = false;
  int64_t summary_every_steps = 100;
  std::map<std::string, Output> summaries;  // scalars; the loss is one by itself
  // The feeds of the step after `step`. OUT_OF_RANGE: the data are used up, which ends the loop.
  std::function<StatusOr<ClientSession::Feeds>(int64_t step)> feeds;
  // Where in the data training is: what goes into every checkpoint beside the variables, and comes back from the one
  // that training goes on from (data::Elements::Save and Restore, say). `restore_position` gets a tensor without a
  // value when a lost session begins again without any checkpoint. With several workers these are the chief's.
  std::function<StatusOr<Tensor>()> save_position;
  std::function<Status(const Tensor& position)> restore_position;
  std::vector<std::shared_ptr<TrainingHook>> hooks;

  // Several workers train the same variables, which outlive their sessions. Then the chief alone gives variables their
  // values, if they have none, saves and writes summaries; the others wait for it; and the graph's own count of steps,
  // to which all add, says how many there are.
  bool shared = false;
  bool is_chief = true;
  absl::Duration ready_timeout = absl::Minutes(10);  // how long others wait for the chief
  int max_recoveries = 20;                           // that may follow each other without a step in between
};

// Initialises or restores the graph's variables, then runs steps. Returns how many there are now.
StatusOr<int64_t> TrainUntil(ClientSession& session, const Training& training, const Output& loss,
                             const TrainingLoopOptions& options);

// The same with sessions that it makes itself: a new one when the last was lost, from the last checkpoint on.
using MakeSession = std::function<StatusOr<std::unique_ptr<ClientSession>>()>;
StatusOr<int64_t> TrainUntil(const Scope& scope, const MakeSession& make_session, const Training& training,
                             const Output& loss, const TrainingLoopOptions& options);

// True for the error of a step that a new session may not have: a task died or was started again.
bool IsSessionLost(const Status& status);

}  // namespace weir

#endif  // WEIR_CLIENT_TRAINING_LOOP_H_
