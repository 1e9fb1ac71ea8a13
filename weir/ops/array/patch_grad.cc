// Gradients of patches: each element of the input gets the sum over all patches that it is in.
#include "weir/autodiff/emit.h"
#include "weir/ops/array/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// Takes patches of the numbers 1, 2, ... of the input's places (0 is padding) and sums by them. `dims` counts the
// spatial dimensions.
Gradients PatchGradient(G& g, int dims, const std::vector<std::string_view>& attrs) {
  Value x = g.input(0), shape = Shape(x), out_shape = Shape(g.output(0)), flow = g.grad();
  const std::vector<int64_t> window = g.Attr<std::vector<int64_t>>("ksizes");
  if (window.size() != static_cast<size_t>(dims + 2)) {
    g.Fail(InvalidArgument("ksizes must have ", dims + 2, " elements"));
    return {};
  }
  Value spatial = SubVector(shape, 1, dims + 1), one = Ints(x, {1});
  Value places = Prod(spatial, Ints(x, {0}));
  Value numbers = Range(Int(x, 1), places + Int(x, 1));
  Value grid = Reshape(Cast(numbers, DType::kInt64), Concat({one, spatial, one}, 0));
  Value patched = Reshape(g.OpLike(g.op(), {grid}, attrs), Ints(x, {-1}));
  // Batch and channels behind, so that each place is a row.
  Value batch = SubVector(shape, 0, 1), channels = SubVector(shape, dims + 1, dims + 2);
  Value out_spatial = SubVector(out_shape, 1, dims + 1);
  std::vector<int64_t> sizes(window.begin() + 1, window.end() - 1);
  Value split = Reshape(flow, Concat({batch, out_spatial, Ints(x, sizes), channels}, 0));
  std::vector<int64_t> permutation;
  for (int i = 1; i <= 2 * dims; ++i) permutation.push_back(i);
  permutation.push_back(0);
  permutation.push_back(2 * dims + 1);
  Value row = Prod(Concat({batch, channels}, 0), Ints(x, {0}), /*keep_dims=*/true);
  Value rows = Reshape(Transpose(split, permutation), Concat({Ints(x, {-1}), row}, 0));
  Value sums = g.Op("UnsortedSegmentSum", {rows, patched - Scalar(patched, 1), places});
  Value back = Reshape(sums, Concat({spatial, batch, channels}, 0));
  std::vector<int64_t> order = {dims};
  for (int i = 0; i < dims; ++i) order.push_back(i);
  order.push_back(dims + 1);
  return {Transpose(back, order)};
}

void AddAll(GradientRegistry& r) {
  r.Add("ExtractImagePatches", [](G& g) { return PatchGradient(g, 2, {"ksizes", "strides", "rates", "padding"}); });
  r.Add("ExtractVolumePatches", [](G& g) { return PatchGradient(g, 3, {"ksizes", "strides", "padding"}); });
  r.Add("FakeQuantWithMinMaxArgs", [](G& g) -> Gradients {
    return {g.OpLike("FakeQuantWithMinMaxArgsGradient", {g.grad(), g.input(0)},
                     {"min", "max", "num_bits", "narrow_range"})};
  });
  for (const char* op : {"FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"}) {
    r.Add(op, [](G& g) -> Gradients {
      Values grads = g.OutputsLike(Cat(g.op(), "Gradient"), {g.grad(), g.input(0), g.input(1), g.input(2)},
                                   {"num_bits", "narrow_range"});
      return {grads[0], grads[1], grads[2]};
    });
  }
  for (const char* op : {"QuantizeAndDequantizeV4", "QuantizeAndDequantizeV4Grad"}) {
    r.Add(op, [](G& g) -> Gradients {
      // Of the gradient op itself only what is linear in it: its own flow.
      const bool inner = g.op() == "QuantizeAndDequantizeV4Grad";
      const int first = inner ? 1 : 0;
      Values grads = g.OutputsLike("QuantizeAndDequantizeV4Grad",
                                   {g.grad(0), g.input(first), g.input(first + 1), g.input(first + 2)}, {"axis"});
      if (inner) return {grads[0], {}, {}, {}};
      return {grads[0], grads[1], grads[2]};
    });
  }
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterPatchGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
