// Private to the session: lets a thread wait for the end of a step.
#ifndef WEIR_RUNTIME_STEP_WAITER_INTERNAL_H_
#define WEIR_RUNTIME_STEP_WAITER_INTERNAL_H_

#include <atomic>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/runtime/session.h"

namespace weir {

// The state that the waiting thread and the step share.
class StepWaiter {
 public:
  // The callback for the asynchronous calls of a session.
  Session::RunDone Callback() {
    return [this](Status status, std::vector<Tensor> outputs) { Finish(std::move(status), std::move(outputs)); };
  }
  void Finish(Status status, std::vector<Tensor> outputs) {
    status_ = std::move(status);
    outputs_ = std::move(outputs);
    if (state_.exchange(kDone, std::memory_order_acq_rel) != kWaiting) return;
    // The waiting thread destroys this object once it sees the flag, so it is set under the lock.
    absl::MutexLock lock(&mu_);
    woken_ = true;
  }
  Status Await(std::vector<Tensor>* outputs) {
    // Most steps have already ended here, because they ran on this thread.
    int idle = kIdle;
    if (!state_.compare_exchange_strong(idle, kWaiting, std::memory_order_acq_rel)) return Take(outputs);
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(&woken_));
    }
    return Take(outputs);
  }

 private:
  Status Take(std::vector<Tensor>* outputs) {
    if (status_.ok() && outputs != nullptr) *outputs = std::move(outputs_);
    return std::move(status_);
  }
  enum : int { kIdle, kWaiting, kDone };
  std::atomic<int> state_{kIdle};
  Status status_;
  std::vector<Tensor> outputs_;
  absl::Mutex mu_;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace weir

#endif  // WEIR_RUNTIME_STEP_WAITER_INTERNAL_H_
