// CastValue<To>(x): one element converted, for the loops of cast_from_*.cc.
#ifndef WEIR_OPS_MATH_CAST_VALUE_H_
#define WEIR_OPS_MATH_CAST_VALUE_H_

#include <algorithm>

#include "weir/device/cpu/arithmetic.h"
#include "weir/device/cpu/vector.h"
#include "weir/ops/math/cast.h"

namespace weir::cast_internal {

// Toward zero; what does not fit (and NaN) gives the least value, as the processor's instruction does.
template <typename Wide, typename F>
Wide TruncateTo(F x) {
  constexpr F kLimit = static_cast<F>(sizeof(Wide) == 8 ? 9223372036854775808.0 : 2147483648.0);
  return x >= -kLimit && x < kLimit ? static_cast<Wide>(x) : std::numeric_limits<Wide>::min();
}

template <typename To, typename F>
To FloatToInteger(F x) {
  if constexpr (sizeof(To) < 4 || std::is_same_v<To, int32_t>) {
    return static_cast<To>(TruncateTo<int32_t>(x));
  } else if constexpr (std::is_same_v<To, uint64_t>) {
    constexpr F kTwo63 = static_cast<F>(9223372036854775808.0);
    if (x >= kTwo63 && x < 2 * kTwo63) return static_cast<uint64_t>(x);
    return static_cast<uint64_t>(TruncateTo<int64_t>(x));
  } else {
    return static_cast<To>(TruncateTo<int64_t>(x));
  }
}

template <typename To, typename From>
To CastValue(From x) {
  if constexpr (kIsSmallFloat<From>) {
    return CastValue<To>(static_cast<float>(x));
  } else if constexpr (kIsComplex<From>) {
    if constexpr (kIsComplex<To>) {
      return static_cast<To>(x);
    } else {
      return CastValue<To>(x.real());
    }
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<typename To::value_type>(x), 0);
  } else if constexpr (kIsSmallFloat<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return FloatToInteger<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

// TensorFlow converts floats to small integers in blocks, by instructions that saturate; only what is left of a tensor
// after the last whole block wraps around as CastValue does. So a value out of range gives what its place says.
template <typename From, typename To>
constexpr int64_t SaturatedBlock() {
  constexpr bool kFloat =
      std::is_floating_point_v<From> || std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>;
  if constexpr (!kFloat || std::is_same_v<To, bool> || !std::is_integral_v<To> || sizeof(To) > 4) {
    return 0;
  } else if constexpr (sizeof(To) == 4) {
    return std::is_same_v<To, uint32_t> ? 8 : 0;
  } else {
    return std::is_same_v<From, float> ? 32 : std::is_same_v<From, BFloat16> ? 8 : 16;
  }
}

template <typename To, typename From>
To CastSaturated(From value) {
  using Wide = std::conditional_t<std::is_same_v<From, double>, double, float>;
  const Wide x = static_cast<Wide>(value);
  if constexpr (std::is_same_v<To, uint32_t>) {
    return x >= Wide(2147483648.0) && x < Wide(4294967296.0) ? static_cast<uint32_t>(x)
                                                             : static_cast<uint32_t>(TruncateTo<int32_t>(x));
  } else {
    const int32_t whole = TruncateTo<int32_t>(x);
    // Doubles become bytes by way of 16 bits without a sign, whose upper half is then taken for negative.
    if (std::is_same_v<From, double> && std::is_same_v<To, uint8_t> && whole > 32767) return 0;
    return static_cast<To>(std::clamp<int32_t>(whole, std::numeric_limits<To>::min(), std::numeric_limits<To>::max()));
  }
}

template <typename From, typename To>
[[gnu::always_inline]] inline void CastBody(const void* from, void* to, int64_t n) {
  const From* in = static_cast<const From*>(from);
  To* out = static_cast<To*>(to);
  int64_t done = 0;
  if constexpr (constexpr int64_t kBlock = SaturatedBlock<From, To>(); kBlock > 0) {
    done = n - n % kBlock;
    for (int64_t i = 0; i < done; ++i) out[i] = CastSaturated<To>(in[i]);
  }
#pragma GCC ivdep
  for (int64_t i = done; i < n; ++i) out[i] = CastValue<To>(in[i]);
}

template <typename From, typename To>
void CastRun(const void* from, void* to, int64_t n) {
  CastBody<From, To>(from, to, n);
}
template <typename From, typename To>
WEIR_VECTOR void CastVectorRun(const void* from, void* to, int64_t n) {
  CastBody<From, To>(from, to, n);
}

template <typename From>
CastLoop FindCastTo(DType to) {
  CastLoop loop = nullptr;
  DispatchDType(to, NumberTypes{} + TypeList<bool>{}, [&](auto tag) {
    using To = typename decltype(tag)::type;
    if constexpr (kIsVectorType<From> && (kIsVectorType<To> || std::is_same_v<To, bool>)) {
      loop = &CastVectorRun<From, To>;
    } else {
      loop = &CastRun<From, To>;
    }
  });
  return loop;
}

}  // namespace weir::cast_internal

#endif  // WEIR_OPS_MATH_CAST_VALUE_H_
