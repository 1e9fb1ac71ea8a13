#include "weir/base/workers.h"

#include <pthread.h>
#include <sched.h>

#include <mutex>
#include <thread>

#include "weir/base/denormals.h"

namespace weir {
namespace workers_internal {

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
void GiveWay() { sched_yield(); }

}  // namespace workers_internal

class Worker {
 public:
  Worker() {
    std::thread([this] { Loop(); }).detach();
  }

  void Begin(const WorkerTask& task) {
    task_ = task;
    if (state_.exchange(kBusy, std::memory_order_acq_rel) == kAsleep) state_.notify_one();
  }

 private:
  enum State : uint32_t { kIdle, kBusy, kAsleep };

  [[noreturn]] void Loop() {
    FlushDenormals flush;
    pthread_setname_np(pthread_self(), "weir-worker");
    for (;;) {
      if (!LookFor([this] { return state_.load(std::memory_order_acquire) == kBusy; })) {
        uint32_t idle = kIdle;
        if (state_.compare_exchange_strong(idle, kAsleep, std::memory_order_acq_rel)) {
          state_.wait(kAsleep, std::memory_order_acquire);
        }
        continue;
      }
      const WorkerTask task = task_;
      task.run(task.data);
      state_.store(kIdle, std::memory_order_release);
      if (task.left == nullptr) {
        Worker* self = this;
        GiveBack({&self, 1});
      } else if (task.left->fetch_sub(1, std::memory_order_acq_rel) == 1) {
        task.left->notify_one();  // of its address alone: it may be gone
      }
    }
  }

  WorkerTask task_;
  std::atomic<uint32_t> state_{kIdle};
};

namespace {

// The workers that nobody has, the one that was busy last at the end. Never destroyed, as their threads do not end.
struct Idle {
  std::mutex mu;
  std::vector<Worker*> workers;
};
Idle& TheIdle() {
  static Idle* idle = new Idle;
  return *idle;
}

}  // namespace

void TakeWorkers(int count, std::vector<Worker*>& workers) {
  Idle& idle = TheIdle();
  std::lock_guard<std::mutex> lock(idle.mu);
  for (int i = 0; i < count; ++i) {
    if (idle.workers.empty()) idle.workers.push_back(new Worker);
    workers.push_back(idle.workers.back());
    idle.workers.pop_back();
  }
}

void BeginTask(Worker* worker, const WorkerTask& task) { worker->Begin(task); }

void GiveBack(std::span<Worker* const> workers) {
  Idle& idle = TheIdle();
  std::lock_guard<std::mutex> lock(idle.mu);
  idle.workers.insert(idle.workers.end(), workers.rbegin(), workers.rend());
}

}  // namespace weir
