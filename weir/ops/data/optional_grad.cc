// Gradients of optional values.
#include "weir/autodiff/emit.h"
#include "weir/ops/gradients.h"

namespace weir {

void RegisterDataGradients(GradientRegistry& registry) {
  registry.Add("OptionalFromValue", [](GradientContext& g) -> Gradients {
    AttrList types, shapes;
    for (Value input : g.inputs()) {
      types.type.push_back(input.dtype());
      shapes.shape.push_back(input.shape());
    }
    weir::Values parts =
        g.Outputs("OptionalGetValue", {g.grad()},
                  {{"output_types", Attribute(std::move(types))}, {"output_shapes", Attribute(std::move(shapes))}});
    return Gradients(parts.begin(), parts.end());
  });
  registry.Add("OptionalGetValue", [](GradientContext& g) -> Gradients {
    std::vector<Value> parts;
    for (int i = 0; i < g.num_outputs(); ++i) parts.push_back(g.grad(i));
    return {g.Op("OptionalFromValue", {parts})};
  });
}

}  // namespace weir
