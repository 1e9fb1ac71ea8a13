// Arithmetic of f16 and bf16, single and in pairs.
#include <cmath>

#include "float_modifiers.h"
#include "handlers.h"

namespace cuda_emulator {
namespace {

// Operations on doubles, whose result is rounded once to the narrow type.
struct Add {
  static double Do(double a, double b) { return FusedForNarrow(a, 1, b); }
};
struct Subtract {
  static double Do(double a, double b) { return FusedForNarrow(a, 1, -b); }
};
struct Multiply {
  static double Do(double a, double b) { return a * b; }
};
struct FusedMultiplyAdd {
  static double Do(double a, double b, double c) { return FusedForNarrow(a, b, c); }
};
struct Exponential2 {
  static double Do(double a) { return std::exp2(a); }
};
struct HyperbolicTangent {
  static double Do(double a) { return std::tanh(a); }
};
struct Negate {
  static double Do(double a) { return -a; }
};
struct Absolute {
  static double Do(double a) { return std::fabs(a); }
};
template <bool kMaximum, bool kPropagateNaN, bool kXorSign>
struct Extreme {
  static double Do(double a, double b) {
    const bool negative = kXorSign && std::signbit(a) != std::signbit(b);
    if (kXorSign) a = std::fabs(a), b = std::fabs(b);
    double result;
    if (std::isnan(a) || std::isnan(b)) {
      if (kPropagateNaN || (std::isnan(a) && std::isnan(b))) return NAN;
      result = std::isnan(a) ? b : a;
    } else if (a == b) {
      result = std::signbit(a) == kMaximum ? b : a;
    } else {
      result = (a < b) != kMaximum ? a : b;
    }
    return negative ? -result : result;
  }
};

double Flushed(double value) { return std::fabs(value) < 0x1p-14 ? std::copysign(0.0, value) : value; }

template <class T, class Operation, class... Sources>
T Apply(const FloatModifiers& modifiers, Sources... sources) {
  double result;
  if (modifiers.flush && std::is_same_v<T, Half>) {
    result = Flushed(Operation::Do(Flushed(sources.ToFloat())...));
  } else {
    result = Operation::Do(static_cast<double>(sources.ToFloat())...);
  }
  if (modifiers.saturate) result = result >= 1 ? 1 : result > 0 ? result : 0;
  if (modifiers.rectify && result < 0) result = 0;
  return NarrowFromDouble<T>(result);
}

template <class T, class Operation, class... Sources>
Pair<T> ApplyToPair(const FloatModifiers& modifiers, Sources... sources) {
  return {Apply<T, Operation>(modifiers, sources.x...), Apply<T, Operation>(modifiers, sources.y...)};
}

template <class T>
struct ElementOf {
  using Type = T;
  static constexpr bool kIsPair = false;
};
template <class T>
struct ElementOf<Pair<T>> {
  using Type = T;
  static constexpr bool kIsPair = true;
};

template <class T, class Operation, int kSources>
const Instruction* Compute(uint64_t* r, const Instruction* i, Thread*) {
  using Element = typename ElementOf<T>::Type;
  const FloatModifiers modifiers = FloatModifiers::FromImmediate(i->immediate);
  const T a = Get<T>(&r[i->a]), b = Get<T>(&r[i->b]), c = Get<T>(&r[i->c]);
  T result;
  auto apply = [&](auto... sources) {
    if constexpr (ElementOf<T>::kIsPair) {
      return ApplyToPair<Element, Operation>(modifiers, sources...);
    } else {
      return Apply<Element, Operation>(modifiers, sources...);
    }
  };
  if constexpr (kSources == 1) {
    result = apply(a);
  } else if constexpr (kSources == 2) {
    result = apply(a, b);
  } else {
    result = apply(a, b, c);
  }
  Put(&r[i->d], result);
  return i + 1;
}

template <class Operation, int kSources>
bool Emit(Decoder& d, const Statement& s, Type type) {
  if (s.operands.size() != kSources + 1) return false;
  Handler handler = ForNarrowFloat(type, []<class T>() -> Handler { return Compute<T, Operation, kSources>; });
  if (!EmitPlain(d, s, handler, type)) return false;
  d.function().code.back().immediate = FloatModifiers::Of(s).ToImmediate();
  return true;
}

template <bool kMaximum>
bool EmitExtreme(Decoder& d, const Statement& s, Type type) {
  if (s.Has("xorsign")) {
    return s.Has("NaN") ? Emit<Extreme<kMaximum, true, true>, 2>(d, s, type)
                        : Emit<Extreme<kMaximum, false, true>, 2>(d, s, type);
  }
  return s.Has("NaN") ? Emit<Extreme<kMaximum, true, false>, 2>(d, s, type)
                      : Emit<Extreme<kMaximum, false, false>, 2>(d, s, type);
}

}  // namespace

bool DecodeHalf(Decoder& d, const Statement& s) {
  const Type type = TypeOf(s);
  if (s.opcode == "add") return Emit<Add, 2>(d, s, type);
  if (s.opcode == "sub") return Emit<Subtract, 2>(d, s, type);
  if (s.opcode == "mul") return Emit<Multiply, 2>(d, s, type);
  if (s.opcode == "fma") return Emit<FusedMultiplyAdd, 3>(d, s, type);
  if (s.opcode == "neg") return Emit<Negate, 1>(d, s, type);
  if (s.opcode == "abs") return Emit<Absolute, 1>(d, s, type);
  if (s.opcode == "min") return EmitExtreme<false>(d, s, type);
  if (s.opcode == "max") return EmitExtreme<true>(d, s, type);
  if (s.opcode == "ex2") return Emit<Exponential2, 1>(d, s, type);
  if (s.opcode == "tanh") return Emit<HyperbolicTangent, 1>(d, s, type);
  return false;
}

}  // namespace cuda_emulator
