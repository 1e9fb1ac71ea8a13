// Function calls on a tape. A call is replaced by a call of a forward function that also returns the values that the
// backward function needs, so that nothing is computed twice and both see the same random numbers.
#ifndef WEIR_AUTODIFF_TAPE_CALL_H_
#define WEIR_AUTODIFF_TAPE_CALL_H_

#include <memory>
#include <vector>

#include "weir/autodiff/gradient_registry.h"
#include "weir/graph/function_library.h"

namespace weir {

struct TapeCall {
  FunctionAttr forward;
  bool forward_is_stateful = false;
  std::vector<DType> forward_types;  // the function's own results first
  FunctionAttr backward;  // takes the gradients of `flows`, then `saved`; returns the gradients of `returned`
  bool backward_is_stateful = false;
  std::vector<DType> backward_types;
  std::vector<int> flows;  // indices of the results that can have a gradient
  struct Saved {
    int argument = -1;
    int result = -1;
  };
  std::vector<Saved> saved;
  std::vector<int> returned;  // indices of the arguments that get a gradient

  const char* forward_op() const { return forward_is_stateful ? "StatefulPartitionedCall" : "PartitionedCall"; }
  AttrMap forward_attrs() const;
};

// Adds both functions to the library.
StatusOr<TapeCall> DifferentiateForTape(const FunctionAttr& function, const std::shared_ptr<FunctionLibrary>& library,
                                        const GradientRegistry& registry);

// The gradient of a call of `call.forward`.
Gradients CallGradient(const TapeCall& call, GradientContext& g);

}  // namespace weir

#endif  // WEIR_AUTODIFF_TAPE_CALL_H_
