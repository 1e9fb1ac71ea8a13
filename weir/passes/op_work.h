// The work of an operation: its arithmetic and memory traffic, from the shapes of its tensors.
#ifndef WEIR_PASSES_OP_WORK_H_
#define WEIR_PASSES_OP_WORK_H_

#include <span>

#include "weir/graph/graph.h"
#include "weir/tensor/shape.h"

namespace weir {

struct OpWork {
  double flops = 0;
  double bytes = 0;
  bool is_free = false;  // only passes tensors on, or is not executed at all
};

// REQUIRES: the shapes of all inputs and outputs. Matrix products and convolutions are counted exactly; all other
// operations are assumed to touch every element of their tensors once.
OpWork EstimateWork(const Node& node, std::span<const Shape> inputs, std::span<const Shape> outputs);

// The size of a tensor in bytes, without the heap memory of strings and other objects.
int64_t TensorBytes(DType dtype, const Shape& shape);

}  // namespace weir

#endif  // WEIR_PASSES_OP_WORK_H_
