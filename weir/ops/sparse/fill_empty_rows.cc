#include "weir/ops/sparse/fill_empty_rows.h"

#include "weir/device/cpu/index_input.h"
#include "weir/framework/scratch.h"
#include "weir/ops/sparse/sparse_input.h"

namespace weir {

Status CheckSparseShapes(const Shape& indices, const Shape& values, const Shape& shape) {
  if (!indices.IsMatrix()) {
    return InvalidArgument("Input indices should be a matrix but received shape ", indices.ToString());
  }
  if (!values.IsVector()) {
    return InvalidArgument("Input values should be a vector but received shape ", values.ToString());
  }
  if (!shape.IsVector()) return InvalidArgument("Input shape should be a vector but received shape ", shape.ToString());
  if (values.dim(0) != indices.dim(0)) {
    return InvalidArgument("Number of values must match first dimension of indices. Got ", values.dim(0),
                           " values, indices shape: ", indices.ToString());
  }
  if (shape.dim(0) != indices.dim(1)) {
    return InvalidArgument("Number of dimensions must match second dimension of indices. Got ", shape.dim(0),
                           " dimensions, indices shape: ", indices.ToString());
  }
  return OkStatus();
}

StatusOr<int64_t> SparseRowCount(KernelContext& ctx) {
  if (!ctx.input(3).shape().IsScalar()) {
    return InvalidArgument("default_value must be a scalar, saw: ", ctx.input(3).shape().ToString());
  }
  WEIR_ASSIGN_OR_RETURN(Shape shape, SparseShape(ctx.input(2)));
  WEIR_RETURN_IF_ERROR(CheckSparseShapes(ctx.input(0).shape(), ctx.input(1).shape(), ctx.input(2).shape()));
  if (shape.rank() < 1) return InvalidArgument("Dense shape cannot be empty");
  WEIR_RETURN_IF_ERROR(CheckScratch(shape.dim(0), sizeof(std::vector<int64_t>)));
  return shape.dim(0);
}

StatusOr<int64_t> RaggedRowCount(KernelContext& ctx) {
  auto bad = [&](std::string_view name, std::string_view what, int i) {
    return InvalidArgument(name, " must be a ", what, ", saw: ", ctx.input(i).shape().ToString());
  };
  if (!ctx.input(0).shape().IsVector()) return bad("value_rowids", "vector", 0);
  if (!ctx.input(1).shape().IsVector()) return bad("values", "vector", 1);
  if (!ctx.input(2).shape().IsScalar()) return bad("nrows", "scalar", 2);
  if (!ctx.input(3).shape().IsScalar()) return bad("default_value", "scalar", 3);
  if (ctx.input(0).dim(0) != ctx.input(1).dim(0)) {
    return InvalidArgument("The length of `values` (", ctx.input(1).dim(0),
                           ") must match the first dimension of `value_rowids` (", ctx.input(0).dim(0), ").");
  }
  const int64_t rows = ctx.input(2).scalar<int64_t>();
  if (rows < 0) return InvalidArgument("Expected shape dimensions to be non-negative, got ", rows);
  WEIR_RETURN_IF_ERROR(CheckScratch(rows, sizeof(int64_t)));
  return rows;
}

Status CheckFillEmptyRowsGrad(const Shape& reverse_index_map, const Shape& grad_values) {
  if (!reverse_index_map.IsVector()) {
    return InvalidArgument("reverse_index_map must be a vector, saw: ", reverse_index_map.ToString());
  }
  if (!grad_values.IsVector()) return InvalidArgument("grad_values must be a vector, saw: ", grad_values.ToString());
  return OkStatus();
}

StatusOr<Shape> DenseShape(KernelContext& ctx) {
  const Shape &given = ctx.input(0).shape(), &values = ctx.input(2).shape();
  if (given.rank() > 2) {
    return InvalidArgument("sparse_indices should be a scalar, vector, or matrix, got shape ", given.ToString());
  }
  WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(ctx.input(1), "output_shape"));
  const int64_t count = given.rank() > 0 ? given.dim(0) : 1, rank = given.rank() > 1 ? given.dim(1) : 1;
  if (rank != shape.rank()) {
    return InvalidArgument("output_shape has incorrect number of elements: ", shape.rank(), " should be: ", rank);
  }
  if (values.rank() > 1 || (values.rank() == 1 && values.num_elements() != count)) {
    return InvalidArgument("sparse_values has incorrect shape ", values.ToString(), ", should be [] or [", count, "]");
  }
  if (!ctx.input(3).shape().IsScalar()) return InvalidArgument("default_value should be a scalar.");
  return shape;
}

}  // namespace weir
