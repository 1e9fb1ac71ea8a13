// Gradients of collectives. They are collectives themselves, over the same group, under an instance key of their own.
#include "weir/autodiff/emit.h"
#include "weir/ops/gradients.h"

namespace weir {

void RegisterCollectiveGradients(GradientRegistry& registry);

namespace emit {
namespace {

using G = GradientContext;

// Keys of programs are small numbers; those of their gradients lie far above.
constexpr int32_t kGradientKeys = 1 << 30;

// The op over the forward op's group.
Value Backward(G& g, std::string_view op, Value flow, EmitAttrs attrs) {
  Value key = g.Op("AddV2", {g.input(3), g.emitter().Constant(Tensor::Scalar<int32_t>(kGradientKeys))});
  std::vector<Value> tokens;
  for (int i = 4; i < g.num_inputs(); ++i) tokens.push_back(g.input(i));
  return g.Op(op, {flow, g.input(1), g.input(2), key, tokens}, attrs);
}

Gradients ForInput(Value grad) { return {grad, Value(), Value(), Value()}; }

Attribute Timeout(G& g) { return Attribute(g.Attr<float>("timeout_seconds")); }

// Only sums and means: what flows back from a maximum would have to know whose value it was.
bool IsLinear(G& g) {
  if (g.Attr<std::string>("merge_op") == "Add") return true;
  g.emitter().Fail(Unimplemented("The gradient of ", g.op(), " is known for the reduction Add only, not for ",
                                 g.Attr<std::string>("merge_op")));
  return false;
}

Gradients ReduceGradient(G& g) {
  if (!IsLinear(g)) return {};
  return ForInput(Backward(g, "CollectiveReduceV2", g.grad(),
                           {{"merge_op", Attribute(std::string("Add"))},
                            {"final_op", Attribute(g.Attr<std::string>("final_op"))},
                            {"timeout_seconds", Timeout(g)}}));
}

// Every member's rows flow to all members, so their gradients are added.
Gradients GatherGradient(G& g) {
  return ForInput(Backward(g, "CollectiveReduceScatterV2", g.grad(),
                           {{"merge_op", Attribute(std::string("Add"))},
                            {"final_op", Attribute(std::string("Id"))},
                            {"timeout_seconds", Timeout(g)}}));
}

Gradients ReduceScatterGradient(G& g) {
  if (!IsLinear(g)) return {};
  Value flow = g.grad();
  if (g.Attr<std::string>("final_op") == "Div") flow = flow / Cast(g.input(1), flow.dtype());
  return ForInput(Backward(g, "CollectiveGatherV2", flow, {{"timeout_seconds", Timeout(g)}}));
}

Gradients AllToAllGradient(G& g) {
  return ForInput(Backward(g, "CollectiveAllToAllV2", g.grad(), {{"timeout_seconds", Timeout(g)}}));
}

// Collectives between processes. What flows back from a name flows under another one.
Attribute BackwardName(G& g) {
  const std::string name = g.Attr<std::string>("tensor_name");
  return Attribute(name.empty() ? name : name + "/gradient");
}

bool IsLinearReduction(G& g, const std::string& reduction) {
  if (reduction == "Sum" || reduction == "Average") return true;
  g.emitter().Fail(
      Unimplemented("The gradient of ", g.op(), " is known for Sum and Average only, not for ", reduction));
  return false;
}

Attribute SetOf(G& g) { return Attribute(g.Attr<int64_t>("process_set")); }

// Of one tensor or of a group: the same reduction of what flows back.
Gradients ProcessAllReduceGradient(G& g) {
  const std::string reduction = g.Attr<std::string>("reduction");
  if (!IsLinearReduction(g, reduction)) return {};
  std::vector<Value> flows;
  for (int i = 0; i < g.num_outputs(); ++i) flows.push_back(g.grad(i));
  Gradients out;
  for (const Value& flow : g.Outputs(g.op(), {flows},
                                     {{"tensor_name", BackwardName(g)},
                                      {"process_set", SetOf(g)},
                                      {"reduction", Attribute(reduction)},
                                      {"prescale", Attribute(g.Attr<float>("prescale"))},
                                      {"postscale", Attribute(g.Attr<float>("postscale"))},
                                      {"compression", Attribute(g.Attr<std::string>("compression"))}})) {
    out.push_back(flow);
  }
  return out;
}

// Every rank's rows flow to all ranks, so their gradients are added.
Gradients ProcessAllGatherGradient(G& g) {
  return {g.Op("_ProcessAllGatherGrad", {g.grad(), g.input(0)},
               {{"tensor_name", BackwardName(g)}, {"process_set", SetOf(g)}})};
}

// Nothing flows back to other ranks than the root.
Gradients ProcessBroadcastGradient(G& g) {
  return {g.Op(
      "_ProcessBroadcastGrad", {g.grad()},
      {{"tensor_name", BackwardName(g)}, {"process_set", SetOf(g)}, {"root", Attribute(g.Attr<int64_t>("root"))}})};
}

Gradients ProcessReduceScatterGradient(G& g) {
  const std::string reduction = g.Attr<std::string>("reduction");
  if (!IsLinearReduction(g, reduction)) return {};
  Value flow = g.grad();
  const float factor = g.Attr<float>("prescale") * g.Attr<float>("postscale");
  if (factor != 1) flow = flow * Cast(g.emitter().Constant(Tensor::Scalar(factor)), flow.dtype());
  if (reduction == "Average") {
    Value size = g.Op("_ProcessSize", {}, {{"process_set", SetOf(g)}});
    flow = flow / Cast(size, flow.dtype());
  }
  return {g.Op("_ProcessAllGather", {flow}, {{"tensor_name", BackwardName(g)}, {"process_set", SetOf(g)}})};
}

Gradients ProcessAllToAllGradient(G& g) {
  return {g.Outputs("_ProcessAllToAll", {g.grad(), g.output(1)},
                    {{"tensor_name", BackwardName(g)}, {"process_set", SetOf(g)}})[0],
          Value()};
}

}  // namespace
}  // namespace emit

void RegisterCollectiveGradients(GradientRegistry& registry) {
  registry.Add("CollectiveReduceV2", emit::ReduceGradient);
  registry.Add("CollectiveGatherV2", emit::GatherGradient);
  registry.Add("CollectiveReduceScatterV2", emit::ReduceScatterGradient);
  registry.Add("CollectiveAllToAllV2", emit::AllToAllGradient);
  registry.Add("_ProcessAllReduce", emit::ProcessAllReduceGradient);
  registry.Add("_ProcessGroupedAllReduce", emit::ProcessAllReduceGradient);
  registry.Add("_ProcessAllGather", emit::ProcessAllGatherGradient);
  registry.Add("_ProcessBroadcast", emit::ProcessBroadcastGradient);
  registry.Add("_ProcessReduceScatter", emit::ProcessReduceScatterGradient);
  registry.Add("_ProcessAllToAll", emit::ProcessAllToAllGradient);
}

}  // namespace weir
