// The memory of the far device.
//
// The host sees addresses that it may not touch: a range reserved without access. What lies there is kept in another
// mapping, which only the device's own code reaches, through Open(). So whoever mixes up the two memories finds out at
// once, as with a real accelerator.
#ifndef WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_MEMORY_H_
#define WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_MEMORY_H_

#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "weir/base/status.h"
#include "weir/tensor/allocator.h"
#include "weir/tensor/tensor.h"

namespace far {

class FarMemory : public weir::Allocator {
 public:
  static weir::StatusOr<std::unique_ptr<FarMemory>> Make(size_t bytes);
  ~FarMemory() override;

  std::string_view name() const override { return "far"; }
  bool is_host_memory() const override { return false; }
  void* Allocate(size_t bytes) override;
  void Deallocate(void* block, size_t bytes) override;
  weir::AllocatorStats Stats() const override;

  // Where a tensor's elements really are. REQUIRES: the tensor is in this memory.
  char* Open(const weir::Tensor& tensor) const {
    return storage_ + (static_cast<const char*>(tensor.raw_data()) - addresses_);
  }

 private:
  FarMemory(char* addresses, char* storage, size_t bytes);

  char* const addresses_;
  char* const storage_;
  const size_t size_;
  mutable absl::Mutex mu_;
  std::map<size_t, size_t> free_ ABSL_GUARDED_BY(mu_);  // size of each hole by its offset; neighbours are merged
  weir::AllocatorStats stats_ ABSL_GUARDED_BY(mu_);
};

}  // namespace far

#endif  // WEIR_EXAMPLES_DEVICE_PLUGIN_FAR_MEMORY_H_
