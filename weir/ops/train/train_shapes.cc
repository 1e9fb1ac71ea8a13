// Shapes of optimizer nodes: variable, slots and gradient agree, the rest are scalars.
#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

// Of what input `i` names or refers to.
PartialShape StateShape(const ShapeContext& ctx, int i, bool is_handle) {
  if (!is_handle) return ctx.input(i);
  const auto& data = ctx.input_handle_data(i);
  return data.empty() ? PartialShape() : data[0].shape;
}

// The gradient holds one row of the variable an index.
Status CheckRows(const PartialShape& var, const PartialShape& grad, const PartialShape& indices) {
  WEIR_ASSIGN_OR_RETURN(PartialShape vector, WithRank(indices, 1));
  if (!var.has_rank() || !grad.has_rank()) return OkStatus();
  WEIR_ASSIGN_OR_RETURN(PartialShape rows, WithRankAtLeast(grad, 1));
  if (vector.has_rank()) WEIR_RETURN_IF_ERROR(MergeDims(vector.dim(0), rows.dim(0)).status());
  WEIR_ASSIGN_OR_RETURN(PartialShape whole, WithRankAtLeast(var, 1));
  return UnifyShapes(SubShape(whole, 1, whole.rank()), SubShape(rows, 1, rows.rank())).status();
}

Status Optimizer(ShapeContext& ctx) {
  const auto& inputs = ctx.schema().inputs;
  bool is_handle = ctx.num_outputs() == 0;
  PartialShape var = StateShape(ctx, 0, is_handle);
  PartialShape grad;
  int indices = -1;
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    const std::string& name = inputs[i].name;
    if (name == "grad" || name == "delta") {
      grad = ctx.input(i);
    } else if (name == "indices") {
      indices = i;
    } else if (inputs[i].is_ref || inputs[i].type == DType::kResource) {
      WEIR_ASSIGN_OR_RETURN(var, UnifyShapes(var, StateShape(ctx, i, is_handle)));
    } else {
      WEIR_RETURN_IF_ERROR(ctx.WithRank(i, 0).status());
    }
  }
  if (indices >= 0) {
    WEIR_RETURN_IF_ERROR(CheckRows(var, grad, ctx.input(indices)));
  } else {
    WEIR_ASSIGN_OR_RETURN(var, UnifyShapes(var, grad));
  }
  if (ctx.num_outputs() > 0) ctx.set_output(0, std::move(var));
  return OkStatus();
}

}  // namespace

void RegisterTrainShapes(OpRegistry& registry) { registry.RegisterShapeFunction("optimizer", Optimizer); }

}  // namespace weir
