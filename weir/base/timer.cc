#include "weir/base/timer.h"

#include <pthread.h>

#include <atomic>

#include "absl/time/clock.h"

namespace weir {

Timer& Timer::Global() {
  // A child of a fork has not got the timer's thread: it begins with a new timer, and leaves the other, which may be
  // locked, to its parent.
  static std::atomic<Timer*> timer = [] {
    pthread_atfork(nullptr, nullptr, [] { timer.store(new Timer, std::memory_order_relaxed); });
    return new Timer;
  }();
  return *timer.load(std::memory_order_relaxed);
}

Timer::~Timer() {
  std::thread thread;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    changed_.SignalAll();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

Timer::Id Timer::CallAt(absl::Time when, std::function<void()> callback) {
  absl::MutexLock lock(&mu_);
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
  Id id = next_id_++;
  queue_.emplace(Key(when, id), std::move(callback));
  times_.emplace(id, when);
  // Most calls are cancelled long before their time: the thread is left to sleep unless it would be late.
  if (when < sleeps_until_) changed_.SignalAll();
  return id;
}

bool Timer::TryCancel(Id id) {
  absl::MutexLock lock(&mu_);
  auto found = times_.find(id);
  if (found == times_.end()) return false;
  queue_.erase(Key(found->second, id));
  times_.erase(found);
  return true;
}

bool Timer::Cancel(Id id) {
  if (TryCancel(id)) return true;
  absl::MutexLock lock(&mu_);
  while (running_ == id) changed_.Wait(&mu_);
  return false;
}

void Timer::Loop() {
  absl::MutexLock lock(&mu_);
  while (!stopping_) {
    auto first = queue_.begin();
    if (first == queue_.end() || first->first.first > absl::Now()) {
      sleeps_until_ = first == queue_.end() ? absl::InfiniteFuture() : first->first.first;
      changed_.WaitWithDeadline(&mu_, sleeps_until_);
      sleeps_until_ = absl::InfinitePast();
      continue;
    }
    std::function<void()> callback = std::move(first->second);
    running_ = first->first.second;
    times_.erase(running_);
    queue_.erase(first);
    mu_.Unlock();
    callback();
    callback = nullptr;
    mu_.Lock();
    running_ = 0;
    changed_.SignalAll();
  }
}

}  // namespace weir
