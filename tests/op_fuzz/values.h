// Values that are mostly sensible and sometimes hostile, drawn from a seed.
#ifndef WEIR_TESTS_OP_FUZZ_VALUES_H_
#define WEIR_TESTS_OP_FUZZ_VALUES_H_

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "weir/tensor/tensor.h"

namespace weir::op_fuzz {

class Chance {
 public:
  explicit Chance(uint64_t seed) : random_(seed) {}
  uint64_t Bits() { return random_(); }
  // Of [0, count). REQUIRES: count > 0.
  int64_t Below(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }
  bool Percent(int percent) { return Below(100) < percent; }
  template <typename Container>
  auto& OneOf(Container& items) {
    return items[static_cast<size_t>(Below(static_cast<int64_t>(std::size(items))))];
  }

 private:
  std::mt19937_64 random_;
};

// Mostly small, sometimes at the ends of what an int64 holds.
int64_t AnyNumber(Chance& chance);
int64_t SmallNumber(Chance& chance);
float AnyFloat(Chance& chance);
std::string AnyString(Chance& chance);
DType AnyType(Chance& chance);

// Sizes that the inputs of one node have something to do with: operands that fit are the rule, not luck.
std::vector<int64_t> AnyTheme(Chance& chance);
Shape AnyShape(const std::vector<int64_t>& theme, Chance& chance);
// Another shape that is near to `shape`.
Shape NearShape(const Shape& shape, Chance& chance);
PartialShape AnyPartialShape(const std::vector<int64_t>& theme, Chance& chance);
// `shape` with some of its sizes, or its rank, unknown.
PartialShape Blurred(const Shape& shape, Chance& chance);
Tensor AnyTensor(DType dtype, const Shape& shape, Chance& chance);

}  // namespace weir::op_fuzz

#endif  // WEIR_TESTS_OP_FUZZ_VALUES_H_
