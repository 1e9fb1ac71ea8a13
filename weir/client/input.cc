#include "weir/client/input.h"

#include <cmath>
#include <limits>

namespace weir {
namespace {

using LiteralTypes = decltype(TypeList<float, double, bool>{} + IntegerTypes{});

// False if `from` is no value of T.
template <typename T, typename From>
bool ConvertNumber(From from, T* to) {
  if constexpr (std::is_same_v<T, bool>) {
    *to = from != From{};
    return from == From{} || from == From{1};
  } else if constexpr (std::is_integral_v<T>) {
    const long double value = static_cast<long double>(from);
    if (!(value >= static_cast<long double>(std::numeric_limits<T>::lowest())) ||
        value > static_cast<long double>(std::numeric_limits<T>::max()) || value != std::floor(value)) {
      return false;
    }
    *to = static_cast<T>(from);
    return true;
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    *to = T(static_cast<float>(from));
    return true;
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    *to = T(static_cast<typename T::value_type>(from));
    return true;
  } else {
    *to = static_cast<T>(from);
    return true;
  }
}

}  // namespace

Input::Input(std::initializer_list<const char*> texts) {
  std::vector<std::string> strings(texts.begin(), texts.end());
  value_ = Tensor::Vector<std::string>(std::span<const std::string>(strings));
}

Input::Input(const EagerTensor& tensor) : eager_(tensor) {
  if (!tensor.has_value()) return;
  if (tensor.is_traced()) {
    output_ = tensor.traced();
  } else {
    value_ = tensor.tensor();
  }
}

DType Input::natural_dtype() const {
  if (!is_literal()) return BaseType(output_.dtype());
  return is_weak_ && value_.dtype() == DType::kDouble ? DType::kFloat : value_.dtype();
}

StatusOr<Tensor> Input::ValueAs(DType dtype) const {
  if (!value_.in_host_memory()) {
    WEIR_ASSIGN_OR_RETURN(Tensor value, eager_.value());
    return Input(std::move(value)).ValueAs(dtype);
  }
  if (value_.dtype() == dtype) return value_;
  if (!is_weak_) {
    return InvalidArgument("a constant of type ", Name(value_.dtype()), " is given where ", Name(dtype), " is needed");
  }
  WEIR_ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(dtype, value_.shape()));
  Status status = OkStatus();
  using Targets = decltype(NumberTypes{} + TypeList<bool>{});
  bool known = DispatchDType(value_.dtype(), LiteralTypes{}, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    bool target = DispatchDType(dtype, Targets{}, [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      for (int64_t i = 0; i < value_.num_elements(); ++i) {
        if (!ConvertNumber(value_.data<From>()[i], out.data<To>() + i)) {
          status = InvalidArgument(static_cast<double>(value_.data<From>()[i]), " is no ", Name(dtype));
        }
      }
    });
    if (!target) status = InvalidArgument("a number is given where ", Name(dtype), " is needed");
  });
  if (!known) return InvalidArgument("a literal of type ", Name(value_.dtype()), " cannot become ", Name(dtype));
  WEIR_RETURN_IF_ERROR(status);
  return out;
}

Output Constant(const Scope& scope, const Input& literal, DType dtype) {
  if (!literal.is_literal()) return literal.output();
  StatusOr<Tensor> value = literal.ValueAs(dtype == DType::kInvalid ? literal.natural_dtype() : dtype);
  if (!value.ok()) return scope.Fail(value.status()), Output(scope, {});
  AttrMap attrs;
  attrs.Set("dtype", value->dtype());
  attrs.Set("value", *std::move(value));
  return Output(scope, {scope.AddNode({.op = "Const", .attrs = std::move(attrs)}), 0});
}

Output Fill(const Scope& scope, const Shape& shape, double value, DType dtype) {
  Scope inside = scope.SubScope("fill");
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  AttrMap attrs;
  attrs.Set("T", dtype);
  attrs.Set("index_type", DType::kInt32);
  Output size = Constant(inside.WithName("dims"), Input(dims), DType::kInt32);
  Output number = Constant(inside.WithName("value"), Input(value), dtype);
  return Output(
      scope,
      {scope.AddNode({.op = "Fill", .attrs = std::move(attrs), .inputs = {size.endpoint(), number.endpoint()}}), 0});
}

}  // namespace weir
