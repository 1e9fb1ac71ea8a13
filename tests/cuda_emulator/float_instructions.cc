// Arithmetic of f32 and f64; that of f16 and bf16 is in half_instructions.cc.
//
// Instructions that are approximate on the GPU are computed in double precision and rounded.
#include <cfenv>
#include <cmath>
#include <limits>

#include "float_modifiers.h"
#include "handlers.h"

namespace cuda_emulator {
namespace {

// The NaN that instructions of f32 give.
template <class T>
T Canonical(T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (value != value) return std::bit_cast<float>(0x7FFFFFFFu);
  }
  return value;
}

struct Add {
  template <class T>
  static T Do(T a, T b) {
    return Canonical(a + b);
  }
};
struct Subtract {
  template <class T>
  static T Do(T a, T b) {
    return Canonical(a - b);
  }
};
struct Multiply {
  template <class T>
  static T Do(T a, T b) {
    return Canonical(a * b);
  }
};
struct Divide {
  template <class T>
  static T Do(T a, T b) {
    return Canonical(a / b);
  }
};
struct FusedMultiplyAdd {
  template <class T>
  static T Do(T a, T b, T c) {
    return Canonical(std::fma(a, b, c));
  }
};
template <bool kMaximum, bool kPropagateNaN, bool kXorSign>
struct Extreme {
  template <class T>
  static T Do(T a, T b) {
    const bool negative = kXorSign && std::signbit(a) != std::signbit(b);
    if (kXorSign) a = std::fabs(a), b = std::fabs(b);
    T result;
    if (std::isnan(a) || std::isnan(b)) {
      if (kPropagateNaN || (std::isnan(a) && std::isnan(b))) return Canonical(std::numeric_limits<T>::quiet_NaN());
      result = std::isnan(a) ? b : a;
    } else if (a == b) {
      result = std::signbit(a) == kMaximum ? b : a;  // zeros of both signs
    } else {
      result = (a < b) != kMaximum ? a : b;
    }
    return negative ? -result : result;
  }
};
struct Absolute {
  template <class T>
  static T Do(T a) {
    return std::fabs(a);
  }
};
struct Negate {
  template <class T>
  static T Do(T a) {
    return -a;
  }
};
struct SquareRoot {
  template <class T>
  static T Do(T a) {
    return Canonical(std::sqrt(a));
  }
};
struct Reciprocal {
  template <class T>
  static T Do(T a) {
    return Canonical(T{1} / a);
  }
};
struct ReciprocalSquareRoot {
  template <class T>
  static T Do(T a) {
    return Canonical(static_cast<T>(1.0 / std::sqrt(static_cast<double>(a))));
  }
};
// The coarse ones of f64, which give only the upper half of the bits.
template <class Operation>
struct Coarse {
  static double Do(double a) {
    if (std::fabs(a) < std::numeric_limits<double>::min()) a = std::copysign(0.0, a);
    return std::bit_cast<double>(std::bit_cast<uint64_t>(Operation::Do(a)) & ~uint64_t{0xFFFFFFFF});
  }
};
struct Exponential2 {
  static float Do(float a) { return Canonical(static_cast<float>(std::exp2(static_cast<double>(a)))); }
};
struct Logarithm2 {
  static float Do(float a) { return Canonical(static_cast<float>(std::log2(static_cast<double>(a)))); }
};
struct Sine {
  static float Do(float a) { return Canonical(static_cast<float>(std::sin(static_cast<double>(a)))); }
};
struct Cosine {
  static float Do(float a) { return Canonical(static_cast<float>(std::cos(static_cast<double>(a)))); }
};
struct HyperbolicTangent {
  static float Do(float a) { return Canonical(static_cast<float>(std::tanh(static_cast<double>(a)))); }
};
struct CopySign {
  template <class T>
  static T Do(T sign, T magnitude) {
    return std::copysign(magnitude, sign);
  }
};

template <class T>
T Flushed(T value) {
  return std::is_same_v<T, float> && std::fabs(value) < std::numeric_limits<T>::min() ? std::copysign(T{0}, value)
                                                                                      : value;
}

int HostRounding(Rounding rounding) {
  switch (rounding) {
    case Rounding::kZero:
      return FE_TOWARDZERO;
    case Rounding::kDown:
      return FE_DOWNWARD;
    case Rounding::kUp:
      return FE_UPWARD;
    default:
      return FE_TONEAREST;
  }
}

// Any operation with modifiers, which are in `immediate`.
template <class T, class Operation, int kSources>
const Instruction* Modified(uint64_t* r, const Instruction* i, Thread*) {
  const FloatModifiers modifiers = FloatModifiers::FromImmediate(i->immediate);
  T values[3] = {Get<T>(&r[i->a]), Get<T>(&r[i->b]), Get<T>(&r[i->c])};
  if (modifiers.flush) {
    for (T& value : values) value = Flushed(value);
  }
  // The operation must not move across the change of the rounding mode.
  const volatile T a = values[0], b = values[1], c = values[2];
  if (modifiers.rounding != Rounding::kNearestEven) std::fesetround(HostRounding(modifiers.rounding));
  volatile T result;
  if constexpr (kSources == 1) {
    result = Operation::Do(T{a});
  } else if constexpr (kSources == 2) {
    result = Operation::Do(T{a}, T{b});
  } else {
    result = Operation::Do(T{a}, T{b}, T{c});
  }
  if (modifiers.rounding != Rounding::kNearestEven) std::fesetround(FE_TONEAREST);
  T value = result;
  if (modifiers.flush) value = Flushed(value);
  if (modifiers.saturate) value = value >= 1 ? T{1} : value > 0 ? value : T{0};
  Put(&r[i->d], value);
  return i + 1;
}

template <class Operation, int kSources, class T>
Handler Plain() {
  if constexpr (kSources == 1) {
    return Unary<T, Operation>;
  } else if constexpr (kSources == 2) {
    return Binary<T, Operation>;
  } else {
    return Ternary<T, Operation>;
  }
}

template <class Operation, int kSources>
bool EmitFloat(Decoder& d, const Statement& s, Type type) {
  const FloatModifiers modifiers = FloatModifiers::Of(s);
  if (s.operands.size() != kSources + 1) return false;
  const bool is_float = type == Type::kF32;
  Handler handler;
  if (modifiers.IsPlain()) {
    handler = is_float ? Plain<Operation, kSources, float>() : Plain<Operation, kSources, double>();
  } else {
    handler = is_float ? Modified<float, Operation, kSources> : Modified<double, Operation, kSources>;
  }
  if (!EmitPlain(d, s, handler, type)) return false;
  d.function().code.back().immediate = modifiers.ToImmediate();
  return true;
}

// Operations that exist for f32 only.
template <class Operation>
bool EmitFloat32(Decoder& d, const Statement& s, Type type) {
  if (type != Type::kF32 || s.operands.size() != 2) return false;
  const FloatModifiers modifiers = FloatModifiers::Of(s);
  Handler handler = modifiers.IsPlain() ? Unary<float, Operation> : Modified<float, Operation, 1>;
  if (!EmitPlain(d, s, handler, type)) return false;
  d.function().code.back().immediate = modifiers.ToImmediate();
  return true;
}

template <bool kMaximum>
bool EmitExtreme(Decoder& d, const Statement& s, Type type) {
  if (s.Has("xorsign")) {
    return s.Has("NaN") ? EmitFloat<Extreme<kMaximum, true, true>, 2>(d, s, type)
                        : EmitFloat<Extreme<kMaximum, false, true>, 2>(d, s, type);
  }
  return s.Has("NaN") ? EmitFloat<Extreme<kMaximum, true, false>, 2>(d, s, type)
                      : EmitFloat<Extreme<kMaximum, false, false>, 2>(d, s, type);
}

enum class Property { kFinite, kInfinite, kNumber, kNaN, kNormal, kSubnormal };
template <class T, Property kProperty>
const Instruction* TestProperty(uint64_t* r, const Instruction* i, Thread*) {
  const T a = Get<T>(&r[i->a]);
  bool result = false;
  switch (kProperty) {
    case Property::kFinite:
      result = std::isfinite(a);
      break;
    case Property::kInfinite:
      result = std::isinf(a);
      break;
    case Property::kNumber:
      result = !std::isnan(a);
      break;
    case Property::kNaN:
      result = std::isnan(a);
      break;
    case Property::kNormal:
      result = std::isnormal(a);
      break;
    case Property::kSubnormal:
      result = std::fpclassify(a) == FP_SUBNORMAL;
      break;
  }
  r[i->d] = result;
  return i + 1;
}

template <class T>
Handler PropertyHandler(const Statement& s) {
  if (s.Has("finite")) return TestProperty<T, Property::kFinite>;
  if (s.Has("infinite")) return TestProperty<T, Property::kInfinite>;
  if (s.Has("number")) return TestProperty<T, Property::kNumber>;
  if (s.Has("notanumber")) return TestProperty<T, Property::kNaN>;
  if (s.Has("normal")) return TestProperty<T, Property::kNormal>;
  if (s.Has("subnormal")) return TestProperty<T, Property::kSubnormal>;
  return nullptr;
}

bool DecodeTest(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (type != Type::kF32 && type != Type::kF64) return false;
  return EmitPlain(d, s, type == Type::kF32 ? PropertyHandler<float>(s) : PropertyHandler<double>(s), type);
}

constexpr OpcodeEntry kOpcodes[] = {
    {"fma", DecodeFloat},  {"sqrt", DecodeFloat},     {"rcp", DecodeFloat},  {"rsqrt", DecodeFloat},
    {"ex2", DecodeFloat},  {"lg2", DecodeFloat},      {"sin", DecodeFloat},  {"cos", DecodeFloat},
    {"tanh", DecodeFloat}, {"copysign", DecodeFloat}, {"testp", DecodeTest},
};

}  // namespace

