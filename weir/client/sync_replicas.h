// SyncReplicas: several workers make one step together. Each gives its gradients to accumulators beside the variables
// and waits for a token; when enough have come, the chief applies their mean and hands out tokens that bear the new
// step. With more workers than gradients are waited for, the slowest are backups: a gradient that was computed before
// the last update is stale, and is dropped and counted.
//
//   SyncReplicas sync(root, optimizer::Adam(), loss, {.replicas_to_aggregate = 3, .total_replicas = 4, .worker_device =
//   me}); WEIR_RETURN_IF_ERROR(SetReplicaDevices(root, {.ps_tasks = 2, .worker_device = me})); options.hooks =
//   {sync.MakeHook(/*is_chief=*/task == 0)}; options.summaries = {{"stale_gradients", sync.stale()}};
//   TrainUntil(connect, sync.training(), loss, options);
#ifndef WEIR_CLIENT_SYNC_REPLICAS_H_
#define WEIR_CLIENT_SYNC_REPLICAS_H_

#include <memory>
#include <span>
#include <string>

#include "weir/base/export.h"
#include "weir/client/optimizer.h"
#include "weir/client/training_loop.h"

namespace WEIR_PUBLIC weir {

struct SyncReplicasOptions {
  int replicas_to_aggregate = 1;  // gradients that make an update
  int total_replicas = 0;         // workers; 0: as many as gradients are waited for
  std::string worker_device;      // of this worker, which keeps there to which step its gradients belong
  MinimizeOptions minimize;
};

class SyncReplicas {
 public:
  // Adds the nodes of all roles: every worker, the chief too, builds the same graph.
  SyncReplicas(const Scope& scope, const Optimizer& optimizer, const Output& loss, const SyncReplicasOptions& options);

  // What every worker runs: `op` ends when the update that its gradients belong to was made.
  const Training& training() const { return training_; }
  // How many gradients came too late so far; a float scalar. Gradients on their way may be counted late.
  const Output& stale() const { return stale_; }

  // Before a worker's first step, and again in a new session; of the chief `begin_chief` comes first.
  const Operation& begin() const { return begin_; }
  const Operation& begin_chief() const { return begin_chief_; }
  // 1 once the chief has begun on all tasks, int64: a gradient that comes before could be taken for a stale one.
  const Output& has_begun() const { return has_begun_; }
  // One update, which waits for its gradients. The chief runs it again and again, beside its own steps.
  const Operation& update() const { return update_; }
  // What the chief runs after its last update: whoever still waits for a token gets one. An update that is cancelled
  // may have counted its step and given out no tokens.
  const Operation& end_chief() const { return end_chief_; }
  // Ends the waits of all workers, for good.
  const Operation& close() const { return close_; }

  // Does all that for a worker's training loop. Tasks may come and go: after the loss of a parameter server all begin
  // again at the last checkpoint, and what the others still hold of gradients and tokens counts for the first updates.
  std::shared_ptr<TrainingHook> MakeHook(bool is_chief) const;

 private:
  struct Accumulators;
  void BuildWorker(const Scope& scope, const Accumulators& accumulators, std::span<const GradientOutput> gradients,
                   const SyncReplicasOptions& options);
  void BuildChief(const Scope& scope, const Accumulators& accumulators, const Optimizer& optimizer,
                  const SyncReplicasOptions& options);

  Training training_;
  Output stale_;
  Operation begin_;
  Operation begin_chief_;
  Output has_begun_;
  Operation update_;
  Operation end_chief_;
  Operation close_;
};

}  // namespace weir

#endif  // WEIR_CLIENT_SYNC_REPLICAS_H_
