// LocalRendezvous: a rendezvous within one process.
#ifndef WEIR_RUNTIME_LOCAL_RENDEZVOUS_H_
#define WEIR_RUNTIME_LOCAL_RENDEZVOUS_H_

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "weir/framework/rendezvous.h"

namespace weir {

class LocalRendezvous : public Rendezvous {
 public:
  ~LocalRendezvous() override;
  Status Send(std::string_view key, Tensor value, bool is_dead) override;
  void RecvAsync(std::string_view key, CancellationManager* cancellation, RecvDone done) override;
  Status SendValue(std::string_view key, RendezvousValue value) override;
  void RecvValueAsync(std::string_view key, CancellationManager* cancellation, RecvValueDone done) override;
  void StartAbort(const Status& status) override;
  // Whether a value is stored under the key.
  bool Holds(std::string_view key) const;
  // True if there are neither stored values nor waiting receivers.
  bool empty() const;
  // Removes and returns the values for a device of another task that are small enough to be piggybacked on another
  // message and are not dead, with their keys.
  std::vector<std::pair<std::string, Tensor>> TakeSmall(std::string_view destination);
  // The keys with waiting receivers.
  std::vector<std::string> PendingKeys() const;

 private:
  struct Waiter {
    RecvValueDone done;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kNoToken;
    uint64_t id = 0;
  };
  // At most one of the two is not empty.
  struct Queue {
    std::deque<RendezvousValue> items;
    std::deque<Waiter> waiters;
  };
  void CancelWaiter(const std::string& key, uint64_t id, const Status& reason);

  mutable absl::Mutex mu_;
  Status aborted_ ABSL_GUARDED_BY(mu_);
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 0;
  StringMap<Queue> queues_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_RUNTIME_LOCAL_RENDEZVOUS_H_
