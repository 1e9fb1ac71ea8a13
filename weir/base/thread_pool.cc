#include "weir/base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace weir {
namespace {

struct ThreadIdentity {
  const void* pool = nullptr;
  int index = -1;
};
thread_local ThreadIdentity current_thread;

}  // namespace

class ThreadPool::Impl {
 public:
  Impl(std::string name, int num_threads) : name_(std::move(name)) {
    if (num_threads <= 0) num_threads = std::max(1u, std::thread::hardware_concurrency());
    threads_.reserve(num_threads);
    for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this, i] { Loop(i); });
  }

  ~Impl() {
    {
      absl::MutexLock lock(&mu_);
      stopping_ = true;
    }
    for (std::thread& thread : threads_) thread.join();
  }

  int num_threads() const { return static_cast<int>(threads_.size()); }

  void Schedule(std::function<void()> closure) {
    absl::MutexLock lock(&mu_);
    queue_.push_back(std::move(closure));
  }

 private:
  void Loop(int index) {
    current_thread = {this, index};
    pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
    while (true) {
      std::function<void()> closure;
      {
        absl::MutexLock lock(&mu_);
        mu_.Await(absl::Condition(
            +[](Impl* self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mu_) { return self->stopping_ || !self->queue_.empty(); },
            this));
        if (queue_.empty()) return;
        closure = std::move(queue_.front());
        queue_.pop_front();
      }
      closure();
    }
  }

  const std::string name_;
  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

ThreadPool::ThreadPool(std::string name, int num_threads)
    : impl_(std::make_unique<Impl>(std::move(name), num_threads)) {}
ThreadPool::~ThreadPool() = default;
int ThreadPool::num_threads() const { return impl_->num_threads(); }
void ThreadPool::Schedule(std::function<void()> closure) { impl_->Schedule(std::move(closure)); }
int ThreadPool::CurrentThread() const { return current_thread.pool == impl_.get() ? current_thread.index : -1; }

namespace {

// Below this a hand-over to another thread costs more than it saves.
constexpr double kMinPartNs = 20'000;

// Shared by all threads that help with one loop; whoever comes late finds nothing left and just drops it.
struct SharedLoop {
  SharedLoop(int64_t total, int64_t part, absl::FunctionRef<void(int64_t, int64_t)> body)
      : total(total), part(part), body(body) {}
  const int64_t total;
  const int64_t part;
  absl::FunctionRef<void(int64_t, int64_t)> body;  // valid while some part is undone: the caller waits for all
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> done{0};
  absl::Mutex mu;

  void Work() {
    while (true) {
      int64_t begin = next.fetch_add(part, std::memory_order_relaxed);
      if (begin >= total) return;
      int64_t end = std::min(total, begin + part);
      body(begin, end);
      if (done.fetch_add(end - begin, std::memory_order_acq_rel) + (end - begin) == total) {
        absl::MutexLock wake(&mu);
      }
    }
  }
  bool AllDone() const { return done.load(std::memory_order_acquire) == total; }
};

}  // namespace

void ThreadPool::ParallelFor(int64_t total, double unit_cost_ns,
                             absl::FunctionRef<void(int64_t begin, int64_t end)> body) {
  if (total <= 0) return;
  double total_ns = static_cast<double>(total) * std::max(unit_cost_ns, 1e-3);
  int64_t parts = std::min<double>({static_cast<double>(total), total_ns / kMinPartNs, 4.0 * num_threads()});
  if (parts <= 1 || num_threads() <= 1) {
    body(0, total);
    return;
  }
  int64_t part = (total + parts - 1) / parts;
  auto loop = std::make_shared<SharedLoop>(total, part, body);
  int helpers = static_cast<int>(std::min<int64_t>(num_threads(), parts)) - 1;
  for (int i = 0; i < helpers; ++i) Schedule([loop] { loop->Work(); });
  loop->Work();
  if (loop->AllDone()) return;
  absl::MutexLock lock(&loop->mu);
  loop->mu.Await(absl::Condition(loop.get(), &SharedLoop::AllDone));
}

}  // namespace weir
