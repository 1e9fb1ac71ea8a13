// Emitter: the interface through which gradient functions add operations to a graph, to the body of a function or to
// the backward half of a loop. The emitter of a tape executes them eagerly instead.
//
// Errors are sticky: the emitter keeps the first error, later operations return empty values, and the caller of the
// gradient functions checks `status()` once at the end. Gradient code can therefore be written like the formula.
#ifndef WEIR_AUTODIFF_EMITTER_H_
#define WEIR_AUTODIFF_EMITTER_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/autodiff/value.h"
#include "weir/base/export.h"
#include "weir/framework/op_schema.h"
#include "weir/tensor/resource_handle.h"

namespace WEIR_PUBLIC weir {

// The outputs of an op. After an error there are no outputs, and every index returns an empty value.
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

  // Adds an op and returns its outputs; none after an error. Attributes that follow from the inputs (types, lengths of
  // lists) are inferred.
  Values Outputs(std::string_view op, const EmitArguments& inputs, AttrMap attrs);
  Values Outputs(std::string_view op, const EmitArguments& inputs, EmitAttrs attrs = {});
  // Adds an op and returns its first output.
  Value Op(std::string_view op, const EmitArguments& inputs, EmitAttrs attrs = {});
  Value Constant(Tensor value);

  // Identifies one call of AddGradients, for ops that keep separate state per call (TensorArrays).
  void set_source(std::string source) { source_ = std::move(source); }
  const std::string& source() const { return source_; }

  // Keeps the first error.
  void Fail(Status status);
  const Status& status() const { return status_; }

  // What is known statically about a value of this emitter.
  DType dtype(Value value) const;
  PartialShape shape(Value value) const;
  Tensor constant(Value value) const;
  std::vector<ResourceHandle::DTypeAndShape> handle_data(Value value) const;  // of a resource or variant

  // Makes a value of another emitter (the forward half of a loop or function) usable with this one. The value is
  // imported lazily, when the first op takes it as an input. Errors of the other emitter are ignored.
  Value Borrow(Value value);
  bool is_borrowed(Value value) const { return Borrowed(value) != nullptr; }

 protected:
  virtual StatusOr<const OpSchema*> FindSchema(std::string_view op) const = 0;
  // `inputs` are flattened and belong to this emitter; `attrs` are complete except for defaults.
  virtual StatusOr<std::vector<Value>> AddOp(const OpSchema& schema, std::vector<Value> inputs, AttrMap attrs) = 0;
  // For values that AddOp returned.
  virtual DType OwnDType(Value value) const = 0;
  virtual PartialShape OwnShape(Value value) const = 0;
  virtual Tensor OwnConstant(Value value) const = 0;
  virtual std::vector<ResourceHandle::DTypeAndShape> OwnHandleData(Value value) const = 0;
  // Imports a borrowed value.
  virtual StatusOr<Value> Import(Value foreign) = 0;
  // `value` as an input of an op of this emitter: the value itself, or its import if it is borrowed.
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
  std::vector<Value> imported_;  // the imports of borrowed_; an entry is empty until it is needed
};

}  // namespace weir

#endif  // WEIR_AUTODIFF_EMITTER_H_
