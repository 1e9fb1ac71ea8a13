// ThreadPool: a fixed number of threads that run closures, first come, first served.
#ifndef WEIR_BASE_THREAD_POOL_H_
#define WEIR_BASE_THREAD_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace weir {

class ThreadPool {
 public:
  // `num_threads` <= 0: one a core. Threads are named after `name`.
  ThreadPool(std::string name, int num_threads);
  // Runs what is queued, then ends the threads. May be called by one of them.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;
  void Schedule(std::function<void()> closure);
  // The index of the calling thread in this pool, or -1.
  int CurrentThread() const;

  // Calls body(begin, end) over disjoint parts of [0, total), some in this thread, the rest in workers (workers.h), at
  // any time no more of them than the pool has threads; returns when all are done. `unit_cost` is a guess of
  // nanoseconds one unit takes: little work stays in this thread. Safe to call from a thread of the pool.
  void ParallelFor(int64_t total, double unit_cost_ns, absl::FunctionRef<void(int64_t begin, int64_t end)> body);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
  std::vector<std::thread> threads_;
};

}  // namespace weir

#endif  // WEIR_BASE_THREAD_POOL_H_
