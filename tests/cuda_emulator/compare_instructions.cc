// setp, set, selp, slct.
#include <cmath>

#include "float_modifiers.h"
#include "handlers.h"

namespace cuda_emulator {
namespace {

enum class Comparison : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };

struct ComparisonName {
  std::string_view name;
  Comparison comparison;
  bool is_unsigned = false;  // lo, ls, hi, hs
};
constexpr ComparisonName kComparisons[] = {
    {"eq", Comparison::kEq},       {"ne", Comparison::kNe},       {"lt", Comparison::kLt},
    {"le", Comparison::kLe},       {"gt", Comparison::kGt},       {"ge", Comparison::kGe},
    {"lo", Comparison::kLt, true}, {"ls", Comparison::kLe, true}, {"hi", Comparison::kGt, true},
    {"hs", Comparison::kGe, true}, {"equ", Comparison::kEqu},     {"neu", Comparison::kNeu},
    {"ltu", Comparison::kLtu},     {"leu", Comparison::kLeu},     {"gtu", Comparison::kGtu},
    {"geu", Comparison::kGeu},     {"num", Comparison::kNum},     {"nan", Comparison::kNan},
};

const ComparisonName* FindComparison(const Statement& s) {
  if (s.suffix.empty()) return nullptr;
  for (const ComparisonName& each : kComparisons) {
    if (each.name == s.suffix[0]) return &each;
  }
  return nullptr;
}

template <Comparison kComparison, class T>
bool Compare(T a, T b) {
  const bool unordered = a != a || b != b;
  switch (kComparison) {
    case Comparison::kEq:
      return a == b;
    case Comparison::kNe:
      return a != b && !unordered;
    case Comparison::kLt:
      return a < b;
    case Comparison::kLe:
      return a <= b;
    case Comparison::kGt:
      return a > b;
    case Comparison::kGe:
      return a >= b;
    case Comparison::kEqu:
      return a == b || unordered;
    case Comparison::kNeu:
      return a != b;
    case Comparison::kLtu:
      return !(a >= b);
    case Comparison::kLeu:
      return !(a > b);
    case Comparison::kGtu:
      return !(a <= b);
    case Comparison::kGeu:
      return !(a < b);
    case Comparison::kNum:
      return !unordered;
    case Comparison::kNan:
      return unordered;
  }
  return false;
}

template <class T>
auto Comparable(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
    return value.ToFloat();
  } else {
    return value;
  }
}

template <class T, Comparison kComparison>
const Instruction* SetPredicate(uint64_t* r, const Instruction* i, Thread*) {
  r[i->d] = Compare<kComparison>(Comparable(Get<T>(&r[i->a])), Comparable(Get<T>(&r[i->b])));
  return i + 1;
}

template <class T, Comparison kComparison>
const Instruction* SetPredicateOfPair(uint64_t* r, const Instruction* i, Thread*) {
  const Pair<T> a = Get<Pair<T>>(&r[i->a]), b = Get<Pair<T>>(&r[i->b]);
  r[i->d] = Compare<kComparison>(a.x.ToFloat(), b.x.ToFloat());
  r[i->c] = Compare<kComparison>(a.y.ToFloat(), b.y.ToFloat());
  return i + 1;
}

template <template <class, Comparison> class Choose, class T>
Handler ForComparison(Comparison comparison) {
  switch (comparison) {
#define CUDA_EMULATOR_CASE(name) \
  case Comparison::name:         \
    return Choose<T, Comparison::name>::kHandler
    CUDA_EMULATOR_CASE(kEq);
    CUDA_EMULATOR_CASE(kNe);
    CUDA_EMULATOR_CASE(kLt);
    CUDA_EMULATOR_CASE(kLe);
    CUDA_EMULATOR_CASE(kGt);
    CUDA_EMULATOR_CASE(kGe);
    CUDA_EMULATOR_CASE(kEqu);
    CUDA_EMULATOR_CASE(kNeu);
    CUDA_EMULATOR_CASE(kLtu);
    CUDA_EMULATOR_CASE(kLeu);
    CUDA_EMULATOR_CASE(kGtu);
    CUDA_EMULATOR_CASE(kGeu);
    CUDA_EMULATOR_CASE(kNum);
    CUDA_EMULATOR_CASE(kNan);
#undef CUDA_EMULATOR_CASE
  }
  return nullptr;
}

template <class T, Comparison kComparison>
struct Single {
  static constexpr Handler kHandler = SetPredicate<T, kComparison>;
};
template <class T, Comparison kComparison>
struct Paired {
  static constexpr Handler kHandler = SetPredicateOfPair<T, kComparison>;
};

