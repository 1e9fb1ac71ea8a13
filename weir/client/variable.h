// Variable: state of the graph that persists across steps, stored in checkpoints under its name.
#ifndef WEIR_CLIENT_VARIABLE_H_
#define WEIR_CLIENT_VARIABLE_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/initializers.h"
#include "weir/client/input.h"

namespace WEIR_PUBLIC weir {

struct VariableOptions {
  bool trainable = true;
  bool saved = true;  // stored in checkpoints
};

// Into how many parts a variable is cut along its first dimension; at most one, or no function at all: it stays whole.
using Partitioner = std::function<int(const Shape& shape, DType dtype)>;

// A cheap handle; copies refer to the same variable. Converts to its value where an Input or an Output is expected.
class Variable {
 public:
  Variable() = default;
  // A variable named `name` below the scope's prefix. The initializer runs as an operation of the graph.
  Variable(const Scope& scope, std::string_view name, const Shape& shape, const Initializer& initializer,
           DType dtype = DType::kFloat, const VariableOptions& options = {});
  // Initialized with a literal, or with a tensor of the graph whose shape is known.
  Variable(const Scope& scope, std::string_view name, const Input& initial_value, const VariableOptions& options = {});

  // A variable whose rows are divided evenly among variables of their own, `name/part_0`, `name/part_1` ..., which may
  // be on different devices. Its value is their concatenation; it has no handle. Checkpoints hold it as a whole.
  // REQUIRES: 1 < parts <= shape.dim(0).
  static Variable Partitioned(const Scope& scope, std::string_view name, const Shape& shape,
                              const Initializer& initializer, DType dtype, const VariableOptions& options, int parts);

  // A variable with an existing handle (an argument of a function, for example). It has no initializer and is not among
  // the graph's Variables().
  static Variable FromHandle(const Scope& scope, std::string name, const Output& handle, const Shape& shape,
                             DType dtype);

  bool has_value() const { return data_ != nullptr; }
  const std::string& name() const { return data_->name; }
  DType dtype() const { return data_->dtype; }
  const Shape& shape() const { return data_->shape; }
  bool trainable() const { return data_->options.trainable; }
  bool saved() const { return data_->options.saved; }
  const Output& handle() const { return data_->handle; }
  const Operation& initializer() const { return data_->initializer; }
  // The variables that hold the rows of a partitioned variable; empty for others.
  const std::vector<Variable>& parts() const { return data_->parts; }
  // Of a part: which rows of which variable it holds. `whole` is empty for other variables.
  struct PartOf {
    std::string whole;
    Shape shape;  // of the whole variable
    int64_t first_row = 0;
  };
  const PartOf& part_of() const { return data_->part_of; }

  // The value at some point of the step; a single node, shared by all users.
  const Output& value() const { return data_->value; }
  operator const Output&() const { return data_->value; }
  operator Input() const { return Input(data_->value); }
  // The value after the scope's control dependencies have run.
  Output Read(const Scope& scope) const;
  // The rows with these indices. Of a partitioned variable, each part is asked only for its own rows.
  Output Gather(const Scope& scope, const Output& indices) const;

  Operation Assign(const Scope& scope, const Input& value) const;
  Operation AssignAdd(const Scope& scope, const Input& value) const;
  Operation AssignSub(const Scope& scope, const Input& value) const;

  bool operator==(const Variable& other) const { return data_ == other.data_; }

 private:
  struct Data {
    std::string name;
    DType dtype = DType::kInvalid;
    Shape shape;
    VariableOptions options;
    Output handle;
    Output value;
    Operation initializer;
    std::vector<Variable> parts;
    PartOf part_of;
  };
  struct Registration;
  using Changer = Operation (*)(const Scope& scope, const Output& handle, const Output& value);
  Operation Change(const Scope& scope, const Input& value, Changer change) const;
  static std::vector<Registration>& Registered(const Scope& scope);
  static Variable FromRegistration(const Scope& scope, Registration& registration);
  friend std::vector<Variable> Variables(const Scope& scope);
  void Build(const Scope& scope, std::string name, const Output& initial_value, const VariableOptions& options);
  std::shared_ptr<Data> data_;
};

// All variables of the scope's graph whose names begin with the scope's prefix, in order of creation.
std::vector<Variable> Variables(const Scope& scope);
std::vector<Variable> TrainableVariables(const Scope& scope);
// An operation that initializes all variables that exist now.
Operation InitializeVariables(const Scope& scope);
// An operation that runs all of these.
Operation Group(const Scope& scope, std::span<const Operation> operations);

}  // namespace weir

#endif  // WEIR_CLIENT_VARIABLE_H_
