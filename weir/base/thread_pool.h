// ThreadPool: a bounded number of threads that run closures and help with loops.
//
// Threads start when there is work for them and end with the pool. A thread that runs out of work polls for more for
// about 60 microseconds, since one loop mostly follows another, and then sleeps: an idle pool uses no processor time.
//
// Closures run in FIFO order. A loop is run by the thread that calls ParallelFor. Threads of the pool that are idle, or
// become idle before the loop ends, take parts of it, as long as no more than num_threads() threads, callers included,
// are in loops: if many loops run concurrently, each is run by its caller. A loop never waits for a thread to become
// free, so loops may be nested, and closures may run loops on their own pool.
//
// After fork(), a child has only the thread that called fork. Its copies of the pools have no threads and start new
// ones when there is work, so sessions and environments work in a child, new ones as well as the parent's. Work that
// was queued or running in other threads at that time stays with the parent: the child drops it. If fork is called
// inside ParallelFor, or while other threads compile or run steps, the child may find locks held forever; only fork
// while weir is idle.
#ifndef WEIR_BASE_THREAD_POOL_H_
#define WEIR_BASE_THREAD_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "weir/base/export.h"

namespace WEIR_PUBLIC weir {

// Thread-safe.
class ThreadPool {
 public:
  // `num_threads` <= 0: one for each processor that the process may use (processors.h). Threads are named after `name`.
  ThreadPool(std::string name, int num_threads);
  // Runs all queued closures, then ends the threads. May be called by one of them.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The maximum number of threads; constant.
  int num_threads() const;
  // The number of threads started so far.
  int num_started() const;
  // If the system cannot start any thread, the closure runs on the calling thread.
  void Schedule(std::function<void()> closure);
  // The index of the calling thread in this pool, or -1.
  int CurrentThread() const;

  // Calls body(begin, end) for disjoint parts of [0, total), some on this thread and the rest on threads of the pool,
  // at most num_threads() at a time; returns when all are done. Then rethrows an exception of `body`. `unit_cost_ns` is
  // an estimate of the nanoseconds per unit: small amounts of work stay on this thread.
  void ParallelFor(int64_t total, double unit_cost_ns, absl::FunctionRef<void(int64_t begin, int64_t end)> body);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weir

#endif  // WEIR_BASE_THREAD_POOL_H_
