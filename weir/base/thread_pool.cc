#include "weir/base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/time/clock.h"
#include "weir/base/denormals.h"
#include "weir/base/mutex.h"
#include "weir/base/pool_worker_internal.h"
#include "weir/base/processors.h"
#include "weir/base/shared_loop_internal.h"

namespace weir {
namespace {

struct ThreadIdentity {
  const void* pool = nullptr;
  int index = -1;
};
thread_local ThreadIdentity current_thread;

}  // namespace

// Shared by the pool and its threads: a pool may be destroyed by one of its own threads, which then outlives it.
class ThreadPool::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(std::string name, int limit) : name_(std::move(name)), limit_(limit) {}
  // Register makes the pool known to fork().
  void Register();
  void Unregister();

  int limit() const { return limit_; }
  int num_started() {
    FastMutexLock lock(&mu_);
    return static_cast<int>(workers_.size());
  }

  void Schedule(std::function<void()> closure);
  // Gives the loop as many helpers as there are idle threads, at most `helpers`, and threads that become idle later.
  // Threads are woken or started only for loops that take longer than that, alone or one after another.
  void BeginLoop(SharedLoop& loop, int helpers, double total_ns);
  // REQUIRES: no part of the loop is left.
  void EndLoop(SharedLoop& loop);
  // Ends the threads when nothing is queued any more, and waits for them.
  void Stop();

 private:
  struct Pools;
  static Pools& AllPools();
  static void BeforeFork();
  static void AfterForkInParent();
  static void AfterForkInChild();

  struct ThreadStart {
    std::shared_ptr<Impl> impl;
    PoolWorker* worker;
  };
  static void* ThreadMain(void* start);
  void Loop(PoolWorker& worker);
  // Null if all are busy.
  PoolWorker* TakeIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Starts a thread that helps with `loop`, if not null. False if there are enough, or the system has none to give.
  bool Start(SharedLoop* loop) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // How many more threads may work on loops.
  int RoomInLoops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return limit_ - callers_ - helpers_; }
  // Whether a loop of this length is worth waking a thread for.
  bool IsWorthWaking(double total_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A loop for one more helper; null if none wants one, or there is no room.
  SharedLoop* TakeLoop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What a worker does next: hands it work, or makes it one of the idle, or says that its thread shall end.
  enum class Next { kWork, kIdle, kEnd };
  Next FindNext(PoolWorker& worker);
  // In the child of a fork: none of the threads exist.
  void ForgetThreads() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::string name_;
  const int limit_;
  FastMutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  ClosureQueue queue_ ABSL_GUARDED_BY(mu_);
  int callers_ ABSL_GUARDED_BY(mu_) = 0;                      // threads that are in a loop of their own
  int helpers_ ABSL_GUARDED_BY(mu_) = 0;                      // threads of the pool that are in loops of others
  int64_t last_loop_ns_ ABSL_GUARDED_BY(mu_) = 0;             // when it began
  double unhelped_ns_ ABSL_GUARDED_BY(mu_) = 0;               // of short loops, since there was a pause between them
  std::vector<SharedLoop*> open_loops_ ABSL_GUARDED_BY(mu_);  // that want helpers, the oldest first
  std::vector<std::unique_ptr<PoolWorker>> workers_ ABSL_GUARDED_BY(mu_);  // one for each thread
  std::vector<PoolWorker*> idle_ ABSL_GUARDED_BY(mu_);                     // the one that was busy last is at the end
};

void ThreadPool::Impl::Schedule(std::function<void()> closure) {
  PoolWorker* chosen = nullptr;
  std::function<void()> run_here;  // set if the system starts no thread at all
  {
    FastMutexLock lock(&mu_);
    chosen = TakeIdle();
    if (chosen == nullptr) Start(nullptr);
    if (chosen != nullptr && !chosen->is_asleep()) {
      chosen->closure = std::move(closure);
    } else if (!workers_.empty()) {  // a thread that must be woken may be overtaken by one that just became free
      queue_.Push(std::move(closure));
    } else {
      run_here = std::move(closure);
    }
  }
  if (chosen != nullptr) chosen->Wake();
  if (run_here) run_here();
}

bool ThreadPool::Impl::IsWorthWaking(double total_ns) {
  constexpr double kWakeUpNs = 100'000;  // until a thread that slept is of help, with what the call costs
  constexpr int64_t kPauseNs = 200'000;
  const int64_t now = absl::GetCurrentTimeNanos();
  if (now - std::exchange(last_loop_ns_, now) > kPauseNs) unhelped_ns_ = 0;
  unhelped_ns_ += total_ns;
  return unhelped_ns_ >= kWakeUpNs;
}

