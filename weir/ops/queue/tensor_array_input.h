// What all TensorArray kernels check first.
#ifndef WEIR_OPS_QUEUE_TENSOR_ARRAY_INPUT_H_
#define WEIR_OPS_QUEUE_TENSOR_ARRAY_INPUT_H_

#include <memory>

#include "weir/framework/kernel.h"
#include "weir/ops/queue/tensor_array.h"

namespace weir {

// The array behind the handle in input 0.
StatusOr<std::shared_ptr<TensorArray>> TensorArrayInput(KernelContext& ctx);
Status CheckWriteType(const TensorArray& array, DType dtype);
Status CheckReadType(const TensorArray& array, DType dtype);

}  // namespace weir

#endif  // WEIR_OPS_QUEUE_TENSOR_ARRAY_INPUT_H_
