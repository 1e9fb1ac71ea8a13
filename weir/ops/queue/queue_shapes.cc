// Shapes of tensor lists, tensor arrays, stacks and handles. The handle data of a list is the type and shape of its
// elements.
#include <algorithm>

#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

using HandleData = std::vector<ResourceHandle::DTypeAndShape>;
constexpr int64_t kUnknown = PartialShape::kUnknown;

PartialShape ElementShape(const ShapeContext& ctx, int input) {
  const HandleData& data = ctx.input_handle_data(input);
  return data.empty() ? PartialShape() : data[0].shape;
}

// A new list; its elements' shape is the value of input 0.
Status NewList(ShapeContext& ctx) {
  ctx.set_output(0, Shape());
  WEIR_ASSIGN_OR_RETURN(DType dtype, ctx.Attr<DType>("element_dtype"));
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(0));
  ctx.set_output_handle_data(0, HandleData{{dtype, std::move(shape)}});
  return OkStatus();
}

Status ListFromTensor(ShapeContext& ctx) {
  ctx.set_output(0, Shape());
  WEIR_ASSIGN_OR_RETURN(DType dtype, ctx.Attr<DType>("element_dtype"));
  WEIR_ASSIGN_OR_RETURN(PartialShape tensor, ctx.WithRankAtLeast(0, 1));
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(1));
  if (tensor.has_rank()) {
    WEIR_ASSIGN_OR_RETURN(shape, UnifyShapes(shape, SubShape(tensor, 1, tensor.rank())));
  }
  ctx.set_output_handle_data(0, HandleData{{dtype, std::move(shape)}});
  return OkStatus();
}

// A list made of another: the first output is the list.
Status SameList(ShapeContext& ctx) {
  ctx.set_output(0, Shape());
  ctx.set_output_handle_data(0, ctx.input_handle_data(0));
  return OkStatus();
}

Status ListPopBack(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(SameList(ctx));
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(1));
  WEIR_ASSIGN_OR_RETURN(PartialShape merged, UnifyShapes(shape, ElementShape(ctx, 0)));
  if (ctx.num_outputs() > 1) ctx.set_output(1, std::move(merged));
  return OkStatus();
}

Status ListGetItem(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(2));
  WEIR_ASSIGN_OR_RETURN(PartialShape merged, UnifyShapes(shape, ElementShape(ctx, 0)));
  ctx.set_output(0, std::move(merged));
  return OkStatus();
}

Status ListStack(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(1));
  WEIR_ASSIGN_OR_RETURN(PartialShape merged, UnifyShapes(shape, ElementShape(ctx, 0)));
  int64_t count = ctx.Attr<int64_t>("num_elements").value_or(kUnknown);
  ctx.set_output(0, ConcatShapes(PartialShape{count < 0 ? kUnknown : count}, merged));
  return OkStatus();
}

Status ListGather(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(2));
  WEIR_ASSIGN_OR_RETURN(PartialShape merged, UnifyShapes(shape, ElementShape(ctx, 0)));
  const PartialShape& indices = ctx.input(1);  // whatever their rank, the elements stand in a row
  int64_t count = kUnknown;
  if (indices.has_rank()) {
    WEIR_ASSIGN_OR_RETURN(count, ProductOfDims(indices, 0, indices.rank()));
  }
  ctx.set_output(0, ConcatShapes(PartialShape{count}, merged));
  return OkStatus();
}

Status ListScatter(ShapeContext& ctx) {
  ctx.set_output(0, Shape());
  WEIR_ASSIGN_OR_RETURN(DType dtype, ctx.Attr<DType>("element_dtype"));
  WEIR_RETURN_IF_ERROR(ctx.WithRankAtLeast(0, 1).status());
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(2));
  ctx.set_output_handle_data(0, HandleData{{dtype, std::move(shape)}});
  return OkStatus();
}

// The pieces may differ in their first dimension only.
Status ListSplit(ShapeContext& ctx) {
  ctx.set_output(0, Shape());
  WEIR_ASSIGN_OR_RETURN(DType dtype, ctx.Attr<DType>("element_dtype"));
  WEIR_ASSIGN_OR_RETURN(PartialShape tensor, ctx.WithRankAtLeast(0, 1));
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.InputAsShape(1));
  WEIR_RETURN_IF_ERROR(ctx.WithRank(2, 1).status());
  if (tensor.has_rank()) {
    tensor.set_dim(0, kUnknown);
    WEIR_RETURN_IF_ERROR(UnifyShapes(tensor, shape).status());
  }
  ctx.set_output_handle_data(0, HandleData{{dtype, std::move(shape)}});
  return OkStatus();
}

