#include "weir/base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/denormals.h"
#include "weir/base/workers.h"

namespace weir {
namespace {

struct ThreadIdentity {
  const void* pool = nullptr;
  int index = -1;
};
thread_local ThreadIdentity current_thread;

constexpr auto kLinger = std::chrono::microseconds(50);

}  // namespace

// Shared by the pool and its threads: a pool may be destroyed by one of its own threads, which then outlives it.
class ThreadPool::Impl {
 public:
  explicit Impl(std::string name) : name_(std::move(name)), ring_(64) {}

  void Schedule(std::function<void()> closure) {
    bool is_awaited = false;  // by a thread that is awake
    {
      std::lock_guard<std::mutex> lock(mu_);
      if (size_ == ring_.size()) Grow();
      ring_[(first_ + size_++) % ring_.size()] = std::move(closure);
      is_awaited = size_ <= lingering_;
      has_news_.store(true, std::memory_order_relaxed);
    }
    if (!is_awaited) wake_.notify_one();
  }

  // How many more threads may help with loops, at most `wanted`: no more than the pool has.
  int BeginHelp(int wanted) {
    int busy = helpers_.load(std::memory_order_relaxed), more;
    do {
      more = std::min(wanted, most_helpers_ - busy);
      if (more <= 0) return 0;
    } while (!helpers_.compare_exchange_weak(busy, busy + more, std::memory_order_relaxed));
    return more;
  }
  void EndHelp() { helpers_.fetch_sub(1, std::memory_order_relaxed); }
  void set_most_helpers(int count) { most_helpers_ = count; }

  void Stop() {
    {
      std::lock_guard<std::mutex> lock(mu_);
      stopping_ = true;
      has_news_.store(true, std::memory_order_relaxed);
    }
    wake_.notify_all();
  }

  void Loop(int index) {
    current_thread = {this, index};
    FlushDenormals flush;
    pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
    std::unique_lock<std::mutex> lock(mu_);
    for (bool is_first = true;; is_first = false) {
      if (!is_first && size_ == 0 && !stopping_) Linger(lock);
      wake_.wait(lock, [this] { return stopping_ || size_ > 0; });
      if (size_ == 0) return;
      std::function<void()> closure = std::move(ring_[first_]);
      ring_[first_] = nullptr;
      first_ = (first_ + 1) % ring_.size();
      --size_;
      has_news_.store(size_ > 0 || stopping_, std::memory_order_relaxed);
      lock.unlock();
      closure();
      closure = nullptr;
      lock.lock();
    }
  }

 private:
  // Looks for more work for a moment: one loop mostly follows another, and to be woken takes longer than many of them.
  // Others who want the processor get it. `lock` is held before and after.
  void Linger(std::unique_lock<std::mutex>& lock) {
    ++lingering_;
    lock.unlock();
    const auto end = std::chrono::steady_clock::now() + kLinger;
    while (!has_news_.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    lock.lock();
    --lingering_;
  }

  // A ring, so that a steady stream of closures allocates nothing.
  void Grow() {
    std::vector<std::function<void()>> larger(ring_.size() * 2);
    for (size_t i = 0; i < size_; ++i) larger[i] = std::move(ring_[(first_ + i) % ring_.size()]);
    ring_ = std::move(larger);
    first_ = 0;
  }

  const std::string name_;
  int most_helpers_ = 0;
  std::atomic<int> helpers_{0};
  std::mutex mu_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::vector<std::function<void()>> ring_;
  size_t first_ = 0;
  size_t size_ = 0;
  size_t lingering_ = 0;
  std::atomic<bool> has_news_ = false;  // something is queued, or the threads shall end
};

ThreadPool::ThreadPool(std::string name, int num_threads) : impl_(std::make_shared<Impl>(std::move(name))) {
  if (num_threads <= 0) num_threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  impl_->set_most_helpers(num_threads);
  threads_.reserve(num_threads);
  for (int i = 0; i < num_threads; ++i) {
    threads_.emplace_back([impl = impl_, i] { impl->Loop(i); });
  }
}

ThreadPool::~ThreadPool() {
  impl_->Stop();
  for (std::thread& thread : threads_) {
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

int ThreadPool::num_threads() const { return static_cast<int>(threads_.size()); }
void ThreadPool::Schedule(std::function<void()> closure) {
  // The closure may be the one that lets the pool go, and may run before this returns.
  const std::shared_ptr<Impl> impl = impl_;
  impl->Schedule(std::move(closure));
}
int ThreadPool::CurrentThread() const { return current_thread.pool == impl_.get() ? current_thread.index : -1; }

namespace {

// Below this a hand-over to another thread costs more than it saves.
constexpr double kMinPartNs = 20'000;
constexpr auto kPatience = std::chrono::microseconds(50);

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
  std::exception_ptr error;  // the first; read when all is done

  void Work() {
    while (true) {
      int64_t begin = next.fetch_add(part, std::memory_order_relaxed);
      if (begin >= total) return;
      int64_t end = std::min(total, begin + part);
      try {
        body(begin, end);
      } catch (...) {  // no memory, most likely; the caller gets it when nobody uses `body` any more
        absl::MutexLock lock(&mu);
        if (error == nullptr) error = std::current_exception();
      }
      if (done.fetch_add(end - begin, std::memory_order_acq_rel) + (end - begin) == total) {
        absl::MutexLock wake(&mu);
      }
    }
  }
  bool AllDone() const { return done.load(std::memory_order_acquire) == total; }
  // What is left is in others' hands, and mostly done before this thread would have fallen asleep and woken up again.
  void Await() {
    const auto patience_end = std::chrono::steady_clock::now() + kPatience;
    while (!AllDone()) {
      if (std::chrono::steady_clock::now() < patience_end) continue;
      absl::MutexLock lock(&mu);
      mu.Await(absl::Condition(this, &SharedLoop::AllDone));
    }
  }
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
  const int helpers = impl_->BeginHelp(static_cast<int>(std::min<int64_t>(num_threads(), parts)) - 1);
  if (helpers > 0) {
    struct Help {
      std::shared_ptr<SharedLoop> loop;
      std::shared_ptr<Impl> impl;
    };
    std::vector<Worker*> workers;
    TakeWorkers(helpers, workers);
    for (Worker* worker : workers) {
      BeginTask(worker, {[](void* data) {
                           std::unique_ptr<Help> help(static_cast<Help*>(data));
                           help->loop->Work();
                           help->impl->EndHelp();
                         },
                         new Help{loop, impl_}});
    }
  }
  loop->Work();
  loop->Await();
  if (loop->error != nullptr) std::rethrow_exception(loop->error);
}

}  // namespace weir
