// Rows of exponentials, as softmax and its losses need them.
#ifndef WEIR_DEVICE_CPU_EXPONENTIAL_ROWS_H_
#define WEIR_DEVICE_CPU_EXPONENTIAL_ROWS_H_

#include <cstdint>

namespace weir {

// The largest of n >= 1 numbers; any of them or NaN if there is a NaN.
float LargestOf(const float* x, int64_t n);
// out = exp(x - shift); returns its sum. `out` may be `x`.
float ExponentialsOf(const float* x, float shift, int64_t n, float* out);
float SumOfExponentials(const float* x, float shift, int64_t n);
// out = x * factor, or x - shift.
void MultiplyRow(const float* x, float factor, int64_t n, float* out);
void ShiftRow(const float* x, float shift, int64_t n, float* out);

}  // namespace weir

#endif  // WEIR_DEVICE_CPU_EXPONENTIAL_ROWS_H_
