// Placement by costs from graph to result: sizes and estimates of real operations, what is measured and used again,
// sessions whose nodes are where a placer put them.
#include <gtest/gtest.h>

#include <set>

#include "weir/client/environment.h"
#include "weir/graph/graph.h"
#include "weir/passes/place_by_cost.h"
#include "weir/proto/config.pb.h"
#include "weir/runtime/measured_costs.h"
#include "weir/runtime/session.h"

namespace weir {
namespace {

std::shared_ptr<Environment> TwoCpus() {
  static auto* environment = new std::shared_ptr<Environment>(MakeEnvironment({.num_cpu_devices = 2}).value());
  return *environment;
}

std::string Cpu(int id) { return Cat("/job:localhost/replica:0/task:0/device:CPU:", id); }

// Adds nodes by hand, so that names and shapes are what the test says.
class GraphMaker {
 public:
  GraphMaker() : graph(TwoCpus()->ops) {}
  using Attrs = std::vector<AttrMap::Entry>;
  Endpoint Add(std::string name, std::string op, std::vector<Endpoint> inputs, Attrs attrs = {{"T", DType::kFloat}},
               std::string device = "") {
    AttrMap map;
    for (auto& [key, value] : attrs) map.Set(key, std::move(value));
    auto node = graph.AddNode({.name = std::move(name),
                               .op = std::move(op),
                               .attrs = std::move(map),
                               .inputs = std::move(inputs),
                               .device = std::move(device)});
    EXPECT_TRUE(node.ok()) << node.status();
    return {(*node)->id, 0};
  }
  Endpoint Placeholder(std::string name, PartialShape shape) {
    return Add(std::move(name), "Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", std::move(shape)}});
  }
  // Two products side by side and their sum.
  void TwoBranches() {
    Endpoint x = Placeholder("x", {-1, 64});
    Endpoint w = Placeholder("w", {64, 64});
    Endpoint a = Add("a", "MatMul", {x, w});
    Endpoint b = Add("b", "MatMul", {x, w}, {{"T", DType::kFloat}, {"transpose_b", true}});
    Endpoint a2 = Add("a2", "MatMul", {a, w});
    Endpoint b2 = Add("b2", "MatMul", {b, w});
    Add("sum", "AddV2", {a2, b2});
  }
  Graph graph;
};

TEST(CostModel, KnowsSizesAndEstimates) {
  GraphMaker maker;
  Endpoint x = maker.Placeholder("x", {-1, 100});
  Endpoint w = maker.Placeholder("w", {100, 50});
  Endpoint y = maker.Add("y", "MatMul", {x, w});
  Endpoint flat = maker.Add("same", "Identity", {y});
  CostModel costs(maker.graph, nullptr);
  EXPECT_EQ(costs.Bytes(w), 100 * 50 * 4);
  EXPECT_EQ(costs.Bytes(x), CostModel::kAssumedDimension * 100 * 4);
  EXPECT_EQ(costs.Bytes(y), CostModel::kAssumedDimension * 50 * 4);
  const DeviceSpeed cpu = SpeedOf("CPU"), gpu = SpeedOf("GPU");
  const double flops = 2.0 * CostModel::kAssumedDimension * 50 * 100;
  EXPECT_DOUBLE_EQ(costs.Time(*maker.graph.node(y.node), Cpu(0)), cpu.start_ns + flops / cpu.flops_per_ns);
  EXPECT_LT(costs.Time(*maker.graph.node(y.node), "/job:a/replica:0/task:0/device:GPU:0") - gpu.start_ns,
            costs.Time(*maker.graph.node(y.node), Cpu(0)) - cpu.start_ns);
  EXPECT_EQ(costs.Time(*maker.graph.node(flat.node), Cpu(0)), 0);
  // A network is slower than memory, and nothing goes over neither.
  EXPECT_EQ(costs.Link(Cpu(0), Cpu(0)), LinkCost());
  EXPECT_LT(costs.Link(Cpu(0), Cpu(1)).Time(1000),
            costs.Link(Cpu(0), "/job:ps/replica:0/task:0/device:CPU:0").Time(1000));
}

TEST(CostModel, CountsTheProductsOfConvolutions) {
  GraphMaker maker;
  Endpoint image = maker.Placeholder("image", {2, 8, 8, 3});
  Endpoint filter = maker.Placeholder("filter", {3, 3, 3, 16});
  Endpoint y =
      maker.Add("y", "Conv2D", {image, filter},
                {{"T", DType::kFloat}, {"strides", AttrList{.i = {1, 1, 1, 1}}}, {"padding", std::string("SAME")}});
  CostModel costs(maker.graph, nullptr);
  const DeviceSpeed cpu = SpeedOf("CPU");
  EXPECT_DOUBLE_EQ(costs.Time(*maker.graph.node(y.node), Cpu(0)),
                   cpu.start_ns + 2.0 * (2 * 8 * 8 * 16) * (3 * 3 * 3) / cpu.flops_per_ns);
}

std::vector<Feed> BranchFeeds() {
  std::vector<float> x(5 * 64), w(64 * 64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 5) - 2;
  return {{"x:0", Tensor::FromSpan<float>(x, Shape({5, 64}))}, {"w:0", Tensor::FromSpan<float>(w, Shape({64, 64}))}};
}

struct BranchRun {
  Tensor sum;
  StepReport report;
};

