// A sparse tensor as kernels see it: three tensors whose shapes go together, every index inside.
#ifndef WEIR_OPS_SPARSE_SPARSE_INPUT_H_
#define WEIR_OPS_SPARSE_SPARSE_INPUT_H_

#include <optional>
#include <string_view>
#include <vector>

#include "weir/device/cpu/strided_copy.h"
#include "weir/framework/kernel.h"

namespace weir {

struct SparseInput {
  Tensor indices;  // int64 [count, rank]
  Tensor values;   // [count]
  Shape shape;

  int rank() const { return shape.rank(); }
  int64_t count() const { return indices.dim(0); }
  const int64_t* index(int64_t row) const { return indices.data<int64_t>() + row * rank(); }
  // Element `row`'s place in the dense tensor. REQUIRES: as ReadSparse checked.
  int64_t place(int64_t row) const;
  // The first row whose index is outside the shape.
  std::optional<int64_t> FirstOutside() const;
  // Rows in the order of their places; equal ones stay as they are.
  std::vector<int64_t> SortedRows() const;
};

// Puts three tensors together. INVALID_ARGUMENT if their shapes do not fit or an index is outside; with `ordered` also
// if they are not strictly increasing.
StatusOr<SparseInput> MakeSparse(Tensor indices, Tensor values, const Tensor& shape, bool ordered = false);
// The same for indices that may be anywhere: `place` must not be asked for.
StatusOr<SparseInput> MakeUnboundedSparse(Tensor indices, Tensor values, const Tensor& shape);
// Of inputs first, first + 1, first + 2.
StatusOr<SparseInput> ReadSparse(KernelContext& ctx, int first, bool ordered = false);

// A shape given as a vector of int64.
StatusOr<Shape> SparseShape(const Tensor& tensor);
Tensor ShapeVector(const Shape& shape);

// Collects the elements of a sparse output.
struct SparseOutput {
  int rank;
  std::vector<int64_t> indices;
  std::vector<int64_t> rows;  // of the input that the values come from

  void Add(std::span<const int64_t> index, int64_t row) {
    indices.insert(indices.end(), index.begin(), index.end());
    rows.push_back(row);
  }
  // Sets the two outputs: the indices, and those rows of `values`.
  Status Write(KernelContext& ctx, int indices_output, int values_output, const Tensor& values) const;
};

// An int64 matrix [indices.size() / rank, rank] of `indices`.
StatusOr<Tensor> IndexMatrix(std::span<const int64_t> indices, int64_t count, int rank);
// The elements (or rows of dimension 0) of `values` at `rows`.
StatusOr<Tensor> TakeRows(const Tensor& values, std::span<const int64_t> rows);

}  // namespace weir

#endif  // WEIR_OPS_SPARSE_SPARSE_INPUT_H_
