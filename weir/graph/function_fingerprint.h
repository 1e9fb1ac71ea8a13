// A fingerprint of what a function computes, whatever its name and those of its nodes.
#ifndef WEIR_GRAPH_FUNCTION_FINGERPRINT_H_
#define WEIR_GRAPH_FUNCTION_FINGERPRINT_H_

#include <memory>

#include "weir/graph/function_library.h"

namespace weir {

// The same in every process and, for most functions, in TensorFlow (framework/node_fingerprint.h). NOT_FOUND if the
// library does not have the function or one that it calls.
StatusOr<uint64_t> FunctionFingerprint(const FunctionAttr& function, std::shared_ptr<FunctionLibrary> library);

}  // namespace weir

#endif  // WEIR_GRAPH_FUNCTION_FINGERPRINT_H_
