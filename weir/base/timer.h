// Timer: one thread that calls callbacks at given times; used for deadlines.
#ifndef WEIR_BASE_TIMER_H_
#define WEIR_BASE_TIMER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace weir {

// Thread-safe.
class Timer {
 public:
  using Id = uint64_t;
  // The process's timer; its thread starts on first use. After a fork the child has a timer of its own, without the
  // parent's callbacks.
  static Timer& Global();

  Timer() = default;
  ~Timer();

  // `callback` must be quick; it runs on the timer's thread.
  Id CallAt(absl::Time when, std::function<void()> callback);
  // When it returns, the callback is not running and will not run. False if it has run. REQUIRES: not called from the
  // callback.
  bool Cancel(Id id);
  // Like Cancel, but does not wait for a running callback.
  bool TryCancel(Id id);

 private:
  void Loop();
  using Key = std::pair<absl::Time, Id>;
  absl::Mutex mu_;
  absl::CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  Id next_id_ ABSL_GUARDED_BY(mu_) = 1;
  Id running_ ABSL_GUARDED_BY(mu_) = 0;
  // When the sleeping thread will check the queue again; in the past while it is awake.
  absl::Time sleeps_until_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  std::map<Key, std::function<void()>> queue_ ABSL_GUARDED_BY(mu_);
  std::map<Id, absl::Time> times_ ABSL_GUARDED_BY(mu_);
  std::thread thread_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_BASE_TIMER_H_
