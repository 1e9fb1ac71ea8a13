#include "weir/ops/array/scatter.h"

#include "weir/device/cpu/index_input.h"
#include "weir/device/cpu/scatter_nd.h"

namespace weir {

StatusOr<bool> IgnoresBadIndices(const KernelInit& init) {
  if (!init.HasAttr("bad_indices_policy")) return false;
  WEIR_ASSIGN_OR_RETURN(std::string policy, init.Attr<std::string>("bad_indices_policy"));
  if (policy != "" && policy != "DEFAULT" && policy != "ERROR" && policy != "IGNORE") {
    return InvalidArgument("Bad indices policy must be one of DEFAULT, ERROR, IGNORE, got ", policy);
  }
  return policy == "IGNORE";
}

StatusOr<Shape> ScatterNdShape(const KernelContext& ctx) {
  if (!ctx.input(2).shape().IsVector()) {
    return InvalidArgument("Shape must be a vector, got ", ctx.input(2).shape().ToString());
  }
  WEIR_ASSIGN_OR_RETURN(Shape shape, ShapeInput(ctx.input(2), "shape"));
  WEIR_RETURN_IF_ERROR(CheckScatterNd(shape, ctx.input(0), ctx.input(1)));
  return shape;
}

Status CheckTensorScatter(const Shape& shape, const Tensor& indices, const Tensor& updates) {
  if (indices.rank() >= 1 && updates.rank() >= 1 && shape.rank() >= 1) {
    const int outer = indices.rank() - 1;
    if (updates.rank() < outer || !(updates.shape().Slice(0, outer) == indices.shape().Slice(0, outer))) {
      return InvalidArgument("Outer dimensions of indices and update must match. Indices shape: ",
                             indices.shape().ToString(), ", updates shape:", updates.shape().ToString());
    }
  }
  return CheckScatterNd(shape, indices, updates);
}

}  // namespace weir
