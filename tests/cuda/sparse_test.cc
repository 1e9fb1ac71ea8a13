// Sparse tensors whose elements are put in order, joined, cut and filled.
#include <gtest/gtest.h>

#include "tests/cuda/gpu_fixture.h"

namespace weir::gpu_testing {
namespace {

Tensor Matrix(int64_t columns, const std::vector<int64_t>& values) {
  return Tensor::FromSpan<int64_t>(values, Shape({static_cast<int64_t>(values.size()) / columns, columns}));
}
Tensor Longs(const std::vector<int64_t>& values) { return Tensor::Vector<int64_t>(values); }
Tensor Long(int64_t value) { return Tensor::Scalar<int64_t>(value); }

TEST(GpuSparse, RowsThatAreEmptyAreFilled) {
  const Tensor indices = Matrix(2, {4, 1, 1, 0, 4, 0, 1, 3});
  for (DType dtype : {DType::kFloat, DType::kInt64, DType::kComplex128, DType::kHalf}) {
    const Tensor values = Random(dtype, {4}), fallback = Random(dtype, {}, 9);
    ExpectAgree("SparseFillEmptyRows", {indices, values, Longs({6, 5}), fallback});
    ExpectAgree("RaggedFillEmptyRows", {Longs({4, 1, 4, 1}), values, Long(6), fallback});
  }
  const Tensor none = Matrix(2, {}), no_values = Random(DType::kFloat, {0}), fallback = Tensor::Scalar(7.0f);
  ExpectAgree("SparseFillEmptyRows", {none, no_values, Longs({3, 5}), fallback});
  ExpectAgree("SparseFillEmptyRows", {none, no_values, Longs({0, 5}), fallback});
  ExpectAgree("SparseFillEmptyRows", {Matrix(2, {3, 0}), Random(DType::kFloat, {1}), Longs({3, 5}), fallback});
  ExpectAgree("SparseFillEmptyRowsGrad", {Longs({3, 0, 4}), Random(DType::kFloat, {6})}, {}, 1e-6);
  ExpectAgree("RaggedFillEmptyRowsGrad", {Longs({3, 0, 4}), Random(DType::kDouble, {6})});
  ExpectAgree("SparseFillEmptyRowsGrad", {Longs({3, 6}), Random(DType::kFloat, {6})});
}

TEST(GpuSparse, DenseTensorsAgree) {
  const Tensor shape = Longs({4, 6}), indices = Matrix(2, {0, 1, 2, 0, 3, 5});
  for (DType dtype : {DType::kFloat, DType::kBool, DType::kInt8, DType::kHalf}) {
    const Tensor fallback = Random(dtype, {}, 9);
    ExpectAgree("SparseToDense", {indices, shape, Random(dtype, {3}), fallback});
    ExpectAgree("SparseToDense", {indices, shape, Random(dtype, {}), fallback});
    ExpectAgree("SparseToDense", {Longs({1, 2}), Longs({5}), Random(dtype, {2}), fallback});
    ExpectAgree("SparseToDense", {Long(1), Longs({5}), Random(dtype, {}), fallback});
  }
  const Tensor zero = Tensor::Scalar(0.0f), three = Random(DType::kFloat, {3});
  ExpectAgree("SparseToDense", {Matrix(2, {0, 1, 2, 0, 4, 5}), shape, three, zero});  // outside
  ExpectAgree("SparseToDense", {Matrix(2, {2, 0, 0, 1, 3, 5}), shape, three, zero});  // out of order
  ExpectAgree("SparseToDense", {Matrix(2, {2, 0, 0, 1, 3, 5}), shape, three, zero}, {{"validate_indices", false}});
}

TEST(GpuSparse, ElementsAreRearrangedAsOnTheHost) {
  const Tensor indices = Matrix(2, {3, 1, 0, 4, 3, 0, 1, 2, 0, 0}), shape = Longs({4, 6});
  for (DType dtype : {DType::kFloat, DType::kBool, DType::kComplex64, DType::kInt16}) {
    const Tensor values = Random(dtype, {5});
    if (!IsComplex(dtype)) ExpectAgree("SparseReorder", {indices, values, shape});
    for (int64_t axis : {0, 1, -1}) {
      ExpectAgree("SparseConcat", {indices, indices, values, Random(dtype, {5}, 4), shape, shape},
                  {{"concat_dim", axis}, {"N", int64_t{2}}});
    }
    ExpectAgree("SparseSlice", {indices, values, shape, Longs({1, 0}), Longs({3, 2})});
    ExpectAgree("SparseSlice", {indices, values, shape, Longs({2, 3}), Longs({1, 1})});
    if (dtype != DType::kBool) {
      const Tensor kept = Matrix(2, {2, 1, 0, 2, 1, 1});
      ExpectAgree("SparseSliceGrad", {Random(dtype, {3}, 6), indices, Longs({1, 0}), kept});
    }
    ExpectAgree("SparseSplit", {Long(0), indices, values, shape}, {{"num_split", int64_t{3}}});
    ExpectAgree("SparseSplit", {Long(1), indices, values, shape}, {{"num_split", int64_t{4}}});
  }
}

}  // namespace
}  // namespace weir::gpu_testing
