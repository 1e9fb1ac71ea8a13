// Types of PTX and the bits of literals.
#include <bit>

#include "float16.h"
#include "ptx.h"

namespace cuda_emulator {
namespace {

struct TypeName {
  std::string_view name;
  Type type;
  int size;
};
constexpr TypeName kTypes[] = {
    {"b8", Type::kB8, 1},         {"b16", Type::kB16, 2},     {"b32", Type::kB32, 4},     {"b64", Type::kB64, 8},
    {"b128", Type::kB128, 16},    {"u8", Type::kU8, 1},       {"u16", Type::kU16, 2},     {"u32", Type::kU32, 4},
    {"u64", Type::kU64, 8},       {"s8", Type::kS8, 1},       {"s16", Type::kS16, 2},     {"s32", Type::kS32, 4},
    {"s64", Type::kS64, 8},       {"f16", Type::kF16, 2},     {"f16x2", Type::kF16x2, 4}, {"bf16", Type::kBF16, 2},
    {"bf16x2", Type::kBF16x2, 4}, {"f32", Type::kF32, 4},     {"f64", Type::kF64, 8},     {"tf32", Type::kTF32, 4},
    {"u16x2", Type::kU16x2, 4},   {"s16x2", Type::kS16x2, 4}, {"pred", Type::kPred, 1},
};

}  // namespace

Type TypeOf(std::string_view name) {
  for (const TypeName& each : kTypes) {
    if (each.name == name) return each.type;
  }
  return Type::kNone;
}

int SizeOf(Type type) {
  for (const TypeName& each : kTypes) {
    if (each.type == type) return each.size;
  }
  return 0;
}

bool IsSigned(Type type) { return type >= Type::kS8 && type <= Type::kS64; }

bool IsFloat(Type type) { return type >= Type::kF16 && type <= Type::kTF32; }

uint64_t Immediate::As(Type type) const {
  if (kind == kInteger && !IsFloat(type)) return bits;
  double value = 0;
  switch (kind) {
    case kInteger:
      if (type == Type::kF16 || type == Type::kBF16 || type == Type::kF16x2 || type == Type::kBF16x2) return bits;
      value = static_cast<double>(static_cast<int64_t>(bits));
      break;
    case kFloatBits:
      if (type != Type::kF64) return bits;
      value = std::bit_cast<float>(static_cast<uint32_t>(bits));
      break;
    case kDoubleBits:
      if (type != Type::kF32) return bits;
      value = std::bit_cast<double>(bits);
      break;
    case kDecimal:
      value = std::bit_cast<double>(bits);
      break;
  }
  switch (type) {
    case Type::kF64:
      return std::bit_cast<uint64_t>(value);
    case Type::kF16:
      return HalfFromDouble(value).bits;
    case Type::kBF16:
      return BFloatFromDouble(value).bits;
    default:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
}

}  // namespace cuda_emulator
