#include "weir/device/cpu/exponential_rows.h"

#include <algorithm>

#include "weir/device/cpu/vector.h"

namespace weir {
namespace {

// Sums and maxima are kept in so many parts, which the compiler makes vectors of.
constexpr int kParts = 16;
constexpr int64_t kBlock = 512;  // exponentials that are summed while they are in cache

// Where exp comes near the end of the normal numbers, and a power just above that. Vectors are slow beyond it, and
// masked positions are far beyond.
constexpr float kSmallestExponent = -87;
constexpr float kSmallestPower = 1.7e-38f;

// `smallest` is an argument because the compiler drops the clamp by a constant, whose power it knows.
WEIR_VECTOR void Exponentials(const float* x, float shift, float smallest, int64_t n, float* out) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float exponent = x[i] - shift;
    const float power = std::exp(exponent < smallest ? smallest : exponent);
    out[i] = power < kSmallestPower ? 0 : power;
  }
}

WEIR_VECTOR float Sum(const float* x, int64_t n) {
  float part[kParts] = {};
  int64_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (int k = 0; k < kParts; ++k) part[k] += x[i + k];
  }
  for (; i < n; ++i) part[i % kParts] += x[i];
  for (int half = kParts / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) part[k] += part[k + half];
  }
  return part[0];
}

}  // namespace

WEIR_VECTOR float LargestOf(const float* x, int64_t n) {
  float part[kParts];
  for (float& p : part) p = x[0];
  int64_t i = 0;
  for (; i + kParts <= n; i += kParts) {
    for (int k = 0; k < kParts; ++k) part[k] = part[k] < x[i + k] ? x[i + k] : part[k];
  }
  for (; i < n; ++i) part[0] = part[0] < x[i] ? x[i] : part[0];
  float largest = part[0];
  for (float p : part) largest = largest < p ? p : largest;
  return largest;
}

float ExponentialsOf(const float* x, float shift, int64_t n, float* out) {
  float sum = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    Exponentials(x + i, shift, kSmallestExponent, count, out + i);
    sum += Sum(out + i, count);
  }
  return sum;
}

float SumOfExponentials(const float* x, float shift, int64_t n) {
  float block[kBlock];
  float sum = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    Exponentials(x + i, shift, kSmallestExponent, count, block);
    sum += Sum(block, count);
  }
  return sum;
}

WEIR_VECTOR void MultiplyRow(const float* x, float factor, int64_t n, float* out) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * factor;
}

WEIR_VECTOR void ShiftRow(const float* x, float shift, int64_t n, float* out) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] - shift;
}

}  // namespace weir
