// How much an operation has to do: arithmetic and memory traffic, from the shapes of its tensors.
#ifndef WEIR_PASSES_OP_WORK_H_
#define WEIR_PASSES_OP_WORK_H_

#include <span>

#include "weir/graph/graph.h"
#include "weir/tensor/shape.h"

namespace weir {

struct OpWork {
  double flops = 0;
  double bytes = 0;
  bool is_free = false;  // hands tensors on, or is not executed at all
};

// Shapes of all inputs and outputs, complete. Products and convolutions are counted exactly; other operations are taken
// to touch every element of their tensors once.
OpWork EstimateWork(const Node& node, std::span<const Shape> inputs, std::span<const Shape> outputs);

// Bytes of a tensor; of strings and other objects those of the objects alone.
int64_t TensorBytes(DType dtype, const Shape& shape);

}  // namespace weir

#endif  // WEIR_PASSES_OP_WORK_H_
