// The table in input 0 of a node, by either kind of handle.
#ifndef WEIR_OPS_TABLE_TABLE_INPUT_H_
#define WEIR_OPS_TABLE_TABLE_INPUT_H_

#include <memory>
#include <vector>

#include "weir/framework/kernel.h"
#include "weir/ops/table/lookup_table.h"

namespace weir {

StatusOr<std::shared_ptr<LookupTable>> TableInput(KernelContext& ctx);

// INVALID_ARGUMENT "Signature mismatch, have: ..." unless the inputs behind the handle and the outputs have these
// types.
Status CheckTableTypes(KernelContext& ctx, const std::vector<DType>& inputs, const std::vector<DType>& outputs);

}  // namespace weir

#endif  // WEIR_OPS_TABLE_TABLE_INPUT_H_
