// Element types. Numbers are TensorFlow's; a reference type is its base type plus 100.
#ifndef WEIR_TENSOR_DTYPE_H_
#define WEIR_TENSOR_DTYPE_H_

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weir/base/export.h"
#include "weir/tensor/number.h"

namespace WEIR_PUBLIC weir {

class ResourceHandle;
class Variant;

enum class DType : uint8_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUInt8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQInt8 = 11,
  kQUInt8 = 12,
  kQInt32 = 13,
  kBFloat16 = 14,
  kQInt16 = 15,
  kQUInt16 = 16,
  kUInt16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUInt32 = 22,
  kUInt64 = 23,
  kFloat8E5M2 = 24,
  kFloat8E4M3FN = 25,
  kFloat8E4M3FNUZ = 26,
  kFloat8E4M3B11FNUZ = 27,
  kFloat8E5M2FNUZ = 28,
  kInt4 = 29,
  kUInt4 = 30,
  kInt2 = 31,
  kUInt2 = 32,
  kFloat4E2M1FN = 33,
};
inline constexpr int kMaxDType = 33;

inline bool IsRef(DType dtype) { return static_cast<int>(dtype) > 100; }
inline DType BaseType(DType dtype) { return IsRef(dtype) ? static_cast<DType>(static_cast<int>(dtype) - 100) : dtype; }
inline DType RefType(DType dtype) { return IsRef(dtype) ? dtype : static_cast<DType>(static_cast<int>(dtype) + 100); }
// True for every base or ref type that has a number.
bool IsValidDType(int number);

// Bytes of one element in memory (of a string, its object); 0 for kInvalid.
inline size_t SizeOf(DType dtype);
// True if elements are plain bytes: no constructor, destructor or deep copy.
inline bool IsPlain(DType dtype);
bool IsFloating(DType dtype);  // half, bfloat16, float, double, float8s
bool IsComplex(DType dtype);
bool IsInteger(DType dtype);  // signed and unsigned, 2 to 64 bits; not bool, not quantised
bool IsUnsigned(DType dtype);
bool IsQuantized(DType dtype);

namespace dtype_internal {
extern const std::array<uint8_t, 256> kSizes;  // by number, those of ref types too
}
inline size_t SizeOf(DType dtype) { return dtype_internal::kSizes[static_cast<uint8_t>(dtype)]; }
inline bool IsPlain(DType dtype) {
  constexpr uint64_t kOthers =
      uint64_t{1} << static_cast<int>(DType::kInvalid) | uint64_t{1} << static_cast<int>(DType::kString) |
      uint64_t{1} << static_cast<int>(DType::kResource) | uint64_t{1} << static_cast<int>(DType::kVariant);
  return (kOthers >> (static_cast<int>(BaseType(dtype)) & 63) & 1) == 0;
}

// TensorFlow's names: "float", "int32", "string", "float_ref", ...
std::string_view Name(DType dtype);
// The short names of op tables: "f32", "i32", "str", "res", "var", ...
std::string_view ShortName(DType dtype);
// The names of TensorFlow's Python and of NumPy: "float32", "int64", "bool", ...
std::string_view PythonName(DType dtype);
// Any of the three kinds of name.
std::optional<DType> ParseDType(std::string_view name);

// The C++ type of each DType, and back. A type without a DType gives a compile error.
template <typename T>
struct DTypeOfImpl;
#define WEIR_DTYPE(type, enumerator)                  \
  template <>                                         \
  struct DTypeOfImpl<type> {                          \
    static constexpr DType value = DType::enumerator; \
  };
