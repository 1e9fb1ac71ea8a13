#include "weir/runtime/frames.h"

#include <algorithm>
#include <bit>

namespace weir {
namespace {

uint64_t ChildFrameId(uint64_t parent, int64_t iteration, const std::string& name) {
  // FNV-1a, which is the same in every build: processes compare these ids.
  uint64_t hash = 0xcbf29ce484222325u;
  auto mix = [&hash](const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  };
  mix(&parent, sizeof(parent));
  mix(&iteration, sizeof(iteration));
  mix(name.data(), name.size());
  return hash;
}

}  // namespace

void ReadyList::Grow() {
  auto* larger = new ReadyNode[2 * capacity_];
  std::copy(data_, data_ + size_, larger);
  if (data_ != inline_) delete[] data_;
  data_ = larger;
  capacity_ *= 2;
}

uint64_t Iteration::frame_id() const { return frame == nullptr ? 0 : frame->id; }

void Iteration::Allocate(const StaticFrame& info) {
  slots = std::make_unique<Slot[]>(info.num_slots);
  counts = std::make_unique<std::atomic<uint64_t>[]>(info.counts.size());
  children.assign(info.num_children, nullptr);
  ResetCounts(info);
}

void Iteration::ResetCounts(const StaticFrame& info) {
  for (size_t i = 0; i < info.counts.size(); ++i) counts[i].store(info.counts[i], std::memory_order_relaxed);
}

// A Merge fires once: when its control inputs have run and either one live input has arrived or all inputs are dead.
// Its count word holds all of this, so no lock is needed. kMergeClaimed reserves the Merge for the first live value
// before that is written to its slot; kMergeLive announces the written value. A dead Enter counts for all inputs,
// because a loop that is never entered has no NextIteration either.
int Propagator::DeliverToMerge(const PlanEdge& edge, const PlanNode& merge, Iteration* to, bool dead, bool from_enter,
                               Slot* outputs, ReadyList& ready) {
  std::atomic<uint64_t>& word = to->counts[merge.count];
  uint64_t add = 0;
  if (edge.slot < 0) {
    add = ~uint64_t{0};  // one control edge fewer
  } else if (dead) {
    add = kDeadOne * static_cast<uint64_t>(from_enter ? merge.num_inputs : 1);
  } else {
    // Only the first live value counts. A second one (in a malformed graph) is dropped.
    if (ready.alone()) {
      uint64_t seen = word.load(std::memory_order_relaxed);
      if (seen & kMergeClaimed) return 0;
      word.store(seen | kMergeClaimed, std::memory_order_relaxed);
    } else if (word.fetch_or(kMergeClaimed, std::memory_order_acq_rel) & kMergeClaimed) {
      return 0;
    }
    Slot& slot = to->slots[edge.slot];
    slot = edge.move ? std::move(outputs[edge.output]) : outputs[edge.output];
    add = kMergeLive;
  }
  uint64_t seen = word.load(std::memory_order_acquire);
  while (true) {
    uint64_t next = seen + add;
    // The top three bits are flags; dead inputs are counted below them.
    uint64_t dead_inputs = (next & (kMergeClaimed - 1)) >> 32;
    bool live = (next & kMergeLive) != 0;
    bool all_dead = dead_inputs >= static_cast<uint64_t>(merge.num_inputs);
    bool fire = static_cast<uint32_t>(next) == 0 && (live || all_dead) && (next & kMergeFired) == 0;
    if (fire) next |= kMergeFired;
    bool stored = ready.alone();
    if (stored) {
      word.store(next, std::memory_order_relaxed);
    } else {
      stored = word.compare_exchange_weak(seen, next, std::memory_order_acq_rel);
    }
    if (stored) {
      if (!fire) return 0;
      ready.push_back({&merge, to, !live});
      return 1;
    }
  }
}

class ABSL_SCOPED_LOCKABLE Propagator::MaybeLock {
 public:
  MaybeLock(FastMutex* mu, const ReadyList& ready) ABSL_EXCLUSIVE_LOCK_FUNCTION(mu) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : mu_(ready.alone() ? nullptr : mu) {
    if (mu_ != nullptr) mu_->Lock();
  }
  ~MaybeLock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (mu_ != nullptr) mu_->Unlock();
  }
  MaybeLock(const MaybeLock&) = delete;
  MaybeLock& operator=(const MaybeLock&) = delete;

 private:
  FastMutex* const mu_;
};

void Propagator::DeliverCounted(const PlanNode& node, Iteration* to, bool dead, Slot* outputs, ReadyList& ready) {
  int made_ready = Deliver(node, to, dead, outputs, ready);
  if (to->frame != nullptr && made_ready > 0) FetchAdd(to->outstanding, made_ready, ready.alone());
}

Frame* Propagator::FindOrMakeFrame(const PlanNode& enter, Iteration* from) {
  const StaticFrame& info = plan_.frames[enter.aux];
  Frame*& child = from->children[info.child_index];
  if (child != nullptr) return child;
  if (free_frames_.empty()) {
    all_frames_.push_back(std::make_unique<Frame>());
    free_frames_.push_back(all_frames_.back().get());
  }
  child = free_frames_.back();
  free_frames_.pop_back();
  child->info = &info;
  child->id = ChildFrameId(from->frame_id(), from->number, info.name);
  child->parent = from;
  child->pending_enters = info.num_enters;
  child->iterations_in_flight = 0;
  child->oldest = 0;
  child->newest = -1;
  child->window.assign(std::bit_ceil(static_cast<size_t>(info.parallel_iterations) + 1), nullptr);
  ++from->live_children;
  ++live_frames_;
  return child;
}

