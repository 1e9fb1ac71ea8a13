// Turns a function body into a function of a library.
#ifndef WEIR_GRAPH_FUNCTION_EXPORT_H_
#define WEIR_GRAPH_FUNCTION_EXPORT_H_

#include <string>
#include <string_view>

#include "weir/graph/function_library.h"

namespace weir {

// Adds `body` to `library` under an unused name that begins with `prefix`; returns the name. Arguments and results are
// `body.args` and `body.rets`, in this order, whatever index their nodes have. Includes nodes that no result needs.
StatusOr<std::string> AddFunction(const FunctionBody& body, std::string_view prefix, FunctionLibrary& library);

}  // namespace weir

#endif  // WEIR_GRAPH_FUNCTION_EXPORT_H_
