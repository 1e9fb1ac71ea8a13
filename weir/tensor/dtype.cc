#include "weir/tensor/dtype.h"

#include <array>

#include "weir/base/strings.h"
#include "weir/tensor/resource_handle.h"
#include "weir/tensor/variant.h"

namespace weir {
namespace {

enum Traits : uint8_t {
  kNone = 0,
  kFloatingTrait = 1,
  kComplexTrait = 2,
  kIntegerTrait = 4,
  kUnsignedTrait = 8,
  kQuantizedTrait = 16,
};

struct TypeInfo {
  std::string_view name;
  std::string_view short_name;
  std::string_view python_name;
  size_t size;
  uint8_t traits;
};

constexpr uint8_t kUnsignedInteger = kIntegerTrait | kUnsignedTrait;

constexpr std::array<TypeInfo, kMaxDType + 1> kTypes = {{
    {"invalid", "invalid", "invalid", 0, kNone},
    {"float", "f32", "float32", 4, kFloatingTrait},
    {"double", "f64", "float64", 8, kFloatingTrait},
    {"int32", "i32", "int32", 4, kIntegerTrait},
    {"uint8", "u8", "uint8", 1, kUnsignedInteger},
    {"int16", "i16", "int16", 2, kIntegerTrait},
    {"int8", "i8", "int8", 1, kIntegerTrait},
    {"string", "str", "string", sizeof(std::string), kNone},
    {"complex64", "c64", "complex64", 8, kComplexTrait},
    {"int64", "i64", "int64", 8, kIntegerTrait},
    {"bool", "bool", "bool", 1, kNone},
    {"qint8", "qi8", "qint8", 1, kQuantizedTrait},
    {"quint8", "qu8", "quint8", 1, kQuantizedTrait | kUnsignedTrait},
    {"qint32", "qi32", "qint32", 4, kQuantizedTrait},
    {"bfloat16", "bf16", "bfloat16", 2, kFloatingTrait},
    {"qint16", "qi16", "qint16", 2, kQuantizedTrait},
    {"quint16", "qu16", "quint16", 2, kQuantizedTrait | kUnsignedTrait},
    {"uint16", "u16", "uint16", 2, kUnsignedInteger},
    {"complex128", "c128", "complex128", 16, kComplexTrait},
    {"half", "f16", "float16", 2, kFloatingTrait},
    {"resource", "res", "resource", sizeof(ResourceHandle), kNone},
    {"variant", "var", "variant", sizeof(Variant), kNone},
    {"uint32", "u32", "uint32", 4, kUnsignedInteger},
    {"uint64", "u64", "uint64", 8, kUnsignedInteger},
    {"float8_e5m2", "f8e5m2", "float8_e5m2", 1, kFloatingTrait},
    {"float8_e4m3fn", "f8e4m3fn", "float8_e4m3fn", 1, kFloatingTrait},
    {"float8_e4m3fnuz", "f8e4m3fnuz", "float8_e4m3fnuz", 1, kFloatingTrait},
    {"float8_e4m3b11fnuz", "f8e4m3b11fnuz", "float8_e4m3b11fnuz", 1, kFloatingTrait},
    {"float8_e5m2fnuz", "f8e5m2fnuz", "float8_e5m2fnuz", 1, kFloatingTrait},
    {"int4", "i4", "int4", 1, kIntegerTrait},
    {"uint4", "u4", "uint4", 1, kUnsignedInteger},
    {"int2", "i2", "int2", 1, kIntegerTrait},
    {"uint2", "u2", "uint2", 1, kUnsignedInteger},
    {"float4_e2m1fn", "f4e2m1fn", "float4_e2m1fn", 1, kFloatingTrait},
}};

constexpr std::array<uint8_t, 256> MakeSizes() {
  static_assert(sizeof(ResourceHandle) < 256);
  std::array<uint8_t, 256> out = {};
  for (int i = 1; i <= kMaxDType; ++i) out[i] = out[i + 100] = static_cast<uint8_t>(kTypes[i].size);
  return out;
}

// The names of reference types, made once and kept.
struct RefNames {
  std::array<std::string, kMaxDType + 1> name, short_name, python_name;
};
const RefNames& Refs() {
  static const RefNames* names = [] {
    auto* out = new RefNames;
    for (int i = 0; i <= kMaxDType; ++i) {
      out->name[i] = Cat(kTypes[i].name, "_ref");
      out->short_name[i] = Cat(kTypes[i].short_name, "_ref");
      out->python_name[i] = Cat(kTypes[i].python_name, "_ref");
    }
    return out;
  }();
  return *names;
}

const TypeInfo& Info(DType dtype) {
  int number = static_cast<int>(BaseType(dtype));
  return kTypes[number <= kMaxDType ? number : 0];
}
bool Has(DType dtype, uint8_t trait) { return (Info(dtype).traits & trait) != 0; }
int Index(DType ref) {
  int number = static_cast<int>(ref) - 100;
  return number <= kMaxDType ? number : 0;
}

const StringMap<DType>& ByName() {
  static const StringMap<DType>* map = [] {
    auto* out = new StringMap<DType>;
    for (int i = 1; i <= kMaxDType; ++i) {
      DType dtype = static_cast<DType>(i);
      for (DType each : {dtype, RefType(dtype)}) {
        out->emplace(Name(each), each);
        out->emplace(ShortName(each), each);
        out->emplace(PythonName(each), each);
      }
    }
    return out;
  }();
  return *map;
}

}  // namespace

constinit const std::array<uint8_t, 256> dtype_internal::kSizes = MakeSizes();

bool IsValidDType(int number) {
  if (number > 100) number -= 100;
  return number >= 1 && number <= kMaxDType;
}

bool IsFloating(DType dtype) { return Has(dtype, kFloatingTrait); }
bool IsComplex(DType dtype) { return Has(dtype, kComplexTrait); }
bool IsInteger(DType dtype) { return Has(dtype, kIntegerTrait); }
bool IsUnsigned(DType dtype) { return Has(dtype, kUnsignedTrait); }
bool IsQuantized(DType dtype) { return Has(dtype, kQuantizedTrait); }

std::string_view Name(DType dtype) { return IsRef(dtype) ? Refs().name[Index(dtype)] : Info(dtype).name; }
std::string_view ShortName(DType dtype) {
  return IsRef(dtype) ? Refs().short_name[Index(dtype)] : Info(dtype).short_name;
}
std::string_view PythonName(DType dtype) {
  return IsRef(dtype) ? Refs().python_name[Index(dtype)] : Info(dtype).python_name;
}

std::optional<DType> ParseDType(std::string_view name) {
  auto it = ByName().find(name);
  if (it == ByName().end()) return std::nullopt;
  return it->second;
}

}  // namespace weir
