#include "weir/ops/state/step_mutex.h"

namespace weir {

void StepMutex::Acquire(CancellationManager& cancellation, Done done) {
  bool cancelled = false;
  {
    absl::MutexLock lock(&mu_);
    if (held_) {
      int64_t id = next_id_++;
      CancellationManager::Token token = cancellation.Register(
          [self = shared_from_this(), id, &cancellation] { self->Cancel(id, cancellation.reason()); });
      if (token != CancellationManager::kNoToken) {
        waiters_.push_back({id, &cancellation, token, std::move(done)});
        return;
      }
      cancelled = true;
    } else {
      cancelled = cancellation.cancelled();
      if (!cancelled) held_ = true;
    }
  }
  if (cancelled) {
    done(cancellation.reason());
  } else {
    done(std::make_shared<Holder>(shared_from_this()));
  }
}

void StepMutex::Release() {
  std::list<Waiter> next;
  {
    absl::MutexLock lock(&mu_);
    if (waiters_.empty()) {
      held_ = false;
      return;
    }
    next.splice(next.begin(), waiters_, waiters_.begin());
  }
  // A callback that is running now finds no waiter; there is no need to wait for it.
  next.front().cancellation->TryDeregister(next.front().token);
  next.front().done(std::make_shared<Holder>(shared_from_this()));
}

void StepMutex::Cancel(int64_t id, const Status& reason) {
  std::list<Waiter> cancelled;
  {
    absl::MutexLock lock(&mu_);
    for (auto it = waiters_.begin(); it != waiters_.end(); ++it) {
      if (it->id != id) continue;
      cancelled.splice(cancelled.begin(), waiters_, it);
      break;
    }
  }
  if (!cancelled.empty()) cancelled.front().done(reason);
}

}  // namespace weir
