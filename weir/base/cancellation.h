// Cancellation: one manager per step; code that waits registers a callback that ends the wait.
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
  // A child is cancelled with its parent. REQUIRES: `parent` outlives this object.
  explicit CancellationManager(CancellationManager* parent);
  ~CancellationManager();
  CancellationManager(const CancellationManager&) = delete;
  CancellationManager& operator=(const CancellationManager&) = delete;

  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // The reason: CANCELLED unless StartCancel was given another one. OK if not cancelled.
  Status reason() const;
  // Runs every registered callback once, on this thread; later calls do nothing.
  void StartCancel(Status reason = Cancelled("Step was cancelled"));

  // Registers `callback` and returns its token, or kNoToken if already cancelled (then the callback is never called).
  Token Register(std::function<void()> callback);
  // When it returns, the callback is not running and will not run. True if it was removed without being called; false
  // if it has been called (Deregister waits until the call ends). REQUIRES: not called from the callback itself.
  bool Deregister(Token token);
  // The same without waiting: false if cancellation has begun.
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
