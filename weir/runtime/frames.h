// Frames and iterations: the memory of loops, and the movement of values between iterations.
//
// Outside of loops there is a single iteration, the root. An Enter creates (or finds) the frame of its loop as a child
// of the iteration in which it runs. A frame has a window of at most `parallel_iterations` iterations in flight.
// NextIteration moves a value to the next iteration; Exit moves it back to the iteration from which the frame was
// entered. An iteration is done when none of its nodes is ready or running, none of its child frames is alive, and the
// previous iteration is done; its memory is then reused for a new iteration. A frame is done when its last iteration is
// done. Only then are dead exits propagated out of the loop, since until then another iteration could make them live.
#ifndef WEIR_RUNTIME_FRAMES_H_
#define WEIR_RUNTIME_FRAMES_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/framework/kernel.h"
#include "weir/runtime/execution_plan.h"

namespace weir {

struct Frame;

struct Iteration {
  Frame* frame = nullptr;  // null for the root
  int64_t number = 0;
  uint64_t serial = 0;  // changes whenever the memory is reused
  std::unique_ptr<Slot[]> slots;
  std::unique_ptr<std::atomic<uint64_t>[]> counts;
  std::atomic<int32_t> outstanding{0};  // ready or running nodes; not counted at the root
  std::vector<Frame*> children;         // by child index; guarded by Propagator's lock
  int32_t live_children = 0;            // guarded by Propagator's lock

  // Allocates the memory for `frame` and sets the counts to their initial values.
  void Allocate(const StaticFrame& frame);
  void ResetCounts(const StaticFrame& frame);
  uint64_t frame_id() const;
};

struct ReadyNode {
  const PlanNode* node = nullptr;
  Iteration* iteration = nullptr;
  bool dead = false;
};
// A thread's stack of ready nodes. While no other thread and no asynchronous kernel works for the run, the thread is
// `alone` and can do without atomic read-modify-write operations and locks.
class ReadyList {
 public:
  ReadyList() = default;
  ~ReadyList() {
    if (data_ != inline_) delete[] data_;
  }
  ReadyList(const ReadyList&) = delete;
  ReadyList& operator=(const ReadyList&) = delete;

  bool alone() const { return alone_; }
  void set_alone(bool alone) { alone_ = alone; }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  ReadyNode& operator[](size_t i) { return data_[i]; }
  void push_back(const ReadyNode& node) {
    if (size_ == capacity_) [[unlikely]]
      Grow();
    data_[size_++] = node;
  }
  ReadyNode pop_back() { return data_[--size_]; }
  void Truncate(size_t size) { size_ = size; }

 private:
  void Grow();
  static constexpr size_t kInline = 16;
  bool alone_ = false;
  ReadyNode* data_ = inline_;
  size_t size_ = 0;
  size_t capacity_ = kInline;
  ReadyNode inline_[kInline];
};

// Adds to a counter and returns its old value.
template <typename T>
T FetchAdd(std::atomic<T>& counter, T delta, bool alone) {
  if (!alone) return counter.fetch_add(delta, std::memory_order_acq_rel);
  T old = counter.load(std::memory_order_relaxed);
  counter.store(old + delta, std::memory_order_relaxed);
  return old;
}

struct Frame {
  const StaticFrame* info = nullptr;
  uint64_t id = 0;  // equal in all processes that run a part of the loop
  Iteration* parent = nullptr;
  int32_t pending_enters = 0;
  int32_t iterations_in_flight = 0;
  int64_t oldest = 0;
  int64_t newest = 0;
  std::vector<Iteration*> window;  // by number modulo its size, a power of two
  struct Value {
    const PlanNode* node;
    Slot slot;
    bool dead;
  };
  std::vector<Value> invariants;            // values of constant Enters, for future iterations
  std::vector<Value> deferred;              // values of NextIterations that wait for a free iteration
  std::vector<const PlanNode*> dead_exits;  // of the newest iteration

