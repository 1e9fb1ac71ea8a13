// MemoryExporter: a device whose memory processes of the same machine read without the host in between.
#ifndef WEIR_FRAMEWORK_MEMORY_EXPORTER_H_
#define WEIR_FRAMEWORK_MEMORY_EXPORTER_H_

#include <string>

#include "weir/framework/device.h"

namespace weir {

// Implemented by a Device. Thread-safe.
class MemoryExporter {
 public:
  virtual ~MemoryExporter() = default;
  // What CopyExported of such a device in another process finds the tensor by, as long as the tensor lives. The work
  // that makes it must have ended. UNIMPLEMENTED if this memory cannot be shared.
  virtual StatusOr<std::string> Export(const Tensor& tensor) = 0;
  // Copies a tensor of another process into memory of this device. `done` gets the copy when its source is not needed
  // any more. An error if the source cannot be reached: then the tensor must come another way.
  virtual void CopyExported(const std::string& exported, DType dtype, const Shape& shape, Device::CopyDone done) = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_MEMORY_EXPORTER_H_
