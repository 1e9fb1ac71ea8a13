#include "weir/ops/train/locked_states.h"

#include <algorithm>
#include <functional>

namespace weir::train {
namespace {

Status Uninitialized(KernelContext& ctx, int i) {
  const std::string& name = ctx.is_ref_input(i) ? ctx.ref_input(i).name : ctx.input(i).scalar<ResourceHandle>().name;
  return FailedPrecondition("Attempting to use uninitialized variables: ", name);
}

}  // namespace

StatusOr<std::unique_ptr<LockedStates>> LockedStates::Lock(KernelContext& ctx, int count) {
  auto states = std::make_unique<LockedStates>();
  for (int i = 0; i < count; ++i) {
    if (ctx.is_ref_input(i)) {
      states->locks_.push_back(&ctx.ref_input(i).mu);
      continue;
    }
    auto variable = LookUpResource<VariableResource>(ctx, i);
    if (absl::IsNotFound(variable.status())) return Uninitialized(ctx, i);
    if (!variable.ok()) return variable.status();
    if (DeviceRun* run = ctx.step().device_run) run->UseResource(*variable, /*changes=*/true);
    states->locks_.push_back(&(*variable)->mu);
    states->variables_.push_back(*std::move(variable));
  }
  std::sort(states->locks_.begin(), states->locks_.end(), std::less<absl::Mutex*>());
  states->locks_.erase(std::unique(states->locks_.begin(), states->locks_.end()), states->locks_.end());
  states->Acquire();
  return states;
}

LockedStates::~LockedStates() { Release(); }

StatusOr<std::vector<Tensor*>> LockedStates::Tensors(KernelContext& ctx, int count,
                                                     DType dtype) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  std::vector<Tensor*> tensors;
  for (int i = 0; i < count; ++i) {
    Tensor* tensor = ctx.is_ref_input(i) ? &ctx.ref_input(i).tensor : &variables_[i]->tensor;
    if (!tensor->has_value()) return Uninitialized(ctx, i);
    if (tensor->dtype() != dtype) {
      const auto& arguments = ctx.node().schema->inputs;
      return InvalidArgument("Expected a variable of type ", Name(dtype), " for ",
                             arguments[std::min<size_t>(i, arguments.size() - 1)].name, ", got ",
                             Name(tensor->dtype()));
    }
    tensors.push_back(tensor);
  }
  return tensors;
}

Status LockedStates::MakeWritable(Allocator* allocator) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (const auto& variable : variables_) WEIR_RETURN_IF_ERROR(variable->MakeWritable(allocator));
  return OkStatus();
}

Status LockedStates::MakeWritable(Allocator* allocator, VariableResource::Copy copy) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (const auto& variable : variables_) WEIR_RETURN_IF_ERROR(variable->MakeWritable(allocator, copy));
  return OkStatus();
}

void LockedStates::Acquire() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (absl::Mutex* mu : locks_) mu->Lock();
  is_locked_ = true;
}
void LockedStates::Release() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (!is_locked_) return;
  for (absl::Mutex* mu : locks_) mu->Unlock();
}

}  // namespace weir::train
