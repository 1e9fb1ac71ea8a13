// Shapes of collectives. How many rows a gather or a reduce-scatter gives depends on the other members.
#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

// Like the input, with another number of rows.
Status OtherRows(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.WithRankAtLeast(0, 1));
  if (shape.has_rank()) shape.set_dim(0, PartialShape::kUnknown);
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

Status ShapeOfReceived(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(3));
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

Status TwoScalars(ShapeContext& ctx) {
  ctx.set_output(0, Shape());
  ctx.set_output(1, Shape());
  return OkStatus();
}

}  // namespace

void RegisterCollectiveShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("collective_other_rows", OtherRows);
  registry.RegisterShapeFunction("collective_received", ShapeOfReceived);
  registry.RegisterShapeFunction("collective_assign_group", TwoScalars);
}

}  // namespace weir
