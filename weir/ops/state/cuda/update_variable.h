// In-place updates of a variable in a GPU's memory.
#ifndef WEIR_OPS_STATE_CUDA_UPDATE_VARIABLE_H_
#define WEIR_OPS_STATE_CUDA_UPDATE_VARIABLE_H_

#include "absl/functional/function_ref.h"
#include "weir/framework/kernel.h"

namespace weir::cuda {

// Runs `body` on the tensor of the variable in input 0 under the variable's lock, as state::UpdateVariable does on the
// host: a resource variable's memory is copied first if a reader holds it, a ref variable's is written all the same.
// `body` enqueues; the stream keeps the order.
Status UpdateVariable(KernelContext& ctx, DType dtype, absl::FunctionRef<Status(Tensor& tensor)> body);

}  // namespace weir::cuda

#endif  // WEIR_OPS_STATE_CUDA_UPDATE_VARIABLE_H_
