// A body becomes a function of a library.
#ifndef WEIR_GRAPH_FUNCTION_EXPORT_H_
#define WEIR_GRAPH_FUNCTION_EXPORT_H_

#include <string>
#include <string_view>

#include "weir/graph/function_library.h"

namespace weir {

// Adds `body` to `library` under a name that begins with `prefix` and is free there; returns the name. The ends are
// `body.args` and `body.rets` in that order, whatever index their nodes say. Nodes that no result and no control result
// needs go too.
StatusOr<std::string> AddFunction(const FunctionBody& body, std::string_view prefix, FunctionLibrary& library);

}  // namespace weir

#endif  // WEIR_GRAPH_FUNCTION_EXPORT_H_
