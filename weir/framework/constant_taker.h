// Kernels that keep constants in a form of their own.
//
// A matrix product or convolution stores its weights in the layout of its library, so the original tensor is read once
// and then only occupies memory. Kernels that are ConstantTakers are offered such tensors when a plan is compiled, and
// may release them. If another plan needs the tensor later, it is restored, bit by bit.
#ifndef WEIR_FRAMEWORK_CONSTANT_TAKER_H_
#define WEIR_FRAMEWORK_CONSTANT_TAKER_H_

#include <functional>
#include <optional>

#include "weir/tensor/tensor.h"

namespace weir {

// A tensor with type and shape but without elements: what steps see instead of a constant that was taken.
inline Tensor AbsentTensor(const Tensor& like) { return Tensor::Wrap(like.dtype(), like.shape(), nullptr, nullptr); }
inline bool IsAbsent(const Tensor& tensor) { return tensor.raw_data() == nullptr && tensor.num_elements() > 0; }

struct TakenConstant {
  Tensor absent;
  std::function<StatusOr<Tensor>()> restore;
};

class ConstantTaker {
 public:
  virtual ~ConstantTaker() = default;
  // Called when a plan is compiled, for an input that is this constant in every step. Returns nothing if the constant
  // should stay; otherwise its memory is freed when nothing else holds it. Thread-safe.
  virtual std::optional<TakenConstant> TakeConstant(int input, const Tensor& constant) = 0;
};

}  // namespace weir

#endif  // WEIR_FRAMEWORK_CONSTANT_TAKER_H_
