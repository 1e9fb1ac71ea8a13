// Gradients of functions.
#ifndef WEIR_AUTODIFF_FUNCTION_GRADIENT_H_
#define WEIR_AUTODIFF_FUNCTION_GRADIENT_H_

#include <memory>

#include "weir/autodiff/gradient_registry.h"
#include "weir/graph/function_library.h"

namespace weir {

// Creates the body of SymbolicGradient for a function. Its arguments are the arguments of `body`, followed by one
// gradient for each result of `body`. Its results are the gradients of the arguments of `body`; zeros for arguments
// without a gradient. For FunctionLibrary::set_differentiator.
StatusOr<std::unique_ptr<FunctionBody>> DifferentiateFunction(std::unique_ptr<FunctionBody> body,
                                                              const GradientRegistry& registry);

}  // namespace weir

#endif  // WEIR_AUTODIFF_FUNCTION_GRADIENT_H_
