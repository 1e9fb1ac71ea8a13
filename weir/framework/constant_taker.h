// Kernels that keep constants in a form of their own.
//
// A contraction reads its weights in the order that its library likes, so the tensor that the graph holds is read once
// and then only lies there. A kernel that is a ConstantTaker is offered such tensors when a plan is made, and may drop
// them; whoever else needs one later - another step's plan - has it restored, bit by bit.
#ifndef WEIR_FRAMEWORK_CONSTANT_TAKER_H_
#define WEIR_FRAMEWORK_CONSTANT_TAKER_H_

#include <functional>
#include <optional>

#include "weir/tensor/tensor.h"

namespace weir {

// Type and shape without elements: what steps find in the place of a constant that was taken.
inline Tensor AbsentTensor(const Tensor& like) { return Tensor::Wrap(like.dtype(), like.shape(), nullptr, nullptr); }
inline bool IsAbsent(const Tensor& tensor) { return tensor.raw_data() == nullptr && tensor.num_elements() > 0; }

struct TakenConstant {
  Tensor absent;
  std::function<StatusOr<Tensor>()> restore;
};

class ConstantTaker {
 public:
  virtual ~ConstantTaker() = default;
  // Asked when a plan is made, for an input that is this constant in every step. Nothing if it shall stay; otherwise
  // its memory goes when nobody else holds it. Thread-safe.
  virtual std::optional<TakenConstant> TakeConstant(int input, const Tensor& constant) = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_CONSTANT_TAKER_H_
