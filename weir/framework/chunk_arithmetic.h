// ChunkArithmetic: the arithmetic of collectives, on pieces of tensors in a device's memory.
#ifndef WEIR_FRAMEWORK_CHUNK_ARITHMETIC_H_
#define WEIR_FRAMEWORK_CHUNK_ARITHMETIC_H_

#include <memory>

#include "weir/framework/device.h"

namespace weir {

enum class ChunkMerge { kAdd, kMul, kMin, kMax };

// All calls enqueue work on one device, in order with its kernels, and return. A chunk of another device (of the same
// kind, in the same process) is read after all work that was enqueued on that device before, and is kept alive until it
// has been read. Shapes may differ, but the numbers of elements must be equal. Thread-safe.
class ChunkArithmetic {
 public:
  virtual ~ChunkArithmetic() = default;
  // out = own op received, with the rounding of collective/merge.h; `out` may share the memory of either.
  virtual Status Merge(ChunkMerge op, const Tensor& own, const Tensor& received, Tensor out) = 0;
  // values /= divisor.
  virtual Status Divide(Tensor values, int divisor) = 0;
  virtual Status Copy(const Tensor& from, Tensor to) = 0;
};

// Implemented by a Device whose tensors take part in collectives without going through the host.
class ChunkDevice {
 public:
  virtual ~ChunkDevice() = default;
  // The work belongs to `run`.
  virtual std::shared_ptr<ChunkArithmetic> ChunksOf(DeviceRun& run) = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_CHUNK_ARITHMETIC_H_
