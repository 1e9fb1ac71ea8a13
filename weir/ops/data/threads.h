// What iterators with threads of their own share.
#ifndef WEIR_OPS_DATA_THREADS_H_
#define WEIR_OPS_DATA_THREADS_H_

#include <functional>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/ops/data/dataset.h"

namespace weir {

// What became of an element that was made ahead of its use.
struct AheadResult {
  Status status;
  Element element;
  bool end = false;
};

// Threads of one iterator, and the end of them: when the walk is cancelled or Stop is called, `stopped()` turns true,
// whoever waits for it under `mu` wakes, and the context of the threads is cancelled.
//
// A user derives its iterator's state from nothing; it holds a WorkerThreads as its last member, so that the threads
// are gone before anything they use, and calls Stop in its destructor if it must not outlive a member declared later.
class WorkerThreads {
 public:
  // REQUIRES: `ctx` (what it points to) and `mu` outlive this.
  WorkerThreads(IteratorContext& ctx, absl::Mutex* mu);
  ~WorkerThreads() { Stop(); }

  // The context for what the threads do.
  IteratorContext& context() { return ctx_; }
  // REQUIRES: the mutex is held.
  bool stopped() const { return stopped_; }
  Status reason() const { return cancellation_.reason(); }
  // False if the system has no thread to give.
  bool Start(std::function<void()> body);
  int count() const { return static_cast<int>(threads_.size()); }
  void Stop();

 private:
  absl::Mutex* const mu_;
  CancellationManager cancellation_;
  IteratorContext ctx_;
  bool stopped_ = false;  // guarded by *mu_
  CancellationManager::Token token_;
  std::vector<std::thread> threads_;  // guarded by *mu_, until stopped
};

// How many threads `num_parallel_calls` asks for; -1 leaves it to us: as many as kernels may use.
int64_t ParallelCalls(const IteratorContext& ctx, int64_t num_parallel_calls);
// More threads than this are never started for one iterator.
inline constexpr int64_t kMaxWorkerThreads = 128;

}  // namespace weir

#endif  // WEIR_OPS_DATA_THREADS_H_
