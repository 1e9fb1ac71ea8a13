// This file is compiled with products and sums as one rounding where the machine has that.
#include "weir/device/cpu/float_functions.h"

#include <cmath>

#include "weir/device/cpu/vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#if !defined(__clang__)
// GCC's own intrinsics begin with a vector that they leave undefined.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#endif

namespace weir {
namespace {

// x P(x^2) / Q(x^2) up to the limit, where the function is 1 as a float. The coefficients, lowest power first, are
// those of the least largest relative error (2e-8; a fit by reweighted least squares).
[[gnu::always_inline]] inline float ErfOf(float x) {
  constexpr float kLimit = 3.92f;
  constexpr float kAbove[] = {1.1283791461414738f,    0.1904065693526852f,     0.05274874084058922f,
                              0.0037656216461118943f, 0.00028488286983042023f, 2.0500874291112536e-06f};
  constexpr float kBelow[] = {1.0f,
                              0.5020761695178458f,
                              0.11410915757303765f,
                              0.014969227109205025f,
                              0.0011625366556289977f,
                              3.809172323637218e-05f};
  x = x > kLimit ? kLimit : x;  // a NaN stays
  x = x < -kLimit ? -kLimit : x;
  const float square = x * x;
  float above = kAbove[5], below = kBelow[5];
  WEIR_UNROLL
  for (int i = 4; i >= 0; --i) {
    above = above * square + kAbove[i];
    below = below * square + kBelow[i];
  }
  float y = x * above / below;
  y = y > 1.0f ? 1.0f : y;
  return y < -1.0f ? -1.0f : y;
}

WEIR_VECTOR void RsqrtExactly(const float* from, float* to, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = 1.0f / std::sqrt(from[i]);
}

#if defined(__x86_64__)
// An estimate of 14 bits and one step of Newton's method; where there is nothing to mend (of 0, infinities and NaNs)
// the estimate is the result. Gives how many elements are done.
__attribute__((target("avx512f"))) int64_t RsqrtByEstimate(const float* from, float* to, int64_t n) {
  const __m512 half = _mm512_set1_ps(0.5f), one = _mm512_set1_ps(1.0f);
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m512 x = _mm512_loadu_ps(from + i), estimate = _mm512_rsqrt14_ps(x);
    const __m512 error = _mm512_fnmadd_ps(_mm512_mul_ps(x, estimate), estimate, one);  // 1 - x estimate^2
    const __mmask16 is_number = _mm512_cmp_ps_mask(error, error, _CMP_ORD_Q);
    _mm512_storeu_ps(to + i, _mm512_mask_fmadd_ps(estimate, is_number, _mm512_mul_ps(half, error), estimate));
  }
  return i;
}
#endif

}  // namespace

WEIR_VECTOR void ErfFloats(const void* x, void* out, int64_t n) {
  const float* from = static_cast<const float*>(x);
  float* to = static_cast<float*>(out);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = ErfOf(from[i]);
}

void RsqrtFloats(const void* x, void* out, int64_t n) {
  const float* from = static_cast<const float*>(x);
  float* to = static_cast<float*>(out);
  int64_t done = 0;
#if defined(__x86_64__)
  static const bool has_estimate = __builtin_cpu_supports("avx512f");
  if (has_estimate) done = RsqrtByEstimate(from, to, n);
#endif
  RsqrtExactly(from + done, to + done, n - done);
}

}  // namespace weir