void ThreadPool::Impl::BeginLoop(SharedLoop& loop, int helpers, double total_ns) {
  absl::InlinedVector<PoolWorker*, 32> chosen;
  {
    FastMutexLock lock(&mu_);
    ++callers_;
    const bool wakes = IsWorthWaking(total_ns);
    for (; helpers > 0 && RoomInLoops() > 0; --helpers) {
      if (!wakes && (idle_.empty() || idle_.back()->is_asleep())) break;
      if (PoolWorker* idle = TakeIdle()) {
        loop.Ref();
        idle->loop = &loop;
        chosen.push_back(idle);
      } else if (!Start(&loop)) {
        break;
      }
      ++helpers_;
    }
    loop.wanted_helpers = helpers;
    if (helpers > 0) open_loops_.push_back(&loop);
  }
  for (PoolWorker* worker : chosen) worker->Wake();
}

void ThreadPool::Impl::EndLoop(SharedLoop& loop) {
  PoolWorker* chosen = nullptr;
  {
    FastMutexLock lock(&mu_);
    --callers_;
    if (loop.wanted_helpers > 0) std::erase(open_loops_, &loop);
    if (!open_loops_.empty() && !idle_.empty()) {  // there may be room now
      if (SharedLoop* other = TakeLoop()) {
        chosen = TakeIdle();
        chosen->loop = other;
      }
    }
  }
  if (chosen != nullptr) chosen->Wake();
}

PoolWorker* ThreadPool::Impl::TakeIdle() {
  if (idle_.empty()) return nullptr;
  PoolWorker* worker = idle_.back();
  idle_.pop_back();
  return worker;
}

bool ThreadPool::Impl::Start(SharedLoop* loop) {
  if (stopping_ || static_cast<int>(workers_.size()) >= limit_) return false;
  auto worker = std::make_unique<PoolWorker>(static_cast<int>(workers_.size()));
  auto start = std::make_unique<ThreadStart>(ThreadStart{shared_from_this(), worker.get()});
  worker->loop = loop;
  if (loop != nullptr) loop->Ref();
  if (pthread_create(&worker->thread, nullptr, &ThreadMain, start.get()) != 0) {
    if (loop != nullptr) loop->Unref();
    return false;
  }
  static_cast<void>(start.release());  // ThreadMain owns it now
  workers_.push_back(std::move(worker));
  return true;
}

SharedLoop* ThreadPool::Impl::TakeLoop() {
  while (!open_loops_.empty() && RoomInLoops() > 0) {
    SharedLoop* loop = open_loops_.front();
    const bool has_parts = loop->HasParts();
    if (!has_parts) loop->wanted_helpers = 0;
    if (!has_parts || --loop->wanted_helpers == 0) open_loops_.erase(open_loops_.begin());
    if (!has_parts) continue;
    loop->Ref();
    ++helpers_;
    return loop;
  }
  return nullptr;
}

ThreadPool::Impl::Next ThreadPool::Impl::FindNext(PoolWorker& worker) {
  FastMutexLock lock(&mu_);
  if (std::exchange(worker.was_helper, false)) --helpers_;
  if (!queue_.empty()) {
    worker.closure = queue_.Pop();
    return Next::kWork;
  }
  worker.loop = TakeLoop();
  if (worker.loop != nullptr) return Next::kWork;
  if (stopping_) return Next::kEnd;
  worker.SetIdle();
  idle_.push_back(&worker);
  return Next::kIdle;
}

void ThreadPool::Impl::Loop(PoolWorker& worker) {
  current_thread = {this, worker.index};
  FlushDenormals flush;
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  bool has_helped = false;  // since it was idle
  for (Next next = Next::kWork; next != Next::kEnd; next = FindNext(worker)) {
    if (next == Next::kIdle) worker.Await(/*spins=*/std::exchange(has_helped, false));
    if (SharedLoop* loop = std::exchange(worker.loop, nullptr)) {
      loop->Work();
      loop->Unref();
      worker.was_helper = has_helped = true;
    } else if (worker.closure != nullptr) {
      const std::function<void()> closure = std::exchange(worker.closure, nullptr);
      closure();
    }
  }
}

