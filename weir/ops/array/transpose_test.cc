#include <gtest/gtest.h>

#include "weir/ops/array/register.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

struct TransposeRow {
  std::vector<int64_t> dims;
  std::vector<int32_t> permutation;
};

// Element by element.
template <typename T>
Tensor Expected(const Tensor& x, const std::vector<int32_t>& permutation) {
  const int rank = x.rank();
  std::vector<int64_t> dims, strides(rank, 1);
  for (int d = rank - 2; d >= 0; --d) strides[d] = strides[d + 1] * x.dim(d + 1);
  for (int32_t p : permutation) dims.push_back(x.dim(p));
  Tensor out = Tensor::Zeros(x.dtype(), Shape::Make(dims).value()).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    int64_t rest = i, from = 0;
    for (int d = rank - 1; d >= 0; --d) {
      from += rest % dims[d] * strides[permutation[d]];
      rest /= dims[d];
    }
    out.data<T>()[i] = x.data<T>()[from];
  }
  return out;
}

template <typename T>
void CheckType(KernelRunner& run, const TransposeRow& row) {
  Tensor x = Tensor::Zeros(kDTypeOf<T>, Shape::Make(row.dims).value()).value();
  for (int64_t i = 0; i < x.num_elements(); ++i) x.data<T>()[i] = static_cast<T>(i % 113);
  Tensor permutation = Tensor::FromSpan<int32_t>(row.permutation, {static_cast<int64_t>(row.permutation.size())});
  auto out = run("Transpose").Inputs({x, permutation}).Run();
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], Expected<T>(x, row.permutation));
}

TEST(Transpose, OfManyShapes) {
  const TransposeRow kRows[] = {
      {{16, 16}, {1, 0}},
      {{100, 37}, {1, 0}},
      {{93, 140}, {1, 0}},
      {{3, 1000}, {1, 0}},
      {{5, 33, 18}, {0, 2, 1}},
      {{5, 33, 18}, {2, 1, 0}},
      {{2, 9, 11, 20}, {0, 3, 1, 2}},
      {{2, 20, 9, 11}, {0, 2, 3, 1}},
      {{4, 17, 3, 8}, {0, 2, 1, 3}},
      {{4, 17, 5, 8}, {3, 1, 2, 0}},
      {{2, 3, 2, 3, 5}, {4, 2, 0, 3, 1}},
  };
  KernelRunner run{RegisterArrayKernels};
  for (const TransposeRow& row : kRows) {
    SCOPED_TRACE(Shape::Make(row.dims).value().ToString());
    CheckType<float>(run, row);
    CheckType<double>(run, row);
    CheckType<int16_t>(run, row);
    CheckType<uint8_t>(run, row);
  }
}

}  // namespace
}  // namespace weir
