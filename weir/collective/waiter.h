// Waiter: a callback that several events compete to call (an answer, a cancellation, a deadline). Only the first one
// does.
#ifndef WEIR_COLLECTIVE_WAITER_H_
#define WEIR_COLLECTIVE_WAITER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "weir/base/cancellation.h"
#include "weir/base/status.h"

namespace weir {

template <typename T>
class Waiter {
 public:
  using Done = std::function<void(StatusOr<T>)>;
  // If the cancellation wins, `on_cancel` is called before `done`. `cancellation` may be null; it must live until
  // `done` is called. If it has fired already, `done` is called before Make returns, and finished() is true.
  static std::shared_ptr<Waiter> Make(CancellationManager* cancellation, std::function<void()> on_cancel, Done done) {
    auto waiter = std::make_shared<Waiter>();
    waiter->done_ = std::move(done);
    waiter->cancellation_ = cancellation;
    if (cancellation == nullptr) return waiter;
    waiter->token_ = cancellation->Register([waiter, cancellation, on_cancel = std::move(on_cancel)] {
      if (waiter->finished_.exchange(true)) return;
      on_cancel();
      waiter->done_(cancellation->reason());
      waiter->done_ = nullptr;
    });
    if (waiter->token_ == CancellationManager::kNoToken && !waiter->finished_.exchange(true)) {
      waiter->done_(cancellation->reason());
      waiter->done_ = nullptr;
    }
    return waiter;
  }

  bool finished() const { return finished_.load(std::memory_order_acquire); }
  // Claims the right to call; false if another event was faster. If true, Answer must follow.
  bool Claim() { return !finished_.exchange(true); }
  // REQUIRES: claimed. Must not be called under a lock that the callback might take.
  void Answer(StatusOr<T> value) {
    if (cancellation_ != nullptr) cancellation_->TryDeregister(token_);
    Done done = std::move(done_);
    done_ = nullptr;
    done(std::move(value));
  }

 private:
  std::atomic<bool> finished_{false};
  CancellationManager* cancellation_ = nullptr;
  CancellationManager::Token token_ = CancellationManager::kNoToken;
  Done done_;
};

}  // namespace weir

#endif  // WEIR_COLLECTIVE_WAITER_H_
