// Shapes of lookup tables. A handle carries the type and shape of a key and of a value, where the op says them.
#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

using HandleData = std::vector<ResourceHandle::DTypeAndShape>;

Status TableHandle(ShapeContext& ctx) {
  ctx.set_output(0, Shape());
  // The keys of a dense table are like its empty key.
  const PartialShape key_shape = ctx.num_inputs() > 0 ? ctx.input(0) : PartialShape(Shape());
  const PartialShape value_shape = ctx.Attr<PartialShape>("value_shape").value_or(PartialShape(Shape()));
  WEIR_ASSIGN_OR_RETURN(DType key, ctx.Attr<DType>("key_dtype"));
  WEIR_ASSIGN_OR_RETURN(DType value, ctx.Attr<DType>("value_dtype"));
  ctx.set_output_handle_data(0, HandleData{{key, key_shape}, {value, value_shape}});
  return OkStatus();
}

// A value for each key.
Status TableFind(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 0).status());
  const HandleData& data = ctx.input_handle_data(0);
  const PartialShape& keys = ctx.input(1);
  if (data.size() != 2 || !keys.has_rank() || !data[0].shape.has_rank()) return OkStatus();
  const int count = keys.rank() - data[0].shape.rank();
  if (count < 0 || !SubShape(keys, count, keys.rank()).IsCompatibleWith(data[0].shape)) {
    return InvalidArgument("Expected keys to have suffix ", data[0].shape.ToString(),
                           " but saw shape: ", keys.ToString());
  }
  ctx.set_output(0, ConcatShapes(SubShape(keys, 0, count), data[1].shape));
  return OkStatus();
}

Status TableExportRef(ShapeContext& ctx) {
  ctx.set_output(0, PartialShape{PartialShape::kUnknown});
  return OkStatus();
}

// Nothing is known of the outputs; the handle is one.
Status OfHandle(ShapeContext& ctx) { return ctx.WithRank(0, 0).status(); }

}  // namespace

void RegisterTableShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("table_handle", TableHandle);
  registry.RegisterShapeFunction("table_find", TableFind);
  registry.RegisterShapeFunction("table_export_ref", TableExportRef);
  registry.RegisterShapeFunction("of_handle", OfHandle);
}

}  // namespace weir
