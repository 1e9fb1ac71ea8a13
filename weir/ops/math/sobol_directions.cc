#include "weir/ops/math/sobol_directions.h"

#include <algorithm>
#include <numeric>

namespace weir {
namespace {

// The powers of an element that generates the field of 2^degree elements, up to the one that is 1 again. Elements are
// polynomials below a primitive one; the generator is x.
std::vector<uint32_t> GeneratorPowers(int degree) {
  const uint32_t order = (uint32_t{1} << degree) - 1;
  std::vector<uint32_t> powers;
  for (uint32_t polynomial = order + 2; powers.size() != order; polynomial += 2) {
    powers.assign(1, 1);
    while (true) {
      uint32_t next = powers.back() << 1;
      if (next > order) next ^= polynomial;
      if (next == 1) break;
      powers.push_back(next);
    }
  }
  return powers;
}

// Numbers of a few bits from a stream.
class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : bytes_(bytes) {}
  uint32_t Take(int bits) {
    uint32_t out = 0;
    for (int i = 0; i < bits; ++i, ++at_) {
      out |= static_cast<uint32_t>(static_cast<uint8_t>(bytes_[at_ / 8]) >> (at_ % 8) & 1) << i;
    }
    return out;
  }

 private:
  const std::string_view bytes_;
  size_t at_ = 0;
};

SobolDirections DirectionsOf(uint32_t polynomial, int degree, BitReader& numbers) {
  SobolDirections v;
  for (int k = 0; k < kSobolBits; ++k) {
    if (k < degree) {
      v[k] = (numbers.Take(k) << 1 | 1) << (kSobolBits - 1 - k);
      continue;
    }
    v[k] = v[k - degree] ^ (v[k - degree] >> degree);
    for (int i = 1; i < degree; ++i) {
      if (polynomial >> (degree - i) & 1) v[k] ^= v[k - i];
    }
  }
  return v;
}

}  // namespace

std::vector<uint32_t> PrimitivePolynomials(int degree) {
  const uint32_t order = (uint32_t{1} << degree) - 1;
  const std::vector<uint32_t> powers = GeneratorPowers(degree);
  std::vector<uint32_t> logarithms(order + 1);
  for (uint32_t i = 0; i < order; ++i) logarithms[powers[i]] = i;
  // A primitive polynomial is the product of (x + g^k), (x + g^2k), (x + g^4k), ... for a power g^k that generates the
  // field too.
  std::vector<uint32_t> out;
  std::vector<bool> seen(order);
  for (uint32_t k = 0; k < order; ++k) {
    if (seen[k]) continue;
    const bool generates = std::gcd(k, order) == 1;
    std::vector<uint32_t> product = {1};  // coefficients, the lowest first
    for (uint32_t root = k, i = 0; i < static_cast<uint32_t>(degree); ++i) {
      seen[root] = true;
      product.insert(product.begin(), 0);
      for (size_t j = 0; generates && j + 1 < product.size(); ++j) {
        if (product[j + 1] != 0) product[j] ^= powers[(logarithms[product[j + 1]] + root) % order];
      }
      root = static_cast<uint32_t>(uint64_t{2} * root % order);
    }
    if (!generates) continue;
    uint32_t polynomial = 0;
    for (size_t j = 0; j < product.size(); ++j) polynomial |= product[j] << j;
    out.push_back(polynomial);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<SobolDirections> MakeSobolDirections(int dimensions) {
  std::vector<SobolDirections> out(1);
  for (int k = 0; k < kSobolBits; ++k) out[0][k] = uint32_t{1} << (kSobolBits - 1 - k);
  BitReader numbers(SobolNumbers());
  for (int degree = 1; static_cast<int>(out.size()) < dimensions; ++degree) {
    for (uint32_t polynomial : PrimitivePolynomials(degree)) {
      if (static_cast<int>(out.size()) == dimensions) break;
      out.push_back(DirectionsOf(polynomial, degree, numbers));
    }
  }
  return out;
}

}  // namespace weir
