// Makes the body of a function. Private to the function library.
#ifndef WEIR_GRAPH_INSTANTIATE_H_
#define WEIR_GRAPH_INSTANTIATE_H_

#include <memory>

#include "weir/graph/function_library.h"

namespace weir {

StatusOr<std::unique_ptr<FunctionBody>> InstantiateFunction(const FunctionDef& function, const OpSchema& signature,
                                                            const AttrMap& attrs, const OpRegistry& ops,
                                                            std::shared_ptr<FunctionLibrary> library);
// A body that consists of one op: its inputs are the arguments, its outputs the results.
StatusOr<std::unique_ptr<FunctionBody>> InstantiateOp(const OpSchema& op, const AttrMap& attrs, const OpRegistry& ops,
                                                      std::shared_ptr<FunctionLibrary> library);

}  // namespace weir

#endif  // WEIR_GRAPH_INSTANTIATE_H_
