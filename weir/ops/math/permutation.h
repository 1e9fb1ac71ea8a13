#ifndef WEIR_OPS_MATH_PERMUTATION_H_
#define WEIR_OPS_MATH_PERMUTATION_H_

#include <cstdint>
#include <span>
#include <vector>

namespace weir {

// True if every number below the size is there once.
inline bool IsPermutation(std::span<const int64_t> perm) {
  std::vector<bool> seen(perm.size(), false);
  for (int64_t d : perm) {
    if (d < 0 || d >= static_cast<int64_t>(perm.size()) || seen[static_cast<size_t>(d)]) return false;
    seen[static_cast<size_t>(d)] = true;
  }
  return true;
}

}  // namespace weir

#endif  // WEIR_OPS_MATH_PERMUTATION_H_
