// StepMutex: the mutex behind MutexV2. Who waits for it holds no thread.
#ifndef WEIR_OPS_STATE_STEP_MUTEX_H_
#define WEIR_OPS_STATE_STEP_MUTEX_H_

#include <functional>
#include <list>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "weir/base/cancellation.h"
#include "weir/framework/resource.h"
#include "weir/tensor/variant.h"

namespace weir {

// Thread-safe. Goes to the waiters in the order they came.
class StepMutex : public Resource, public std::enable_shared_from_this<StepMutex> {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow12_GLOBAL__N_15MutexE";
  // The lock is held until this value is gone.
  class Holder;
  // Called once, never under a lock.
  using Done = std::function<void(StatusOr<std::shared_ptr<Holder>>)>;

  std::string_view type_name() const override { return kTypeName; }
  // A cancelled wait ends with the reason and never gets the lock.
  void Acquire(CancellationManager& cancellation, Done done);

 private:
  struct Waiter {
    int64_t id;
    CancellationManager* cancellation;
    CancellationManager::Token token;
    Done done;
  };
  void Release();
  void Cancel(int64_t id, const Status& reason);

  absl::Mutex mu_;
  bool held_ ABSL_GUARDED_BY(mu_) = false;
  int64_t next_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::list<Waiter> waiters_ ABSL_GUARDED_BY(mu_);
};

class StepMutex::Holder : public VariantValue {
 public:
  explicit Holder(std::shared_ptr<StepMutex> mutex) : mutex_(std::move(mutex)) {}
  ~Holder() override { mutex_->Release(); }
  std::string_view type_name() const override { return "(anonymous)Mutex::SharedLockReleaser"; }

 private:
  std::shared_ptr<StepMutex> mutex_;
};

}  // namespace weir

#endif  // WEIR_OPS_STATE_STEP_MUTEX_H_
