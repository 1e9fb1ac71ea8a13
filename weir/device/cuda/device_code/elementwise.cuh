// Elementwise operations, each a struct of the op's name with a static `Do` on values in the type they are computed in
// (`wide`). The generator (elementwise_source.h) puts calls of them together.
#pragma once
#include "weir/device/cuda/device_code/elements.cuh"

template <typename T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T v[kCount];
};

// Signed sums and products wrap around, as unsigned ones do.
template <typename T>
T WrapAdd(T a, T b) {
  if constexpr (IsFloating<T>::value || IsComplex<T>::value)
    return a + b;
  else
    return (T)((typename Unsigned<T>::type)a + (typename Unsigned<T>::type)b);
}
template <typename T>
T WrapSub(T a, T b) {
  if constexpr (IsFloating<T>::value || IsComplex<T>::value)
    return a - b;
  else
    return (T)((typename Unsigned<T>::type)a - (typename Unsigned<T>::type)b);
}
template <typename T>
T WrapMul(T a, T b) {
  if constexpr (IsFloating<T>::value || IsComplex<T>::value)
    return a * b;
  else
    return (T)((uint64)a * (uint64)b);
}
// Toward zero. A zero divisor gives 0: the device has nobody to tell.
template <typename T>
T WrapDiv(T a, T b) {
  if constexpr (IsFloating<T>::value || IsComplex<T>::value) {
    return a / b;
  } else {
    if (b == 0) return 0;
    if constexpr (IsSigned<T>::value) {
      if (b == (T)-1) return WrapSub((T)0, a);
    }
    return (T)(a / b);
  }
}
template <typename T>
bool IsNan(T x) {
  if constexpr (IsComplex<T>::value)
    return IsNan(x.real) || IsNan(x.imag);
  else
    return x != x;
}

#define BINARY(Name, expression) \
  struct Name {                  \
    template <typename T>        \
    static T Do(T x, T y) {      \
      return (T)(expression);    \
    }                            \
  };
#define COMPARISON(Name, expression) \
  struct Name {                      \
    template <typename T>            \
    static bool Do(T x, T y) {       \
      return expression;             \
    }                                \
  };
#define UNARY(Name, expression) \
  struct Name {                 \
    template <typename T>       \
    static T Do(T x) {          \
      return (T)(expression);   \
    }                           \
  };

// --- arithmetic
BINARY(AddV2, WrapAdd(x, y))
BINARY(Sub, WrapSub(x, y))
BINARY(Mul, WrapMul(x, y))
BINARY(RealDiv, WrapDiv(x, y))
typedef AddV2 Add;
typedef RealDiv Div;
BINARY(Maximum, x > y || x != x ? x : y)
BINARY(Minimum, x < y || x != x ? x : y)
struct SquaredDifference {
  template <typename T>
  static T Do(T x, T y) {
    T difference = WrapSub(x, y);
    if constexpr (IsComplex<T>::value)
      return difference * T(difference.real, -difference.imag);
    else
      return WrapMul(difference, difference);
  }
};
struct TruncateDiv {
  template <typename T>
  static T Do(T x, T y) {
    if constexpr (IsFloating<T>::value)
      return trunc(x / y);
    else
      return WrapDiv(x, y);
  }
};
struct FloorDiv {
  template <typename T>
  static T Do(T x, T y) {
    if constexpr (IsFloating<T>::value) {
      return floor(x / y);
    } else {
      T quotient = WrapDiv(x, y);
      if constexpr (IsSigned<T>::value) {
        if ((x < 0) != (y < 0) && WrapMul(quotient, y) != x && y != 0) return (T)(quotient - 1);
      }
      return quotient;
    }
  }
};
struct TruncateMod {
  template <typename T>
  static T Do(T x, T y) {
    if constexpr (IsFloating<T>::value) {
      return fmod(x, y);
    } else {
      if (y == 0) return 0;
      if constexpr (IsSigned<T>::value) {
        if (y == (T)-1) return 0;
      }
      return (T)(x % y);
    }
  }
};
typedef TruncateMod Mod;
struct FloorMod {
  template <typename T>
  static T Do(T x, T y) {
    T remainder = TruncateMod::Do(x, y);
    if constexpr (IsFloating<T>::value || IsSigned<T>::value) {
      if (remainder != 0 && (remainder < 0) != (y < 0)) remainder = (T)(remainder + y);
    }
    return remainder;
  }
};
struct DivNoNan {
  template <typename T>
  static T Do(T x, T y) {
    return y == T(0) ? T(0) : x / y;
  }
};
struct MulNoNan {
  template <typename T>
  static T Do(T x, T y) {
    return y == T(0) ? T(0) : x * y;
  }
};

