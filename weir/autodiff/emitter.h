// Emitter: where gradient functions put the operations that they need: into a graph, into a function's body, into the
// backward half of a loop; an eager tape runs them at once.
//
// Errors stick: the first one is kept, what is emitted after it is empty, and whoever drives the gradient functions
// asks `status()` at the end. So gradient code reads like the formula it is.
#ifndef WEIR_AUTODIFF_EMITTER_H_
#define WEIR_AUTODIFF_EMITTER_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/autodiff/value.h"
#include "weir/framework/op_schema.h"
#include "weir/tensor/resource_handle.h"

namespace weir {

// Outputs of an op. After an error there are none, and every index gives an empty value.
class Values {
 public:
  Values() = default;
  Values(std::vector<Value> values) : values_(std::move(values)) {}
  Value operator[](size_t i) const { return i < values_.size() ? values_[i] : Value(); }
  size_t size() const { return values_.size(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  const std::vector<Value>& vector() const { return values_; }

 private:
  std::vector<Value> values_;
};

// One input argument of an op: a tensor, or a list of them.
struct EmitArgument {
  EmitArgument(Value value) : values{value} {}
  EmitArgument(std::vector<Value> list) : values(std::move(list)) {}
  EmitArgument(const Values& list) : values(list.vector()) {}
  std::vector<Value> values;
};
using EmitArguments = std::vector<EmitArgument>;
using EmitAttrs = std::initializer_list<std::pair<std::string_view, Attribute>>;

class Emitter {
 public:
  virtual ~Emitter() = default;

  // Adds an op. Attributes that follow from the inputs (types, lengths of lists) are filled in. The outputs are the
  // op's; none after an error.
  Values Outputs(std::string_view op, const EmitArguments& inputs, AttrMap attrs);
  Values Outputs(std::string_view op, const EmitArguments& inputs, EmitAttrs attrs = {});
  // Its first output.
  Value Op(std::string_view op, const EmitArguments& inputs, EmitAttrs attrs = {});
  Value Constant(Tensor value);

  // Tells the gradients of one AddGradients from another's, for ops that keep state by it.
  void set_source(std::string source) { source_ = std::move(source); }
  const std::string& source() const { return source_; }

  // Keeps the first error.
  void Fail(Status status);
  const Status& status() const { return status_; }

  // What is known of a value of this emitter.
  DType dtype(Value value) const;
  PartialShape shape(Value value) const;
  Tensor constant(Value value) const;
  std::vector<ResourceHandle::DTypeAndShape> handle_data(Value value) const;  // of a resource or variant

  // A value that another emitter made (the forward half of a loop or of a function), as one of this emitter. It is
  // brought over only when an op needs it. Errors of `value`'s own emitter are not looked at.
  Value Borrow(Value value);
  bool is_borrowed(Value value) const { return Borrowed(value) != nullptr; }

 protected:
  virtual StatusOr<const OpSchema*> FindSchema(std::string_view op) const = 0;
  // `inputs` are this emitter's own, flat; `attrs` are complete but for defaults.
  virtual StatusOr<std::vector<Value>> AddOp(const OpSchema& schema, std::vector<Value> inputs, AttrMap attrs) = 0;
  // Of values that AddOp gave.
  virtual DType OwnDType(Value value) const = 0;
  virtual PartialShape OwnShape(Value value) const = 0;
  virtual Tensor OwnConstant(Value value) const = 0;
  virtual std::vector<ResourceHandle::DTypeAndShape> OwnHandleData(Value value) const = 0;
  // Brings a borrowed value over.
  virtual StatusOr<Value> Import(Value foreign) = 0;
  // `value` as an input of an op of this emitter: itself, or brought over.
  StatusOr<Value> Own(Value value);

 private:
  StatusOr<std::vector<Value>> TryOutputs(std::string_view op, const EmitArguments& inputs, AttrMap attrs);
  // The value that `value` stands for, if it is borrowed.
  const Value* Borrowed(Value value) const {
    return value.node() < -1 ? &borrowed_[static_cast<size_t>(-2 - value.node())] : nullptr;
  }
  Status status_;
  std::string source_;
  std::vector<Value> borrowed_;  // of other emitters; value i is node -2 - i here
  std::vector<Value> imported_;  // the same, brought over; empty until then
};

}  // namespace weir

#endif  // WEIR_AUTODIFF_EMITTER_H_
