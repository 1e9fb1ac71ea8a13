#include "weir/passes/place_by_cost.h"

#include <algorithm>
#include <random>

#include "weir/graph/testing.h"

namespace weir {
namespace {

using namespace weir::testing;

std::string CostDevice(int task, std::string_view type = "CPU") {
  return Cat("/job:worker/replica:0/task:", task, "/device:", type, ":0");
}

PlacementOptions CostPlacementOptions(bool soft = false) {
  PlacementOptions options;
  options.devices = {{CostDevice(0), "CPU"}, {CostDevice(1), "CPU"}, {CostDevice(2, "GPU"), "GPU"}};
  options.supported_types = [](const Node& node) {
    if (node.op() == "Print" || node.op() == "VariableV2") return std::vector<std::string>{"CPU"};
    return std::vector<std::string>{"GPU", "CPU"};
  };
  options.allow_soft_placement = soft;
  return options;
}

std::string Requesting(std::string_view device, std::string text) {
  return text.insert(text.find("op:"), Cat("device: '", device, "' "));
}

constexpr std::string_view kUnary = "float[...]->float[...]";

// Neg takes long, Print nothing to speak of; messages are quick.
std::shared_ptr<const CostTable> SlowNeg() {
  auto table = std::make_shared<CostTable>();
  for (int d = 0; d < 2; ++d) table->AddTime(CostDevice(d), "Neg", kUnary, 1e6);
  table->AddTime(CostDevice(2, "GPU"), "Neg", kUnary, 5e6);
  EXPECT_EQ(table->SetLink("/", "/", {1000, 0}), OkStatus());
  return table;
}

TEST(PlaceGraphByCost, SpreadsWhatTakesLong) {
  for (PlacerKind kind : {PlacerKind::kGreedy, PlacerKind::kHeft}) {
    Graph graph = MakeGraph(FloatPlaceholder("a") + Float("x", "Neg", "input: 'a'") + Float("y", "Neg", "input: 'a'") +
                            Float("z", "AddV2", "input: 'x' input: 'y'"));
    ASSERT_EQ(PlaceGraphByCost(&graph, CostPlacementOptions(), kind, SlowNeg()), OkStatus());
    std::vector<std::string> used = {graph.Find("x")->assigned_device, graph.Find("y")->assigned_device};
    std::ranges::sort(used);
    EXPECT_EQ(used, (std::vector<std::string>{CostDevice(0), CostDevice(1)}));
    CostModel costs(graph, SlowNeg());
    SimulatedStep step = SimulateStep(graph, costs).value();
    EXPECT_LT(step.makespan, 1.1e6);
    EXPECT_GT(costs.num_measured(), 0);
    // The placeholder goes to one of them and crosses once, as does one of the results.
    EXPECT_EQ(step.transfers.size(), 2);
  }
}

TEST(PlaceGraphByCost, WithoutAPlacerTakesTheBestType) {
  Graph graph = MakeGraph(FloatPlaceholder("a") + Float("x", "Neg", "input: 'a'"));
  ASSERT_EQ(PlaceGraphByCost(&graph, CostPlacementOptions(), PlacerKind::kDefault, SlowNeg()), OkStatus());
  EXPECT_EQ(graph.Find("x")->assigned_device, CostDevice(2, "GPU"));
}

TEST(PlaceGraphByCost, StateIsWhereEveryStepFindsIt) {
  const std::string variable =
      "node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { "
      "shape {} } } }";
  // One step that only gives the variable a value, one that would rather have it beside other work.
  for (const std::string& rest :
       {FloatPlaceholder("a") + Float("write", "Assign", "input: 'v' input: 'a'"),
        Requesting(CostDevice(1), Float("x", "Neg", "input: 'v'")) + Float("y", "Neg", "input: 'x'")}) {
    for (PlacerKind kind : {PlacerKind::kDefault, PlacerKind::kGreedy, PlacerKind::kHeft}) {
      Graph graph = MakeGraph(variable + rest);
      ASSERT_EQ(PlaceGraphByCost(&graph, CostPlacementOptions(), kind, SlowNeg()), OkStatus());
      EXPECT_EQ(graph.Find("v")->assigned_device, CostDevice(0));
    }
  }
}

TEST(PlaceGraphByCost, SaysWhatFitsNowhere) {
  const std::string text = FloatPlaceholder("a") + Requesting("/gpu:0", Float("p", "Print", "input: 'a'"));
  for (PlacerKind kind : {PlacerKind::kDefault, PlacerKind::kGreedy, PlacerKind::kHeft}) {
    Graph graph = MakeGraph(text);
    Status status = PlaceGraphByCost(&graph, CostPlacementOptions(), kind, nullptr);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(Message(status).find("Cannot assign a device for operation p"), std::string::npos) << status;
    Graph soft = MakeGraph(text);
    EXPECT_EQ(PlaceGraphByCost(&soft, CostPlacementOptions(true), kind, nullptr), OkStatus());
  }
}

std::string LoopText() {
  return FloatLoop(Float("n1", "Neg", "input: 'switch:1'") + Float("n2", "Neg", "input: 'switch:1'") +
                   Float("sum", "AddV2", "input: 'n1' input: 'n2'") + Float("next", "NextIteration", "input: 'sum'")) +
         Float("after", "Neg", "input: 'exit'");
}

TEST(PlaceGraphByCost, LoopsStayWholeIfTheyCan) {
  Graph graph = MakeGraph(LoopText());
  ASSERT_EQ(PlaceGraphByCost(&graph, CostPlacementOptions(), PlacerKind::kHeft, SlowNeg()), OkStatus());
  const std::string& device = graph.Find("merge")->assigned_device;
  for (const char* name : {"enter", "test", "cond", "switch", "exit", "n1", "n2", "sum", "next"}) {
    EXPECT_EQ(graph.Find(name)->assigned_device, device) << name;
  }
  // A request within one is honoured, and the rest goes where it goes.
  std::string text = LoopText();
  text.insert(text.find("op: 'Neg'"), Cat("device: '", CostDevice(0), "' "));
  text.insert(text.rfind("op: 'AddV2'"), Cat("device: '", CostDevice(1), "' "));
  Graph torn = MakeGraph(text);
  ASSERT_EQ(PlaceGraphByCost(&torn, CostPlacementOptions(), PlacerKind::kHeft, SlowNeg()), OkStatus());
  EXPECT_EQ(torn.Find("n1")->assigned_device, CostDevice(0));
  EXPECT_EQ(torn.Find("sum")->assigned_device, CostDevice(1));
}

// Made-up graphs: sums and negations of earlier values, variables that are read and written, requests and classes.
std::string RandomGraphText(uint32_t seed) {
  std::mt19937 random(seed);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  std::string text = FloatPlaceholder("n0");
  int count = 1;
  auto value = [&] { return Cat("n", below(count)); };
  for (int i = 1 + below(40); i > 0; --i) {
    const std::string name = Cat("n", count);
    std::string node;
    switch (below(5)) {
      case 0:
        text += Cat("node { name: 'v", count, "' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } ",
                    "attr { key: 'shape' value { shape {} } } }\n");
        node = Float(name, "Assign", Cat("input: 'v", count, "' input: '", value(), "'"));
        break;
      case 1:
        node = Float(name, "AddV2", Cat("input: '", value(), "' input: '", value(), "'"));
        break;
      case 2:
        node = Float(name, "Neg",
                     Cat("input: '", value(), "' attr { key: '_class' value { list { s: 'loc:@", value(), "' } } }"));
        break;
      case 3:
        node = Requesting(Cat("/task:", below(2)), Float(name, "Neg", Cat("input: '", value(), "'")));
        break;
      default:
        node = Float(name, "Print", Cat("input: '", value(), "' input: '^", value(), "'"));
    }
    text += node;
    ++count;
  }
  return text;
}

void ExpectLegal(const Graph& graph, const PlacementOptions& options) {
  for (const auto& node : graph.nodes()) {
    auto found = std::ranges::find(options.devices, node->assigned_device, &PlaceableDevice::name);
    ASSERT_NE(found, options.devices.end()) << node->name;
    const std::vector<std::string> types = options.supported_types(*node);
    EXPECT_NE(std::ranges::find(types, found->type), types.end()) << node->name;
    DeviceName device = DeviceName::Parse(node->assigned_device).value();
    EXPECT_TRUE(device.Matches(DeviceName::Parse(node->requested_device).value())) << node->name;
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      if (!IsRef(node->input_type(static_cast<int>(i)))) continue;
      EXPECT_EQ(node->assigned_device, graph.node(node->inputs[i].node)->assigned_device) << node->name;
    }
    if (node->attrs.Find("_class") == nullptr) continue;
    const auto classes = node->Attr<std::vector<std::string>>("_class").value();
    for (const std::string& name : classes) {
      EXPECT_EQ(node->assigned_device, graph.Find(name.substr(5))->assigned_device) << node->name;
    }
  }
}

TEST(PlaceGraphByCost, RandomGraphsArePlacedLegally) {
  const PlacementOptions options = CostPlacementOptions();
  int placed = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const std::string text = RandomGraphText(seed);
    Graph by_default = MakeGraph(text);
    const Status expected = PlaceGraph(&by_default, options);
    for (PlacerKind kind : {PlacerKind::kGreedy, PlacerKind::kHeft}) {
      Graph graph = MakeGraph(text);
      // What contradicts itself does so for every placer, in the same words.
      ASSERT_EQ(PlaceGraphByCost(&graph, options, kind, SlowNeg()), expected);
      if (!expected.ok()) continue;
      ExpectLegal(graph, options);
      const double makespan = SimulateStep(graph, CostModel(graph, SlowNeg())).value().makespan;
      EXPECT_LE(makespan, SimulateStep(by_default, CostModel(by_default, SlowNeg())).value().makespan * 1.001);
      ++placed;
    }
  }
  EXPECT_GT(placed, 100);
}

