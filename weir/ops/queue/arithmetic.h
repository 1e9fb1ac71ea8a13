// The little arithmetic that containers of tensors need: sums of gradients, merged shapes.
#ifndef WEIR_OPS_QUEUE_ARITHMETIC_H_
#define WEIR_OPS_QUEUE_ARITHMETIC_H_

#include "weir/tensor/tensor.h"

namespace weir {

// True for the types that have a sum: numbers.
bool CanAdd(DType dtype);
// to += from. REQUIRES: CanAdd, same type and shape, `to` may be written.
void AddInto(const Tensor& from, Tensor& to);
// a + b in memory of its own; variants by their own Add. INVALID_ARGUMENT if the type has no sum or the shapes differ.
StatusOr<Tensor> AddTensors(const Tensor& a, const Tensor& b);
// Zeros of the same type and shape; variants by their own ZerosLike.
StatusOr<Tensor> ZerosOf(const Tensor& tensor);
// What both say. INVALID_ARGUMENT if they contradict each other.
StatusOr<PartialShape> MergeElementShapes(const PartialShape& a, const PartialShape& b);

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_ARITHMETIC_H_
