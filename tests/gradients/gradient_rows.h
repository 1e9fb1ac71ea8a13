// Rows of the table that gradient_check_test runs, by family.
#ifndef WEIR_TESTS_GRADIENTS_GRADIENT_ROWS_H_
#define WEIR_TESTS_GRADIENTS_GRADIENT_ROWS_H_

#include <vector>

#include "weir/testing/gradient_checker.h"

namespace weir::gradient_rows {

std::vector<GradientCase> Math();
std::vector<GradientCase> Products();  // of matrices, and Fourier transforms
std::vector<GradientCase> Reductions();
std::vector<GradientCase> Array();
std::vector<GradientCase> Nn();
std::vector<GradientCase> Image();
std::vector<GradientCase> Sparse();
std::vector<GradientCase> Rearranged();
std::vector<GradientCase> Linalg();
std::vector<GradientCase> Sequences();

inline Attribute IntList(std::vector<int64_t> values) {
  AttrList list;
  list.i = std::move(values);
  return Attribute(std::move(list));
}

}  // namespace weir::gradient_rows

#endif  // WEIR_TESTS_GRADIENTS_GRADIENT_ROWS_H_