Handler ComparisonHandler(Type type, const ComparisonName& name) {
  const Comparison comparison = name.comparison;
  if (name.is_unsigned) {
    switch (SizeOf(type)) {
      case 2:
        type = Type::kU16;
        break;
      case 4:
        type = Type::kU32;
        break;
      default:
        type = Type::kU64;
    }
  }
  switch (type) {
    case Type::kF16:
      return ForComparison<Single, Half>(comparison);
    case Type::kBF16:
      return ForComparison<Single, BFloat>(comparison);
    case Type::kF32:
      return ForComparison<Single, float>(comparison);
    case Type::kF64:
      return ForComparison<Single, double>(comparison);
    case Type::kF16x2:
      return ForComparison<Paired, Half>(comparison);
    case Type::kBF16x2:
      return ForComparison<Paired, BFloat>(comparison);
    default:
      return ForInteger(type, [&]<class T>() -> Handler { return ForComparison<Single, T>(comparison); });
  }
}

// Flushes denormal f32 sources for .ftz.
const Instruction* FlushSource(uint64_t* r, const Instruction* i, Thread*) {
  const float a = Get<float>(&r[i->a]);
  Put(&r[i->d], std::fabs(a) < 0x1p-126f ? std::copysign(0.f, a) : a);
  return i + 1;
}

uint32_t ComparedSource(Decoder& d, const Statement& s, const Operand& operand, Type type) {
  const uint32_t slot = d.Source(operand, type);
  if (!s.Has("ftz") || type != Type::kF32) return slot;
  const uint32_t flushed = d.NewSlot();
  d.Emit(FlushSource, flushed, slot);
  return flushed;
}

// d = d op c, and the other destination = !d op c.
enum class Combination : uint8_t { kNone, kAnd, kOr, kXor };
template <Combination kCombination, bool kComplement>
const Instruction* CombinePredicates(uint64_t* r, const Instruction* i, Thread*) {
  const bool value = (r[i->a] != 0) != kComplement, other = r[i->b] != 0;
  switch (kCombination) {
    case Combination::kNone:
      r[i->d] = value;
      break;
    case Combination::kAnd:
      r[i->d] = value && other;
      break;
    case Combination::kOr:
      r[i->d] = value || other;
      break;
    case Combination::kXor:
      r[i->d] = value != other;
      break;
  }
  return i + 1;
}

Combination CombinationOf(const Statement& s) {
  if (s.Has("and")) return Combination::kAnd;
  if (s.Has("or")) return Combination::kOr;
  if (s.Has("xor")) return Combination::kXor;
  return Combination::kNone;
}

template <bool kComplement>
Handler CombinationHandler(Combination combination) {
  switch (combination) {
    case Combination::kNone:
      return CombinePredicates<Combination::kNone, kComplement>;
    case Combination::kAnd:
      return CombinePredicates<Combination::kAnd, kComplement>;
    case Combination::kOr:
      return CombinePredicates<Combination::kOr, kComplement>;
    case Combination::kXor:
      return CombinePredicates<Combination::kXor, kComplement>;
  }
  return nullptr;
}

bool DecodeSetPredicate(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  const ComparisonName* name = FindComparison(s);
  if (name == nullptr || s.operands.size() < 3) return false;
  Handler handler = ComparisonHandler(type, *name);
  if (handler == nullptr) return false;
  const Combination combination = CombinationOf(s);
  if ((combination != Combination::kNone) != (s.operands.size() == 4)) return false;
  const uint32_t a = ComparedSource(d, s, s.operands[1], type), b = ComparedSource(d, s, s.operands[2], type);
  const uint32_t c = combination != Combination::kNone ? d.Predicate(s.operands[3]) : 0;
  const uint32_t first = d.Destination(s.operands[0]);
  const uint32_t second = s.operands[0].second ? d.Destination(*s.operands[0].second) : d.NewSlot();
  if (type == Type::kF16x2 || type == Type::kBF16x2) {
    if (combination != Combination::kNone) return false;
    d.Emit(handler, first, a, b, second);
    return true;
  }
  if (combination == Combination::kNone && !s.operands[0].second) {
    d.Emit(handler, first, a, b);
    return true;
  }
  const uint32_t compared = d.NewSlot();
  d.Emit(handler, compared, a, b);
  // The second destination first: `c` may be the register of the first one.
  const uint32_t kept = d.NewSlot();
  d.Emit(CombinationHandler<true>(combination), kept, compared, c);
  d.Emit(CombinationHandler<false>(combination), first, compared, c);
  if (s.operands[0].second) d.Emit(CombinePredicates<Combination::kNone, false>, second, kept);
  return true;
}

