// The directions of Sobol sequences, which SobolSample adds up.
#ifndef WEIR_OPS_MATH_SOBOL_DIRECTIONS_H_
#define WEIR_OPS_MATH_SOBOL_DIRECTIONS_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir {

inline constexpr int kMaxSobolDimensions = 21200;  // TensorFlow's
inline constexpr int kSobolBits = 31;

// Directions as binary fractions: bit 30 is a half.
using SobolDirections = std::array<uint32_t, kSobolBits>;

// Those of the first dimensions. REQUIRES: 1 <= dimensions <= kMaxSobolDimensions.
std::vector<SobolDirections> MakeSobolDirections(int dimensions);

// All primitive polynomials of a degree over the field of two elements, as numbers whose bits are the coefficients, in
// ascending order. REQUIRES: 1 <= degree < 32.
std::vector<uint32_t> PrimitivePolynomials(int degree);

// The contents of sobol_numbers.bin, which make_sobol_numbers.py describes.
std::string_view SobolNumbers();

}  // namespace weir

#endif  // WEIR_OPS_MATH_SOBOL_DIRECTIONS_H_
