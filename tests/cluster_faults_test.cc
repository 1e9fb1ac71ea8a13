// Training that survives: in every run one task - a worker, a parameter server or the master - is killed at a random
// moment and started again, and the training goes on from its last checkpoint to the right number of steps.
//
//   WEIR_FAULT_RUNS=50 cluster_faults_test      (`make faults`) instead of the few runs of the daily tests
//   WEIR_FAULT_SEED=7                           other moments
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "tests/process_cluster.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

struct Victim {
  const char* job;
  int index;
  bool is_master;
};
constexpr Victim kVictims[] = {{"worker", 1, false}, {"ps", 0, false}, {"ps", 1, false}, {"worker", 0, true}};

int FromEnvironment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  int value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

// v on ps 0 and w on ps 1 grow by one a step; the gradient passes through worker 1. Worker 0 saves and restores both.
GraphDef CheckpointedGraph() {
  GraphText graph;
  graph.Placeholder("x");
  graph.Identity("grad", "x", kWorker1);
  graph.Variable("v", "grad", kPs0);
  graph.Variable("w", "grad", kPs1);
  graph.Placeholder("prefix", DT_STRING, kWorker0);
  graph.Const("names", Tensor::Vector<std::string>({"v", "w"}), kWorker0);
  graph.Const("slices", Tensor::Vector<std::string>({"", ""}), kWorker0);
  graph.Add("save", "SaveV2", {"prefix", "names", "slices", "v/read", "w/read"}, kWorker0)
      .Types("dtypes", {DT_FLOAT, DT_FLOAT});
  graph.Add("restore", "RestoreV2", {"prefix", "names", "slices"}, kWorker0).Types("dtypes", {DT_FLOAT, DT_FLOAT});
  graph.Add("v/restore", "AssignVariableOp", {"v", "restore:0"}, kPs0).Type("dtype", DT_FLOAT);
  graph.Add("w/restore", "AssignVariableOp", {"w", "restore:1"}, kPs1).Type("dtype", DT_FLOAT);
  return graph.def();
}

// One training, as MonitoredTrainingSession does it: on an error a new session, from the last checkpoint.
class Training {
 public:
  Training(ProcessCluster& cluster, std::string folder) : cluster_(cluster), folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
  }

  int step() const { return step_; }
  // A session, and in it the state of the last checkpoint or the first one.
  Status Begin() {
    client_ = std::make_unique<MasterClient>(cluster_.target());
    WEIR_ASSIGN_OR_RETURN(session_, client_->CreateSession(CheckpointedGraph()));
    step_ = saved_step_;
    if (saved_step_ == 0) return client_->Run(session_, {}, "", {"v/init", "w/init"}).status();
    return client_->Run(session_, {Prefix(saved_step_)}, "", {"v/restore", "w/restore"}).status();
  }
  Status Step() {
    WEIR_RETURN_IF_ERROR(client_->Run(session_, {{"x:0", Tensor::Scalar(1.0f)}}, "", {"v/add", "w/add"}).status());
    ++step_;
    return OkStatus();
  }
  Status Save() {
    WEIR_RETURN_IF_ERROR(client_->Run(session_, {Prefix(step_)}, "", {"save"}).status());
    saved_step_ = step_;
    return OkStatus();
  }
  StatusOr<float> Value(const std::string& variable) {
    WEIR_ASSIGN_OR_RETURN(Tensor value, client_->Run(session_, {}, variable + "/read:0"));
    return value.scalar<float>();
  }

 private:
  std::pair<std::string, Tensor> Prefix(int step) const {
    return {"prefix:0", Tensor::Scalar<std::string>(Cat(folder_, "/at_", step))};
  }
  ProcessCluster& cluster_;
  const std::string folder_;
  std::unique_ptr<MasterClient> client_;
  std::string session_;
  int step_ = 0, saved_step_ = 0;
};

// The client of a dead master knows only that its connection is gone; who lost another task is told which.
void ExpectNamesTheLost(const Status& status, const Victim& victim) {
  EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsAborted(status)) << status;
  if (victim.is_master) return;
  EXPECT_THAT(Message(status), HasSubstr(TaskName(victim.job, victim.index)));
}

void TrainThroughADeath(ProcessCluster& cluster, const Victim& victim, uint32_t seed) {
  constexpr int kSteps = 20, kSaveEvery = 4, kMostFailures = 20;
  std::mt19937 random(seed);
  const int death_step = static_cast<int>(random() % kSteps);
  const auto moment = absl::Microseconds(random() % 3000);
  Training training(cluster, Cat(::testing::TempDir(), "/", victim.job, victim.index, "_", seed));
  ASSERT_EQ(training.Begin(), OkStatus());
  bool died = false;
  int failures = 0;
  while (training.step() < kSteps && failures < kMostFailures) {
    std::thread killer;
    const bool dies_now = !died && training.step() == death_step;
    if (dies_now) {
      killer = std::thread([&, at = absl::Now() + moment] {
        while (absl::Now() < at) std::this_thread::yield();  // somewhere within the step, or just after it
        cluster.Kill(victim.job, victim.index);
      });
    }
    Status status = training.Step();
    if (status.ok() && training.step() % kSaveEvery == 0) status = training.Save();
    if (dies_now) {
      killer.join();
      died = true;
      cluster.Start(victim.job, victim.index);
    }
    while (!status.ok() && ++failures < kMostFailures) {
      ExpectNamesTheLost(status, victim);
      status = training.Begin();
    }
  }
  ASSERT_EQ(training.step(), kSteps);
  EXPECT_TRUE(died);
  // The last step may have been done before the death, and its result lost with the task.
  Status status = training.Value("v").status();
  if (status.ok()) status = training.Value("w").status();
  for (int i = 0; i < kMostFailures && !status.ok(); ++i) {
    ExpectNamesTheLost(status, victim);
    status = training.Begin();
    while (status.ok() && training.step() < kSteps) status = training.Step();
  }
  EXPECT_EQ(training.Value("v").value(), kSteps);
  EXPECT_EQ(training.Value("w").value(), kSteps);
}

TEST(ClusterFaults, TrainingSurvivesADeathAtAnyMoment) {
  const int runs = FromEnvironment("WEIR_FAULT_RUNS", 4);
  const int seed = FromEnvironment("WEIR_FAULT_SEED", 1);
  ProcessCluster cluster;
  for (int run = 0; run < runs; ++run) {
    const Victim& victim = kVictims[run % std::size(kVictims)];
    SCOPED_TRACE(Cat("run ", run, ", seed ", seed + run, ", kills ", TaskName(victim.job, victim.index)));
    TrainThroughADeath(cluster, victim, static_cast<uint32_t>(seed + run));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace weir
