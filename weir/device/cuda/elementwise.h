// Running programs of elementwise operations on tensors of a GPU.
#ifndef WEIR_DEVICE_CUDA_ELEMENTWISE_H_
#define WEIR_DEVICE_CUDA_ELEMENTWISE_H_

#include <span>
#include <string>

#include "absl/synchronization/mutex.h"
#include "weir/device/cuda/elementwise_source.h"
#include "weir/device/cuda/launch.h"

namespace weir::cuda {

// A tensor that is read; it may be gone, or its memory given to an output, once the kernel is enqueued.
struct ElementwiseOperand {
  DeviceAddress address = 0;
  DType dtype = DType::kInvalid;
  Shape shape;
  explicit ElementwiseOperand(const Tensor& tensor)
      : address(Address(tensor)), dtype(tensor.dtype()), shape(tensor.shape()) {}
};

// A program with the kernels that were made of it, one for each layout of its operands. Thread-safe.
class ElementwiseFunction {
 public:
  explicit ElementwiseFunction(ElementwiseProgram program) : program_(std::move(program)) {}
  const ElementwiseProgram& program() const { return program_; }

  // Computes all elements of `shape`: inputs broadcast to it, outputs have it. An output may share the memory of an
  // input of the same shape and element size.
  Status Run(KernelContext& ctx, std::span<const ElementwiseOperand> inputs, const Shape& shape,
             std::span<Tensor* const> outputs) const;

 private:
  const ElementwiseProgram program_;
  mutable absl::Mutex mu_;
  mutable StringMap<std::string> sources_ ABSL_GUARDED_BY(mu_);  // by layout
};

}  // namespace weir::cuda

#endif  // WEIR_DEVICE_CUDA_ELEMENTWISE_H_
