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

// What the driver tells of a card.
struct GpuFacts {
  std::string name, pci_bus_id;
  int major = 0, minor = 0;  // compute capability
  size_t total_memory = 0;
  int multiprocessors = 0, max_shared_bytes = 0;
  int numa_node = 0;
};

// Thread-safe; lives until the process ends.
class Gpu {
 public:
  // The card with this number among those that the driver shows ($CUDA_VISIBLE_DEVICES). Starts it on the first call.
  static StatusOr<Gpu*> Get(int number);
  // 0 without a driver.
  static int Count();
  // Without starting it.
  static StatusOr<GpuFacts> Facts(int number);

  int number() const { return number_; }
  ContextHandle context() const { return context_; }
  const std::string& name() const { return facts_.name; }
  const std::string& pci_bus_id() const { return facts_.pci_bus_id; }
  int compute_capability() const { return facts_.major * 10 + facts_.minor; }
  size_t total_memory() const { return facts_.total_memory; }
  int multiprocessors() const { return facts_.multiprocessors; }
  int max_shared_bytes() const { return facts_.max_shared_bytes; }  // that a block may ask for
  int numa_node() const { return facts_.numa_node; }
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
  GpuFacts facts_;
  std::unique_ptr<ProgramCache> programs_;
  std::unique_ptr<MemoryPool> pinned_;
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_GPU_H_
