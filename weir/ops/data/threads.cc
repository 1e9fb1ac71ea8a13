#include "weir/ops/data/threads.h"

#include <system_error>

#include "weir/base/processors.h"
#include "weir/base/thread_pool.h"

namespace weir {

WorkerThreads::WorkerThreads(IteratorContext& ctx, absl::Mutex* mu)
    : mu_(mu), cancellation_(ctx.cancellation), ctx_(ctx) {
  ctx_.cancellation = &cancellation_;
  token_ = cancellation_.Register([this] {
    absl::MutexLock lock(mu_);
    stopped_ = true;
  });
  if (token_ == CancellationManager::kNoToken) stopped_ = true;
}

bool WorkerThreads::Start(std::function<void()> body) {
  try {
    threads_.emplace_back(std::move(body));
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void WorkerThreads::Stop() {
  cancellation_.StartCancel(Cancelled("The iterator was deleted"));
  std::vector<std::thread> threads;
  {
    absl::MutexLock lock(mu_);
    stopped_ = true;
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

int64_t ParallelCalls(const IteratorContext& ctx, int64_t num_parallel_calls) {
  if (num_parallel_calls > 0) return num_parallel_calls;
  return ctx.intra_op != nullptr ? ctx.intra_op->num_threads() : NumUsableProcessors();
}

}  // namespace weir
