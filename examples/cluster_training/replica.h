// One worker of a training on parameter servers.
#ifndef WEIR_EXAMPLES_CLUSTER_TRAINING_REPLICA_H_
#define WEIR_EXAMPLES_CLUSTER_TRAINING_REPLICA_H_

#include <cstdint>
#include <functional>
#include <string>

#include "weir/weir.h"

struct ReplicaOptions {
  std::string model = "cnn";   // or "lstm"
  std::string mode = "async";  // every worker for itself, "sync": all together, "backup": all but the slowest
  std::string target;          // "grpc://host:port" of this worker; empty: this process alone does the work of all
  int task = 0;                // of the workers; 0 is the chief
  int workers = 1;
  int ps = 1;
  int64_t steps = 30;
  std::string folder;                         // of checkpoints; empty: none
  std::function<void(int64_t step)> on_step;  // after every step of this worker; may be empty
};

struct ReplicaResult {
  int64_t steps = 0;
  float loss_before = 0;  // of digits that are fixed
  float loss = 0;
  float stale = 0;  // gradients that came too late
};

// Trains until all workers together have made the steps.
weir::StatusOr<ReplicaResult> TrainReplica(const ReplicaOptions& options);

#endif  // WEIR_EXAMPLES_CLUSTER_TRAINING_REPLICA_H_
