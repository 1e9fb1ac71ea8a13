// Elastic jobs in the style of Horovod: ranks may leave and join while a program trains. The program is started by
// `weir launch --elastic --min 2 --max 8 -- program`:
//
//   collective::TensorState state({{"w", w}, {"step", step}});     // or client/elastic_state.h for models and sessions
//   Status status = collective::RunElastic(state, [&]() -> Status {
//     for (; state.number("step") < 1000; ...) {
//       ... one step, with collective::AllReduce ...
//       if (step % 10 == 0) WEIR_RETURN_IF_ERROR(state.Commit());
//     }
//     return OkStatus();
//   });
//
// When a rank is lost, the collectives of all others fail. RunElastic then lets the remaining ranks meet again, and the
// function restarts with the values of the last commit, so a lost rank costs the steps since then. When workers wait to
// join, or hosts are to be removed, the next Commit (or CheckWorkers) ends the function on all ranks, and it restarts
// with its current values. New ranks receive those of rank 0. Any other error ends the job.
#ifndef WEIR_COLLECTIVE_ELASTIC_H_
#define WEIR_COLLECTIVE_ELASTIC_H_

#include <functional>
#include <map>
#include <string>

#include "weir/base/export.h"
#include "weir/collective/collective.h"

namespace WEIR_PUBLIC weir {
namespace collective {

// State that all ranks share and that can be rolled back.
class ElasticState {
 public:
  virtual ~ElasticState() = default;
  // Saves the values in this process's memory.
  virtual Status Save() = 0;
  // Restores the last saved values, or the initial ones if none were saved.
  virtual Status Restore() = 0;
  // Copies rank 0's values to all ranks and saves them.
  virtual Status Sync() = 0;

  // Save and CheckWorkers. All ranks must call it at the same point.
  Status Commit();
  // Returns ABORTED on all ranks if workers join or leave. The function must return that error to RunElastic.
  Status CheckWorkers();
};

// Named tensors. All ranks must have the same names and types; shapes may differ until the first Sync.
class TensorState : public ElasticState {
 public:
  explicit TensorState(std::map<std::string, Tensor> values) : values_(std::move(values)), saved_(values_) {}

  // REQUIRES: the name is one of those given. Tensors must not be modified in place, because saved values share their
  // memory.
  const Tensor& get(const std::string& name) const { return values_.at(name); }
  void set(const std::string& name, Tensor value) { values_.at(name) = std::move(value); }
  // The value of an int64 scalar.
  int64_t number(const std::string& name) const { return get(name).scalar<int64_t>(); }
  void set_number(const std::string& name, int64_t value) { set(name, Tensor::Scalar(value)); }

  Status Save() override;
  Status Restore() override;
  Status Sync() override;

 private:
  std::map<std::string, Tensor> values_;
  std::map<std::string, Tensor> saved_;
};

struct ElasticOptions {
  InitOptions init;
  // How long to wait while there are too few workers.
  absl::Duration join_timeout = absl::Minutes(10);
  // The job gives up after this many rounds that ended with a lost rank. -1: never.
  int max_losses = -1;
  // Called at the beginning of each round except the first, after the ranks have met and Sync has run. It may, for
  // example, adapt the learning rate to Size(), or divide the data again.
  std::function<Status()> on_new_round;
};

// Calls `train` in every round, until it succeeds or fails with an error of its own. Calls Init and Shutdown itself.
// Without `weir launch --elastic` there is a single round. CANCELLED if this worker's host was removed, or if this
// worker was started after training had ended.
Status RunElastic(ElasticState& state, const std::function<Status()>& train, const ElasticOptions& options = {});

}  // namespace collective
}  // namespace weir

#endif  // WEIR_COLLECTIVE_ELASTIC_H_
