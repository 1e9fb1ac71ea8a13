// Gpu: a physical card as this process uses it: its context, its facts, the code loaded on it. Logical devices
// (cuda_device.h) share one.
#ifndef WEIR_DEVICE_CUDA_GPU_H_
#define WEIR_DEVICE_CUDA_GPU_H_

#include <memory>
#include <string>

#include "weir/base/status.h"
#include "weir/device/cuda/driver.h"
#include "weir/device/cuda/memory_pool.h"
#include "weir/device/cuda/program_cache.h"

namespace weir::cuda {

// Thread-safe; lives until the process ends.
class Gpu {
 public:
  // The card with this number among those that the driver shows ($CUDA_VISIBLE_DEVICES). Starts it on the first call.
  static StatusOr<Gpu*> Get(int number);
  // 0 without a driver.
  static int Count();

  int number() const { return number_; }
  ContextHandle context() const { return context_; }
  const std::string& name() const { return name_; }
  const std::string& pci_bus_id() const { return pci_bus_id_; }
  int compute_capability() const { return major_ * 10 + minor_; }
  size_t total_memory() const { return total_memory_; }
  int multiprocessors() const { return multiprocessors_; }
  int max_shared_bytes() const { return max_shared_bytes_; }  // that a block may ask for
  // "device: 0, name: NVIDIA H200, pci bus id: 0000:01:00.0, compute capability: 9.0"
  std::string Description() const;

  ProgramCache& programs() { return *programs_; }
  // Pinned memory of the host. Tensors in it may outlive every device.
  MemoryPool& pinned() { return *pinned_; }

 private:
  Gpu() = default;
  Status Start(int number);

  int number_ = 0;
  ContextHandle context_ = nullptr;
  std::string name_, pci_bus_id_;
  int major_ = 0, minor_ = 0;
  size_t total_memory_ = 0;
  int multiprocessors_ = 0, max_shared_bytes_ = 0;
  std::unique_ptr<ProgramCache> programs_;
  std::unique_ptr<MemoryPool> pinned_;
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_GPU_H_
