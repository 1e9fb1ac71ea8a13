// Gradients of losses.
#include "weir/autodiff/emit.h"
#include "weir/ops/nn/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// Of the logits. The second output is the derivative itself, so something flows into it only for second derivatives.
Value LogitsGradient(G& g, Value logits) {
  Value out = ExpandDims(g.grad(0), -1) * g.output(1);
  if (!g.has_grad(1)) return out;
  Value softmax = Unary("Softmax", logits), flow = g.grad(1);
  return out + (flow - Sum(flow * softmax, {-1}, /*keep_dims=*/true)) * softmax;
}

void AddAll(GradientRegistry& r) {
  r.Add("SoftmaxCrossEntropyWithLogits", [](G& g) -> Gradients {
    // The softmax is that of the logits as they were broadcast: one logit for all classes makes them equally likely.
    Value logits = BroadcastTo(g.input(0), Shape(g.output(1)));
    Value labels = ExpandDims(g.grad(0), -1) * -Unary("LogSoftmax", logits);
    return {SumToShapeOf(LogitsGradient(g, logits), g.input(0), g.input(1)),
            SumToShapeOf(labels, g.input(1), g.input(0))};
  });
  r.Add("SparseSoftmaxCrossEntropyWithLogits", [](G& g) -> Gradients { return {LogitsGradient(g, g.input(0))}; });
  r.Add("L2Loss", [](G& g) -> Gradients { return {g.input(0) * g.grad()}; });
  // Every element of a pool gets the mean of what flows into the pool. Pools are numbered row by row.
  r.Add("IsotonicRegression", [](G& g) -> Gradients {
    Value flow = Reshape(g.grad(0), Ints(g.grad(0), {-1})), size = Size(flow);
    Value segments = g.output(1), flat = Reshape(segments, Ints(segments, {-1}));
    // A scalar is a row too; an empty row must not divide by its length.
    Value length = Binary("Maximum", At(Concat({Ints(segments, {1}), Shape(segments)}, 0), -1), Int(segments, 1));
    Value places = Range(Int(segments, 0), size);
    Value ids = flat + (places - Binary("FloorMod", places, length));
    auto pooled = [&](Value x) { return Gather(g.Op("UnsortedSegmentSum", {x, ids, size}), ids); };
    return {Cast(ReshapeLike(pooled(flow) / pooled(OnesLike(flow)), g.grad(0)), g.input(0).dtype())};
  });
  // None flows to a mask.
  r.Add("_Attention", [](G& g) -> Gradients {
    std::vector<Value> masks(g.inputs().begin() + 3, g.inputs().end());
    Values grads = g.OutputsLike(
        "_AttentionGrad", {g.input(0), g.input(1), g.input(2), g.output(0), g.output(1), g.grad(0), std::move(masks)},
        {"causal", "scale", "mask_value", "heads_first"});
    return {grads[0], grads[1], grads[2]};
  });
  // The op computes the derivative beside the loss.
  r.Add("CTCLoss", [](G& g) -> Gradients { return {g.output(1) * ExpandDims(ExpandDims(g.grad(0), -1), 0)}; });
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterLossGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
