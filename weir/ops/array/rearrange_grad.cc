// Gradients of ops that only move elements.
#include "weir/autodiff/emit.h"
#include "weir/ops/array/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// The op that undoes it, with the same further inputs and attributes.
GradientFunction Undo(const char* op, std::vector<std::string_view> attrs = {}) {
  return [op, attrs](G& g) -> Gradients {
    EmitArguments inputs = {g.grad()};
    for (int i = 1; i < g.num_inputs(); ++i) inputs.push_back(g.input(i));
    return {g.OpLike(op, inputs, attrs)};
  };
}

void AddAll(GradientRegistry& r) {
  r.Add("Transpose", [](G& g) -> Gradients { return {Transpose(g.grad(), InvertPermutation(g.input(1)))}; });
  r.Add("ConjugateTranspose", [](G& g) -> Gradients {
    return {g.Op("ConjugateTranspose", {g.grad(), InvertPermutation(g.input(1))})};
  });
  r.Add("Reverse", Undo("Reverse"));
  r.Add("ReverseV2", Undo("ReverseV2"));
  r.Add("ReverseSequence", Undo("ReverseSequence", {"seq_dim", "batch_dim"}));
  r.Add("SpaceToBatch", Undo("BatchToSpace", {"block_size"}));
  r.Add("BatchToSpace", Undo("SpaceToBatch", {"block_size"}));
  r.Add("SpaceToBatchND", Undo("BatchToSpaceND"));
  r.Add("BatchToSpaceND", Undo("SpaceToBatchND"));
  r.Add("SpaceToDepth", Undo("DepthToSpace", {"block_size", "data_format"}));
  r.Add("DepthToSpace", Undo("SpaceToDepth", {"block_size", "data_format"}));
  r.Add("MatrixBandPart", Undo("MatrixBandPart"));
  r.Add("Roll", [](G& g) -> Gradients { return {g.Op("Roll", {g.grad(), -g.input(1), g.input(2)})}; });
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterRearrangeGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