template <class T>
struct TrueValue {
  static T Get(bool value) { return value ? static_cast<T>(~T{0}) : T{0}; }
};
template <>
struct TrueValue<float> {
  static float Get(bool value) { return value ? 1.f : 0.f; }
};
template <>
struct TrueValue<Half> {
  static Half Get(bool value) { return {static_cast<uint16_t>(value ? 0x3C00 : 0)}; }
};
template <>
struct TrueValue<BFloat> {
  static BFloat Get(bool value) { return {static_cast<uint16_t>(value ? 0x3F80 : 0)}; }
};
template <class T>
const Instruction* FromPredicate(uint64_t* r, const Instruction* i, Thread*) {
  Put(&r[i->d], TrueValue<T>::Get(r[i->a] != 0));
  return i + 1;
}
template <class T>
const Instruction* PairFromPredicates(uint64_t* r, const Instruction* i, Thread*) {
  Put(&r[i->d], Pair<T>{TrueValue<T>::Get(r[i->a] != 0), TrueValue<T>::Get(r[i->b] != 0)});
  return i + 1;
}

// set.CmpOp.dtype.stype: the predicate as a number.
bool DecodeSet(Decoder& d, const Statement& s) {
  const Type source = TypeOf(s);
  const ComparisonName* name = FindComparison(s);
  if (name == nullptr || s.suffix.size() < 3 || s.operands.size() != 3) return false;
  const Type target = TypeOf(s.suffix[s.suffix.size() - 2]);
  Handler compare = ComparisonHandler(source, *name);
  if (compare == nullptr) return false;
  const uint32_t a = ComparedSource(d, s, s.operands[1], source), b = ComparedSource(d, s, s.operands[2], source);
  const uint32_t x = d.NewSlot(), y = d.NewSlot();
  d.Emit(compare, x, a, b, y);
  Handler convert = nullptr;
  const bool pair = source == Type::kF16x2 || source == Type::kBF16x2;
  switch (target) {
    case Type::kU16:
    case Type::kS16:
      convert = FromPredicate<uint16_t>;
      break;
    case Type::kU32:
    case Type::kS32:
      convert = pair ? PairFromPredicates<uint16_t> : FromPredicate<uint32_t>;
      break;
    case Type::kF32:
      convert = FromPredicate<float>;
      break;
    case Type::kF16:
      convert = FromPredicate<Half>;
      break;
    case Type::kBF16:
      convert = FromPredicate<BFloat>;
      break;
    case Type::kF16x2:
      convert = PairFromPredicates<Half>;
      break;
    case Type::kBF16x2:
      convert = PairFromPredicates<BFloat>;
      break;
    default:
      return false;
  }
  d.Emit(convert, d.Destination(s.operands[0]), x, y);
  return true;
}

const Instruction* Select(uint64_t* r, const Instruction* i, Thread*) {
  r[i->d] = r[i->c] != 0 ? r[i->a] : r[i->b];
  return i + 1;
}

bool DecodeSelect(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (s.operands.size() != 4) return false;
  const uint32_t a = d.Source(s.operands[1], type), b = d.Source(s.operands[2], type);
  const uint32_t c = d.Predicate(s.operands[3]);
  d.Emit(Select, d.Destination(s.operands[0]), a, b, c);
  return true;
}

template <class T>
const Instruction* SelectBySign(uint64_t* r, const Instruction* i, Thread*) {
  r[i->d] = Get<T>(&r[i->c]) >= 0 ? r[i->a] : r[i->b];
  return i + 1;
}

bool DecodeSelectBySign(Decoder& d, const Statement& s) {
  if (s.operands.size() != 4 || s.suffix.size() < 2) return false;
  const Type condition = TypeOf(s);
  const Type type = TypeOf(s.suffix[s.suffix.size() - 2]);
  const uint32_t a = d.Source(s.operands[1], type), b = d.Source(s.operands[2], type);
  const uint32_t c = d.Source(s.operands[3], condition);
  d.Emit(condition == Type::kF32 ? SelectBySign<float> : SelectBySign<int32_t>, d.Destination(s.operands[0]), a, b, c);
  return true;
}

constexpr OpcodeEntry kOpcodes[] = {
    {"setp", DecodeSetPredicate},
    {"set", DecodeSet},
    {"selp", DecodeSelect},
    {"slct", DecodeSelectBySign},
};

}  // namespace

std::span<const OpcodeEntry> CompareOpcodes() { return kOpcodes; }

}  // namespace cuda_emulator
