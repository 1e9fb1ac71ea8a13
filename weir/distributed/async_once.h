// AsyncOnce: asynchronous work that is done once for many callers. The first caller starts it and all callers receive
// its result; after a failure the next caller starts it again.
#ifndef WEIR_DISTRIBUTED_ASYNC_ONCE_H_
#define WEIR_DISTRIBUTED_ASYNC_ONCE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/base/cancellation.h"

namespace weir {

// Thread-safe.
class AsyncOnce {
 public:
  using Done = std::function<void(const Status&)>;

  // `start` begins the work and calls its argument once. This object must live until then. `cancellation` (may be null)
  // ends the wait of this caller with its reason, but not the work; it must live until `done` is called.
  void Await(CancellationManager* cancellation, const std::function<void(Done)>& start, Done done) {
    if (finished_) return done(OkStatus());
    auto waiter = std::make_shared<Waiter>();
    waiter->done = std::move(done);
    if (cancellation != nullptr) {
      waiter->cancellation = cancellation;
      waiter->token = cancellation->Register([waiter, cancellation] {
        if (!waiter->told.exchange(true)) waiter->done(cancellation->reason());
      });
      if (waiter->token == CancellationManager::kNoToken) return waiter->done(cancellation->reason());
    }
    bool starts = false, late = false;
    {
      absl::MutexLock lock(&mu_);
      late = finished_;
      if (!late) {
        waiters_.push_back(waiter);
        starts = !std::exchange(started_, true);
      }
    }
    if (late) waiter->Tell(OkStatus());
    if (starts) start([this](const Status& status) { Finish(status); });
  }
  bool finished() const { return finished_; }

 private:
  struct Waiter {
    Done done;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kNoToken;
    std::atomic<bool> told{false};
    void Tell(const Status& status) {
      if (told.exchange(true)) return;  // then its cancellation may be gone
      if (cancellation != nullptr) cancellation->TryDeregister(token);
      done(status);
    }
  };

  void Finish(const Status& status) {
    std::vector<std::shared_ptr<Waiter>> waiters;
    {
      absl::MutexLock lock(&mu_);
      waiters.swap(waiters_);
      started_ = false;
      finished_ = status.ok();
    }
    for (const auto& waiter : waiters) waiter->Tell(status);
  }

  absl::Mutex mu_;
  bool started_ ABSL_GUARDED_BY(mu_) = false;
  std::atomic<bool> finished_{false};
  std::vector<std::shared_ptr<Waiter>> waiters_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_DISTRIBUTED_ASYNC_ONCE_H_
