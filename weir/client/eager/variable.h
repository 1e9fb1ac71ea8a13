// eager::Variable: a tensor that can be modified and differentiated with respect to.
#ifndef WEIR_CLIENT_EAGER_VARIABLE_H_
#define WEIR_CLIENT_EAGER_VARIABLE_H_

#include <memory>
#include <string>

#include "weir/base/export.h"
#include "weir/client/eager_execute.h"

namespace WEIR_PUBLIC weir {
namespace eager {

struct VariableOptions {
  std::string name;
  bool trainable = true;  // watched by tapes when it is read
};

// A cheap handle: copies refer to the same variable, which lives as long as one of them, or a function that was traced
// with it. Converts to its value where a tensor or an Input is expected.
class Variable {
 public:
  Variable() = default;
  // Must not be called while a function is traced: every call would create a new variable.
  explicit Variable(const Input& initial_value, const VariableOptions& options = {});

  bool has_value() const { return data_ != nullptr && data_->status.ok(); }
  // The reason why it could not be created; OK otherwise.
  Status status() const { return data_ != nullptr ? data_->status : FailedPrecondition("the variable was never set"); }
  const std::string& name() const { return data_->options.name; }
  bool trainable() const { return data_->options.trainable; }
  DType dtype() const { return data_->dtype; }
  const weir::Shape& shape() const { return data_->shape; }
  // For operations that modify it: eager::ResourceApplyAdam(v.handle(), ...).
  EagerTensor handle() const;

  EagerTensor Read() const;
  // The rows with these indices; the gradient with respect to the variable stays sparse.
  EagerTensor Gather(const Input& rows) const;
  operator EagerTensor() const { return Read(); }
  operator Input() const { return Input(Read()); }

  Status Assign(const Input& value) const { return Change("AssignVariableOp", value); }
  Status AssignAdd(const Input& value) const { return Change("AssignAddVariableOp", value); }
  Status AssignSub(const Input& value) const { return Change("AssignSubVariableOp", value); }

 private:
  // Notifies tapes that the variable was read.
  void NoteRead() const;
  Status Change(const char* op, const Input& value) const;
  struct Data {
    VariableOptions options;
    Status status;
    DType dtype = DType::kInvalid;
    weir::Shape shape;
    EagerTensor handle;
  };
  std::shared_ptr<const Data> data_;
};

#define WEIR_DEFINE_OPERATOR(symbol)                                                                            \
  inline EagerTensor operator symbol(const Variable& a, const Variable& b) { return a.Read() symbol b.Read(); } \
  inline EagerTensor operator symbol(const Variable& a, const EagerTensor& b) { return a.Read() symbol b; }     \
  inline EagerTensor operator symbol(const EagerTensor& a, const Variable& b) { return a symbol b.Read(); }     \
  inline EagerTensor operator symbol(const Variable& a, const Input& b) { return a.Read() symbol b; }           \
  inline EagerTensor operator symbol(const Input& a, const Variable& b) { return a symbol b.Read(); }
WEIR_DEFINE_OPERATOR(+)
WEIR_DEFINE_OPERATOR(-)
WEIR_DEFINE_OPERATOR(*)
WEIR_DEFINE_OPERATOR(/)
#undef WEIR_DEFINE_OPERATOR

}  // namespace eager
}  // namespace weir

#endif  // WEIR_CLIENT_EAGER_VARIABLE_H_
