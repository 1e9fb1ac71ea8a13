#include "weir/passes/partition.h"

#include <algorithm>

#include "weir/graph/testing.h"

namespace weir {
namespace {

using namespace weir::testing;

Graph Placed(const std::string& text, const std::vector<std::pair<std::string, std::string>>& devices) {
  Graph graph = MakeGraph(text);
  for (const auto& node : graph.nodes()) node->assigned_device = "A";
  for (const auto& [name, device] : devices) graph.Find(name)->assigned_device = device;
  return graph;
}

TEST(PartitionGraph, JoinsPartsWithOneSendATensor) {
  Graph graph =
      Placed(FloatPlaceholder("a") + Float("x", "Neg", "input: 'a'") + Float("y", "Mul", "input: 'a' input: 'a'"),
             {{"x", "B"}, {"y", "B"}});
  auto parts = PartitionGraph(graph, {.incarnation = [](std::string_view) { return 7; }}).value();
  ASSERT_EQ(parts.size(), 2);
  EXPECT_EQ(parts[0].location, "A");
  EXPECT_EQ(Lines(parts[0].graph), (std::vector<std::string>{"a = Placeholder()", "a/_S = _Send(a)"}));
  EXPECT_EQ(Lines(parts[1].graph),
            (std::vector<std::string>{"x = Neg(a/_R)", "y = Mul(a/_R, a/_R)", "a/_R = _Recv()"}));
  const Node &send = *parts[0].graph.Find("a/_S"), &recv = *parts[1].graph.Find("a/_R");
  for (const char* attr : {"tensor_name", "send_device", "recv_device"}) {
    EXPECT_EQ(send.Attr<std::string>(attr).value(), recv.Attr<std::string>(attr).value());
  }
  EXPECT_EQ(recv.Attr<int64_t>("send_device_incarnation").value(), 7);
  EXPECT_EQ(recv.Attr<std::string>("tensor_name").value(), "edge_0_a");
}

TEST(PartitionGraph, SendsControlEdgesAsEmptyTensors) {
  Graph graph = Placed("node { name: 'n' op: 'NoOp' } node { name: 'm' op: 'NoOp' input: '^n' }", {{"m", "B"}});
  auto parts = PartitionGraph(graph, {}).value();
  EXPECT_EQ(Lines(parts[0].graph),
            (std::vector<std::string>{"n = NoOp()", "n/ctrl = Const(^n)", "n/_S = _Send(n/ctrl)"}));
  EXPECT_EQ(Lines(parts[1].graph),
            (std::vector<std::string>{"m = NoOp(^n/_RC)", "n/_R = _Recv()", "n/_RC = Identity(n/_R)"}));
}

TEST(PartitionGraph, ReadsAVariableForEachWhoWaitsForSomething) {
  Graph graph = Placed(
      "node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { "
      "shape {} } } }" +
          FloatPlaceholder("a") + Float("before", "Neg", "input: 'v'") +
          Float("write", "Assign", "input: 'v' input: 'a' input: '^before'") +
          Float("after", "Neg", "input: 'v' input: '^write'"),
      {{"before", "B"}, {"after", "B"}});
  auto parts = PartitionGraph(graph, {}).value();
  ASSERT_EQ(parts.size(), 2);
  std::vector<std::string> sends;
  for (const std::string& line : Lines(parts[0].graph)) {
    if (line.find("_Send(v") != line.npos) sends.push_back(line);
  }
  EXPECT_EQ(sends, (std::vector<std::string>{"v/_S = _Send(v)", "v/_S_1 = _Send(v, ^write)"}));
}

TEST(PartitionGraph, FloatsMayTravelAsHalfAsManyBytes) {
  Graph graph =
      Placed(FloatPlaceholder("a") + Float("x", "Neg", "input: 'a'") + Float("same", "Equal", "input: 'a' input: 'a'") +
                 "node { name: 'y' op: 'Identity' input: 'same' attr { key: 'T' value { type: DT_BOOL } } }",
             {{"x", "B"}, {"y", "B"}});
  auto parts =
      PartitionGraph(graph,
                     {.lossy = [](std::string_view from, std::string_view to) { return from == "A" && to == "B"; }})
          .value();
  ASSERT_EQ(parts.size(), 2);
  EXPECT_EQ(Lines(parts[0].graph),
            (std::vector<std::string>{"a = Placeholder()", "same = Equal(a, a)", "a/_SC = Cast(a)",
                                      "a/_S = _Send(a/_SC)", "same/_S = _Send(same)"}));
  EXPECT_EQ(Lines(parts[1].graph),
            (std::vector<std::string>{"x = Neg(a/_RC)", "y = Identity(same/_R)", "a/_R = _Recv()", "a/_RC = Cast(a/_R)",
                                      "same/_R = _Recv()"}));
  EXPECT_EQ(parts[0].graph.Find("a/_S")->Attr<DType>("T").value(), DType::kBFloat16);
  EXPECT_EQ(parts[1].graph.Find("a/_RC")->output_type(0), DType::kFloat);
  // Another way keeps its bits.
  auto whole = PartitionGraph(graph, {.lossy = [](std::string_view, std::string_view) { return false; }}).value();
  EXPECT_EQ(whole[0].graph.Find("a/_SC"), nullptr);
}

TEST(PartitionGraph, SendsAFetchedReferenceLast) {
  const std::string text =
      "node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { "
      "shape {} } } }" +
      Float("read", "Identity", "input: 'v'") + Float("x", "Neg", "input: 'read'") +
      Float("fetch", "_Retval", "input: 'read' attr { key: 'index' value { i: 0 } }") +
      Float("other", "_Retval", "input: 'x' attr { key: 'index' value { i: 1 } }");
  for (bool last : {true, false}) {
    Graph graph = Placed(text, {{"fetch", "B"}, {"other", "B"}});
    auto parts = PartitionGraph(graph, {.fetch_references_last = last}).value();
    ASSERT_EQ(parts.size(), 2);
    EXPECT_EQ(parts[0].graph.Find("read/_S")->Attr<bool>("client_terminated").value(), last);
    EXPECT_FALSE(parts[0].graph.Find("x/_S")->Attr<bool>("client_terminated").value());
  }
}

TEST(PartitionGraph, CopiesBetweenTheMemoriesOfADevice) {
  Graph graph = Placed(FloatPlaceholder("a") + Float("x", "Neg", "input: 'a'") +
                           Float("y", "Mul", "input: 'x' input: 'a'") + Float("far", "Neg", "input: 'x'"),
                       {{"far", "B"}});
  PartitionOptions options;
  options.output_memory = [](const Node& node, int) {
    return node.name == "x" ? MemoryType::kHost : MemoryType::kDevice;
  };
  options.input_memory = [](const Node& node, int) {
    return node.name == "far" ? MemoryType::kHost : MemoryType::kDevice;
  };
  auto parts = PartitionGraph(graph, options).value();
  ASSERT_EQ(parts.size(), 2);
  EXPECT_EQ(Lines(parts[0].graph),
            (std::vector<std::string>{"a = Placeholder()", "x = Neg(a)", "y = Mul(x/_R, a)", "x/_S = _HostSend(x)",
                                      "x/_R = _Recv(^x/_S)", "x/_S_1 = _HostSend(x)"}));
  EXPECT_EQ(Lines(parts[1].graph), (std::vector<std::string>{"far = Neg(x/_R)", "x/_R = _HostRecv()"}));
}

TEST(PartitionGraph, LoopsAcrossDevicesGetControlLoops) {
  Graph graph =
      Placed(FloatLoop(Float("far", "Neg", "input: 'switch:1'") + Float("next", "NextIteration", "input: 'far'")),
             {{"far", "B"}, {"next", "B"}});
  auto parts = PartitionGraph(graph, {}).value();
  ASSERT_EQ(parts.size(), 2);
  EXPECT_NE(parts[0].graph.Find("next"), nullptr);  // turns where its Merge is
  const Graph& far = parts[1].graph;
  ASSERT_NE(far.Find("k_f_merge"), nullptr);
  EXPECT_EQ(far.Find("k_f_enter")->Attr<std::string>("frame_name").value(), "f");
  // Each Recv of the loop waits for the iteration.
  for (const auto& node : far.nodes()) {
    if (!IsRecv(*node)) continue;
    EXPECT_EQ(node->control_inputs, std::vector<NodeId>{far.Find("k_f_merge")->id}) << node->name;
  }
  EXPECT_TRUE(IsRecv(*far.node(far.Find("k_f_switch")->inputs[1].node)));
  for (const Partition& part : parts) EXPECT_TRUE(TopologicalOrder(part.graph).ok());
}

}  // namespace
}  // namespace weir