FloatModifiers FloatModifiers::Of(const Statement& s) {
  FloatModifiers modifiers;
  modifiers.flush = s.Has("ftz");
  modifiers.saturate = s.Has("sat");
  modifiers.rectify = s.Has("relu");
  if (s.Has("rz")) modifiers.rounding = Rounding::kZero;
  if (s.Has("rm")) modifiers.rounding = Rounding::kDown;
  if (s.Has("rp")) modifiers.rounding = Rounding::kUp;
  return modifiers;
}

bool DecodeFloat(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (type == Type::kF16 || type == Type::kBF16 || type == Type::kF16x2 || type == Type::kBF16x2) {
    return DecodeHalf(d, s);
  }
  if (type != Type::kF32 && type != Type::kF64) return false;
  if (s.opcode == "add") return EmitFloat<Add, 2>(d, s, type);
  if (s.opcode == "sub") return EmitFloat<Subtract, 2>(d, s, type);
  if (s.opcode == "mul") return EmitFloat<Multiply, 2>(d, s, type);
  if (s.opcode == "div") return EmitFloat<Divide, 2>(d, s, type);
  if (s.opcode == "fma" || s.opcode == "mad") return EmitFloat<FusedMultiplyAdd, 3>(d, s, type);
  if (s.opcode == "min") return EmitExtreme<false>(d, s, type);
  if (s.opcode == "max") return EmitExtreme<true>(d, s, type);
  if (s.opcode == "abs") return EmitFloat<Absolute, 1>(d, s, type);
  if (s.opcode == "neg") return EmitFloat<Negate, 1>(d, s, type);
  if (s.opcode == "copysign") return EmitFloat<CopySign, 2>(d, s, type);
  if (s.opcode == "sqrt") return EmitFloat<SquareRoot, 1>(d, s, type);
  const bool coarse = type == Type::kF64 && s.Has("approx") && s.Has("ftz");
  if (s.opcode == "rcp") {
    return coarse ? EmitPlain(d, s, Unary<double, Coarse<Reciprocal>>, type) : EmitFloat<Reciprocal, 1>(d, s, type);
  }
  if (s.opcode == "rsqrt") {
    return coarse ? EmitPlain(d, s, Unary<double, Coarse<ReciprocalSquareRoot>>, type)
                  : EmitFloat<ReciprocalSquareRoot, 1>(d, s, type);
  }
  if (s.opcode == "ex2") return EmitFloat32<Exponential2>(d, s, type);
  if (s.opcode == "lg2") return EmitFloat32<Logarithm2>(d, s, type);
  if (s.opcode == "sin") return EmitFloat32<Sine>(d, s, type);
  if (s.opcode == "cos") return EmitFloat32<Cosine>(d, s, type);
  if (s.opcode == "tanh") return EmitFloat32<HyperbolicTangent>(d, s, type);
  return false;
}

std::span<const OpcodeEntry> FloatOpcodes() { return kOpcodes; }

}  // namespace cuda_emulator