// --- comparisons and logic
COMPARISON(Equal, x == y)
COMPARISON(NotEqual, x != y)
COMPARISON(Less, x < y)
COMPARISON(LessEqual, x <= y)
COMPARISON(Greater, x > y)
COMPARISON(GreaterEqual, x >= y)
COMPARISON(LogicalAnd, x&& y)
COMPARISON(LogicalOr, x || y)
struct LogicalNot {
  static bool Do(bool x) { return !x; }
};

// --- bits
BINARY(BitwiseAnd, x& y)
BINARY(BitwiseOr, x | y)
BINARY(BitwiseXor, x ^ y)
UNARY(Invert, ~x)
template <typename T>
int ClampShift(T amount) {
  constexpr int kMost = (int)sizeof(T) * 8 - 1;
  if constexpr (IsSigned<T>::value) {
    if (amount < 0) return 0;
  }
  return amount > (T)kMost ? kMost : (int)amount;
}
BINARY(LeftShift, (typename Unsigned<T>::type)x << ClampShift(y))
BINARY(RightShift, x >> ClampShift(y))
struct PopulationCount {
  template <typename T>
  static uint8 Do(T x) {
    return (uint8)__popcll((uint64)(typename Unsigned<T>::type)x);
  }
};

// --- complex numbers and their functions
template <typename R>
R Modulus(complex<R> x) {
  return hypot(x.real, x.imag);
}
template <typename R>
complex<R> ComplexExp(complex<R> x) {
  R scale = exp(x.real);
  return x.imag == 0 ? complex<R>(scale, x.imag) : complex<R>(scale * cos(x.imag), scale * sin(x.imag));
}
template <typename R>
complex<R> ComplexLog(complex<R> x) {
  return complex<R>(log(Modulus(x)), atan2(x.imag, x.real));
}
// A real number added: the sign of an imaginary part of zero stays.
template <typename R>
complex<R> OneMore(complex<R> x) {
  return complex<R>(x.real + 1, x.imag);
}
template <typename R>
complex<R> ComplexSqrt(complex<R> x) {
  if (x.real == 0 && x.imag == 0) return complex<R>(0, x.imag);
  R root = sqrt((fabs(x.real) + Modulus(x)) / 2);
  if (x.real >= 0) return complex<R>(root, x.imag / (2 * root));
  return complex<R>(fabs(x.imag) / (2 * root), copysign(root, x.imag));
}
template <typename R>
complex<R> ComplexSinh(complex<R> x) {
  return complex<R>(sinh(x.real) * cos(x.imag), cosh(x.real) * sin(x.imag));
}
template <typename R>
complex<R> ComplexCosh(complex<R> x) {
  return complex<R>(cosh(x.real) * cos(x.imag), sinh(x.real) * sin(x.imag));
}
template <typename R>
complex<R> ComplexTanh(complex<R> x) {
  if (fabs(x.real) > 20) return complex<R>(copysign((R)1, x.real), copysign((R)0, sin(2 * x.imag)));
  R t = tan(x.imag), s = sinh(x.real), beta = 1 + t * t, rho = sqrt(1 + s * s), denominator = 1 + beta * s * s;
  return complex<R>(beta * rho * s / denominator, t / denominator);
}
template <typename R>
complex<R> TimesI(complex<R> x) {
  return complex<R>(-x.imag, x.real);
}
template <typename R>
complex<R> OverI(complex<R> x) {
  return complex<R>(x.imag, -x.real);
}
template <typename R>
complex<R> ComplexAsinh(complex<R> x) {
  return ComplexLog(x + ComplexSqrt(x * x + complex<R>(1)));
}
template <typename R>
complex<R> ComplexAcosh(complex<R> x) {
  return ComplexLog(x + ComplexSqrt(OneMore(x)) * ComplexSqrt(x - complex<R>(1)));
}
template <typename R>
complex<R> ComplexAtanh(complex<R> x) {
  complex<R> half = ComplexLog(complex<R>(1) + x) - ComplexLog(complex<R>(1) - x);
  return complex<R>(half.real / 2, half.imag / 2);
}
struct Conj {
  template <typename T>
  static T Do(T x) {
    if constexpr (IsComplex<T>::value)
      return T(x.real, -x.imag);
    else
      return x;
  }
};
struct Real {
  template <typename R>
  static R Do(complex<R> x) {
    return x.real;
  }
};
struct Imag {
  template <typename R>
  static R Do(complex<R> x) {
    return x.imag;
  }
};
struct Angle {
  template <typename R>
  static R Do(complex<R> x) {
    return atan2(x.imag, x.real);
  }
};
struct ComplexAbs {
  template <typename R>
  static R Do(complex<R> x) {
    return Modulus(x);
  }
};
struct Complex {
  template <typename R>
  static complex<R> Do(R real, R imag) {
    return complex<R>(real, imag);
  }
};

