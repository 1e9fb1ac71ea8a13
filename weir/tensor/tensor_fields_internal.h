// Private to tensor_proto.cc and its neighbours: elements in the typed fields of a TensorProto.
#ifndef WEIR_TENSOR_TENSOR_FIELDS_INTERNAL_H_
#define WEIR_TENSOR_TENSOR_FIELDS_INTERNAL_H_

#include <cstdint>
#include <type_traits>

#include "weir/proto/tensor.pb.h"
#include "weir/tensor/dtype.h"

namespace weir::tensor_fields {

template <typename T>
inline constexpr bool kIsTinyFloat = false;
template <TinyFloatFormat kFormat>
inline constexpr bool kIsTinyFloat<TinyFloat<kFormat>> = true;
template <typename T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// The field of type T, whose items are also of type T or wider.
template <typename T, typename Proto>
auto& Field(Proto& proto) {
  constexpr bool kConst = std::is_const_v<Proto>;
#define WEIR_FIELD(name)           \
  if constexpr (kConst)            \
    return proto.name();           \
  else                             \
    return *proto.mutable_##name() \
  // clang-format off
  if constexpr (std::is_same_v<T, float>) { WEIR_FIELD(float_val); }
  else if constexpr (std::is_same_v<T, double>) { WEIR_FIELD(double_val); }
  else if constexpr (std::is_same_v<T, std::string>) { WEIR_FIELD(string_val); }
  else if constexpr (std::is_same_v<T, std::complex<float>>) { WEIR_FIELD(scomplex_val); }
  else if constexpr (std::is_same_v<T, std::complex<double>>) { WEIR_FIELD(dcomplex_val); }
  else if constexpr (std::is_same_v<T, int64_t>) { WEIR_FIELD(int64_val); }
  else if constexpr (std::is_same_v<T, bool>) { WEIR_FIELD(bool_val); }
  else if constexpr (std::is_same_v<T, uint32_t>) { WEIR_FIELD(uint32_val); }
  else if constexpr (std::is_same_v<T, uint64_t>) { WEIR_FIELD(uint64_val); }
  else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) { WEIR_FIELD(half_val); }
  else if constexpr (kIsTinyFloat<T>) { WEIR_FIELD(float8_val); }
  else { WEIR_FIELD(int_val); }
  // clang-format on
#undef WEIR_FIELD
}

// Elements of T in its field.
template <typename T>
int64_t Count(const TensorProto& proto) {
  return static_cast<int64_t>(Field<T>(proto).size()) / (kIsComplex<T> ? 2 : 1);
}

template <typename T>
T Get(const TensorProto& proto, int64_t index) {
  const auto& field = Field<T>(proto);
  int i = static_cast<int>(index);
  if constexpr (kIsComplex<T>) {
    return T(field[2 * i], field[2 * i + 1]);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T::FromBits(static_cast<uint16_t>(field[i]));
  } else if constexpr (kIsTinyFloat<T>) {
    return T::FromBits(static_cast<uint8_t>(field[i]));
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return static_cast<T>(field[i]);
  } else if constexpr (std::is_constructible_v<T, int>) {
    return T(field[i]);  // wraps
  } else {
    return T{static_cast<decltype(T::value)>(field[i])};
  }
}

template <typename T>
void Add(const T& value, TensorProto* proto) {
  auto& field = Field<T>(*proto);
  if constexpr (kIsComplex<T>) {
    field.Add(value.real());
    field.Add(value.imag());
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    field.Add(value.bits);
  } else if constexpr (kIsTinyFloat<T>) {
    field.push_back(static_cast<char>(value.bits));
  } else if constexpr (std::is_same_v<T, std::string>) {
    *field.Add() = value;
  } else if constexpr (std::is_arithmetic_v<T>) {
    field.Add(value);
  } else {
    field.Add(value.value);
  }
}

// Bytes an element takes in its field while in memory.
template <typename T>
size_t ItemBytes() {
  if constexpr (kIsTinyFloat<T>) return 1;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) return 8;
  return std::is_same_v<T, bool> ? 1 : std::max<size_t>(sizeof(T), 4);
}

}  // namespace weir::tensor_fields

#endif  // WEIR_TENSOR_TENSOR_FIELDS_INTERNAL_H_