void* ThreadPool::Impl::ThreadMain(void* start) {
  const std::unique_ptr<ThreadStart> own(static_cast<ThreadStart*>(start));
  own->impl->Loop(*own->worker);
  return nullptr;
}

void ThreadPool::Impl::Stop() {
  std::vector<PoolWorker*> idle;
  std::vector<pthread_t> threads;
  {
    FastMutexLock lock(&mu_);
    stopping_ = true;
    idle.swap(idle_);
    for (const auto& worker : workers_) threads.push_back(worker->thread);
  }
  for (PoolWorker* worker : idle) worker->Wake();
  for (pthread_t thread : threads) {
    if (pthread_equal(thread, pthread_self()) != 0) {
      pthread_detach(thread);
    } else {
      pthread_join(thread, nullptr);
    }
  }
}

// All pools of the process. A fork waits until none of them is being changed.
struct ThreadPool::Impl::Pools {
  FastMutex mu;
  std::vector<Impl*> all ABSL_GUARDED_BY(mu);
};

ThreadPool::Impl::Pools& ThreadPool::Impl::AllPools() {
  static Pools* const pools = [] {
    pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
    return new Pools;
  }();
  return *pools;
}

void ThreadPool::Impl::Register() {
  Pools& pools = AllPools();
  FastMutexLock lock(&pools.mu);
  pools.all.push_back(this);
}
void ThreadPool::Impl::Unregister() {
  Pools& pools = AllPools();
  FastMutexLock lock(&pools.mu);
  std::erase(pools.all, this);
}

void ThreadPool::Impl::BeforeFork() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  AllPools().mu.Lock();
  for (Impl* pool : AllPools().all) pool->mu_.Lock();
}
void ThreadPool::Impl::AfterForkInParent() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (Impl* pool : AllPools().all) pool->mu_.Unlock();
  AllPools().mu.Unlock();
}
void ThreadPool::Impl::AfterForkInChild() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (Impl* pool : AllPools().all) {
    pool->ForgetThreads();
    pool->mu_.Unlock();
  }
  AllPools().mu.Unlock();
}

void ThreadPool::Impl::ForgetThreads() {
  // What the threads had is neither run nor destroyed here: it belongs to steps of the parent.
  struct Lost {
    std::vector<std::unique_ptr<PoolWorker>> workers;
    ClosureQueue queue;
  };
  static std::vector<Lost>* const lost = new std::vector<Lost>;
  lost->push_back({std::exchange(workers_, {}), std::exchange(queue_, {})});
  idle_.clear();
  open_loops_.clear();
  callers_ = helpers_ = 0;
}

ThreadPool::ThreadPool(std::string name, int num_threads)
    : impl_(std::make_shared<Impl>(std::move(name), num_threads > 0 ? num_threads : NumUsableProcessors())) {
  impl_->Register();
}

ThreadPool::~ThreadPool() {
  impl_->Stop();
  impl_->Unregister();
}

int ThreadPool::num_threads() const { return impl_->limit(); }
int ThreadPool::num_started() const { return impl_->num_started(); }
void ThreadPool::Schedule(std::function<void()> closure) {
  // The closure may be the one that lets the pool go, and may run before this returns.
  const std::shared_ptr<Impl> impl = impl_;
  impl->Schedule(std::move(closure));
}
int ThreadPool::CurrentThread() const { return current_thread.pool == impl_.get() ? current_thread.index : -1; }

void ThreadPool::ParallelFor(int64_t total, double unit_cost_ns,
                             absl::FunctionRef<void(int64_t begin, int64_t end)> body) {
  constexpr double kMinPartNs = 20'000;  // below this a hand-over to another thread costs more than it saves
  if (total <= 0) return;
  const double total_ns = static_cast<double>(total) * std::max(unit_cost_ns, 1e-3);
  const int64_t parts = std::min<double>({static_cast<double>(total), total_ns / kMinPartNs, 4.0 * num_threads()});
  if (parts <= 1 || num_threads() <= 1) {
    body(0, total);
    return;
  }
  struct Unref {
    void operator()(SharedLoop* loop) const { loop->Unref(); }
  };
  const std::unique_ptr<SharedLoop, Unref> loop(new SharedLoop(total, (total + parts - 1) / parts, body));
  impl_->BeginLoop(*loop, static_cast<int>(std::min<int64_t>(num_threads(), parts)) - 1, total_ns);
  loop->Work();
  impl_->EndLoop(*loop);
  loop->Await();
}

}  // namespace weir
