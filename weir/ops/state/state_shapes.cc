// Shapes of variables. A handle carries type and shape of what it names.
#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

using HandleData = std::vector<ResourceHandle::DTypeAndShape>;

Status VarHandle(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(DType dtype, ctx.Attr<DType>("dtype"));
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.Attr<PartialShape>("shape"));
  ctx.set_output(0, Shape());
  ctx.set_output_handle_data(0, HandleData{{dtype, std::move(shape)}});
  return OkStatus();
}

// One handle for each type and shape.
Status VarHandles(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(std::vector<DType> dtypes, ctx.Attr<std::vector<DType>>("dtypes"));
  WEIR_ASSIGN_OR_RETURN(std::vector<PartialShape> shapes, ctx.Attr<std::vector<PartialShape>>("shapes"));
  const size_t count = static_cast<size_t>(ctx.num_outputs());
  if (dtypes.size() != count) {
    return InvalidArgument("Mismatched number of dtypes (n=", count, ", num dtypes=", dtypes.size(), ")");
  }
  if (shapes.size() != count) {
    return InvalidArgument("Mismatched number of shapes (n=", count, ", num shapes=", shapes.size(), ")");
  }
  for (size_t i = 0; i < count; ++i) {
    ctx.set_output(static_cast<int>(i), Shape());
    ctx.set_output_handle_data(static_cast<int>(i), HandleData{{dtypes[i], shapes[i]}});
  }
  return OkStatus();
}

StatusOr<PartialShape> VariableShapeOf(const ShapeContext& ctx, int input, DType dtype) {
  const HandleData& data = ctx.input_handle_data(input);
  if (data.empty()) return PartialShape();
  if (dtype != DType::kInvalid && data[0].dtype != dtype) {
    return InvalidArgument("Trying to read variable with wrong dtype. Expected ", Name(data[0].dtype), " got ",
                           Name(dtype), ".");
  }
  return data[0].shape;
}

Status ReadVariable(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(DType dtype, ctx.Attr<DType>("dtype"));
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, VariableShapeOf(ctx, 0, dtype));
  ctx.set_output(0, std::move(shape));
  return OkStatus();
}

Status ReadVariables(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(std::vector<DType> dtypes, ctx.Attr<std::vector<DType>>("dtypes"));
  if (ctx.num_inputs() != ctx.num_outputs() || static_cast<int>(dtypes.size()) != ctx.num_outputs()) {
    return InvalidArgument("Mismatched number of arguments to ReadVariablesOp");
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    WEIR_ASSIGN_OR_RETURN(PartialShape shape, VariableShapeOf(ctx, i, dtypes[static_cast<size_t>(i)]));
    ctx.set_output(i, std::move(shape));
  }
  return OkStatus();
}

// The state of a generator, as it was.
Status RngState(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(1, 0).status());
  WEIR_RETURN_IF_ERROR(ctx.WithRank(2, 0).status());
  ctx.set_output(0, PartialShape{3});
  return OkStatus();
}

// One of several variables: of their shape, if they share it.
Status RefSelect(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 0).status());
  const PartialShape& first = ctx.input(1);
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    if (!ctx.input(i).IsFullyDefined() || ctx.input(i) != first) return OkStatus();
  }
  ctx.set_output(0, first);
  return OkStatus();
}

Status VariableShape(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, VariableShapeOf(ctx, 0, DType::kInvalid));
  ctx.set_output(0, PartialShape{shape.has_rank() ? shape.rank() : PartialShape::kUnknown});
  if (!shape.has_rank()) return OkStatus();
  PartialInts dims;
  for (int64_t dim : shape.dims()) dims.push_back(dim < 0 ? std::nullopt : std::optional<int64_t>(dim));
  SetKnownInts(ctx, 0, ctx.Attr<DType>("out_type").value_or(DType::kInt32), false, dims);
  return OkStatus();
}

Status ResourceGather(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(DType dtype, ctx.Attr<DType>("dtype"));
  WEIR_ASSIGN_OR_RETURN(PartialShape params, VariableShapeOf(ctx, 0, dtype));
  WEIR_ASSIGN_OR_RETURN(params, WithRankAtLeast(params, 1));
  const PartialShape& indices = ctx.input(1);
  int64_t batch = ctx.Attr<int64_t>("batch_dims").value_or(0);
  if (!params.has_rank() || !indices.has_rank() || batch < 0) return OkStatus();
  if (batch > indices.rank() || batch >= params.rank()) {
    return InvalidArgument("batch_dims (", batch, ") must be less than rank(params) (", params.rank(), ")");
  }
  PartialShape out = ConcatShapes(SubShape(params, 0, static_cast<int>(batch)),
                                  SubShape(indices, static_cast<int>(batch), indices.rank()));
  ctx.set_output(0, ConcatShapes(out, SubShape(params, static_cast<int>(batch) + 1, params.rank())));
  return OkStatus();
}

Status ResourceGatherNd(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape params, VariableShapeOf(ctx, 0, DType::kInvalid));
  WEIR_ASSIGN_OR_RETURN(PartialShape indices, ctx.WithRankAtLeast(1, 1));
  if (!params.has_rank() || !indices.has_rank()) return OkStatus();
  int64_t depth = indices.dim(indices.rank() - 1);
  if (depth < 0) return OkStatus();
  if (depth > params.rank()) return InvalidArgument("indices.shape[-1] must be <= params.rank");
  ctx.set_output(0, ConcatShapes(SubShape(indices, 0, indices.rank() - 1),
                                 SubShape(params, static_cast<int>(depth), params.rank())));
  return OkStatus();
}

Status Assign(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(bool validate, ctx.Attr<bool>("validate_shape"));
  if (!validate) {
    ctx.set_output(0, ctx.input(1));
    return OkStatus();
  }
  WEIR_ASSIGN_OR_RETURN(PartialShape out, UnifyShapes(ctx.input(0), ctx.input(1)));
  ctx.set_output(0, std::move(out));
  return OkStatus();
}

// The old Variable says "scalar" also for "I do not know".
Status OldVariable(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.Attr<PartialShape>("shape"));
  ctx.set_output(0, shape.rank() == 0 ? PartialShape() : shape);
  return OkStatus();
}

}  // namespace

void RegisterStateShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("var_handles", VarHandles);
  registry.RegisterShapeFunction("read_variables", ReadVariables);
  registry.RegisterShapeFunction("rng_state", RngState);
  registry.RegisterShapeFunction("ref_select", RefSelect);
  registry.RegisterShapeFunction("var_handle", VarHandle);
  registry.RegisterShapeFunction("read_variable", ReadVariable);
  registry.RegisterShapeFunction("variable_shape", VariableShape);
  registry.RegisterShapeFunction("resource_gather", ResourceGather);
  registry.RegisterShapeFunction("resource_gather_nd", ResourceGatherNd);
  registry.RegisterShapeFunction("assign", Assign);
  registry.RegisterShapeFunction("old_variable", OldVariable);
}

}  // namespace weir
