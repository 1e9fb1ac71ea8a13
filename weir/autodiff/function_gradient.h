// Gradients of functions.
#ifndef WEIR_AUTODIFF_FUNCTION_GRADIENT_H_
#define WEIR_AUTODIFF_FUNCTION_GRADIENT_H_

#include <memory>

#include "weir/autodiff/gradient_registry.h"
#include "weir/graph/function_library.h"

namespace weir {

// The body of SymbolicGradient of a function: its arguments are those of `body` and one for each of its results, its
// results the gradients of `body`'s arguments; zeros where nothing flows. For FunctionLibrary::set_differentiator.
StatusOr<std::unique_ptr<FunctionBody>> DifferentiateFunction(std::unique_ptr<FunctionBody> body,
                                                              const GradientRegistry& registry);

}  // namespace weir

#endif  // WEIR_AUTODIFF_FUNCTION_GRADIENT_H_
