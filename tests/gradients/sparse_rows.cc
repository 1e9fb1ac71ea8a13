#include "gradient_rows.h"

namespace weir::gradient_rows {
namespace {

Tensor Matrix(std::vector<int64_t> values, int64_t columns) {
  return Tensor::FromSpan<int64_t>(values, Shape({static_cast<int64_t>(values.size()) / columns, columns}));
}

}  // namespace

std::vector<GradientCase> Sparse() {
  using Case = GradientCase;
  std::vector<Case> rows;
  auto add = [&](Case row) { rows.push_back(std::move(row)); };
  const Tensor indices = Matrix({0, 1, 1, 0, 2, 2}, 2), shape = Tensor::Vector<int64_t>({3, 3});
  add(Case("SparseReorder").In(Matrix({2, 0, 0, 1, 1, 1}, 2)).In({3}).In(shape));
  add(Case("SparseAdd")
          .In(indices)
          .In({3}, 0.5, 1)
          .In(shape)
          .In(Matrix({0, 1, 1, 2}, 2))
          .In({2}, 0.5, 1)
          .In(shape)
          .In(Tensor::Scalar(0.0))
          .Without({6}));
  add(Case("SparseTensorDenseAdd").In(indices).In({3}).In(shape).In({3, 3}));
  add(Case("SparseReduceSum").In(indices).In({3}).In(shape).Ints({1}));
  add(Case("SparseReduceSum").In(indices).In({3}).In(shape).Ints({-2}).Attr("keep_dims", true));
  add(Case("SparseSlice")
          .In(indices)
          .In({3})
          .In(shape)
          .In(Tensor::Vector<int64_t>({0, 0}))
          .In(Tensor::Vector<int64_t>({2, 3})));
  for (bool a : {false, true}) {
    for (bool b : {false, true}) {
      Case row = Case("SparseTensorDenseMatMul").In(indices).In({3}).In(shape).In(b ? Shape({2, 3}) : Shape({3, 2}));
      add(row.Attr("adjoint_a", a).Attr("adjoint_b", b));
    }
  }
  for (const char* op : {"SparseDenseCwiseMul", "SparseDenseCwiseDiv"}) {
    add(Case(op).In(indices).In({3}).In(shape).In({3, 3}, 0.5, 1.5));
    add(Case(op).In(indices).In({3}).In(shape).In({3}, 0.5, 1.5));
  }
  add(Case("SparseSoftmax").In(Matrix({0, 1, 0, 2, 2, 2}, 2)).In({3}).In(shape));
  add(Case("SparseFillEmptyRows").In(Matrix({0, 1, 2, 2}, 2)).In({2}).In(shape).In(Shape()));
  add(Case("RaggedFillEmptyRows")
          .In(Tensor::Vector<int64_t>({3, 1, 3}))
          .In({3})
          .In(Tensor::Scalar(int64_t{5}))
          .In(Shape()));
  add(Case("SparseToDense").In(indices).In(shape).In({3}).In(Shape()).Attr("Tindices", DType::kInt64));
  return rows;
}

std::vector<GradientCase> Rearranged() {
  using Case = GradientCase;
  std::vector<Case> rows;
  auto add = [&](Case row) { rows.push_back(std::move(row)); };
  add(Case("DynamicPartition").In({4, 2}).Ints({1, 0, 1, 1}).Attr("num_partitions", 2));
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    add(Case(op).Ints({0, 2}).Ints({1, 3}).In({2, 2}).In({2, 2}).Attr("N", 2));
  }
  return rows;
}

}  // namespace weir::gradient_rows
