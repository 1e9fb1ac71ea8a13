#include "weir/base/timer.h"

#include "absl/time/clock.h"

namespace weir {

Timer& Timer::Global() {
  static Timer* const timer = new Timer;
  return *timer;
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
  changed_.SignalAll();
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
    if (queue_.empty()) {
      changed_.Wait(&mu_);
      continue;
    }
    auto first = queue_.begin();
    if (first->first.first > absl::Now()) {
      changed_.WaitWithDeadline(&mu_, first->first.first);
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
