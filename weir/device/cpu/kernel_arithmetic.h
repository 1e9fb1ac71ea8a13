// The arithmetic that containers of tensors need - lists, arrays, optionals -, done by the device that a kernel runs
// on.
#ifndef WEIR_DEVICE_CPU_KERNEL_ARITHMETIC_H_
#define WEIR_DEVICE_CPU_KERNEL_ARITHMETIC_H_

#include <vector>

#include "weir/framework/kernel.h"
#include "weir/tensor/variant.h"

namespace weir {

// Whether tensors of this type that are in variants, or go in or out, are in the host's memory.
bool IsHeldByHost(const KernelContext& ctx, DType dtype);
// Memory for such a tensor.
StatusOr<Tensor> AllocateHeld(KernelContext& ctx, DType dtype, const Shape& shape);

class KernelArithmetic : public TensorArithmetic {
 public:
  // `ctx` must outlive this object.
  explicit KernelArithmetic(KernelContext& ctx) : ctx_(ctx) {}
  StatusOr<Tensor> Zeros(DType dtype, const Shape& shape) override;

 protected:
  StatusOr<Tensor> Add(Tensor a, const Tensor& b) override;

 private:
  KernelContext& ctx_;
};

// A slice of a tensor of the device as a tensor of its own: shares memory where that leaves it aligned, else a copy.
StatusOr<Tensor> OwnSlice(KernelContext& ctx, Tensor slice);
// A tensor whose elements go to place `begin` of another one.
struct PlacedPart {
  const Tensor* part;
  int64_t begin;
};
// Copies parts into `whole`; all are in the memory of the device. REQUIRES: same type; ordered by
// place, and they do not overlap there.
Status PlaceParts(KernelContext& ctx, const std::vector<PlacedPart>& parts, Tensor& whole);
// The tensors of one shape and type as rows of one tensor. REQUIRES: not empty.
StatusOr<Tensor> StackTensors(KernelContext& ctx, const std::vector<const Tensor*>& rows);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_KERNEL_ARITHMETIC_H_
