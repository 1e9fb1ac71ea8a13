// In-place updates of a variable, whether the node has it by ref or by resource handle.
#ifndef WEIR_OPS_STATE_UPDATE_VARIABLE_H_
#define WEIR_OPS_STATE_UPDATE_VARIABLE_H_

#include "absl/functional/function_ref.h"
#include "weir/framework/kernel.h"

namespace weir::state {

// FAILED_PRECONDITION: "Attempting to use uninitialized value <name>".
Status UninitializedRef(const RefCell& cell);

// Runs `body` on the tensor of the variable in input 0, of type `dtype`, under the variable's lock. A ref variable's
// memory is shared with its readers and written all the same; a resource variable's is copied first if a reader holds
// it. A ref input is forwarded to output 0 (where the node has a ref output).
Status UpdateVariable(KernelContext& ctx, DType dtype, absl::FunctionRef<Status(Tensor& tensor)> body);

}  // namespace weir::state

#endif  // WEIR_OPS_STATE_UPDATE_VARIABLE_H_
