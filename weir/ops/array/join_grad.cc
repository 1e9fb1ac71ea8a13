// Gradients of joining and splitting.
#include "weir/autodiff/emit.h"
#include "weir/ops/array/gradients_internal.h"

namespace weir::emit {
namespace {

using G = GradientContext;

// What flows into parts that were joined along `axis`; inputs [first, first + count) are the parts.
std::vector<Value> SplitBack(G& g, int first, int count, Value axis) {
  if (count == 1) return {g.grad()};
  Value positive = Binary("FloorMod", Cast(axis, DType::kInt32), Rank(g.grad()));
  Tensor known = axis.constant();
  const int rank = g.output(0).shape().rank();
  std::vector<Value> sizes;
  for (int i = 0; i < count; ++i) {
    const PartialShape shape = g.input(first + i).shape();
    int64_t dim = -1;
    if (known.num_elements() == 1 && rank > 0 && shape.rank() == rank) {
      int64_t at = known.dtype() == DType::kInt64 ? known.scalar<int64_t>() : known.scalar<int32_t>();
      if (at < 0) at += rank;
      if (at >= 0 && at < rank) dim = shape.dim(static_cast<int>(at));
    }
    sizes.push_back(dim >= 0 ? Int(axis, dim) : Gather(Shape(g.input(first + i)), positive));
  }
  Values parts = g.Outputs("SplitV", {g.grad(), Pack(sizes), positive}, {{"num_split", count}});
  return parts.vector();
}

// The rows of each part go back to the places they were taken from.
Gradients PartitionGradient(G& g) {
  Value data = g.input(0), partitions = g.input(1);
  Value places = Reshape(Range(Int(data, 0), Size(partitions)), Shape(partitions));
  Values parts = g.OutputsLike("DynamicPartition", {places, partitions}, {"num_partitions"});
  std::vector<Value> flows;
  for (int i = 0; i < g.num_outputs(); ++i) flows.push_back(g.grad(i));
  return {ReshapeLike(g.Op("ParallelDynamicStitch", {parts, flows}), data)};
}

Gradients StitchGradient(G& g) {
  const int count = g.num_inputs() / 2;
  Gradients out(count);
  for (int i = 0; i < count; ++i) out.push_back(Gather(g.grad(), g.input(i)));
  return out;
}

void AddAll(GradientRegistry& r) {
  r.Add("DynamicPartition", PartitionGradient);
  r.Add("DynamicStitch", StitchGradient);
  r.Add("ParallelDynamicStitch", StitchGradient);
  r.Add("Concat", [](G& g) -> Gradients {
    Gradients out(1);
    for (Value part : SplitBack(g, 1, g.num_inputs() - 1, g.input(0))) out.push_back(part);
    return out;
  });
  r.Add("ConcatV2", [](G& g) -> Gradients {
    Gradients out;
    for (Value part : SplitBack(g, 0, g.num_inputs() - 1, g.input(g.num_inputs() - 1))) out.push_back(part);
    return out;
  });
  r.Add("Pack", [](G& g) -> Gradients {
    Values parts = g.OutputsLike("Unpack", {g.grad()}, {"axis"}, {{"num", g.num_inputs()}});
    return Gradients(parts.begin(), parts.end());
  });
  auto flows = [](G& g) {
    std::vector<Value> out;
    for (int i = 0; i < g.num_outputs(); ++i) out.push_back(g.grad(i));
    return out;
  };
  r.Add("Unpack", [flows](G& g) -> Gradients { return {g.OpLike("Pack", {flows(g)}, {"axis"})}; });
  auto join = [flows](G& g, Value axis) {
    return g.num_outputs() == 1 ? g.grad() : g.Op("ConcatV2", {flows(g), axis});
  };
  r.Add("Split", [join](G& g) -> Gradients { return {{}, join(g, g.input(0))}; });
  r.Add("SplitV", [join](G& g) -> Gradients { return {join(g, g.input(2))}; });
}

}  // namespace
}  // namespace weir::emit

namespace weir {

void RegisterJoinGradients(GradientRegistry& registry) { emit::AddAll(registry); }

}  // namespace weir
