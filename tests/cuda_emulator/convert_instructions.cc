// cvt between all types.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>

#include "float_modifiers.h"
#include "handlers.h"

namespace cuda_emulator {
namespace {

struct ConversionModifiers {
  Rounding rounding = Rounding::kNearestEven;
  bool to_integral = false;  // .rni and its kin: to a whole number
  bool saturate = false;
  bool flush = false;
  bool rectify = false;

  int64_t ToImmediate() const {
    return static_cast<int64_t>(rounding) | to_integral << 3 | saturate << 4 | flush << 5 | rectify << 6;
  }
  static ConversionModifiers FromImmediate(int64_t bits) {
    return {static_cast<Rounding>(bits & 7), (bits & 8) != 0, (bits & 16) != 0, (bits & 32) != 0, (bits & 64) != 0};
  }
  static ConversionModifiers Of(const Statement& s) {
    ConversionModifiers result;
    struct Name {
      std::string_view name;
      Rounding rounding;
      bool integral;
    };
    constexpr Name kNames[] = {{"rn", Rounding::kNearestEven, false},
                               {"rz", Rounding::kZero, false},
                               {"rm", Rounding::kDown, false},
                               {"rp", Rounding::kUp, false},
                               {"rna", Rounding::kNearestAway, false},
                               {"rni", Rounding::kNearestEven, true},
                               {"rzi", Rounding::kZero, true},
                               {"rmi", Rounding::kDown, true},
                               {"rpi", Rounding::kUp, true}};
    for (const Name& each : kNames) {
      if (s.Has(each.name)) result.rounding = each.rounding, result.to_integral = each.integral;
    }
    result.saturate = s.Has("sat");
    result.flush = s.Has("ftz");
    result.rectify = s.Has("relu");
    return result;
  }
};

double RoundToIntegral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return std::trunc(value);
    case Rounding::kDown:
      return std::floor(value);
    case Rounding::kUp:
      return std::ceil(value);
    default:
      return std::nearbyint(value);
  }
}

// Rounds a double to f32 by a mode other than the nearest.
float RoundToFloat(double value, Rounding rounding) {
  const float nearest = static_cast<float>(value);
  if (rounding == Rounding::kNearestEven || std::isnan(value) || std::isinf(value) || nearest == value) return nearest;
  return std::bit_cast<float>(RoundToFormat<8, 23>(value, rounding));
}

template <class T>
double ToDouble(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
    return value.ToFloat();
  } else {
    return static_cast<double>(value);
  }
}

