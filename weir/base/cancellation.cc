#include "weir/base/cancellation.h"

namespace weir {

CancellationManager::CancellationManager(CancellationManager* parent) : parent_(parent) {
  if (parent_ == nullptr) return;
  parent_token_ = parent_->Register([this] { StartCancel(parent_->reason()); });
  if (parent_token_ == kNoToken) StartCancel(parent_->reason());
}

CancellationManager::~CancellationManager() {
  if (parent_ != nullptr && parent_token_ != kNoToken) parent_->Deregister(parent_token_);
}

Status CancellationManager::reason() const {
  absl::MutexLock lock(&mu_);
  return reason_;
}

void CancellationManager::StartCancel(Status reason) {
  absl::flat_hash_map<Token, std::function<void()>> callbacks;
  {
    absl::MutexLock lock(&mu_);
    if (cancelled_.load(std::memory_order_relaxed)) return;
    reason_ = reason.ok() ? Cancelled("Step was cancelled") : std::move(reason);
    cancelled_.store(true, std::memory_order_release);
    callbacks.swap(callbacks_);
  }
  for (auto& [token, callback] : callbacks) callback();
  absl::MutexLock lock(&mu_);
  callbacks_done_ = true;
}

CancellationManager::Token CancellationManager::Register(std::function<void()> callback) {
  absl::MutexLock lock(&mu_);
  if (cancelled_.load(std::memory_order_relaxed)) return kNoToken;
  Token token = next_token_++;
  callbacks_.emplace(token, std::move(callback));
  return token;
}

bool CancellationManager::Deregister(Token token) {
  if (token == kNoToken) return true;
  absl::MutexLock lock(&mu_);
  if (!cancelled_.load(std::memory_order_relaxed)) {
    callbacks_.erase(token);
    return true;
  }
  mu_.Await(absl::Condition(&callbacks_done_));
  return false;
}

bool CancellationManager::TryDeregister(Token token) {
  absl::MutexLock lock(&mu_);
  if (cancelled_.load(std::memory_order_relaxed)) return false;
  callbacks_.erase(token);
  return true;
}

}  // namespace weir
