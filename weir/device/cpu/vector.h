// Loops for every generation of the processor: a function marked WEIR_VECTOR is compiled several times over, for SSE2,
// AVX2 and AVX-512, and the best one for the machine is chosen when the program starts. The compiler does the rest, so
// such a function is a plain loop whose body it can see.
//
// Calls of the functions of <cmath> below become calls of glibc's vector versions, good to four units in the last
// place, infinities and NaNs included. What is left of a loop when the vectors are done uses the scalar ones.
#ifndef WEIR_DEVICE_CPU_VECTOR_H_
#define WEIR_DEVICE_CPU_VECTOR_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "weir/base/export.h"
#include "weir/tensor/number.h"

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(WEIR_ONE_PROCESSOR) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#define WEIR_VECTOR __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))

#define WEIR_VECTOR_MATH(name)                                              \
  __attribute__((simd("notinbranch"))) float name##f(float) noexcept(true); \
  __attribute__((simd("notinbranch"))) double name(double) noexcept(true);
extern "C" {
WEIR_VECTOR_MATH(exp)
WEIR_VECTOR_MATH(expm1)
WEIR_VECTOR_MATH(log)
WEIR_VECTOR_MATH(log1p)
WEIR_VECTOR_MATH(tanh)
WEIR_VECTOR_MATH(sin)
WEIR_VECTOR_MATH(cos)
WEIR_VECTOR_MATH(tan)
WEIR_VECTOR_MATH(sinh)
WEIR_VECTOR_MATH(cosh)
WEIR_VECTOR_MATH(asin)
WEIR_VECTOR_MATH(acos)
WEIR_VECTOR_MATH(atan)
WEIR_VECTOR_MATH(asinh)
WEIR_VECTOR_MATH(acosh)
WEIR_VECTOR_MATH(atanh)
WEIR_VECTOR_MATH(erf)
WEIR_VECTOR_MATH(erfc)
}
#undef WEIR_VECTOR_MATH

#else  // other processors, compilers that cannot, small builds, and sanitizers, which do not survive the choice
#define WEIR_VECTOR
#endif

// Before a loop of a known, small number of turns.
#if defined(__clang__)
#define WEIR_UNROLL _Pragma("clang loop unroll(full)")
#else
#define WEIR_UNROLL _Pragma("GCC unroll 32")
#endif

namespace WEIR_PUBLIC weir {

// Element types whose loops are worth several versions.
template <typename T>
inline constexpr bool kIsVectorType =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t> ||
    std::is_same_v<T, BFloat16>;

// Eight floats, for loops whose results stay in registers. Passed by reference: how one is passed by value differs
// between generations of the processor.
typedef float Lanes __attribute__((vector_size(32)));

[[gnu::always_inline]] inline void LoadLanes(const float* from, Lanes& to) { std::memcpy(&to, from, sizeof(Lanes)); }
[[gnu::always_inline]] inline void StoreLanes(const Lanes& from, float* to) { std::memcpy(to, &from, sizeof(Lanes)); }

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_VECTOR_H_