template <class To>
To FloatToInteger(double value, bool source_is_double, Rounding rounding) {
  if (std::isnan(value)) {
    // Wide conversions give the largest power of two, the others zero.
    return source_is_double || sizeof(To) == 8 ? static_cast<To>(uint64_t{1} << (8 * sizeof(To) - 1)) : To{0};
  }
  const double rounded = RoundToIntegral(value, rounding);
  constexpr double kUpper = 2.0 * static_cast<double>(uint64_t{1} << (std::numeric_limits<To>::digits - 1));
  if (rounded >= kUpper) return std::numeric_limits<To>::max();
  if (rounded <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(rounded);
}

// The nearest f32 or f64 of an integer, or the one in a given direction.
template <class To, class From>
To IntegerToFloat(From value, Rounding rounding) {
  if (rounding == Rounding::kNearestEven) return static_cast<To>(value);
  const To nearest = static_cast<To>(value);
  const auto exact = static_cast<__int128>(value);
  const auto got = static_cast<__int128>(nearest);
  constexpr To kInfinity = std::numeric_limits<To>::infinity();
  const bool toward_zero_is_down = value > From{0};
  const bool down = rounding == Rounding::kDown || (rounding == Rounding::kZero && toward_zero_is_down);
  if (down && got > exact) return std::nextafter(nearest, -kInfinity);
  if (!down && got < exact) return std::nextafter(nearest, kInfinity);
  return nearest;
}

template <class To, class From>
To SaturateInteger(From value) {
  const auto wide = static_cast<__int128>(value);
  return static_cast<To>(std::clamp<__int128>(wide, std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
}

template <class To, class From>
To ConvertValue(From value, const ConversionModifiers& modifiers) {
  constexpr bool kFromInteger = std::is_integral_v<From>, kToInteger = std::is_integral_v<To>;
  if constexpr (kFromInteger && kToInteger) {
    return modifiers.saturate ? SaturateInteger<To>(value) : static_cast<To>(value);
  } else if constexpr (kFromInteger && (std::is_same_v<To, float> || std::is_same_v<To, double>)) {
    To result = IntegerToFloat<To>(value, modifiers.rounding);
    if (modifiers.saturate) result = std::clamp(result, To{0}, To{1});
    return result;
  } else if constexpr (kToInteger) {
    double source = ToDouble(value);
    if (modifiers.flush && std::is_same_v<From, float> && std::fabs(source) < 0x1p-126) source = 0;
    return FloatToInteger<To>(source, std::is_same_v<From, double>, modifiers.rounding);
  } else {
    double source;
    if constexpr (kFromInteger) {
      source = IntegerToFloat<double>(value, Rounding::kZero);
      // What is cut off still decides the second rounding: it makes the last bit odd.
      if (static_cast<__int128>(source) != static_cast<__int128>(value)) {
        source = std::bit_cast<double>(std::bit_cast<uint64_t>(source) | 1);
      }
    } else {
      source = ToDouble(value);
    }
    if (modifiers.flush && std::fabs(source) < 0x1p-126) source = std::copysign(0.0, source);
    if (modifiers.to_integral) source = RoundToIntegral(source, modifiers.rounding);
    if (modifiers.saturate) source = source >= 1 ? 1 : source > 0 ? source : 0;
    if (modifiers.rectify && source < 0) source = 0;
    if constexpr (std::is_same_v<To, double>) {
      return source;
    } else if constexpr (std::is_same_v<To, float>) {
      float result = RoundToFloat(source, modifiers.rounding);
      if (modifiers.flush && std::fabs(result) < 0x1p-126f) result = std::copysign(0.f, result);
      return result != result ? std::bit_cast<float>(0x7FFFFFFFu) : result;
    } else if constexpr (std::is_same_v<To, Half>) {
      return HalfFromDouble(source, modifiers.rounding);
    } else {
      return BFloatFromDouble(source, modifiers.rounding);
    }
  }
}

template <class To, class From>
const Instruction* Convert(uint64_t* r, const Instruction* i, Thread*) {
  Put(&r[i->d], ConvertValue<To>(Get<From>(&r[i->a]), ConversionModifiers::FromImmediate(i->immediate)));
  return i + 1;
}

// The conversions that kernels are full of, without a look at modifiers.
template <class To, class From>
const Instruction* ConvertPlain(uint64_t* r, const Instruction* i, Thread*) {
  Put(&r[i->d], static_cast<To>(Get<From>(&r[i->a])));
  return i + 1;
}

template <class To, class From>
Handler ChooseConversion(const ConversionModifiers& modifiers) {
  if constexpr (std::is_integral_v<From> && (std::is_integral_v<To> || std::is_floating_point_v<To>)) {
    if (!modifiers.saturate && modifiers.rounding == Rounding::kNearestEven) return ConvertPlain<To, From>;
  }
  if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To> && !std::is_same_v<From, To>) {
    if (modifiers.ToImmediate() == 0) return ConvertPlain<To, From>;
  }
  return Convert<To, From>;
}

template <class F>
Handler ForConvertible(Type type, F choose) {
  switch (type) {
    case Type::kU8:
    case Type::kB8:
      return choose.template operator()<uint8_t>();
    case Type::kS8:
      return choose.template operator()<int8_t>();
    case Type::kF16:
      return choose.template operator()<Half>();
    case Type::kBF16:
      return choose.template operator()<BFloat>();
    case Type::kF32:
      return choose.template operator()<float>();
    case Type::kF64:
      return choose.template operator()<double>();
    default:
      return ForInteger(type, choose);
  }
}

template <class T>
const Instruction* ConvertToPair(uint64_t* r, const Instruction* i, Thread*) {
  const auto modifiers = ConversionModifiers::FromImmediate(i->immediate);
  // The first source goes into the upper half.
  Put(&r[i->d],
      Pair<T>{ConvertValue<T>(Get<float>(&r[i->b]), modifiers), ConvertValue<T>(Get<float>(&r[i->a]), modifiers)});
  return i + 1;
}

const Instruction* ConvertToTf32(uint64_t* r, const Instruction* i, Thread*) {
  const auto modifiers = ConversionModifiers::FromImmediate(i->immediate);
  double value = Get<float>(&r[i->a]);
  if (modifiers.rectify && value < 0) value = 0;
  Put(&r[i->d], static_cast<uint32_t>(RoundToFormat<8, 10>(value, modifiers.rounding) << 13));
  return i + 1;
}

template <class To>
const Instruction* PackSaturated(uint64_t* r, const Instruction* i, Thread*) {
  const To a = SaturateInteger<To>(Get<int32_t>(&r[i->a])), b = SaturateInteger<To>(Get<int32_t>(&r[i->b]));
  using U = std::make_unsigned_t<To>;
  constexpr int kBits = 8 * sizeof(To);
  const uint64_t rest = kBits == 16 ? 0 : Get<uint32_t>(&r[i->c]);
  Put(&r[i->d], static_cast<uint32_t>(rest << (2 * kBits) | uint32_t{static_cast<U>(a)} << kBits | static_cast<U>(b)));
  return i + 1;
}

// cvt.pack.sat.to.s32{.b32} d, a, b{, c}
bool DecodePack(Decoder& d, const Statement& s) {
  Handler handler = nullptr;
  bool with_rest = false;
  for (std::string_view part : s.suffix) {
    if (part == "u16") handler = PackSaturated<uint16_t>;
    if (part == "s16") handler = PackSaturated<int16_t>;
    if (part == "u8") handler = PackSaturated<uint8_t>;
    if (part == "s8") handler = PackSaturated<int8_t>;
    with_rest |= part == "b32";
  }
  if (handler == nullptr || s.operands.size() != (with_rest ? 4 : 3)) return false;
  const uint32_t a = d.Source(s.operands[1], Type::kS32), b = d.Source(s.operands[2], Type::kS32);
  const uint32_t c = with_rest ? d.Source(s.operands[3], Type::kB32) : d.Constant(0);
  d.Emit(handler, d.Destination(s.operands[0]), a, b, c);
  return true;
}

bool DecodeConvert(Decoder& d, const Statement& s) {
  if (s.Has("pack")) return DecodePack(d, s);
  if (s.suffix.size() < 2 || s.operands.size() < 2) return false;
  const Type to = TypeOf(s.suffix[s.suffix.size() - 2]), from = TypeOf(s.suffix.back());
  const ConversionModifiers modifiers = ConversionModifiers::Of(s);
  if (s.Has("satfinite")) return false;
  Handler handler = nullptr;
  if (to == Type::kF16x2 || to == Type::kBF16x2) {
    if (from != Type::kF32 || s.operands.size() != 3) return false;
    handler = to == Type::kF16x2 ? ConvertToPair<Half> : ConvertToPair<BFloat>;
  } else if (to == Type::kTF32) {
    if (from != Type::kF32) return false;
    handler = ConvertToTf32;
  } else {
    if (s.operands.size() != 2) return false;
    handler = ForConvertible(to, [&]<class To>() -> Handler {
      return ForConvertible(from, [&]<class From>() -> Handler { return ChooseConversion<To, From>(modifiers); });
    });
  }
  if (!EmitPlain(d, s, handler, from)) return false;
  d.function().code.back().immediate = modifiers.ToImmediate();
  return true;
}

constexpr OpcodeEntry kOpcodes[] = {{"cvt", DecodeConvert}};

}  // namespace

std::span<const OpcodeEntry> ConvertOpcodes() { return kOpcodes; }

}  // namespace cuda_emulator
