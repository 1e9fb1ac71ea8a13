// GPUs of two tasks on one machine: what one sends, the other's GPU reads in the sender's memory. The second task is a
// process of its own: the driver opens no memory of the process that it belongs to.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/cuda/gpu_fixture.h"
#include "weir/base/free_ports.h"
#include "weir/distributed/server.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

constexpr char kChild[] = "WEIR_GPU_CLUSTER_TEST_PORTS";

struct Task {
  std::shared_ptr<Environment> environment;
  std::unique_ptr<Server> server;
};

// The task with this number of a cluster of two workers.
StatusOr<Task> StartTask(const std::string& addresses, int number) {
  ChooseDriver();
  ServerOptions options;
  WEIR_RETURN_IF_ERROR(options.cluster.AddJob("worker", addresses));
  options.job = "worker";
  options.task = number;
  options.port = 0;
  EnvironmentOptions environment;
  environment.task_name = TaskName("worker", number);
  environment.gpu.logical_devices = {{256 << 20}};
  Task task;
  WEIR_ASSIGN_OR_RETURN(task.environment, MakeEnvironment(environment));
  WEIR_ASSIGN_OR_RETURN(task.server, Server::Start(options, task.environment));
  return task;
}

// This test again in a process of its own.
pid_t StartChild(const std::string& addresses) {
  std::string variable = std::string(kChild) + "=" + addresses;
  std::vector<char*> variables = {variable.data()};
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with("GTEST_")) variables.push_back(*each);  // the child runs this test, whole
  }
  variables.push_back(nullptr);
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string filter = std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
  char program[] = "/proc/self/exe";
  char* arguments[] = {program, filter.data(), nullptr};
  pid_t child = -1;
  return posix_spawn(&child, program, nullptr, nullptr, arguments, variables.data()) == 0 ? child : -1;
}

// Ends a process whatever becomes of the test: who reads the test's output waits for it, too.
struct Killer {
  pid_t process;
  ~Killer() { Kill(); }
  void Kill() {
    if (process <= 0) return;
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    process = 0;
  }
};

TEST(GpuCluster, GpusOfTwoProcessesReadEachOthersMemory) {
  if (const char* addresses = std::getenv(kChild)) {  // the second task, until it is killed
    StatusOr<Task> task = StartTask(addresses, 1);
    ASSERT_TRUE(task.ok()) << task.status();
    task->server->Join();
    return;
  }
  const std::vector<int> ports = FreePorts(2);
  const std::string addresses = Cat("127.0.0.1:", ports[0], ",127.0.0.1:", ports[1]);
  const pid_t child = StartChild(addresses);
  ASSERT_GT(child, 0);
  Killer killer{child};
  StatusOr<Task> task = StartTask(addresses, 0);
  ASSERT_TRUE(task.ok()) << task.status();
  Scope root = Scope::NewRoot(task->environment);
  const Scope here = root.WithDevice("/job:worker/task:0/device:GPU:0");
  const Scope there = root.WithDevice("/job:worker/task:1/device:GPU:0");
  Output x = ops::Placeholder(root.WithName("x"), DType::kFloat, {.shape = {-1}});
  Output large = ops::BroadcastTo(here, ops::Square(here, x), {1024, 256});
  Output back = ops::Neg(there, ops::AddV2(there, large, large));
  Output sum = ops::Sum(here.WithName("sum"), back, {0, 1});
  ASSERT_TRUE(root.ok()) << root.status();
  auto session = task->server->CreateSession({}, absl::Minutes(1));
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->Extend(root.graph()).ok());
  const std::vector<Feed> feeds = {{"x:0", Tensor::Vector<float>({2})}};
  const std::vector<std::string> fetches = {"sum:0"};
  for (int step = 0; step < 3; ++step) {
    std::vector<Tensor> out;
    Status status = (*session)->Run(feeds, fetches, {}, &out);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(out[0].scalar<float>(), -8.0f * 1024 * 256);
  }
  EXPECT_EQ(task->server->num_shared_tensors(), 3);
  killer.Kill();
  std::vector<Tensor> out;
  StepOptions options;
  options.timeout = absl::Seconds(60);
  Status status = (*session)->Run(options, feeds, fetches, {}, &out, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

}  // namespace
}  // namespace weir::gpu_testing
