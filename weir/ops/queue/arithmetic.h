// The little arithmetic on types and shapes that containers of tensors need.
#ifndef WEIR_OPS_QUEUE_ARITHMETIC_H_
#define WEIR_OPS_QUEUE_ARITHMETIC_H_

#include "weir/tensor/tensor.h"

namespace weir {

// True for the types that have a sum: numbers.
bool CanAdd(DType dtype);
// What both say. INVALID_ARGUMENT if they contradict each other.
StatusOr<PartialShape> MergeElementShapes(const PartialShape& a, const PartialShape& b);

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_ARITHMETIC_H_