  Iteration*& at(int64_t number) { return window[static_cast<size_t>(number) & (window.size() - 1)]; }
};

// Moves the outputs of finished nodes to their consumers, within an iteration and between the frames of loops. Owns all
// frames of one run.
class Propagator {
 public:
  explicit Propagator(const ExecutionPlan& plan) : plan_(plan) {}

  // Moves a node's outputs into its consumers' slots within one iteration, pushes the consumers that become ready onto
  // the list, and returns how many there are. Lock-free.
  int Deliver(const PlanNode& node, Iteration* to, bool dead, Slot* outputs, ReadyList& ready);
  // Deliver the value of a finished Enter, Exit or NextIteration. Exit and NextIteration also account for the end of
  // the node itself.
  void Enter(const PlanNode& node, Iteration* from, bool dead, Slot* value, ReadyList& ready);
  void Exit(const PlanNode& node, Iteration* from, bool dead, Slot* value, ReadyList& ready);
  void NextIteration(const PlanNode& node, Iteration* from, bool dead, Slot* value, ReadyList& ready);
  // Must be called after a node of a loop has ended. `change` is the number of nodes it made ready in its iteration,
  // minus one for itself.
  void Account(Iteration* iteration, int change, ReadyList& ready);
  // False if some loop has not ended.
  bool AllDone() const;

 private:
  int DeliverToMerge(const PlanEdge& edge, const PlanNode& merge, Iteration* to, bool dead, bool from_enter,
                     Slot* outputs, ReadyList& ready);
  Frame* FindOrMakeFrame(const PlanNode& enter, Iteration* from) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Iteration* NewIteration(Frame* frame, ReadyList& ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Holds the lock unless the thread is alone.
  class MaybeLock;
  void DeliverCounted(const PlanNode& node, Iteration* to, bool dead, Slot* outputs, ReadyList& ready);
  void EndNode(Iteration* iteration, ReadyList& ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CompleteIterations(Iteration* iteration, ReadyList& ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Iteration* CompleteFrame(Frame* frame, ReadyList& ready) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const ExecutionPlan& plan_;
  mutable FastMutex mu_;
  std::vector<std::unique_ptr<Iteration>> all_iterations_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Frame>> all_frames_ ABSL_GUARDED_BY(mu_);
  std::vector<std::vector<Iteration*>> free_iterations_ ABSL_GUARDED_BY(mu_);  // by static frame
  std::vector<Frame*> free_frames_ ABSL_GUARDED_BY(mu_);
  int live_frames_ ABSL_GUARDED_BY(mu_) = 0;
};

inline int Propagator::Deliver(const PlanNode& node, Iteration* to, bool dead, Slot* outputs, ReadyList& ready) {
  int made_ready = 0;
  const PlanEdge* const end = node.edges + node.num_edges;
  for (const PlanEdge* edge = node.edges; edge != end; ++edge) {
    bool edge_dead = dead || (edge->slot >= 0 && !outputs[edge->output].has_value());
    if (edge->to_merge) [[unlikely]] {
      made_ready +=
          DeliverToMerge(*edge, *edge->consumer, to, edge_dead, node.kind == NodeKind::kEnter, outputs, ready);
      continue;
    }
    if (edge->slot >= 0 && !edge_dead) {
      Slot& slot = to->slots[edge->slot];
      if (edge->move) {
        slot = std::move(outputs[edge->output]);
      } else {
        slot = outputs[edge->output];
      }
    }
    if (!edge->sole) {
      const PlanNode& consumer = *edge->consumer;
      std::atomic<uint64_t>& count = to->counts[consumer.count];
      uint64_t before = FetchAdd(count, edge_dead ? kDeadOne - 1 : ~uint64_t{0}, ready.alone());
      if (static_cast<uint32_t>(before) != 1) continue;
      edge_dead |= (before >> 32) != 0;
      // No other edge decrements the count in this iteration: reset it for the next use of this memory.
      count.store(consumer.initial_count, std::memory_order_relaxed);
    }
    ready.push_back({edge->consumer, to, edge_dead});
    ++made_ready;
  }
  return made_ready;
}

}  // namespace weir

#endif  // WEIR_RUNTIME_FRAMES_H_