Status ListConcat(ShapeContext& ctx) {
  PartialShape shape;
  if (ctx.num_inputs() > 1) {
    WEIR_ASSIGN_OR_RETURN(shape, ctx.InputAsShape(1));
  } else {
    WEIR_ASSIGN_OR_RETURN(shape, ctx.Attr<PartialShape>("element_shape"));
  }
  WEIR_ASSIGN_OR_RETURN(PartialShape merged, UnifyShapes(shape, ElementShape(ctx, 0)));
  if (merged.has_rank()) {
    ctx.set_output(0,
                   ConcatShapes(PartialShape{kUnknown}, SubShape(merged, std::min(1, merged.rank()), merged.rank())));
  }
  ctx.set_output(1, PartialShape{kUnknown});
  return OkStatus();
}

Status ListConcatLists(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, UnifyShapes(ctx.input(0), ctx.input(1)));
  ctx.set_output(0, std::move(shape));
  ctx.set_output_handle_data(0, ctx.input_handle_data(0));
  return OkStatus();
}

// The shape as a vector; that of unknown rank is a scalar.
Status ListElementShape(ShapeContext& ctx) {
  const PartialShape shape = ElementShape(ctx, 0);
  if (shape.has_rank()) ctx.set_output(0, PartialShape{shape.rank()});
  return OkStatus();
}

Status ListPushBackBatch(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape lists, ctx.WithRank(0, 1));
  WEIR_ASSIGN_OR_RETURN(PartialShape tensor, ctx.WithRankAtLeast(1, 1));
  const int64_t rows = tensor.has_rank() ? tensor.dim(0) : kUnknown;
  WEIR_ASSIGN_OR_RETURN(int64_t count, MergeDims(rows, lists.has_rank() ? lists.dim(0) : kUnknown));
  ctx.set_output(0, PartialShape{count});
  ctx.set_output_handle_data(0, ctx.input_handle_data(0));
  return OkStatus();
}

Status ArrayConcat(ShapeContext& ctx) {
  ctx.set_output(1, PartialShape{kUnknown});
  return OkStatus();
}

// Handles of the first version are two strings: container and name.
Status HandlePair(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{2});
  if (ctx.num_outputs() > 1) ctx.set_output(1, Shape());
  return OkStatus();
}

Status StackPush(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(1));
  return OkStatus();
}

// What an accumulator holds is not known; how many gradients it must have is a number.
Status TakeGradient(ShapeContext& ctx) { return ctx.WithRank(1, 0).status(); }

// A handle of the older kind and a flow.
Status ArrayHandle(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{2});
  if (ctx.num_outputs() > 1) ctx.set_output(1, Shape());
  if (ctx.schema().FindAttr("element_shape") == nullptr) return OkStatus();
  bool identical = ctx.Attr<bool>("identical_element_shapes").value_or(false);
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.Attr<PartialShape>("element_shape"));
  WEIR_ASSIGN_OR_RETURN(DType dtype, ctx.Attr<DType>("dtype"));
  if (identical) ctx.set_output_handle_data(0, HandleData{{dtype, std::move(shape)}});
  return OkStatus();
}

Status ArrayRead(ShapeContext& ctx) {
  ctx.set_output(0, ElementShape(ctx, 0));
  return OkStatus();
}

Status ArrayGather(ShapeContext& ctx) {
  WEIR_ASSIGN_OR_RETURN(PartialShape shape, ctx.Attr<PartialShape>("element_shape"));
  const PartialShape& indices = ctx.input(1);
  if (shape.has_rank()) {
    ctx.set_output(0, ConcatShapes(PartialShape{indices.rank() == 1 ? indices.dim(0) : kUnknown}, shape));
  }
  return OkStatus();
}

}  // namespace

void RegisterQueueShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("new_list", NewList);
  registry.RegisterShapeFunction("list_from_tensor", ListFromTensor);
  registry.RegisterShapeFunction("same_list", SameList);
  registry.RegisterShapeFunction("list_pop_back", ListPopBack);
  registry.RegisterShapeFunction("list_get_item", ListGetItem);
  registry.RegisterShapeFunction("list_stack", ListStack);
  registry.RegisterShapeFunction("list_gather", ListGather);
  registry.RegisterShapeFunction("list_scatter", ListScatter);
  registry.RegisterShapeFunction("list_split", ListSplit);
  registry.RegisterShapeFunction("list_concat", ListConcat);
  registry.RegisterShapeFunction("list_concat_lists", ListConcatLists);
  registry.RegisterShapeFunction("list_element_shape", ListElementShape);
  registry.RegisterShapeFunction("list_push_back_batch", ListPushBackBatch);
  registry.RegisterShapeFunction("array_concat", ArrayConcat);
  registry.RegisterShapeFunction("handle_pair", HandlePair);
  registry.RegisterShapeFunction("stack_push", StackPush);
  registry.RegisterShapeFunction("take_gradient", TakeGradient);
  registry.RegisterShapeFunction("array_handle", ArrayHandle);
  registry.RegisterShapeFunction("array_read", ArrayRead);
  registry.RegisterShapeFunction("array_gather", ArrayGather);
}

}  // namespace weir
