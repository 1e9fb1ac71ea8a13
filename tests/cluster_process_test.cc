// Two parameter servers and two workers as processes of `weir server`, some of which die, stop or come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "absl/time/clock.h"
#include "tests/process_cluster.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST(ClusterProcess, WorkersShareTheVariablesOfTheParameterServers) {
  ProcessCluster cluster;
  MasterClient chief(cluster.target("worker", 0)), other(cluster.target("worker", 1));
  ConfigProto config;
  const std::string a = chief.CreateSession(TrainingGraph()).value();
  const std::string b = other.CreateSession(TrainingGraph()).value();
  ASSERT_TRUE(chief.Run(a, {}, "", {"v/init", "w/init"}).ok());
  std::thread beside([&] {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(Train(other, b).ok());
  });
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(Train(chief, a).ok());
  beside.join();
  EXPECT_EQ(chief.Run(a, {}, "v/read:0")->scalar<float>(), 100);
  EXPECT_EQ(other.Run(b, {}, "w/read:0")->scalar<float>(), 100);
}

TEST(ClusterProcess, AKilledParameterServerEndsTheStepThatWaitsForIt) {
  ProcessCluster cluster;
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(TrainingGraph()).value();
  ASSERT_TRUE(client.Run(session, {}, "", {"v/init"}).ok());
  Status lost;
  std::thread waiting([&] { lost = MasterClient(cluster.target()).Run(session, {}, "taken:0").status(); });
  ASSERT_TRUE(client.Run(session, {}, "v_here:0").ok());
  cluster.Kill("ps", 0);
  waiting.join();
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
  EXPECT_THAT(Message(lost), HasSubstr(kPs0Name));
}

TEST(ClusterProcess, TrainingGoesOnAfterAParameterServerCameBack) {
  ProcessCluster cluster;
  MasterClient client(cluster.target());
  std::string session = client.CreateSession(TrainingGraph()).value();
  ASSERT_TRUE(client.Run(session, {}, "", {"v/init", "w/init"}).ok());
  ASSERT_TRUE(Train(client, session).ok());
  cluster.Kill("ps", 0);
  Status lost = Train(client, session).status();
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
  cluster.Start("ps", 0);
  // The old session is of no use any more, and says so.
  Status old = Train(client, session).status();
  for (int i = 0; i < 1000 && absl::IsUnavailable(old); ++i) old = Train(client, session).status();
  EXPECT_TRUE(absl::IsAborted(old)) << old;
  EXPECT_TRUE(client.Close(session).ok());
  session = client.CreateSession(TrainingGraph()).value();
  Status empty = client.Run(session, {}, "v/read:0").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(empty)) << empty;
  ASSERT_TRUE(client.Run(session, {}, "", {"v/init"}).ok());
  ASSERT_TRUE(Train(client, session).ok());
  EXPECT_EQ(client.Run(session, {}, "v/read:0")->scalar<float>(), 1);
  // Of the step that failed, what was on the other server may have been done or not.
  EXPECT_GE(client.Run(session, {}, "w/read:0")->scalar<float>(), 2);
}

TEST(ClusterProcess, AStoppedParameterServerDoesNotHoldTheStepBeyondItsDeadline) {
  ProcessCluster cluster;
  MasterClient client(cluster.target());
  ConfigProto config;
  config.set_operation_timeout_in_ms(3000);
  const std::string session = client.CreateSession(TrainingGraph(), config).value();
  ASSERT_TRUE(client.Run(session, {}, "", {"v/init", "w/init"}).ok());
  ASSERT_TRUE(Train(client, session).ok());
  cluster.process("ps", 0).Stop();
  Status late = Train(client, session).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_THAT(Message(late), HasSubstr(kPs0Name));
  EXPECT_EQ(client.Run(session, {}, "w/read:0")->scalar<float>() >= 1, true);
  cluster.process("ps", 0).Signal(SIGCONT);
  StatusOr<Tensor> again = Train(client, session);
  for (int i = 0; i < 100 && !again.ok(); ++i) again = Train(client, session);
  EXPECT_TRUE(again.ok()) << again.status();
}

