// MemoryExporter: a device whose memory other processes on the same machine can read directly.
#ifndef WEIR_FRAMEWORK_MEMORY_EXPORTER_H_
#define WEIR_FRAMEWORK_MEMORY_EXPORTER_H_

#include <string>

#include "weir/framework/device.h"

namespace weir {

// Implemented by a Device. Thread-safe.
class MemoryExporter {
 public:
  virtual ~MemoryExporter() = default;
  // Returns a description by which CopyExported of such a device in another process finds the tensor, as long as the
  // tensor lives. REQUIRES: the work that computes the tensor has ended. UNIMPLEMENTED if this memory cannot be shared.
  virtual StatusOr<std::string> Export(const Tensor& tensor) = 0;
  // Copies a tensor of another process to this device's memory. `done` gets the copy when the original is no longer
  // needed. If the original cannot be reached, the error means that the tensor must be transferred in another way.
  virtual void CopyExported(const std::string& exported, DType dtype, const Shape& shape, Device::CopyDone done) = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_MEMORY_EXPORTER_H_