WEIR_DTYPE(float, kFloat)
WEIR_DTYPE(double, kDouble)
WEIR_DTYPE(int32_t, kInt32)
WEIR_DTYPE(uint8_t, kUInt8)
WEIR_DTYPE(int16_t, kInt16)
WEIR_DTYPE(int8_t, kInt8)
WEIR_DTYPE(std::string, kString)
WEIR_DTYPE(std::complex<float>, kComplex64)
WEIR_DTYPE(int64_t, kInt64)
WEIR_DTYPE(bool, kBool)
WEIR_DTYPE(QInt8, kQInt8)
WEIR_DTYPE(QUInt8, kQUInt8)
WEIR_DTYPE(QInt32, kQInt32)
WEIR_DTYPE(BFloat16, kBFloat16)
WEIR_DTYPE(QInt16, kQInt16)
WEIR_DTYPE(QUInt16, kQUInt16)
WEIR_DTYPE(uint16_t, kUInt16)
WEIR_DTYPE(std::complex<double>, kComplex128)
WEIR_DTYPE(Half, kHalf)
WEIR_DTYPE(ResourceHandle, kResource)
WEIR_DTYPE(Variant, kVariant)
WEIR_DTYPE(uint32_t, kUInt32)
WEIR_DTYPE(uint64_t, kUInt64)
WEIR_DTYPE(Float8E5M2, kFloat8E5M2)
WEIR_DTYPE(Float8E4M3FN, kFloat8E4M3FN)
WEIR_DTYPE(Float8E4M3FNUZ, kFloat8E4M3FNUZ)
WEIR_DTYPE(Float8E4M3B11FNUZ, kFloat8E4M3B11FNUZ)
WEIR_DTYPE(Float8E5M2FNUZ, kFloat8E5M2FNUZ)
WEIR_DTYPE(Int4, kInt4)
WEIR_DTYPE(UInt4, kUInt4)
WEIR_DTYPE(Int2, kInt2)
WEIR_DTYPE(UInt2, kUInt2)
WEIR_DTYPE(Float4E2M1FN, kFloat4E2M1FN)
#undef WEIR_DTYPE
template <typename T>
inline constexpr DType kDTypeOf = DTypeOfImpl<T>::value;

template <typename... Ts>
struct TypeList {};
template <typename... As, typename... Bs>
TypeList<As..., Bs...> operator+(TypeList<As...>, TypeList<Bs...>) {
  return {};
}

using FloatTypes = TypeList<Half, BFloat16, float, double>;
using ComplexTypes = TypeList<std::complex<float>, std::complex<double>>;
using SignedTypes = TypeList<int8_t, int16_t, int32_t, int64_t>;
using UnsignedTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t>;
using IntegerTypes = decltype(SignedTypes{} + UnsignedTypes{});
using RealTypes = decltype(FloatTypes{} + IntegerTypes{});
using NumberTypes = decltype(RealTypes{} + ComplexTypes{});
using IndexTypes = TypeList<int32_t, int64_t>;
using QuantizedTypes = TypeList<QInt8, QUInt8, QInt32, QInt16, QUInt16>;
using Float8Types = TypeList<Float8E5M2, Float8E4M3FN, Float8E4M3FNUZ, Float8E4M3B11FNUZ, Float8E5M2FNUZ>;
using NarrowTypes = TypeList<Int4, UInt4, Int2, UInt2, Float4E2M1FN>;
using PlainTypes = decltype(NumberTypes{} + TypeList<bool>{} + QuantizedTypes{} + Float8Types{} + NarrowTypes{});
using AllTypes = decltype(PlainTypes{} + TypeList<std::string, ResourceHandle, Variant>{});

template <typename T>
struct TypeTag {
  using type = T;
};

// Element types that this build has loops for: all, unless it is for given models (cmake/WeirInference.cmake), which
// names theirs by a mask with a bit for each type's number.
#ifdef WEIR_BUILT_TYPES
constexpr bool IsBuilt(DType dtype) {
  return static_cast<unsigned>(dtype) < 64 && (uint64_t{WEIR_BUILT_TYPES} >> static_cast<unsigned>(dtype) & 1) != 0;
}
#else
constexpr bool IsBuilt(DType) { return true; }
#endif

// Calls `body(TypeTag<T>{})` for the T of the list whose DType is `dtype` and returns true; false if none is, or the
// type is not built.
//   DispatchDType(x.dtype(), NumberTypes{}, [&](auto tag) { using T = typename decltype(tag)::type; ... });
template <typename... Ts, typename Body>
bool DispatchDType(DType dtype, TypeList<Ts...>, Body&& body) {
  auto call = [&]<typename T>(TypeTag<T> tag) {
    if constexpr (IsBuilt(kDTypeOf<T>)) body(tag);
    return IsBuilt(kDTypeOf<T>);
  };
  return ((dtype == kDTypeOf<Ts> && call(TypeTag<Ts>{})) || ...);
}

}  // namespace weir

#endif  // WEIR_TENSOR_DTYPE_H_
