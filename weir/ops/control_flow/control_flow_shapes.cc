// Shapes of the ops that direct the flow. Merge and calls are the business of graph/shape_inference.cc.
#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

// All outputs like input 0, with all that is known of it.
Status Switch(ShapeContext& ctx) {
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.outputs()[i] = ctx.input_tensor(0);
  return OkStatus();
}

// What goes round a loop changes its value; a constant does not.
Status Enter(ShapeContext& ctx) {
  ctx.set_output(0, ctx.input(0));
  ctx.set_output_handle_data(0, ctx.input_handle_data(0));
  if (ctx.Attr<bool>("is_constant").value_or(false)) ctx.outputs()[0] = ctx.input_tensor(0);
  return OkStatus();
}

// The gradient of an argument is like the argument; the arguments come first.
Status SymbolicGradient(ShapeContext& ctx) {
  if (ctx.num_inputs() < ctx.num_outputs()) return InvalidArgument("len(inputs) < len(outputs)");
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    ctx.set_output(i, ctx.input(i));
    ctx.set_output_handle_data(i, ctx.input_handle_data(i));
  }
  return OkStatus();
}

}  // namespace

void RegisterControlFlowShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("switch", Switch);
  registry.RegisterShapeFunction("enter", Enter);
  registry.RegisterShapeFunction("symbolic_gradient", SymbolicGradient);
}

}  // namespace weir
