#include "weir/ops/queue/waiting_room.h"

#include <iterator>
#include <utility>

namespace weir {

void WaitingRoom::TryAllLocked(Waiters& finished) {
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    std::optional<Status> result = waiter->attempt();
    if (!result.has_value()) {
      ++waiter;
      continue;
    }
    waiter->status = *std::move(result);
    finished.splice(finished.end(), waiters_, waiter);
    waiter = waiters_.begin();  // what it changed may let an older one go on
  }
}

void WaitingRoom::Wait(CancellationManager& cancellation, std::string if_cancelled, Attempt attempt, Done done) {
  Waiters finished;
  {
    absl::MutexLock lock(&mu_);
    uint64_t id = next_id_++;
    waiters_.push_back({.attempt = std::move(attempt),
                        .done = std::move(done),
                        .if_cancelled = std::move(if_cancelled),
                        .cancellation = &cancellation,
                        .id = id});
    auto self = std::prev(waiters_.end());
    bool cancelled = cancellation.cancelled();
    if (!cancelled) {
      TryAllLocked(finished);
      if (!waiters_.empty() && waiters_.back().id == id) {
        self->token = cancellation.Register([room = weak_from_this(), id] {
          if (std::shared_ptr<WaitingRoom> alive = room.lock()) alive->Cancel(id);
        });
        cancelled = self->token == CancellationManager::kNoToken;
      }
    }
    if (cancelled) {
      self->status = Cancelled(self->if_cancelled);
      finished.splice(finished.end(), waiters_, self);
    }
  }
  Finish(std::move(finished));
}

void WaitingRoom::Change(absl::FunctionRef<void()> change) {
  Waiters finished;
  {
    absl::MutexLock lock(&mu_);
    change();
    TryAllLocked(finished);
  }
  Finish(std::move(finished));
}

void WaitingRoom::Look(absl::FunctionRef<void()> look) const {
  absl::MutexLock lock(&mu_);
  look();
}

void WaitingRoom::Cancel(uint64_t id) {
  Waiters finished;
  {
    absl::MutexLock lock(&mu_);
    for (auto waiter = waiters_.begin(); waiter != waiters_.end(); ++waiter) {
      if (waiter->id != id) continue;
      waiter->status = Cancelled(waiter->if_cancelled);
      finished.splice(finished.end(), waiters_, waiter);
      break;
    }
  }
  Finish(std::move(finished));
}

void WaitingRoom::Finish(Waiters finished) {
  for (Waiter& waiter : finished) {
    // Not Deregister: this may run inside a cancellation callback of the same step.
    if (waiter.token != CancellationManager::kNoToken) waiter.cancellation->TryDeregister(waiter.token);
    waiter.attempt = nullptr;  // what it holds goes before the step goes on
    waiter.done(std::move(waiter.status));
  }
}

}  // namespace weir