TEST(ClusterProcess, AKilledMasterLeavesNothingRunningElsewhere) {
  ProcessCluster cluster;
  MasterClient other(cluster.target("worker", 1));
  const std::string survivor = other.CreateSession(TrainingGraph()).value();
  {
    MasterClient client(cluster.target());
    const std::string session = client.CreateSession(TrainingGraph()).value();
    std::thread waiting([&] {
      Status status = MasterClient(cluster.target()).Run(session, {}, "taken:0").status();
      EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    });
    ASSERT_TRUE(client.Run(session, {{"x:0", Tensor::Scalar(1.0f)}}, "grad:0").ok());
    cluster.Kill("worker", 0);
    waiting.join();
  }
  cluster.Start("worker", 0);
  // The dequeue of the dead master's step is gone from ps 0: the element is for who asks now.
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(TrainingGraph()).value();
  constexpr int kLate = 8;  // the step may have been told of its end after it took one
  for (int i = 0; i < kLate; ++i) {
    ASSERT_TRUE(client.Run(session, {{"x:0", Tensor::Scalar(7.0f)}}, "", {"q/put"}).ok());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
    StatusOr<Tensor> taken = client.Run(session, {}, "taken:0", {}, &context);
    if (!taken.ok()) continue;
    EXPECT_EQ(taken->scalar<float>(), 7);
    return;
  }
  ADD_FAILURE() << "a step of the dead master still waits for the queue";
}

TEST(ClusterProcess, TenThousandAbortedStepsLeaveNothingBehind) {
  ProcessCluster cluster;
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(TrainingGraph()).value();
  // The variables were never given a value: every step fails on one server and is aborted on the other.
  auto abort_some = [&](int steps) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        MasterClient own(cluster.target());
        for (int j = 0; j < steps / 4; ++j) {
          Status status = Train(own, session).status();
          EXPECT_TRUE(absl::IsNotFound(status)) << status;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  abort_some(kManyTimes / 10);
  std::map<std::string, int64_t> before;
  for (const char* job : {"ps", "worker"}) before[job] = cluster.process(job, 0).Figure("VmRSS");
  abort_some(kManyTimes);
  for (const char* job : {"ps", "worker"}) {
    EXPECT_LE(cluster.process(job, 0).Figure("VmRSS"), before[job] + kSlackKilobytes) << job;
  }
}

TEST(ClusterProcess, TheClusterComesFromAFileOrTheEnvironment) {
  const int port = FreePorts(1)[0];
  const std::string file = Cat(::testing::TempDir(), "/", getpid(), "_cluster.json");
  std::ofstream(file) << "{\"worker\": [\"127.0.0.1:" << port << "\"]}";
  Process from_file({WEIR_PROGRAM, "server", "--job", "worker", "--task", "0", "--cluster", file});
  EXPECT_EQ(from_file.Line(), Cat("grpc://127.0.0.1:", port));
  from_file.Signal(SIGKILL);
  from_file.Wait();
  setenv("TF_CONFIG",
         Cat("{\"cluster\": {\"chief\": [\"127.0.0.1:", port, "\"]}, \"task\": {\"type\": \"chief\", \"index\": 0}}")
             .c_str(),
         1);
  Process from_environment({WEIR_PROGRAM, "server"});
  unsetenv("TF_CONFIG");
  const std::string target = from_environment.Line();
  EXPECT_EQ(target, Cat("grpc://127.0.0.1:", port));
  ListDevicesResponse response;
  ASSERT_TRUE(MasterClient(target).Call("ListDevices", ListDevicesRequest(), &response).ok());
  EXPECT_EQ(response.local_device(0).name(), "/job:chief/replica:0/task:0/device:CPU:0");
  Process wrong({WEIR_PROGRAM, "server", "--job", "ps", "--task", "3", "--cluster", file});
  EXPECT_EQ(wrong.Line(), "");
  EXPECT_NE(wrong.Wait(), 0);
}

}  // namespace
}  // namespace weir
