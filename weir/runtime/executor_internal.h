// Private to the executor: asynchronous nodes, and what happens when a node finishes.
#ifndef WEIR_RUNTIME_EXECUTOR_INTERNAL_H_
#define WEIR_RUNTIME_EXECUTOR_INTERNAL_H_

#include <atomic>
#include <optional>

#include "weir/runtime/executor.h"

namespace weir {

// An asynchronous node in flight. It owns itself: the thread that started it and its completion both report to it, and
// the second report finishes the node.
struct PlanRun::AsyncOp {
  AsyncOp(PlanRun* r, const ReadyNode& e) : run(r), entry(e), outputs(std::max<int>(1, e.node->num_outputs)) {}
  PlanRun* const run;
  const ReadyNode entry;
  absl::InlinedVector<Slot, 4> inputs;
  absl::InlinedVector<Slot, 2> outputs;
  std::optional<KernelContext> context;
  Status status;
  bool dead = false;  // the received value is dead
  int64_t start_ns = 0;
  enum : int { kRunning, kReturned, kCompleted };
  std::atomic<int> state{kRunning};
};

inline void PlanRun::ClearInputs(const PlanNode& node, Slot* inputs) {
  if (!node.has_statics) [[likely]] {
    for (int i = 0; i < node.num_inputs; ++i) inputs[i].Clear();
    return;
  }
  for (int i = 0; i < node.num_inputs; ++i) {
    const Tensor& value = static_by_slot_[node.input_start + i];
    if (!value.has_value()) {
      inputs[i].Clear();
    } else if (!inputs[i].tensor.has_value()) {
      inputs[i].tensor = value;
    }
  }
}

inline void PlanRun::Finish(const ReadyNode& entry, bool dead, Slot* outputs, Ready& ready) {
  const PlanNode& node = *entry.node;
  Iteration* const iteration = entry.iteration;
  int made_ready = 0;
  switch (node.kind) {
    case NodeKind::kEnter:
      loops_.Enter(node, iteration, dead, outputs, ready);
      break;
    case NodeKind::kExit:
      return loops_.Exit(node, iteration, dead, outputs, ready);
    case NodeKind::kNextIteration:
      return loops_.NextIteration(node, iteration, dead, outputs, ready);
    default:
      made_ready = loops_.Deliver(node, iteration, dead, outputs, ready);
  }
  if (iteration->frame != nullptr) loops_.Account(iteration, made_ready - 1, ready);
}

}  // namespace weir

#endif  // WEIR_RUNTIME_EXECUTOR_INTERNAL_H_
