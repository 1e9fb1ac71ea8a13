// The example's training on two parameter servers and two workers, which are processes, in its three modes.
#include <gtest/gtest.h>

#include <barrier>
#include <filesystem>
#include <thread>

#include "examples/cluster_training/replica.h"
#include "tests/process_cluster.h"

namespace weir {
namespace {

constexpr int64_t kSteps = 12;

ReplicaOptions Alone(const std::string& model) { return {.model = model, .steps = kSteps}; }

ReplicaOptions OnCluster(ProcessCluster& cluster, const std::string& model, const std::string& mode, int task) {
  ReplicaOptions options = Alone(model);
  options.mode = mode;
  options.target = cluster.target("worker", task);
  options.task = task;
  options.workers = options.ps = 2;
  return options;
}

// Both workers; the chief's result. With `in_step` neither begins a step before the other has ended the last: of two
// tokens a worker that is much faster might take both.
ReplicaResult TrainTogether(ReplicaOptions chief, ReplicaOptions other, bool in_step = false) {
  std::barrier<> ended(2);
  if (in_step) chief.on_step = other.on_step = [&](int64_t) { ended.arrive_and_wait(); };
  std::thread beside([&] {
    StatusOr<ReplicaResult> result = TrainReplica(other);
    ended.arrive_and_drop();
    EXPECT_TRUE(result.ok()) << result.status();
  });
  StatusOr<ReplicaResult> result = TrainReplica(chief);
  ended.arrive_and_drop();
  beside.join();
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : ReplicaResult();
}

class ClusterTraining : public ::testing::TestWithParam<std::string> {};

TEST_P(ClusterTraining, TogetherAsOneProcessDoes) {
  const ReplicaResult alone = TrainReplica(Alone(GetParam())).value();
  EXPECT_LT(alone.loss, alone.loss_before);
  ProcessCluster cluster;
  const ReplicaResult result =
      TrainTogether(OnCluster(cluster, GetParam(), "sync", 0), OnCluster(cluster, GetParam(), "sync", 1), true);
  EXPECT_EQ(result.steps, kSteps);
  EXPECT_EQ(result.stale, 0);
  EXPECT_NEAR(result.loss_before, alone.loss_before, 1e-4);
  EXPECT_NEAR(result.loss, alone.loss, 1e-3);
}

TEST_P(ClusterTraining, EveryWorkerForItselfOrWithABackup) {
  for (const char* mode : {"async", "backup"}) {
    ProcessCluster cluster;
    const ReplicaResult result =
        TrainTogether(OnCluster(cluster, GetParam(), mode, 0), OnCluster(cluster, GetParam(), mode, 1));
    EXPECT_GE(result.steps, kSteps) << mode;
    EXPECT_LE(result.steps, kSteps + 1) << mode;
    EXPECT_LT(result.loss, result.loss_before) << mode;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ClusterTraining, ::testing::Values("cnn", "lstm"),
                         [](const auto& info) { return info.param; });

// A parameter server dies in the middle and comes back empty: the one with the step and the tokens, or another.
class ALostParameterServer : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(ALostParameterServer, IsRestoredFromTheLastCheckpoint) {
  const auto& [mode, index] = GetParam();
  ProcessCluster cluster;
  ReplicaOptions chief = OnCluster(cluster, "cnn", mode, 0), other = OnCluster(cluster, "cnn", mode, 1);
  chief.folder = other.folder = Cat(testing::TempDir(), "/lost_ps_", mode, index);
  std::filesystem::remove_all(chief.folder);
  bool lost = false;
  chief.on_step = [&, index = index](int64_t step) {
    if (step < 7 || std::exchange(lost, true)) return;
    cluster.Kill("ps", index);
    cluster.Start("ps", index);
  };
  const ReplicaResult result = TrainTogether(chief, other);
  EXPECT_TRUE(lost);
  EXPECT_GE(result.steps, kSteps);
  EXPECT_LT(result.loss, result.loss_before);
}

INSTANTIATE_TEST_SUITE_P(Modes, ALostParameterServer,
                         ::testing::Combine(::testing::Values("async", "sync", "backup"), ::testing::Values(0, 1)),
                         [](const auto& info) { return Cat(std::get<0>(info.param), std::get<1>(info.param)); });

}  // namespace
}  // namespace weir
