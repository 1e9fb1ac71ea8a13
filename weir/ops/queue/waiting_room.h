// WaitingRoom: a monitor whose waiters hold no thread. An attempt that cannot succeed yet is kept and tried again,
// oldest first, after every change that succeeded.
#ifndef WEIR_OPS_QUEUE_WAITING_ROOM_H_
#define WEIR_OPS_QUEUE_WAITING_ROOM_H_

#include <list>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "weir/base/cancellation.h"

namespace weir {

// Thread-safe. Held by a shared_ptr.
class WaitingRoom : public std::enable_shared_from_this<WaitingRoom> {
 public:
  // Nothing while it must wait; it has then changed nothing.
  using Attempt = absl::AnyInvocable<std::optional<Status>()>;
  using Done = absl::AnyInvocable<void(Status)>;

  // Calls `attempt` under the lock until it has a result, and gives that to `done` without the lock; or CANCELLED with
  // `if_cancelled` as text.
  void Wait(CancellationManager& cancellation, std::string if_cancelled, Attempt attempt, Done done);
  // Runs `change` under the lock, then tries the waiters again.
  void Change(absl::FunctionRef<void()> change);
  // Runs `look` under the lock; it changes nothing.
  void Look(absl::FunctionRef<void()> look) const;

 private:
  struct Waiter {
    Attempt attempt;
    Done done;
    std::string if_cancelled;
    CancellationManager* cancellation;
    CancellationManager::Token token = CancellationManager::kNoToken;
    uint64_t id = 0;
    Status status;
  };
  using Waiters = std::list<Waiter>;
  void TryAllLocked(Waiters& finished) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Cancel(uint64_t id);
  static void Finish(Waiters finished);

  mutable absl::Mutex mu_;
  Waiters waiters_ ABSL_GUARDED_BY(mu_);
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_WAITING_ROOM_H_
