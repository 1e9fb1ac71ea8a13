// The parts of ThreadPool: its queue, and the slot in which a thread receives work.
#ifndef WEIR_BASE_POOL_WORKER_INTERNAL_H_
#define WEIR_BASE_POOL_WORKER_INTERNAL_H_

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/base/optimization.h"

namespace weir {

class SharedLoop;

// Closures in FIFO order. A ring buffer, so that a steady stream of them allocates nothing.
class ClosureQueue {
 public:
  bool empty() const { return size_ == 0; }
  void Push(std::function<void()> closure) {
    if (size_ == ring_.size()) Grow();
    ring_[(first_ + size_++) % ring_.size()] = std::move(closure);
  }
  std::function<void()> Pop() {
    std::function<void()> closure = std::move(ring_[first_]);
    ring_[first_] = nullptr;
    first_ = (first_ + 1) % ring_.size();
    --size_;
    return closure;
  }

 private:
  void Grow() {
    std::vector<std::function<void()>> larger(std::max<size_t>(64, ring_.size() * 2));
    for (size_t i = 0; i < size_; ++i) larger[i] = std::move(ring_[(first_ + i) % ring_.size()]);
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<std::function<void()>> ring_;
  size_t first_ = 0;
  size_t size_ = 0;
};

// The slot in which a thread of a pool receives work. The thread that takes the worker from the idle ones writes the
// work and calls Wake, which publishes it.
class alignas(ABSL_CACHELINE_SIZE) PoolWorker {
 public:
  explicit PoolWorker(int index) : index(index) {}

  bool is_asleep() const { return state_.load(std::memory_order_relaxed) == kAsleep; }
  // REQUIRES: the caller took the worker from the idle ones.
  void Wake() {
    if (state_.exchange(kCalled, std::memory_order_acq_rel) == kAsleep) state_.notify_one();
  }

  // The following functions are for the worker's own thread.
  void SetIdle() { state_.store(kIdle, std::memory_order_relaxed); }
  // Returns after the next Wake. Polls for a moment before the thread sleeps; with `spins`, initially without yielding
  // to other threads, because the next loop mostly follows at once.
  void Await(bool spins) {
    if (LookForCall(spins)) return;
    uint32_t idle = kIdle;
    if (state_.compare_exchange_strong(idle, kAsleep, std::memory_order_acq_rel)) {
      state_.wait(kAsleep, std::memory_order_acquire);
    }
  }
  bool was_helper = false;  // its last work was a loop

  const int index;
  // The received work, at most one of them. Neither: something is queued, or the pool ends.
  std::function<void()> closure;
  SharedLoop* loop = nullptr;
  pthread_t thread{};  // guarded by the pool's mutex

 private:
  enum State : uint32_t { kIdle, kAsleep, kCalled };

  bool is_called() const { return state_.load(std::memory_order_acquire) == kCalled; }
  // A sleeping thread takes 30 to 60 microseconds to wake up, longer than many loops take.
  bool LookForCall(bool spins) const {
    for (int i = 0; spins && i < 200; ++i) {
      if (is_called()) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(60);
    do {
      for (int i = 0; i < 8; ++i) {
        if (is_called()) return true;
        sched_yield();
      }
    } while (std::chrono::steady_clock::now() < end);
    return is_called();
  }

  std::atomic<uint32_t> state_{kCalled};  // a thread begins by looking for work
};

}  // namespace weir

#endif  // WEIR_BASE_POOL_WORKER_INTERNAL_H_
