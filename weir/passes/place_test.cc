#include "weir/passes/place.h"

#include "weir/graph/testing.h"

namespace weir {
namespace {

using namespace weir::testing;

constexpr char kCpu[] = "/job:localhost/replica:0/task:0/device:CPU:0";
constexpr char kGpu[] = "/job:localhost/replica:0/task:0/device:GPU:0";

PlacementOptions TwoDevices(bool soft = false) {
  PlacementOptions options;
  options.devices = {{kCpu, "CPU"}, {kGpu, "GPU"}};
  options.supported_types = [](const Node& node) {
    if (node.op() == "Print" || node.op() == "VariableV2") return std::vector<std::string>{"CPU"};
    return std::vector<std::string>{"GPU", "CPU"};
  };
  options.allow_soft_placement = soft;
  return options;
}

std::string On(std::string_view device, std::string text) {
  return text.insert(text.find("op:"), Cat("device: '", device, "' "));
}

TEST(PlaceGraph, TakesTheBestTypeAndHonoursRequests) {
  Graph graph = MakeGraph(FloatPlaceholder("a") + Float("x", "Neg", "input: 'a'") +
                          On("/cpu:0", Float("y", "Neg", "input: 'x'")) + Float("p", "Print", "input: 'y'"));
  ASSERT_TRUE(PlaceGraph(&graph, TwoDevices()).ok());
  EXPECT_EQ(graph.Find("x")->assigned_device, kGpu);
  EXPECT_EQ(graph.Find("a")->assigned_device, kGpu);  // where it is used
  EXPECT_EQ(graph.Find("y")->assigned_device, kCpu);
  EXPECT_EQ(graph.Find("p")->assigned_device, kCpu);
}

TEST(PlaceGraph, KeepsReferencesAndClassesTogether) {
  Graph graph = MakeGraph(
      "node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { "
      "shape {} } } }" +
      FloatPlaceholder("a") + Float("x", "Assign", "input: 'v' input: 'a'") +
      Float("c", "Neg", "input: 'a' attr { key: '_class' value { list { s: 'loc:@v' } } }"));
  ASSERT_TRUE(PlaceGraph(&graph, TwoDevices()).ok());
  EXPECT_EQ(graph.Find("x")->assigned_device, kCpu);
  EXPECT_EQ(graph.Find("c")->assigned_device, kCpu);
}

TEST(PlaceGraph, WhoTakesAReferenceGoesWhereItIs) {
  PlacementOptions options = TwoDevices();
  constexpr char kPs[] = "/job:ps/replica:0/task:0/device:CPU:0";
  options.devices.push_back({kPs, "CPU"});
  Graph graph = MakeGraph(
      "node { name: 'v' device: '/job:ps' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
      "'shape' value { shape {} } } }" +
      FloatPlaceholder("a") + On("/job:localhost", Float("x", "Assign", "input: 'v' input: 'a'")));
  ASSERT_TRUE(PlaceGraph(&graph, options).ok());
  EXPECT_EQ(graph.Find("x")->assigned_device, kPs);
}

TEST(PlaceGraph, SpreadsWhatAsksForNothing) {
  PlacementOptions options = TwoDevices();
  constexpr char kPs[] = "/job:ps/replica:0/task:0/device:CPU:0";
  options.devices = {{kCpu, "CPU"}, {kPs, "CPU"}};
  options.spread = true;
  std::string text = FloatPlaceholder("a");
  for (int i = 0; i < 20; ++i) text += Float(Cat("n", i), "Neg", "input: 'a'");
  Graph graph = MakeGraph(text + On("/job:localhost", Float("here", "Neg", "input: 'a'")));
  ASSERT_TRUE(PlaceGraph(&graph, options).ok());
  int away = 0;
  for (int i = 0; i < 20; ++i) away += graph.Find(Cat("n", i))->assigned_device == kPs;
  EXPECT_GT(away, 0);
  EXPECT_LT(away, 20);
  EXPECT_EQ(graph.Find("here")->assigned_device, kCpu);
}

TEST(PlaceGraph, SpreadingLeavesReadersOfAReferenceWithIt) {
  PlacementOptions options = TwoDevices();
  constexpr char kPs[] = "/job:ps/replica:0/task:0/device:CPU:0";
  options.devices = {{kCpu, "CPU"}, {kPs, "CPU"}};
  options.spread = true;
  std::string text =
      "node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { "
      "shape {} } } }";
  for (int i = 0; i < 20; ++i) {
    text += Float(Cat("read", i), "Identity", "input: 'v'") + Float(Cat("n", i), "Neg", Cat("input: 'read", i, "'"));
  }
  Graph graph = MakeGraph(text + On("/job:localhost", Float("here", "Neg", "input: 'read0'")));
  ASSERT_TRUE(PlaceGraph(&graph, options).ok());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(graph.Find(Cat("read", i))->assigned_device, kPs);
    EXPECT_EQ(graph.Find(Cat("n", i))->assigned_device, kPs);
  }
  EXPECT_EQ(graph.Find("here")->assigned_device, kCpu);
}

TEST(PlaceGraph, SoftPlacementFindsAnother) {
  std::string text = FloatPlaceholder("a") + On("/gpu:0", Float("p", "Print", "input: 'a'"));
  Graph strict = MakeGraph(text);
  EXPECT_EQ(PlaceGraph(&strict, TwoDevices()).code(), absl::StatusCode::kInvalidArgument);
  Graph soft = MakeGraph(text);
  ASSERT_TRUE(PlaceGraph(&soft, TwoDevices(true)).ok());
  EXPECT_EQ(soft.Find("p")->assigned_device, kCpu);
}

TEST(PlaceGraph, PlacesARequestedSourceOnTheOnlyDevice) {
  PlacementOptions options = TwoDevices();
  options.devices.pop_back();
  Graph graph = MakeGraph(On("/cpu:0", FloatPlaceholder("a")) + FloatPlaceholder("b"));
  ASSERT_TRUE(PlaceGraph(&graph, options).ok());
  EXPECT_EQ(graph.Find("a")->assigned_device, kCpu);
  EXPECT_EQ(graph.Find("b")->assigned_device, kCpu);
}

TEST(PlaceGraph, NamesTheNodeThatFitsNowhere) {
  Graph graph = MakeGraph(On("/job:ps/task:3", FloatPlaceholder("a")));
  Status status = PlaceGraph(&graph, TwoDevices());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(Message(status).find("Cannot assign a device for operation a: {{node a}} was explicitly assigned to "),
            std::string::npos);
  Graph bad = MakeGraph(On("/foo:bar", FloatPlaceholder("a")));
  EXPECT_NE(Message(PlaceGraph(&bad, TwoDevices())).find("Malformed device specification '/foo:bar'"),
            std::string::npos);
}

}  // namespace
}  // namespace weir
