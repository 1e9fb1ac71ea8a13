#include "weir/autodiff/emit.h"
#include "weir/ops/gradients.h"
#include "weir/ops/nn/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// The bias' gradient, spread over the tensor that the bias was added to.
Gradients BiasGradGradient(G& g) {
  Value shape = Shape(g.input(0)), flow = g.grad();
  Value width = Shape(flow);
  Value one = Ints(flow, {1});
  auto ones = [&](Value part) { return Fill(Shape(part), Int(flow, 1)); };
  if (g.Attr<std::string>("data_format") == "NCHW") {
    Value spatial = g.Op("Slice", {shape, Ints(flow, {2}), Ints(flow, {-1})});
    return {BroadcastTo(Reshape(flow, Concat({one, width, ones(spatial)}, 0)), shape)};
  }
  return {BroadcastTo(Reshape(flow, Concat({ones(SubVector(shape, 0, -1)), width}, 0)), shape)};
}

// The values' gradients go back to the places they were taken from.
Gradients TopKGradient(G& g) {
  Value x = g.input(0), indices = g.output(1);
  Value columns = Cast(At(Shape(x), -1), indices.dtype());
  Value width = At(Shape(indices), -1);
  Value rows = Reshape(indices, Pack({Int(x, -1), width}));
  Value count = At(Shape(rows), 0);
  Value offsets = Cast(Range(Int(x, 0), count), indices.dtype()) * columns;
  Value flat = Reshape(rows + ExpandDims(offsets, -1), Ints(x, {-1, 1}));
  Value size = Reshape(Size(x, flat.dtype()), Ints(x, {1}));
  Value scattered = g.Op("ScatterNd", {flat, Reshape(g.grad(), Ints(x, {-1})), size});
  return {ReshapeLike(scattered, x)};
}

// It is shared among all elements that are equal to the one found.
Gradients NthElementGradient(G& g) {
  Value x = g.input(0);
  Value hit = Cast(Binary("Equal", ExpandDims(g.output(0), -1), x), x.dtype());
  return {hit / Sum(hit, {-1}, /*keep_dims=*/true) * ExpandDims(g.grad(), -1)};
}

// Something flows back from the cells and the outputs of all steps.
Gradients BlockLstmGradient(G& g) {
  EmitArguments inputs;
  for (int i = 0; i < g.num_inputs(); ++i) inputs.push_back(g.input(i));
  for (int i = 0; i < g.num_outputs(); ++i) inputs.push_back(g.output(i));
  inputs.push_back(g.grad(1));
  inputs.push_back(g.grad(6));
  Values grads = g.OutputsLike("BlockLSTMGrad", inputs, {"use_peephole"});
  Gradients out(1);
  for (Value grad : grads) out.push_back(grad);
  return out;
}

void AddAll(GradientRegistry& r) {
  RegisterActivationGradients(r);
  RegisterBatchNormGradients(r);
  RegisterConvolutionGradients(r);
  RegisterCudnnRnnGradients(r);
  RegisterLossGradients(r);
  RegisterPoolGradients(r);
  r.Add("BiasAdd", [](G& g) -> Gradients { return {g.grad(), g.OpLike("BiasAddGrad", {g.grad()}, {"data_format"})}; });
  r.Add("BiasAddV1", [](G& g) -> Gradients { return {g.grad(), g.Op("BiasAddGrad", {g.grad()})}; });
  r.Add("BiasAddGrad", BiasGradGradient);
  r.Add("LRN", [](G& g) -> Gradients {
    return {g.OpLike("LRNGrad", {g.grad(), g.input(0), g.output(0)}, {"depth_radius", "bias", "alpha", "beta"})};
  });
  for (const char* op : {"BlockLSTM", "BlockLSTMV2"}) r.Add(op, BlockLstmGradient);
  r.Add("TopK", TopKGradient);
  r.Add("TopKV2", TopKGradient);
  r.Add("NthElement", NthElementGradient);
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterNnGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
