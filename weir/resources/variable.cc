#include "weir/resources/variable.h"

#include "weir/tensor/copy_elements.h"

namespace weir {

std::string VariableResource::DebugString() const {
  Tensor value = Read();
  return Cat(Name(dtype_), "/", value.has_value() ? value.shape().ToString() : std::string("<uninitialized>"));
}

int64_t VariableResource::MemoryUsed() const { return static_cast<int64_t>(Read().total_bytes()); }

Tensor VariableResource::Read() const {
  absl::ReaderMutexLock lock(&mu);
  return tensor;
}

bool VariableResource::IsStateHeld() const {
  absl::ReaderMutexLock lock(&mu);
  return tensor.has_value() && !tensor.unique();
}

Status VariableResource::MakeWritable(Allocator* allocator) {
  if (tensor.unique()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(tensor.dtype(), tensor.shape(), allocator));
  CopyElements(tensor, 0, copy, 0, tensor.num_elements());
  tensor = std::move(copy);
  return OkStatus();
}

Status VariableResource::MakeWritable(Allocator* allocator, Copy copy) {
  if (tensor.unique()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(Tensor made, Tensor::Allocate(tensor.dtype(), tensor.shape(), allocator));
  WEIR_RETURN_IF_ERROR(copy(tensor, made));
  tensor = std::move(made);
  return OkStatus();
}

Status UninitializedVariable(std::string_view container, std::string_view name) {
  return FailedPrecondition("Error while reading resource variable ", name, " from Container: ", container,
                            ". This could mean that the variable was uninitialized.");
}

}  // namespace weir
