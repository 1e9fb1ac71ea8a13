// VariableResource: the resource behind VarHandleOp.
//
// Readers take snapshots that share the tensor. A writer modifies it in place only if nobody else holds it, and
// otherwise works on a copy, so a snapshot never changes.
#ifndef WEIR_RESOURCES_VARIABLE_H_
#define WEIR_RESOURCES_VARIABLE_H_

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "weir/framework/resource.h"

namespace weir {

class VariableResource : public Resource {
 public:
  static constexpr std::string_view kTypeName = "N10tensorflow3VarE";

  explicit VariableResource(DType dtype) : dtype_(dtype) {}
  std::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override;
  int64_t MemoryUsed() const override;
  Tensor State() const override { return Read(); }
  bool IsStateHeld() const override;

  DType dtype() const { return dtype_; }
  // The current value; no value before initialization.
  Tensor Read() const;
  // Makes `tensor` writable in place: copies it if somebody else holds it. REQUIRES: initialized.
  Status MakeWritable(Allocator* allocator) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // The same for memory that the host cannot access: `copy` fills the new tensor.
  using Copy = absl::FunctionRef<Status(const Tensor& from, const Tensor& to)>;
  Status MakeWritable(Allocator* allocator, Copy copy) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  mutable absl::Mutex mu;
  Tensor tensor ABSL_GUARDED_BY(mu);  // no value before initialization

 private:
  const DType dtype_;
};

// FAILED_PRECONDITION, for an operation that needs the value of an uninitialized variable.
Status UninitializedVariable(std::string_view container, std::string_view name);

}  // namespace weir

#endif  // WEIR_RESOURCES_VARIABLE_H_
