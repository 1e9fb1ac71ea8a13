#include "weir/client/tensor_math.h"

#include <numeric>

#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/math_ops.h"

namespace weir {
namespace {

// The numbers of all dimensions.
Output AllAxes(const Scope& scope, const Output& x) {
  const PartialShape shape = x.shape();
  if (!shape.has_rank()) return ops::Range(scope, 0, ops::Rank(scope, x), 1);
  std::vector<int> axes(shape.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return Constant(scope.WithName("axes"), Input(axes), DType::kInt32);
}

}  // namespace

Output Mean(const Scope& scope, const Output& x) { return ops::Mean(scope, x, AllAxes(scope.WithoutName(), x)); }
Output Sum(const Scope& scope, const Output& x) { return ops::Sum(scope, x, AllAxes(scope.WithoutName(), x)); }

Output Flatten(const Scope& scope, const Output& x) {
  const PartialShape shape = x.shape();
  int64_t width = shape.has_rank() && shape.rank() > 0 ? 1 : -1;
  for (int i = 1; i < shape.rank() && width >= 0; ++i) width = shape.dim(i) < 0 ? -1 : width * shape.dim(i);
  if (width >= 0) return ops::Reshape(scope, x, {int64_t{-1}, width});
  Output batch = ops::Reshape(scope.WithoutName(), DimSize(scope.WithoutName(), x, 0), {1});
  Output rest = Constant(scope.WithoutName(), {-1}, DType::kInt32);
  return ops::Reshape(scope, x, ops::ConcatV2(scope.WithoutName(), InputList{batch, rest}, 0));
}

Output DimSize(const Scope& scope, const Output& x, int axis) {
  const PartialShape shape = x.shape();
  if (shape.has_rank() && axis < 0) axis += shape.rank();
  if (shape.has_rank() && axis < shape.rank() && axis >= 0 && shape.dim(axis) >= 0) {
    return Constant(scope, shape.dim(axis), DType::kInt32);
  }
  Output all = ops::Shape(scope, x);
  return ops::StridedSlice(scope, all, Constant(scope, {axis}, DType::kInt32),
                           Constant(scope, {axis + 1}, DType::kInt32), Constant(scope, {1}, DType::kInt32),
                           {.shrink_axis_mask = 1});
}

}  // namespace weir
