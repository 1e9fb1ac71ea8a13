// Threads for loops: those of kernels (ThreadPool::ParallelFor) and of the kernel library (device/cpu/teams.h).
//
// A thread that sleeps wakes 30 to 60 microseconds late, which is longer than many loops take; one that spins keeps a
// core busy. Workers look for more work for a while, giving way to whoever else wants the core, and then sleep. All
// loops of the process share them, so that a loop finds one that was busy a moment ago, whatever it was busy with.
#ifndef WEIR_BASE_WORKERS_H_
#define WEIR_BASE_WORKERS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace weir {

// Waits until `is_over()`, for a moment at most. Returns whether it is.
template <typename Condition>
bool LookFor(Condition is_over);

// What a worker does once.
struct WorkerTask {
  void (*run)(void* data) = nullptr;
  void* data = nullptr;
  // Not null: one less when the worker is ready for its next task, and whoever waits is woken at 0. Null: the worker
  // then goes back by itself.
  std::atomic<int>* left = nullptr;
};

class Worker;

// Lends `count` workers, new ones if too few are idle.
void TakeWorkers(int count, std::vector<Worker*>& workers);
// REQUIRES: the worker was lent, and its last task is done.
void BeginTask(Worker* worker, const WorkerTask& task);
// REQUIRES: their last tasks are done.
void GiveBack(std::span<Worker* const> workers);

namespace workers_internal {
constexpr int kLooks = 200;  // before a thread gives way for the first time: what is near comes within these
void Pause();
void GiveWay();
// How long a thread looks for what it waits for before it sleeps.
inline std::chrono::steady_clock::time_point LookingEnd() {
  return std::chrono::steady_clock::now() + std::chrono::microseconds(60);
}
}  // namespace workers_internal

template <typename Condition>
bool LookFor(Condition is_over) {
  for (int i = 0; i < workers_internal::kLooks; ++i) {
    if (is_over()) return true;
    workers_internal::Pause();
  }
  const auto end = workers_internal::LookingEnd();
  do {
    for (int i = 0; i < 8; ++i) {
      if (is_over()) return true;
      workers_internal::GiveWay();
    }
  } while (std::chrono::steady_clock::now() < end);
  return is_over();
}

}  // namespace weir

#endif  // WEIR_BASE_WORKERS_H_
