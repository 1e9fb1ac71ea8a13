#include "weir/passes/recv_schedule.h"

#include <algorithm>
#include <random>
#include <set>

#include "weir/graph/testing.h"
#include "weir/passes/partition.h"

namespace weir {
namespace {

using namespace weir::testing;

constexpr char kNear[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kFarAway[] = "/job:ps/replica:0/task:0/device:CPU:0";

// Every operation takes 1 ms; a message 0.1 ms and, of `early`, another 0.4 ms.
std::shared_ptr<const CostTable> RecvCosts() {
  auto table = std::make_shared<CostTable>();
  for (const char* device : {kNear, kFarAway}) {
    for (const char* op : {"Neg", "Print"}) {
      table->AddTime(device, op, "float[...]->float[...]", 1e6);
      table->AddTime(device, op, "float[...]->float[1000000]", 1e6);
    }
  }
  EXPECT_EQ(table->SetLink("/", "/", {1e5, 0.1}), OkStatus());
  table->SetShape("early:0", DType::kFloat, Shape({1'000'000}));
  return table;
}

// `early` is made far away at once and needed near only after five others in a row.
std::string ChainText(std::string_view op) {
  std::string text = FloatPlaceholder("a") + FloatPlaceholder("b") + Float("early", "Neg", "input: 'a'");
  for (int i = 1; i <= 5; ++i) text += Float(Cat("c", i), op, Cat("input: '", i == 1 ? "b" : Cat("c", i - 1), "'"));
  return text + Float("use", "AddV2", "input: 'c5' input: 'early'");
}

Graph PlacedForRecvs(const std::string& text, const std::set<std::string>& far) {
  Graph graph = MakeGraph(text);
  for (const auto& node : graph.nodes()) node->assigned_device = far.contains(node->name) ? kFarAway : kNear;
  return graph;
}

std::string AnchorName(const Graph& graph, const RecvSchedule& schedule, std::string_view tensor_node) {
  const NodeId anchor = schedule.Find({graph.Find(tensor_node)->id, 0}, kNear);
  return anchor == kNoNode ? "" : graph.node(anchor)->name;
}

TEST(ScheduleRecvs, WaitsUntilTheTransferIsOfUse) {
  struct Case {
    const char* op;
    int64_t min_bytes;
    const char* anchor;
  };
  // Needed at 5 ms, 0.5 ms on its way: of use from 4.5 ms on. What may not come about, or is too small, is not waited
  // for.
  for (const Case& c : std::vector<Case>{{"Neg", 0, "c4"}, {"Print", 0, ""}, {"Neg", 5'000'000, ""}}) {
    Graph graph = PlacedForRecvs(ChainText(c.op), {"a", "early"});
    RecvSchedule schedule = ScheduleRecvs(graph, CostModel(graph, RecvCosts()), c.min_bytes).value();
    EXPECT_EQ(AnchorName(graph, schedule, "early"), c.anchor) << c.op << " " << c.min_bytes;
    auto parts = PartitionGraph(graph, {.recvs = &schedule}).value();
    const Graph& near = parts[0].graph.Find("use") != nullptr ? parts[0].graph : parts[1].graph;
    std::vector<NodeId> expected;
    if (c.anchor[0] != '\0') expected = {near.Find(c.anchor)->id};
    EXPECT_EQ(near.Find("early/_R")->control_inputs, expected);
  }
}

TEST(ScheduleRecvs, LeavesAloneWhatIsNeededAtOnceOrMadeLate) {
  const std::string text = FloatPlaceholder("a") + FloatPlaceholder("b") + Float("early", "Neg", "input: 'a'") +
                           Float("other", "Neg", "input: 'b'") + Float("use", "Neg", "input: 'early'");
  Graph graph = PlacedForRecvs(text, {"a", "early"});
  EXPECT_TRUE(ScheduleRecvs(graph, CostModel(graph, RecvCosts()), 0).value().after.empty());
}

TEST(ScheduleRecvs, NeverWaitsForABranch) {
  const std::string text = FloatPlaceholder("a") + FloatPlaceholder("b") +
                           "node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } } }" +
                           Float("early", "Neg", "input: 'a'") + Float("switch", "Switch", "input: 'b' input: 'p'") +
                           Float("c1", "Neg", "input: 'switch:1'") + Float("c2", "Neg", "input: 'c1'") +
                           Float("use", "AddV2", "input: 'c2' input: 'early'");
  Graph graph = PlacedForRecvs(text, {"a", "early"});
  const RecvSchedule schedule = ScheduleRecvs(graph, CostModel(graph, RecvCosts()), 0).value();
  for (const auto& [tensor, anchor] : schedule.after) {
    EXPECT_NE(graph.node(anchor)->name.substr(0, 1), "c");
  }
}

// Whatever waits for whatever: the parts together have no cycle.
TEST(ScheduleRecvs, RandomGraphsStayAcyclicAcrossDevices) {
  int scheduled = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
    std::string text = FloatPlaceholder("n0");
    const int count = 5 + below(60);
    for (int i = 1; i < count; ++i) {
      text += below(2) == 0 ? Float(Cat("n", i), "Neg", Cat("input: 'n", below(i), "'"))
                            : Float(Cat("n", i), "AddV2", Cat("input: 'n", below(i), "' input: 'n", below(i), "'"));
    }
    Graph graph = MakeGraph(text);
    for (const auto& node : graph.nodes()) {
      node->assigned_device = Cat("/job:worker/replica:0/task:", below(3), "/device:CPU:0");
    }
    RecvSchedule schedule = ScheduleRecvs(graph, CostModel(graph, RecvCosts()), 0).value();
    scheduled += static_cast<int>(schedule.after.size());
    // A transfer's consumers come after what its Recv waits for: add those edges to the whole graph.
    for (const auto& [tensor, anchor] : schedule.after) {
      for (const auto& node : graph.nodes()) {
        const bool takes = std::ranges::any_of(
            node->inputs, [&, tensor = tensor](Endpoint e) { return e.node == std::get<0>(tensor); });
        if (takes && node->assigned_device == std::get<2>(tensor)) node->control_inputs.push_back(anchor);
      }
    }
    EXPECT_TRUE(TopologicalOrder(graph).ok());
  }
  EXPECT_GT(scheduled, 100);
}

}  // namespace
}  // namespace weir