// --- simple functions
struct Neg {
  template <typename T>
  static T Do(T x) {
    if constexpr (IsFloating<T>::value || IsComplex<T>::value)
      return -x;
    else
      return WrapSub((T)0, x);
  }
};
struct Abs {
  template <typename T>
  static T Do(T x) {
    if constexpr (IsFloating<T>::value)
      return fabs(x);
    else if constexpr (IsSigned<T>::value)
      return x < 0 ? WrapSub((T)0, x) : x;
    else
      return x;
  }
};
struct Sign {
  template <typename T>
  static T Do(T x) {
    if constexpr (IsComplex<T>::value) {
      auto modulus = Modulus(x);
      return modulus == 0 ? T(0) : T(x.real / modulus, x.imag / modulus);
    } else {
      if (IsNan(x)) return x;
      return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0);
    }
  }
};
UNARY(Square, WrapMul(x, x))
struct Sqrt {
  template <typename T>
  static T Do(T x) {
    if constexpr (IsComplex<T>::value)
      return ComplexSqrt(x);
    else
      return sqrt(x);
  }
};
struct Rsqrt {
  template <typename T>
  static T Do(T x) {
    if constexpr (IsComplex<T>::value)
      return T(1) / ComplexSqrt(x);
    else
      return (T)1 / sqrt(x);
  }
};
UNARY(Reciprocal, WrapDiv(T(1), x))
typedef Reciprocal Inv;
UNARY(Floor, floor(x))
UNARY(Ceil, ceil(x))
UNARY(Rint, rint(x))
struct Round {  // half to even; of integers 0, as TensorFlow's
  template <typename T>
  static T Do(T x) {
    if constexpr (IsFloating<T>::value)
      return rint(x);
    else
      return 0;
  }
};
UNARY(OnesLike, T(1))
UNARY(ZerosLike, T(0))
struct IsNanOp {
  template <typename T>
  static bool Do(T x) {
    return x != x;
  }
};
struct IsInf {
  template <typename T>
  static bool Do(T x) {
    return x - x != x - x && x == x;
  }
};
struct IsFinite {
  template <typename T>
  static bool Do(T x) {
    return x - x == x - x;
  }
};

