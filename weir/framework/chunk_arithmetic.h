// ChunkArithmetic: what collectives do with pieces of tensors, in a device's memory.
#ifndef WEIR_FRAMEWORK_CHUNK_ARITHMETIC_H_
#define WEIR_FRAMEWORK_CHUNK_ARITHMETIC_H_

#include <memory>

#include "weir/framework/device.h"

namespace weir {

enum class ChunkMerge { kAdd, kMul, kMin, kMax };

// All calls give work to one device, in order with its kernels, and return. Chunks that another device of the same kind
// and process holds are read after all work that this one was given so far, and are kept until they have been read.
// Shapes may differ, numbers of elements not. Thread-safe.
class ChunkArithmetic {
 public:
  virtual ~ChunkArithmetic() = default;
  // out = own op received, with the rounding of collective/merge.h; `out` may be the memory of either.
  virtual Status Merge(ChunkMerge op, const Tensor& own, const Tensor& received, Tensor out) = 0;
  // values /= divisor.
  virtual Status Divide(Tensor values, int divisor) = 0;
  virtual Status Copy(const Tensor& from, Tensor to) = 0;
};

// Implemented by a Device whose members of a collective need not go through the host.
class ChunkDevice {
 public:
  virtual ~ChunkDevice() = default;
  // `run` is what the work belongs to.
  virtual std::shared_ptr<ChunkArithmetic> ChunksOf(DeviceRun& run) = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_CHUNK_ARITHMETIC_H_
