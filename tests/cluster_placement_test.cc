// Placement and transfers of a cluster of processes, as servers' flags and clients' configs choose them.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/process_cluster.h"

namespace weir {
namespace {

constexpr char kWorkerCpu[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kPsCpu[] = "/job:ps/replica:0/task:0/device:CPU:0";

// A file that says: Tanh takes a second on the worker and a microsecond on the parameter server.
std::string FarTanhCosts() {
  const std::string path = Cat(::testing::TempDir(), "/costs.txt");
  std::ofstream(path) << "weir costs 1\n"
                      << "time " << kWorkerCpu << " Tanh float[...]->float[...] 1 1e9\n"
                      << "time " << kPsCpu << " Tanh float[...]->float[...] 1 1000\n";
  return path;
}

ConfigProto WithPlacer(const std::string& name) {
  ConfigProto config;
  auto* custom = config.mutable_graph_options()->mutable_rewrite_options()->add_custom_optimizers();
  custom->set_name("weir_placer");
  (*custom->mutable_parameter_map())["placer"].set_s(name);
  return config;
}

// Where a node of a step ran; empty if it did not.
std::string DeviceOf(MasterClient& client, const std::string& session, const std::string& node) {
  RunStepRequest request;
  request.set_session_handle(session);
  NamedTensorProto* feed = request.add_feed();
  feed->set_name("x:0");
  EXPECT_EQ(ToProto(Tensor::Scalar(1.0f), feed->mutable_tensor()), OkStatus());
  request.add_fetch(node + ":0");
  request.mutable_options()->set_trace_level(RunOptions::FULL_TRACE);
  RunStepResponse response;
  EXPECT_EQ(client.Call("RunStep", request, &response), OkStatus());
  for (const auto& device : response.metadata().step_stats().dev_stats()) {
    for (const auto& stats : device.node_stats()) {
      if (stats.node_name() == node) return device.device();
    }
  }
  return "";
}

TEST(ClusterPlacement, ServersAndClientsChooseThePlacer) {
  ClusterLayout layout = LocalLayout(1, 1);
  layout.options[TaskName("worker", 0)] = {"--placer", "heft", "--costs", FarTanhCosts()};
  ProcessCluster cluster(layout);
  MasterClient client(cluster.target());
  GraphText graph;
  graph.Placeholder("x");
  graph.Add("y", "Tanh", {"x"}).Type("T", DT_FLOAT);
  struct Case {
    ConfigProto config;
    const char* device;
  };
  for (const Case& c :
       std::vector<Case>{{{}, kPsCpu}, {WithPlacer("greedy"), kPsCpu}, {WithPlacer("default"), kWorkerCpu}}) {
    StatusOr<std::string> session = client.CreateSession(graph.def(), c.config);
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_EQ(DeviceOf(client, *session, "y"), c.device) << c.config.ShortDebugString();
  }
  EXPECT_TRUE(absl::IsInvalidArgument(client.CreateSession(graph.def(), WithPlacer("best")).status()));
}

TEST(ClusterPlacement, FloatsMayLoseBitsBetweenTasksOnly) {
  ProcessCluster cluster(LocalLayout(1, 1));
  MasterClient client(cluster.target());
  GraphText graph;
  graph.Placeholder("x");
  graph.Identity("near", "x", kWorker0);
  graph.Identity("far", "near", kPs0);
  ConfigProto lossy;
  lossy.mutable_graph_options()->set_enable_bfloat16_sendrecv(true);
  struct Case {
    ConfigProto config;
    const char* fetch;
    float expected;
  };
  for (const Case& c :
       std::vector<Case>{{{}, "far:0", 1.01f}, {lossy, "far:0", 1.0078125f}, {lossy, "near:0", 1.01f}}) {
    const std::string session = client.CreateSession(graph.def(), c.config).value();
    EXPECT_EQ(client.Run(session, {{"x:0", Tensor::Scalar(1.01f)}}, c.fetch)->scalar<float>(), c.expected) << c.fetch;
  }
}

TEST(ClusterPlacement, ScheduledTransfersGiveTheSameResults) {
  ProcessCluster cluster(LocalLayout(1, 1));
  MasterClient client(cluster.target());
  GraphText graph;  // early is made on ps 0 at once, and used after a chain on worker 0
  graph.Const("shape", Tensor::Vector<int32_t>({1 << 16}), kPs0);
  graph.Const("one", Tensor::Scalar(1.0f), kPs0);
  graph.Add("early", "Fill", {"shape", "one"}, kPs0).Type("T", DT_FLOAT).Type("index_type", DT_INT32);
  graph.Placeholder("x");
  std::string last = "x";
  for (int i = 0; i < 8; ++i) {
    graph.Add(Cat("c", i), "AddV2", {last, "x"}, kWorker0).Type("T", DT_FLOAT);
    last = Cat("c", i);
  }
  graph.Add("sum", "AddV2", {last, "early"}, kWorker0).Type("T", DT_FLOAT);
  graph.Const("axis", Tensor::Scalar<int32_t>(0), kWorker0);
  graph.Add("total", "Sum", {"sum", "axis"}, kWorker0).Type("T", DT_FLOAT).Type("Tidx", DT_INT32);
  for (bool scheduled : {false, true}) {
    ConfigProto config;
    config.mutable_graph_options()->set_enable_recv_scheduling(scheduled);
    config.mutable_graph_options()->mutable_rewrite_options()->set_disable_meta_optimizer(true);
    const std::string session = client.CreateSession(graph.def(), config).value();
    for (int i = 0; i < 5; ++i) {
      StatusOr<Tensor> total = client.Run(session, {{"x:0", Tensor::Scalar(2.0f)}}, "total:0");
      ASSERT_TRUE(total.ok()) << total.status();
      EXPECT_EQ(total->scalar<float>(), 19.0f * (1 << 16));
    }
  }
}

}  // namespace
}  // namespace weir
