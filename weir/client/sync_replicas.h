// SyncReplicas: several workers perform one step together. Each adds its gradients to accumulators that are placed with
// the variables, and waits for a token. When enough gradients have arrived, the chief applies their mean and
// distributes tokens with the number of the new step. If there are more workers than gradients per step, the slowest
// are backups: a gradient that was computed before the last update is stale; it is dropped and counted.
//
//   SyncReplicas sync(root, optimizer::Adam(), loss,
//                     {.replicas_to_aggregate = 3, .total_replicas = 4, .worker_device = me});
//   WEIR_RETURN_IF_ERROR(SetReplicaDevices(root, {.ps_tasks = 2, .worker_device = me}));
//   options.hooks = {sync.MakeHook(/*is_chief=*/task == 0)};
//   options.summaries = {{"stale_gradients", sync.stale()}};
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
  int replicas_to_aggregate = 1;  // the number of gradients per update
  int total_replicas = 0;         // the number of workers; 0: as many as gradients per update
  std::string worker_device;      // this worker's device, which stores the step that its gradients belong to
  MinimizeOptions minimize;
};

class SyncReplicas {
 public:
  // Adds the nodes for all roles: every worker, including the chief, builds the same graph.
  SyncReplicas(const Scope& scope, const Optimizer& optimizer, const Output& loss, const SyncReplicasOptions& options);

  // The training step of every worker: `op` ends when the update with its gradients has been made.
  const Training& training() const { return training_; }
  // The number of gradients that arrived too late so far; a float scalar. Gradients in flight may be counted later.
  const Output& stale() const { return stale_; }

  // Must run before a worker's first step, and again in a new session; the chief runs `begin_chief` before it.
  const Operation& begin() const { return begin_; }
  const Operation& begin_chief() const { return begin_chief_; }
  // 1 when the chief has begun on all tasks, int64. An earlier gradient could be mistaken for a stale one.
  const Output& has_begun() const { return has_begun_; }
  // One update, which waits for its gradients. The chief runs it repeatedly, concurrently with its own steps.
  const Operation& update() const { return update_; }
  // The chief must run this after its last update: workers that still wait for a token get one. An update that is
  // cancelled may have counted its step without distributing tokens.
  const Operation& end_chief() const { return end_chief_; }
  // Ends the waits of all workers permanently.
  const Operation& close() const { return close_; }

  // A hook that does all of this in a worker's training loop. Tasks may come and go: when a parameter server is lost,
  // all workers restart from the last checkpoint, and gradients and tokens on the other servers count for the first
  // updates.
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
