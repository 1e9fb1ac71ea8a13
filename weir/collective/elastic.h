// Elastic jobs, Horovod's way: ranks may leave and join while a program trains. Started by
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
// When a rank is lost, the collectives of all others fail; RunElastic meets those that are left, and the function
// begins anew with the values of the last commit: that is what a lost rank costs. When workers wait to join, or hosts
// are taken away, the next Commit (or CheckWorkers) ends the function on all ranks, and it begins anew with the values
// of that moment. Newcomers get rank 0's. Errors that are not the collectives' end the job.
#ifndef WEIR_COLLECTIVE_ELASTIC_H_
#define WEIR_COLLECTIVE_ELASTIC_H_

#include <functional>
#include <map>
#include <string>

#include "weir/base/export.h"
#include "weir/collective/collective.h"

namespace WEIR_PUBLIC weir {
namespace collective {

// What all ranks have in common, and can go back to.
class ElasticState {
 public:
  virtual ~ElasticState() = default;
  // Remembers the values, in this process's memory.
  virtual Status Save() = 0;
  // Goes back to what was remembered last; to the first values if nothing was.
  virtual Status Restore() = 0;
  // Takes rank 0's values, and remembers them.
  virtual Status Sync() = 0;

  // Save and CheckWorkers. All ranks call it at the same place.
  Status Commit();
  // ABORTED on all ranks if workers come or go. The function returns it to RunElastic.
  Status CheckWorkers();
};

// Named tensors. All ranks have the same names and types; shapes may differ until the first Sync.
class TensorState : public ElasticState {
 public:
  explicit TensorState(std::map<std::string, Tensor> values) : values_(std::move(values)), saved_(values_) {}

  // REQUIRES: the name is one of those given. Tensors are never written to in place: saved ones share their memory.
  const Tensor& get(const std::string& name) const { return values_.at(name); }
  void set(const std::string& name, Tensor value) { values_.at(name) = std::move(value); }
  // Of an int64 scalar.
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
  // How long too few workers are waited for.
  absl::Duration join_timeout = absl::Minutes(10);
  // After so many rounds that ended with a loss the job gives up. -1: never.
  int max_losses = -1;
  // Called when a round begins, with the ranks of the round and after Sync, but not in the first: a place to adapt a
  // learning rate to Size(), or to divide the data anew.
  std::function<Status()> on_new_round;
};

// Calls `train`, again in every round, until it ends without error or with one of its own. It does the Init and the
// Shutdown. Without `weir launch --elastic` there is one round. CANCELLED if this worker's host was taken away,
// or if it was started when training had ended.
Status RunElastic(ElasticState& state, const std::function<Status()>& train, const ElasticOptions& options = {});

}  // namespace collective
}  // namespace weir

#endif  // WEIR_COLLECTIVE_ELASTIC_H_
