#include "weir/runtime/environment.h"

#include "weir/base/logging.h"

namespace weir {

Environment::~Environment() {
  for (const auto& device : devices.at_hand()) device->resources().ClearAll();
}

void Environment::DeferGpus(GpuStarter start) {
  start_gpus_ = std::move(start);
  devices.Defer([this] {
    GpuOptions options;
    {
      absl::MutexLock lock(&mu_);
      options = gpu_options_;
    }
    Status status = start_gpus_(options);
    if (!status.ok()) {
      WEIR_LOG(ERROR) << "the GPUs are not used: " << Message(status);
    }
    return OkStatus();
  });
}

Status Environment::StartGpus(const GpuOptions& options) {
  if (start_gpus_ == nullptr) return OkStatus();
  bool is_first = false;
  WEIR_RETURN_IF_ERROR(devices.Complete([&]() -> Status {
    is_first = true;
    WEIR_RETURN_IF_ERROR(start_gpus_(options));
    absl::MutexLock lock(&mu_);
    gpu_options_ = options;
    return OkStatus();
  }));
  if (is_first) return OkStatus();
  absl::MutexLock lock(&mu_);
  return CheckSameGpus(options, gpu_options_);
}

Status Environment::SetGpuOptions(const GpuOptions& options) {
  absl::MutexLock lock(&mu_);
  if (devices.is_complete()) return FailedPrecondition("The GPUs are in use already");
  gpu_options_ = options;
  return OkStatus();
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
