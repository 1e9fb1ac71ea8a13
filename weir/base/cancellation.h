// Cancellation: one manager a step; whoever blocks registers a callback that ends its wait.
#ifndef WEIR_BASE_CANCELLATION_H_
#define WEIR_BASE_CANCELLATION_H_

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "weir/base/export.h"
#include "weir/base/status.h"

namespace WEIR_PUBLIC weir {

// Thread-safe.
class CancellationManager {
 public:
  using Token = int64_t;
  static constexpr Token kNoToken = -1;

  CancellationManager() = default;
  // A child is cancelled with its parent. REQUIRES: `parent` outlives this.
  explicit CancellationManager(CancellationManager* parent);
  ~CancellationManager();
  CancellationManager(const CancellationManager&) = delete;
  CancellationManager& operator=(const CancellationManager&) = delete;

  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // Why: CANCELLED unless StartCancel was given something else. OK if not cancelled.
  Status reason() const;
  // Runs every registered callback once, in this thread; later calls do nothing.
  void StartCancel(Status reason = Cancelled("Step was cancelled"));

  // Registers `callback` and gives its token, or kNoToken if already cancelled (the callback is then never called).
  Token Register(std::function<void()> callback);
  // After it returns, the callback is not running and will not. False if it ran or is being run (then this waits for
  // it), true if it was removed unused. REQUIRES: not called from the callback itself.
  bool Deregister(Token token);
  // As above without waiting: false if cancellation has begun.
  bool TryDeregister(Token token);

 private:
  CancellationManager* const parent_ = nullptr;
  Token parent_token_ = kNoToken;
  std::atomic<bool> cancelled_{false};
  mutable absl::Mutex mu_;
  bool callbacks_done_ ABSL_GUARDED_BY(mu_) = false;
  Status reason_ ABSL_GUARDED_BY(mu_);
  Token next_token_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<Token, std::function<void()>> callbacks_ ABSL_GUARDED_BY(mu_);
};

}  // namespace weir

#endif  // WEIR_BASE_CANCELLATION_H_
