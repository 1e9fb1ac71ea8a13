// Shapes of datasets, iterators and what they give.
#include <algorithm>
#include <array>

#include "weir/framework/op_registry.h"
#include "weir/ops/shape_tools.h"

namespace weir {
namespace {

// Inputs that are not scalars.
constexpr std::array<std::string_view, 10> kNotScalar = {"filenames",   "patterns",       "row_shape",    "batch_sizes",
                                                         "select_cols", "exclude_cols",   "byte_offsets", "indices",
                                                         "dense_shape", "transformations"};

bool IsScalarInput(const ArgSchema& input) {
  if (!input.number_attr.empty() || !input.type_list_attr.empty() || !input.type_attr.empty()) return false;
  if (input.name.starts_with("optimizations")) return false;
  return std::find(kNotScalar.begin(), kNotScalar.end(), input.name) == kNotScalar.end();
}

// Handles of datasets and iterators are scalars, and so are most of what they are made of.
Status DatasetShape(ShapeContext& ctx) {
  for (const ArgSchema& input : ctx.schema().inputs) {
    if (!IsScalarInput(input)) continue;
    WEIR_ASSIGN_OR_RETURN(ArgRange range, ctx.InputRange(input.name));
    for (int i = range.begin; i < range.end; ++i) WEIR_RETURN_IF_ERROR(ctx.WithRank(i, 0).status());
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, Shape());
  return OkStatus();
}

// The components of an element, as the attribute `output_shapes` says.
Status ElementShape(ShapeContext& ctx) {
  WEIR_RETURN_IF_ERROR(ctx.WithRank(0, 0).status());
  WEIR_ASSIGN_OR_RETURN(std::vector<PartialShape> shapes, ctx.Attr<std::vector<PartialShape>>("output_shapes"));
  if (static_cast<int>(shapes.size()) != ctx.num_outputs()) {
    return InvalidArgument("`output_shapes` must be the same length as `output_types` (", shapes.size(), " vs. ",
                           ctx.num_outputs(), ")");
  }
  for (int i = 0; i < ctx.num_outputs(); ++i) ctx.set_output(i, shapes[i]);
  return OkStatus();
}

}  // namespace

void RegisterDataShapes(OpRegistry& registry) {
  registry.RegisterShapeFunction("dataset", DatasetShape);
  registry.RegisterShapeFunction("element", ElementShape);
}

}  // namespace weir
