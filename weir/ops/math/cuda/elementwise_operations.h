// The elementwise ops that device code has a struct for (device/cuda/device_code/elementwise.cuh).
#ifndef WEIR_OPS_MATH_CUDA_ELEMENTWISE_OPERATIONS_H_
#define WEIR_OPS_MATH_CUDA_ELEMENTWISE_OPERATIONS_H_

#include <span>
#include <string_view>

#include "weir/tensor/dtype.h"

namespace weir::cuda {

struct ElementwiseOperation {
  const char* op;
  const char* name;        // of the struct
  bool broadcasts = true;  // false: the operands have as many elements, and the result has the first one's shape
  const char* include = "elementwise.cuh";  // of device/cuda/device_code
};

std::span<const ElementwiseOperation> ElementwiseOperations();
const ElementwiseOperation* FindElementwiseOperation(std::string_view op);  // null if there is none

// Whether a generated program may have the op with operands and a result of these types: arithmetic in one floating
// type, conversions, comparisons, logic and selections. Not for attributes other than types.
bool FitsFusedProgram(std::string_view op, std::span<const DType> operands, DType result);

}  // namespace weir::cuda

#endif  // WEIR_OPS_MATH_CUDA_ELEMENTWISE_OPERATIONS_H_
