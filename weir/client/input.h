// Input: an argument of an operation: a tensor of the graph, or a literal that becomes a constant.
//
// A number or a list of numbers has no type of its own: it takes the type of the operation's other inputs, so `x * 2`
// works for any numeric x. A Tensor keeps its type.
//
//   ops::Reshape(scope, x, {-1, 784});
//   ops::Maximum(scope, x, 0);
#ifndef WEIR_CLIENT_INPUT_H_
#define WEIR_CLIENT_INPUT_H_

#include <concepts>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "weir/base/export.h"
#include "weir/client/eager_tensor.h"
#include "weir/client/scope.h"
#include "weir/tensor/tensor.h"

namespace WEIR_PUBLIC weir {

class Input {
 public:
  Input(const Output& output) : output_(output) {}
  Input(Tensor value) : value_(std::move(value)) {}
  // Becomes a constant in a graph that is not being traced.
  Input(const EagerTensor& tensor);
  Input(const char* text) : value_(Tensor::Scalar(std::string(text))) {}
  Input(const std::string& text) : value_(Tensor::Scalar(text)) {}
  template <typename T>
  requires std::is_arithmetic_v<T> Input(T number)
      : value_(Tensor::Scalar(number)), is_weak_(!std::is_same_v<T, bool>) {}
  template <typename T>
  requires std::is_arithmetic_v<T> Input(std::initializer_list<T> numbers)
      : value_(Tensor::Vector<T>(numbers)), is_weak_(!std::is_same_v<T, bool>) {}
  Input(std::initializer_list<int64_t> numbers) : value_(Tensor::Vector<int64_t>(numbers)), is_weak_(true) {}
  template <typename T>
  requires std::is_arithmetic_v<T> Input(std::initializer_list<std::initializer_list<T>> rows)
      : value_(Rows(rows)), is_weak_(!std::is_same_v<T, bool>) {}
  Input(std::initializer_list<const char*> texts);
  template <typename T>
  requires std::is_arithmetic_v<T> Input(std::span<const T> numbers)
      : value_(Tensor::Vector<T>(numbers)), is_weak_(true) {}
  template <typename T>
  requires std::is_arithmetic_v<T> &&(!std::is_same_v<T, bool>)Input(const std::vector<T>& numbers)
      : Input(std::span<const T>(numbers)) {}

  bool is_literal() const { return value_.has_value(); }
  // True for a literal that takes the type of the other inputs.
  bool is_weak() const { return is_weak_; }
  const Output& output() const { return output_; }
  const Tensor& value() const { return value_; }
  const EagerTensor& eager() const { return eager_; }  // empty unless created from one
  // The type if nothing else determines it: double literals are floats.
  DType natural_dtype() const;
  // The literal as a tensor of this type. INVALID_ARGUMENT if a number does not fit. REQUIRES: is_literal().
  StatusOr<Tensor> ValueAs(DType dtype) const;

 private:
  // Dies if the rows have different lengths: that is a mistake in the program text.
  template <typename T>
  static Tensor Rows(std::initializer_list<std::initializer_list<T>> rows) {
    std::vector<T> all;
    for (auto row : rows) all.insert(all.end(), row.begin(), row.end());
    const int64_t count = static_cast<int64_t>(rows.size());
    const int64_t width = count == 0 ? 0 : static_cast<int64_t>(rows.begin()->size());
    Tensor flat = Tensor::Vector<T>(std::span<const T>(all));
    return flat.Reshaped(Shape({count, width})).value();
  }

  Output output_;
  Tensor value_;
  EagerTensor eager_;
  bool is_weak_ = false;
};

// A list of inputs, for an argument that takes several tensors.
class InputList {
 public:
  InputList(std::initializer_list<Input> inputs) : inputs_(inputs) {}
  InputList(std::vector<Input> inputs) : inputs_(std::move(inputs)) {}
  InputList(const std::vector<Output>& outputs) : inputs_(outputs.begin(), outputs.end()) {}
  InputList(std::span<const Output> outputs) : inputs_(outputs.begin(), outputs.end()) {}
  InputList(const std::vector<EagerTensor>& tensors) : inputs_(tensors.begin(), tensors.end()) {}
  std::span<const Input> inputs() const { return inputs_; }

 private:
  std::vector<Input> inputs_;
};

// A constant. With `dtype`, the literal is converted to that type.
Output Constant(const Scope& scope, const Input& literal, DType dtype = DType::kInvalid);
// A constant with the same value everywhere.
Output Fill(const Scope& scope, const Shape& shape, double value, DType dtype = DType::kFloat);

}  // namespace weir

#endif  // WEIR_CLIENT_INPUT_H_
