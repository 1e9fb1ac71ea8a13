// Collective operations over the devices of a process, and over the tasks of a cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/cluster_fixture.h"
#include "tests/in_process_cluster.h"
#include "tests/master_client.h"
#include "weir/client/client_session.h"
#include "weir/client/differentiate.h"
#include "weir/client/ops/array_ops.h"
#include "weir/client/ops/collective_ops.h"
#include "weir/client/scope.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Worker(int task) { return Cat("/job:worker/task:", task); }

// A graph that reduces the placeholder x of this worker with those of the others.
GraphDef ReduceGraph(int task, int members, const std::string& merge = "Add", float timeout = 0) {
  GraphText graph;
  graph.Placeholder("x", DT_FLOAT, Worker(task));
  graph.Const("size", Tensor::Scalar<int32_t>(members), Worker(task));
  graph.Const("group", Tensor::Scalar<int32_t>(1), Worker(task));
  graph.Const("instance", Tensor::Scalar<int32_t>(2), Worker(task));
  graph.Add("sum", "CollectiveReduceV2", {"x", "size", "group", "instance"}, Worker(task))
      .Type("T", DT_FLOAT)
      .Text("merge_op", merge)
      .Text("final_op", "Id")
      .Int("Nordering_token", 0);
  GraphDef def = graph.def();
  for (NodeDef& node : *def.mutable_node()) {
    if (node.name() == "sum" && timeout > 0) (*node.mutable_attr())["timeout_seconds"].set_f(timeout);
  }
  return def;
}

// Two workers, each with a client and a graph of its own.
class Pair {
 public:
  Pair() {
    cluster_.StartAll();
    for (int task = 0; task < 2; ++task) Connect(task, ReduceGraph(task, 2));
  }
  void Connect(int task, const GraphDef& graph) {
    clients_[task] = std::make_unique<MasterClient>(cluster_.target("worker", task));
    sessions_[task] = clients_[task]->CreateSession(graph).value();
  }
  StatusOr<Tensor> Run(int task, std::vector<float> values) {
    const Tensor value = Tensor::Vector<float>(std::span<const float>(values));
    return clients_[task]->Run(sessions_[task], {{"x:0", value}}, "sum:0");
  }
  std::vector<StatusOr<Tensor>> RunBoth(std::vector<float> first, std::vector<float> second) {
    std::vector<StatusOr<Tensor>> results(2, Unknown("not run"));
    std::thread other([&] { results[1] = Run(1, second); });
    results[0] = Run(0, first);
    other.join();
    return results;
  }
  Cluster& cluster() { return cluster_; }

 private:
  Cluster cluster_;
  std::unique_ptr<MasterClient> clients_[2];
  std::string sessions_[2];
};

TEST(Collective, WorkersWithSessionsOfTheirOwnAddTheirValues) {
  Pair pair;
  for (int step = 0; step < 10; ++step) {
    for (const auto& result : pair.RunBoth({1, 2}, {10, static_cast<float>(step)})) {
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_THAT(result->span<float>(), ElementsAre(11, 2 + step));
    }
  }
}

TEST(Collective, ShapeMayChangeBetweenSteps) {
  Pair pair;
  EXPECT_THAT(pair.RunBoth({1}, {2})[0]->span<float>(), ElementsAre(3));
  EXPECT_THAT(pair.RunBoth({1, 1, 1}, {2, 2, 2})[1]->span<float>(), ElementsAre(3, 3, 3));
}

TEST(Collective, DisagreementReachesBothWorkersAndTheNextStepWorks) {
  Pair pair;
  for (const auto& result : pair.RunBoth({1, 2}, {1})) {
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(result.status()), HasSubstr("disagree about shapes"));
    EXPECT_THAT(Message(result.status()), HasSubstr("/job:worker/replica:0/task:1/device:CPU:0"));
  }
  EXPECT_THAT(pair.RunBoth({1}, {2})[0]->span<float>(), ElementsAre(3));
}

TEST(Collective, AStepThatOnlyOneMasterRunsEndsAndSpoilsNothing) {
  Pair pair;
  ASSERT_TRUE(pair.RunBoth({1}, {2})[0].ok());
  pair.Connect(1, ReduceGraph(1, 2, "Add", 0.2f));
  const Status alone = pair.Run(1, {5}).status();
  EXPECT_EQ(alone.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(alone), HasSubstr("is not run by /job:worker/replica:0/task:0/device:CPU:0"));
  pair.Connect(1, ReduceGraph(1, 2));
  for (const auto& result : pair.RunBoth({1}, {2})) {
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT(result->span<float>(), ElementsAre(3));
  }
}

TEST(Collective, WorkerThatIsGoneEndsTheStepAndAfterItsRestartTheGroupFormsAnew) {
  Pair pair;
  ASSERT_TRUE(pair.RunBoth({1}, {2})[0].ok());
  pair.cluster().Stop("worker", 1);
  const Status gone = pair.Run(0, {1}).status();
  EXPECT_EQ(gone.code(), absl::StatusCode::kUnavailable) << gone;
  EXPECT_THAT(Message(gone), HasSubstr("/job:worker/replica:0/task:1"));
  pair.cluster().Start("worker", 1);
  for (int task = 0; task < 2; ++task) pair.Connect(task, ReduceGraph(task, 2));
  // The leader may still hold the old group until the restarted member comes.
  StatusOr<Tensor> result = Unknown("not run");
  for (int attempt = 0; attempt < 3 && !result.ok(); ++attempt) result = pair.RunBoth({1}, {2})[0];
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->span<float>(), ElementsAre(3));
}

// Two devices of one process.
class TwoDevices {
 public:
  TwoDevices() : root_(Scope::NewRoot(MakeEnvironment({.num_cpu_devices = 2}).value())) {}
  Scope At(int device) const { return root_.WithDevice(Cat("/device:CPU:", device)); }
  Scope& root() { return root_; }

 private:
  Scope root_;
};

TEST(Collective, GradientOfAMeanIsTheMeanOfTheGradients) {
  TwoDevices devices;
  std::vector<Output> xs, ys, weights;
  for (int i = 0; i < 2; ++i) {
    const Scope scope = devices.At(i);
    const float value = static_cast<float>(i + 1);
    xs.push_back(ops::Identity(scope, Tensor::Vector<float>({value, 2 * value})));
    ops::CollectiveReduceV2Attrs attrs;
    attrs.timeout_seconds = 20;
    ys.push_back(ops::CollectiveReduceV2(scope, xs.back(), Tensor::Scalar<int32_t>(2), Tensor::Scalar<int32_t>(31),
                                         Tensor::Scalar<int32_t>(5), InputList{}, "Add", "Div", attrs));
    weights.push_back(ops::Identity(scope, Tensor::Vector<float>({value, 10 * value})));
  }
  std::vector<Output> fetches = ys;
  for (const Output& grad : ops::Gradients(devices.root(), ys, xs, weights)) fetches.push_back(grad);
  ASSERT_TRUE(devices.root().ok()) << devices.root().status();
  auto session = ClientSession::Create(devices.root()).value();
  auto results = session->Run(fetches);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT((*results)[0].span<float>(), ElementsAre(1.5, 3));
  EXPECT_THAT((*results)[1].span<float>(), ElementsAre(1.5, 3));
  EXPECT_THAT((*results)[2].span<float>(), ElementsAre(1.5, 15));
  EXPECT_THAT((*results)[3].span<float>(), ElementsAre(1.5, 15));
}

}  // namespace
}  // namespace weir