// --- transcendental functions, of complex numbers too
#define FUNCTION(Name, real_function, complex_expression) \
  struct Name {                                           \
    template <typename T>                                 \
    static T Do(T x) {                                    \
      if constexpr (IsComplex<T>::value)                  \
        return complex_expression;                        \
      else                                                \
        return real_function(x);                          \
    }                                                     \
  };
FUNCTION(Exp, exp, ComplexExp(x))
FUNCTION(Expm1, expm1, ComplexExp(x) - T(1))
FUNCTION(Log, log, ComplexLog(x))
FUNCTION(Log1p, log1p, ComplexLog(OneMore(x)))
FUNCTION(Sin, sin, OverI(ComplexSinh(TimesI(x))))
FUNCTION(Cos, cos, ComplexCosh(TimesI(x)))
FUNCTION(Tan, tan, OverI(ComplexTanh(TimesI(x))))
FUNCTION(Sinh, sinh, ComplexSinh(x))
FUNCTION(Cosh, cosh, ComplexCosh(x))
FUNCTION(Tanh, tanh, ComplexTanh(x))
FUNCTION(Asin, asin, OverI(ComplexAsinh(TimesI(x))))
FUNCTION(Acos, acos, T((decltype(x.real))1.57079632679489661923) - OverI(ComplexAsinh(TimesI(x))))
FUNCTION(Atan, atan, OverI(ComplexAtanh(TimesI(x))))
FUNCTION(Asinh, asinh, ComplexAsinh(x))
FUNCTION(Acosh, acosh, ComplexAcosh(x))
FUNCTION(Atanh, atanh, ComplexAtanh(x))
UNARY(Erf, erf(x))
UNARY(Erfc, erfc(x))
UNARY(Erfinv, erfinv(x))
UNARY(Ndtri, normcdfinv(x))
UNARY(Lgamma, lgamma(x))
struct Sigmoid {
  template <typename T>
  static T Do(T x) {
    if constexpr (IsComplex<T>::value)
      return T(1) / (T(1) + ComplexExp(-x));
    else
      return (T)1 / ((T)1 + exp(-x));
  }
};
struct Pow {
  template <typename T>
  static T Do(T x, T y) {
    if constexpr (IsFloating<T>::value) {
      return pow(x, y);
    } else if constexpr (IsComplex<T>::value) {
      if (x == T(0)) return y == T(0) ? T(1) : T(0);
      return ComplexExp(y * ComplexLog(x));
    } else {
      T result = 1;
      for (; y > 0; y = (T)(y >> 1)) {
        if (y & 1) result = WrapMul(result, x);
        x = WrapMul(x, x);
      }
      return result;
    }
  }
};
BINARY(Atan2, atan2(x, y))
struct NextAfter {
  static float Do(float x, float y) { return nextafterf(x, y); }
  static double Do(double x, double y) { return nextafter(x, y); }
};
struct Xdivy {
  template <typename T>
  static T Do(T x, T y) {
    return x == T(0) ? T(0) : x / y;
  }
};
struct Xlogy {
  template <typename T>
  static T Do(T x, T y) {
    return x == T(0) ? T(0) : x * Log::Do(y);
  }
};
struct Xlog1py {
  template <typename T>
  static T Do(T x, T y) {
    return x == T(0) ? T(0) : x * Log1p::Do(y);
  }
};

// --- activations
UNARY(Relu, x < T(0) ? T(0) : x)
UNARY(Relu6, x<T(0) ? T(0) : x> T(6) ? T(6) : x)
UNARY(Elu, x < T(0) ? expm1(x) : x)
UNARY(Selu,
      x < T(0) ? (T)1.7580993408473768599402175208123 * (exp(x) - T(1)) : (T)1.0507009873554804934193349852946 * x)
