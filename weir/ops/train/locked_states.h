// What the kernels of update rules share on every device: the variables of a node, locked, and checks.
#ifndef WEIR_OPS_TRAIN_LOCKED_STATES_H_
#define WEIR_OPS_TRAIN_LOCKED_STATES_H_

#include <memory>
#include <vector>

#include "weir/framework/kernel.h"
#include "weir/resources/variable.h"

namespace weir::train {

// The variables of a node, locked: each once, in the order of their addresses, so that no two nodes wait for each
// other.
class LockedStates {
 public:
  static StatusOr<std::unique_ptr<LockedStates>> Lock(KernelContext& ctx, int count);
  ~LockedStates();

  // The tensors, checked.
  StatusOr<std::vector<Tensor*>> Tensors(KernelContext& ctx, int count, DType dtype);
  // Copies those that somebody else holds.
  Status MakeWritable(Allocator* allocator);
  Status MakeWritable(Allocator* allocator, VariableResource::Copy copy);

 private:
  void Acquire();
  void Release();

  std::vector<std::shared_ptr<VariableResource>> variables_;
  std::vector<absl::Mutex*> locks_;
  bool is_locked_ = false;
};

// INVALID_ARGUMENT: "var and grad do not have the same shape...".
Status ShapesDiffer(KernelContext& ctx, int input, const Tensor& var, const Tensor& other);
// Whether the rows of `grad` can be updates of rows of `var` that `indices` name.
Status CheckRows(const Shape& var, const Shape& grad, const Tensor& indices);

}  // namespace weir::train

#endif  // WEIR_OPS_TRAIN_LOCKED_STATES_H_