TEST(CostTable, KeepsWhatItIsGiven) {
  CostTable table;
  table.AddTime(CostDevice(0), "Neg", kUnary, 100);
  table.AddTime(CostDevice(0), "Neg", kUnary, 300);
  table.AddTime(CostDevice(1), "Neg", kUnary, 500);
  table.AddTime(CostDevice(0), "Neg", kUnary, -1);  // no time
  table.SetShape("x:0", DType::kFloat, Shape({2, 3}));
  ASSERT_EQ(table.SetLink("/", "/", {100, 0.5}), OkStatus());
  ASSERT_EQ(table.SetLink("/job:ps", "/job:worker", {7, 2}), OkStatus());
  const std::string text = table.ToText();
  EXPECT_EQ(text,
            "weir costs 1\n"
            "time /job:worker/replica:0/task:0/device:CPU:0 Neg float[...]->float[...] 2 200\n"
            "time /job:worker/replica:0/task:1/device:CPU:0 Neg float[...]->float[...] 1 500\n"
            "shape x:0 float[2,3]\n"
            "link / / 100 2e+09\n"
            "link /job:ps /job:worker 7 5e+08\n");
  CostTable again = CostTable::FromText(text).value();
  EXPECT_EQ(again.ToText(), text);
  EXPECT_EQ(again.Time(CostDevice(1), "Neg", kUnary), 500);
  EXPECT_EQ(again.Time(CostDevice(5), "Neg", kUnary), 300);  // the mean of the type
  EXPECT_EQ(again.Time(CostDevice(0, "GPU"), "Neg", kUnary), std::nullopt);
  EXPECT_EQ(*again.FindShape("x:0"), Shape({2, 3}));
  DeviceName worker = DeviceName::Parse(CostDevice(0)).value(), ps = DeviceName::Parse("/job:ps/task:0/cpu:0").value();
  EXPECT_EQ(again.FindLink(ps, worker), (LinkCost{7, 2}));
  EXPECT_EQ(again.FindLink(worker, ps), (LinkCost{100, 0.5}));
  again.Merge(table);
  EXPECT_EQ(again.Time(CostDevice(0), "Neg", kUnary), 200);
  EXPECT_NE(again.ToText().find("->float[...] 4 200"), std::string::npos);
}

TEST(CostTable, RefusesOtherText) {
  for (std::string_view bad :
       {"", "weir costs 2\n", "weir costs 1\ntime a b c 1\n", "weir costs 1\ntime a b c 0 5\n",
        "weir costs 1\ntime a b c 1 -5\n", "weir costs 1\ntime a b c 1 nan\n", "weir costs 1\nshape x:0 float\n",
        "weir costs 1\nshape x:0 floot[2]\n", "weir costs 1\nshape x:0 float[-2]\n",
        "weir costs 1\nshape x:0 float[9223372036854775807,9223372036854775807]\n",
        "weir costs 1\nlink /foo:bar / 1 1\n", "weir costs 1\nlink / / inf 1\n", "weir costs 1\nnothing\n"}) {
    EXPECT_EQ(CostTable::FromText(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_EQ(Message(CostTable::FromText("weir costs 1\n\n# a remark\nshape x\n").status()),
            "line 4: 'shape x' is neither a time, a shape nor a link");
}

}  // namespace
}  // namespace weir
