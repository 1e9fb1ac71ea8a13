// Private to the executor: a node whose end comes later.
#ifndef WEIR_RUNTIME_EXECUTOR_ASYNC_H_
#define WEIR_RUNTIME_EXECUTOR_ASYNC_H_

#include <atomic>
#include <optional>

#include "weir/runtime/executor.h"

namespace weir {

// Owned by itself: whoever of the starting thread and the completion comes second finishes it.
struct PlanRun::AsyncOp {
  AsyncOp(PlanRun* r, const ReadyNode& e) : run(r), entry(e), outputs(std::max<int>(1, e.node->num_outputs)) {}
  PlanRun* const run;
  const ReadyNode entry;
  absl::InlinedVector<Slot, 4> inputs;
  absl::InlinedVector<Slot, 2> outputs;
  std::optional<KernelContext> context;
  Status status;
  bool dead = false;  // what was received is dead
  int64_t start_ns = 0;
  enum : int { kRunning, kReturned, kCompleted };
  std::atomic<int> state{kRunning};
};

}  // namespace weir

#endif  // WEIR_RUNTIME_EXECUTOR_ASYNC_H_
