// Gradients of slices and paddings: each undoes the other.
#include "weir/autodiff/emit.h"
#include "weir/ops/array/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

const std::vector<std::string_view> kMasks = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                              "shrink_axis_mask"};

Gradients SliceGradient(G& g) {
  Value x = g.input(0), begin = g.input(1);
  Value after = Shape(x, begin.dtype()) - Shape(g.output(0), begin.dtype()) - begin;
  return {Binary("Pad", g.grad(), Pack({begin, after}, 1))};
}

Gradients StridedSliceGradient(G& g) {
  Value begin = g.input(1);
  return {g.OpLike("StridedSliceGrad", {Shape(g.input(0), begin.dtype()), begin, g.input(2), g.input(3), g.grad()},
                   kMasks)};
}

Gradients PadGradient(G& g) {
  Value x = g.input(0), paddings = g.input(1);
  Value before = Reshape(Slice(paddings, Ints(x, {0, 0}), Pack({Rank(x), Int(x, 1)})), Ints(x, {-1}));
  return {Slice(g.grad(), before, Shape(x, before.dtype()))};
}

void AddAll(GradientRegistry& r) {
  r.Add("Slice", SliceGradient);
  r.Add("StridedSlice", StridedSliceGradient);
  r.Add("StridedSliceGrad", [](G& g) -> Gradients {
    return {{}, {}, {}, {}, g.OpLike("StridedSlice", {g.grad(), g.input(1), g.input(2), g.input(3)}, kMasks)};
  });
  r.Add("TensorStridedSliceUpdate", [](G& g) -> Gradients {
    Value flow = g.grad(), value = g.input(4);
    Value rest =
        g.OpLike("TensorStridedSliceUpdate", {flow, g.input(1), g.input(2), g.input(3), ZerosLike(value)}, kMasks);
    return {rest, {}, {}, {}, g.OpLike("StridedSlice", {flow, g.input(1), g.input(2), g.input(3)}, kMasks)};
  });
  r.Add("Pad", PadGradient);
  r.Add("PadV2", PadGradient);
  r.Add("MirrorPad", [](G& g) -> Gradients { return {g.OpLike("MirrorPadGrad", {g.grad(), g.input(1)}, {"mode"})}; });
  r.Add("MirrorPadGrad", [](G& g) -> Gradients { return {g.OpLike("MirrorPad", {g.grad(), g.input(1)}, {"mode"})}; });
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterSliceGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
