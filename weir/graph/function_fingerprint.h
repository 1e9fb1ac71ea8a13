// A number that stands for what a function computes, whatever it and its nodes are called.
#ifndef WEIR_GRAPH_FUNCTION_FINGERPRINT_H_
#define WEIR_GRAPH_FUNCTION_FINGERPRINT_H_

#include <memory>

#include "weir/graph/function_library.h"

namespace weir {

// The same in every process and, for most functions, in TensorFlow (framework/node_fingerprint.h). NOT_FOUND if the
// library lacks the function or one that it calls.
StatusOr<uint64_t> FunctionFingerprint(const FunctionAttr& function, std::shared_ptr<FunctionLibrary> library);

}  // namespace weir

#endif  // WEIR_GRAPH_FUNCTION_FINGERPRINT_H_
