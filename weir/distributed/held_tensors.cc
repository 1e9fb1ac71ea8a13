#include "weir/distributed/held_tensors.h"

#include <algorithm>

namespace weir {

void HeldTensors::Hold(int64_t step_id, int64_t request_id, Tensor tensor, std::string key) {
  absl::MutexLock lock(&mu_);
  held_[request_id] = {step_id, std::move(tensor), std::move(key)};
}

Tensor HeldTensors::Take(int64_t request_id) {
  absl::MutexLock lock(&mu_);
  auto found = held_.find(request_id);
  if (found == held_.end()) return Tensor();
  Tensor tensor = std::move(found->second.tensor);
  held_.erase(found);
  return tensor;
}

Tensor HeldTensors::Look(int64_t request_id) {
  absl::MutexLock lock(&mu_);
  auto found = held_.find(request_id);
  return found != held_.end() ? found->second.tensor : Tensor();
}

bool HeldTensors::IsFor(int64_t request_id, const std::string& key) {
  absl::MutexLock lock(&mu_);
  auto found = held_.find(request_id);
  return found != held_.end() && !key.empty() && found->second.key == key;
}

bool HeldTensors::HasKey(const std::string& key) {
  absl::MutexLock lock(&mu_);
  return std::any_of(held_.begin(), held_.end(), [&](const auto& entry) { return entry.second.key == key; });
}

bool HeldTensors::HasStep(int64_t step_id) {
  absl::MutexLock lock(&mu_);
  return std::any_of(held_.begin(), held_.end(), [&](const auto& entry) { return entry.second.step_id == step_id; });
}

void HeldTensors::ForgetStep(int64_t step_id) {
  absl::MutexLock lock(&mu_);
  absl::erase_if(held_, [step_id](const auto& entry) { return entry.second.step_id == step_id; });
}

}  // namespace weir
