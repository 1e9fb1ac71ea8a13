#include "weir/runtime/environment.h"

namespace weir {

Environment::~Environment() {
  for (const auto& device : devices.devices()) device->resources().ClearAll();
}

ThreadPool* Environment::InterOpPool(int threads) {
  absl::MutexLock lock(&mu_);
  if (inter_op_ == nullptr) inter_op_ = std::make_unique<ThreadPool>("weir-inter", threads);
  return inter_op_.get();
}

ThreadPool* Environment::IntraOpPool(int threads) {
  absl::MutexLock lock(&mu_);
  if (intra_op_ == nullptr) intra_op_ = std::make_unique<ThreadPool>("weir-intra", threads);
  return intra_op_.get();
}

}  // namespace weir