BranchRun RunBranches(SessionOptions options) {
  GraphMaker maker;
  maker.TwoBranches();
  auto session = Session::Create(TwoCpus(), std::move(options)).value();
  EXPECT_EQ(session->Extend(maker.graph), OkStatus());
  StepOptions step;
  step.trace = TraceLevel::kFull;
  step.partition_graphs = true;
  std::vector<Tensor> out;
  BranchRun run;
  EXPECT_EQ(session->Run(step, BranchFeeds(), std::vector<std::string>{"sum:0"}, {}, &out, &run.report), OkStatus());
  if (!out.empty()) run.sum = out[0];
  return run;
}

std::set<std::string> DevicesOf(const StepReport& report, const std::set<std::string>& nodes) {
  std::set<std::string> out;
  for (const DeviceStats& device : report.devices) {
    for (const NodeStats& node : device.nodes) {
      if (nodes.contains(node.node)) out.insert(device.device);
    }
  }
  return out;
}

TEST(MeasuredCosts, AStepTeachesTheModel) {
  BranchRun run = RunBranches({});
  CostTable table;
  ASSERT_EQ(AddStepCosts(TwoCpus()->ops, run.report, BranchFeeds(), &table), OkStatus());
  EXPECT_TRUE(table.Time(Cpu(0), "MatMul", "float[5,64];float[64,64]->float[5,64]").has_value()) << table.ToText();
  EXPECT_EQ(*table.FindShape("x:0"), Shape({5, 64}));
  // The same step is then known, though its batch is not in the graph.
  GraphMaker maker;
  maker.TwoBranches();
  auto measured = std::make_shared<CostTable>(CostTable::FromText(table.ToText()).value());
  CostModel costs(maker.graph, measured);
  EXPECT_EQ(costs.Bytes({maker.graph.Find("x")->id, 0}), 5 * 64 * 4);
  // More steps move the mean, they do not add lines.
  const size_t lines = table.num_times();
  ASSERT_EQ(AddStepCosts(TwoCpus()->ops, RunBranches({}).report, BranchFeeds(), &table), OkStatus());
  EXPECT_EQ(table.num_times(), lines);
}

TEST(MeasuredCosts, NeedATracedStep) {
  CostTable table;
  EXPECT_EQ(AddStepCosts(TwoCpus()->ops, StepReport(), {}, &table).code(), absl::StatusCode::kFailedPrecondition);
}

// Products as slow as on a bad day: it pays to use both devices.
std::shared_ptr<const CostTable> SlowProducts() {
  auto table = std::make_shared<CostTable>();
  table->AddTime(Cpu(0), "MatMul", "float[5,64];float[64,64]->float[5,64]", 1e8);
  table->SetShape("_Arg_x_0:0", DType::kFloat, Shape({5, 64}));
  table->SetShape("_Arg_w_0:0", DType::kFloat, Shape({64, 64}));
  for (const char* name : {"a:0", "b:0", "a2:0", "b2:0"}) table->SetShape(name, DType::kFloat, Shape({5, 64}));
  return table;
}

TEST(SessionPlacer, UsesBothDevicesWithTheSameResult) {
  const std::set<std::string> branches = {"a", "a2", "b", "b2"};
  BranchRun plain = RunBranches({});
  EXPECT_EQ(DevicesOf(plain.report, branches).size(), 1);
  for (PlacerKind kind : {PlacerKind::kGreedy, PlacerKind::kHeft}) {
    SessionOptions options;
    options.placer = kind;
    options.costs = SlowProducts();
    BranchRun run = RunBranches(options);
    EXPECT_EQ(DevicesOf(run.report, branches).size(), 2);
    EXPECT_EQ(DevicesOf(run.report, {"a", "a2"}).size(), 1);
    ASSERT_EQ(run.sum.shape(), plain.sum.shape());
    for (int64_t i = 0; i < run.sum.num_elements(); ++i) {
      ASSERT_EQ(run.sum.data<float>()[i], plain.sum.data<float>()[i]);
    }
  }
}

TEST(SessionPlacer, IsNamedByAConfig) {
  ConfigProto config;
  EXPECT_EQ(SessionOptions::FromConfig(config, {})->placer, PlacerKind::kDefault);
  SessionOptions heft;
  heft.placer = PlacerKind::kHeft;
  EXPECT_EQ(SessionOptions::FromConfig(config, heft)->placer, PlacerKind::kHeft);
  auto* custom = config.mutable_graph_options()->mutable_rewrite_options()->add_custom_optimizers();
  custom->set_name("weir_placer");
  EXPECT_EQ(SessionOptions::FromConfig(config, {}).status().code(), absl::StatusCode::kInvalidArgument);
  (*custom->mutable_parameter_map())["placer"].set_s("greedy");
  EXPECT_EQ(SessionOptions::FromConfig(config, heft)->placer, PlacerKind::kGreedy);
  (*custom->mutable_parameter_map())["placer"].set_s("lucky");
  EXPECT_EQ(SessionOptions::FromConfig(config, {}).status().code(), absl::StatusCode::kInvalidArgument);
  config.clear_graph_options();
  config.mutable_graph_options()->set_enable_bfloat16_sendrecv(true);
  config.mutable_graph_options()->set_enable_recv_scheduling(true);
  EXPECT_TRUE(SessionOptions::FromConfig(config, {})->lossy_transfers);
  EXPECT_TRUE(SessionOptions::FromConfig(config, {})->schedule_recvs);
}

}  // namespace
}  // namespace weir
