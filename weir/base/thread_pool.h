// ThreadPool: a bounded number of threads that run closures and help with loops.
//
// Threads start when there is work for them and end with the pool. A thread that runs out of work looks for more for
// some 60 microseconds, since one loop mostly follows another, and then sleeps: an idle pool uses no processor time.
//
// Closures run in the order they came. A loop is run by the thread that calls ParallelFor. Threads of the pool that are
// idle, or become so before the loop ends, take parts of it, as long as no more than num_threads() threads, callers
// included, are in loops: many loops at once are each run by their callers. A loop never waits for a thread to become
// free, so loops may be nested, and closures may run loops of their own pool.
//
// After fork() a child has no thread but the one that forked. Its copies of the pools have none, either, and start new
// ones when there is work, so sessions and environments work in a child, be they new or the parent's. What had been
// queued or was running elsewhere at that moment stays with the parent: the child drops it. The child of a thread that
// is inside ParallelFor, or of a program that is compiling or running steps in other threads, may find locks held
// forever; fork when weir is at rest.
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
  // Runs what is queued, then ends the threads. May be called by one of them.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // How many threads there may be at most; fixed.
  int num_threads() const;
  // How many have started so far.
  int num_started() const;
  // If the system can start no thread at all, the closure is run here.
  void Schedule(std::function<void()> closure);
  // The index of the calling thread in this pool, or -1.
  int CurrentThread() const;

  // Calls body(begin, end) over disjoint parts of [0, total), some in this thread, the rest in threads of the pool, at
  // most num_threads() at a time; returns when all are done. An exception that `body` throws is thrown here then.
  // `unit_cost_ns` is a guess of the nanoseconds one unit takes: little work stays in this thread.
  void ParallelFor(int64_t total, double unit_cost_ns, absl::FunctionRef<void(int64_t begin, int64_t end)> body);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weir

#endif  // WEIR_BASE_THREAD_POOL_H_