struct Softplus {
  template <typename T>
  static T Do(T x) {
    // Beyond it, exp(x) is below half a unit in the last place of the result, or underflows.
    const T limit = sizeof(T) == 4 ? (T)13.942384719848633 : (T)34.043653389117146;
    if (x > limit) return x;
    T power = exp(x);
    return x < -limit ? power : log1p(power);
  }
};
UNARY(Softsign, x / (T(1) + fabs(x)))
// NaN where the gradient is not finite, as on the host.
BINARY(ReluGrad, x* T(y > T(0)))
BINARY(Relu6Grad, x* T(y > T(0) && y < T(6)))
BINARY(EluGrad, y < T(0) ? (y + T(1)) * x : x)
BINARY(SeluGrad, y < T(0) ? x * (y + (T)1.7580993408473768599402175208123) : x * (T)1.0507009873554804934193349852946)
BINARY(SoftplusGrad, x / (exp(-y) + T(1)))
struct SoftsignGrad {
  template <typename T>
  static T Do(T x, T y) {
    T d = T(1) + fabs(y);
    return x / (d * d);
  }
};
// --- gradients of elementwise functions: x is the function's value, y the gradient of it
BINARY(SigmoidGrad, y* x*(T(1) - x))
BINARY(TanhGrad, y*(T(1) - x * x))
BINARY(ReciprocalGrad, -y* Conj::Do(x) * Conj::Do(x))
typedef ReciprocalGrad InvGrad;
struct SqrtGrad {
  template <typename T>
  static T Do(T x, T y) {
    if (y == T(0)) return T(0);  // where the slope is infinite too
    return y * T(0.5f) / Conj::Do(x);
  }
};
struct RsqrtGrad {
  template <typename T>
  static T Do(T x, T y) {
    T root = Conj::Do(x);
    return T(-0.5f) * y * root * (root * root);
  }
};
// --- of three
struct Select3 {
  template <typename T>
  static T Do(bool condition, T x, T y) {
    return condition ? x : y;
  }
};
struct ClipByValue {
  template <typename T>
  static T Do(T x, T low, T high) {
    const T value = high < x ? high : x;  // a limit that is NaN is none
    return value < low ? low : value;
  }
};
// --- with a number of the node's, whose bits are the template's argument
template <uint32 kAlpha>
struct LeakyRelu {
  template <typename T>
  static T Do(T x) {
    return x > T(0) ? x : x * (T)__uint_as_float(kAlpha);
  }
};
template <uint32 kAlpha>
struct LeakyReluGrad {
  template <typename T>
  static T Do(T x, T y) {
    return y > T(0) ? x : x * (T)__uint_as_float(kAlpha);
  }
};
template <uint32 kTolerance>
struct ApproximateEqual {
  template <typename T>
  static bool Do(T x, T y) {
    if constexpr (IsComplex<T>::value)
      return Modulus(x - y) < (decltype(x.real))__uint_as_float(kTolerance);
    else if constexpr (IsFloating<T>::value)
      return fabs(x - y) < (T)__uint_as_float(kTolerance);
    else
      return Abs::Do(WrapSub(x, y)) < (T)__uint_as_float(kTolerance);
  }
};
// Toward zero; what does not fit (and NaN) gives the least value, as on the host.
template <typename Whole, typename F>
Whole TruncateTo(F x) {
  const F limit = sizeof(Whole) == 8 ? (F)9223372036854775808.0 : (F)2147483648.0;
  return x >= -limit && x < limit ? (Whole)x : Lowest<Whole>();
}
template <typename To, typename F>
To FloatToInteger(F x) {
  if constexpr (sizeof(To) < 4 || IsSame<To, int32>::value) {
    return (To)TruncateTo<int32>(x);
  } else {
    if constexpr (IsSame<To, uint64>::value) {
      const F two63 = (F)9223372036854775808.0;
      if (x >= two63 && x < 2 * two63) return (uint64)x;
    }
    return (To)TruncateTo<int64>(x);
  }
}
template <typename To>
struct Cast {
  template <typename From>
  static To Do(From x) {
    if constexpr (IsComplex<From>::value && !IsComplex<To>::value) {
      return Do(x.real);
    } else if constexpr (IsSame<To, bool>::value) {
      return x != From(0);
    } else if constexpr (IsComplex<To>::value) {
      if constexpr (IsComplex<From>::value)
        return To(x);
      else
        return To((decltype(To().real))x);
    } else if constexpr (IsFloating<From>::value && !IsFloating<To>::value) {
      return FloatToInteger<To>(x);
    } else if constexpr (IsSame<To, half>::value || IsSame<To, bfloat16>::value) {
      return To((float)x);
    } else {
      return (To)x;
    }
  }
};
// Bits that do not fit are cut off instead of rounded: for nodes that say Truncate.
template <typename To>
struct CutCast {
  template <typename From>
  static To Do(From x) {
    if constexpr (IsSame<To, bfloat16>::value && IsFloating<From>::value) {
      bfloat16 out;
      const float value = (float)x;
      out.bits = value != value ? bfloat16(value).bits : (uint16)(__float_as_uint(value) >> 16);
      return out;
    } else if constexpr (IsSame<To, half>::value && IsFloating<From>::value) {
      half out;
      const float value = (float)x;
      asm("cvt.rz.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(value));
      return out;
    } else {
      return Cast<To>::Do(x);
    }
  }
};

// --- operations whose operands and result all have the same type of 16 bits
inline float ApproximateExp2(float x) {
  float y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
inline float ApproximateReciprocal(float x) {
  float y;
  asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
constexpr float kLog2OfE = 1.4426950408889634f;

// a * b + c, rounded once.
inline half MultiplyAdd(half a, half b, half c) {
  half sum;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(sum.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
  return sum;
}
inline bfloat16 MultiplyAdd(bfloat16 a, bfloat16 b, bfloat16 c) {
#if __CUDA_ARCH__ >= 800
  bfloat16 sum;
  asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(sum.bits) : "h"(a.bits), "h"(b.bits), "h"(c.bits));
  return sum;
#else
  return bfloat16(fmaf((float)a, (float)b, (float)c));
#endif
}

// Op::Do of widened operands, rounded. Sums and products take one instruction with the same result, since float has
// enough digits that rounding twice does not matter; some functions need no more digits than the type has.
template <typename Op, typename T>
struct Narrow {
  template <typename... X>
  static T Do(X... x) {
    return (T)Op::Do((wide<T>)x...);
  }
};
template <typename T>
struct Narrow<AddV2, T> {
  static T Do(T x, T y) { return MultiplyAdd(x, T(1.0f), y); }
};
template <typename T>
struct Narrow<Sub, T> {
  static T Do(T x, T y) { return MultiplyAdd(y, T(-1.0f), x); }
};
template <typename T>
struct Narrow<Mul, T> {
  static T Do(T x, T y) { return MultiplyAdd(x, y, T(-0.0f)); }
};
template <typename T>
struct Narrow<Exp, T> {
  static T Do(T x) { return (T)ApproximateExp2((float)x * kLog2OfE); }
};
template <typename T>
struct Narrow<Sigmoid, T> {
  static T Do(T x) { return (T)ApproximateReciprocal(1 + ApproximateExp2((float)x * -kLog2OfE)); }
};
template <typename T>
struct Narrow<Tanh, T> {
  static T Do(T argument) {
    const float x = (float)argument, square = x * x;
    // Near 0, where the other formula loses digits, the first terms of the series.
    const float series = fmaf(fmaf(fmaf(square, -17.0f / 315, 2.0f / 15), square, -1.0f / 3), square, 1.0f) * x;
    const float other = fmaf(ApproximateReciprocal(1 + ApproximateExp2(x * (2 * kLog2OfE))), -2.0f, 1.0f);
    return (T)(fabsf(x) < 0.25f ? series : other);
  }
};
