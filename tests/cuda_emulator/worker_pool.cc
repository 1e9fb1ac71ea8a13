#include "worker_pool.h"

#include <cfenv>
#include <thread>

namespace cuda_emulator {

WorkerPool& WorkerPool::Get() {
  static WorkerPool* const pool = new WorkerPool();
  return *pool;
}

void WorkerPool::Loop() {
  std::fesetenv(FE_DFL_ENV);  // as Stream::Loop
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return work_ != nullptr && !is_taken_; });
    is_taken_ = true;
    const std::function<void()>* work = work_;
    lock.unlock();
    (*work)();
    lock.lock();
    work_ = nullptr;
    is_taken_ = false;
    changed_.notify_all();
  }
}

void WorkerPool::RunWithHelp(const std::function<void()>& work) {
  std::unique_lock lock(mutex_);
  if (!is_started_) {
    is_started_ = true;
    std::thread([this] { Loop(); }).detach();
  }
  const bool helped = work_ == nullptr;
  if (helped) {
    work_ = &work;
    changed_.notify_all();
  }
  lock.unlock();
  work();
  if (!helped) return;
  lock.lock();
  if (work_ == &work && !is_taken_) {  // the helper has not begun, and nothing is left to do
    work_ = nullptr;
    return;
  }
  changed_.wait(lock, [&] { return work_ != &work; });
}

}  // namespace cuda_emulator