Iteration* Propagator::NewIteration(Frame* frame, ReadyList& ready) {
  int32_t static_index = static_cast<int32_t>(frame->info - plan_.frames.data());
  if (free_iterations_.empty()) free_iterations_.resize(plan_.frames.size());
  std::vector<Iteration*>& free = free_iterations_[static_index];
  Iteration* iteration;
  if (free.empty()) {
    all_iterations_.push_back(std::make_unique<Iteration>());
    iteration = all_iterations_.back().get();
    iteration->Allocate(*frame->info);
  } else {
    iteration = free.back();
    free.pop_back();
    iteration->ResetCounts(*frame->info);
  }
  ++iteration->serial;
  iteration->frame = frame;
  iteration->number = ++frame->newest;
  iteration->live_children = 0;
  frame->at(iteration->number) = iteration;
  ++frame->iterations_in_flight;
  frame->dead_exits.clear();
  for (Frame::Value& value : frame->invariants) {
    Slot copy = value.slot;
    DeliverCounted(*value.node, iteration, value.dead, &copy, ready);
  }
  return iteration;
}

void Propagator::Enter(const PlanNode& node, Iteration* from, bool dead, Slot* value, ReadyList& ready) {
  MaybeLock lock(&mu_, ready);
  Frame* frame = FindOrMakeFrame(node, from);
  if (frame->newest < 0) NewIteration(frame, ready);
  Iteration* first = frame->oldest == 0 ? frame->at(0) : nullptr;
  if (node.is_constant_enter) {
    for (int64_t number = frame->oldest; number <= frame->newest; ++number) {
      Slot copy = *value;
      DeliverCounted(node, frame->at(number), dead, &copy, ready);
    }
    frame->invariants.push_back({&node, std::move(*value), dead});
  } else if (first != nullptr) {
    DeliverCounted(node, first, dead, value, ready);
  }
  --frame->pending_enters;
  if (first != nullptr && frame->pending_enters == 0) CompleteIterations(first, ready);
}

void Propagator::Exit(const PlanNode& node, Iteration* from, bool dead, Slot* value, ReadyList& ready) {
  MaybeLock lock(&mu_, ready);
  Frame* frame = from->frame;
  if (!dead) {
    DeliverCounted(node, frame->parent, false, value, ready);
  } else if (from->number == frame->newest) {
    frame->dead_exits.push_back(&node);
  }
  EndNode(from, ready);
}

void Propagator::EndNode(Iteration* iteration, ReadyList& ready) {
  if (FetchAdd(iteration->outstanding, -1, ready.alone()) == 1) CompleteIterations(iteration, ready);
}

void Propagator::NextIteration(const PlanNode& node, Iteration* from, bool dead, Slot* value, ReadyList& ready) {
  if (dead) return Account(from, -1, ready);
  MaybeLock lock(&mu_, ready);
  Frame* frame = from->frame;
  if (from->number < frame->newest) {
    DeliverCounted(node, frame->at(from->number + 1), false, value, ready);
  } else if (frame->iterations_in_flight < frame->info->parallel_iterations) {
    DeliverCounted(node, NewIteration(frame, ready), false, value, ready);
  } else {
    frame->deferred.push_back({&node, std::move(*value), false});
  }
  EndNode(from, ready);
}

// Lock-free unless the iteration has run out of nodes.
void Propagator::Account(Iteration* iteration, int change, ReadyList& ready) {
  if (change == 0) return;
  uint64_t serial = iteration->serial;
  if (FetchAdd(iteration->outstanding, change, ready.alone()) + change != 0) return;
  MaybeLock lock(&mu_, ready);
  // Another thread may have completed the iteration in the meantime; `serial` tells whether its memory was reused.
  if (iteration->serial == serial && iteration->frame != nullptr) CompleteIterations(iteration, ready);
}

// Iterations complete in order, the oldest first. Completing one makes room in the window for the values that
// NextIteration had to defer, and may let the next iteration complete. The last one completes the frame, which may let
// the iteration around the loop complete.
void Propagator::CompleteIterations(Iteration* iteration, ReadyList& ready) {
  while (iteration->frame != nullptr) {
    Frame* frame = iteration->frame;
    if (iteration->outstanding.load(std::memory_order_acquire) != 0 || iteration->live_children != 0) return;
    if (iteration->number != frame->oldest || frame->pending_enters > 0) return;
    frame->at(iteration->number) = nullptr;
    free_iterations_[frame->info - plan_.frames.data()].push_back(iteration);
    iteration->frame = nullptr;
    ++iteration->serial;
    ++frame->oldest;
    --frame->iterations_in_flight;
    if (!frame->deferred.empty()) {
      std::vector<Frame::Value> deferred;
      deferred.swap(frame->deferred);
      Iteration* next = NewIteration(frame, ready);
      for (Frame::Value& value : deferred) DeliverCounted(*value.node, next, value.dead, &value.slot, ready);
    }
    if (frame->oldest <= frame->newest) {
      iteration = frame->at(frame->oldest);
    } else {
      iteration = CompleteFrame(frame, ready);
    }
  }
}

Iteration* Propagator::CompleteFrame(Frame* frame, ReadyList& ready) {
  Iteration* parent = frame->parent;
  for (const PlanNode* exit : frame->dead_exits) {
    Slot nothing;
    DeliverCounted(*exit, parent, true, &nothing, ready);
  }
  frame->dead_exits.clear();
  frame->invariants.clear();
  parent->children[frame->info->child_index] = nullptr;
  --parent->live_children;
  --live_frames_;
  free_frames_.push_back(frame);
  return parent;
}

bool Propagator::AllDone() const {
  FastMutexLock lock(&mu_);
  return live_frames_ == 0;
}

}  // namespace weir
