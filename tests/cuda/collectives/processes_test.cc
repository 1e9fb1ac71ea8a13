// Collective operations between GPUs of two tasks, each a process with a card of its own and a master of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <thread>

#include "tests/cuda/collectives/cards.h"
#include "weir/base/free_ports.h"
#include "weir/distributed/server.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

using ::testing::HasSubstr;

constexpr char kChild[] = "WEIR_CUDA_COLLECTIVES_TEST_PORTS";

// A task, and a session of its own master that adds its GPU's value to those of the other tasks' GPUs.
class Task {
 public:
  static StatusOr<std::unique_ptr<Task>> Start(const std::string& addresses, int number) {
    ChooseCards();
    auto task = std::make_unique<Task>();
    ServerOptions options;
    WEIR_RETURN_IF_ERROR(options.cluster.AddJob("worker", addresses));
    options.job = "worker";
    options.task = number;
    options.port = 0;
    EnvironmentOptions environment;
    environment.task_name = TaskName("worker", number);
    environment.gpu.logical_devices = {{64 << 20}};
    WEIR_ASSIGN_OR_RETURN(task->environment_, MakeEnvironment(environment));
    WEIR_ASSIGN_OR_RETURN(task->server_, Server::Start(options, task->environment_));
    const Scope root = Scope::NewRoot(task->environment_);
    const Scope scope = root.WithDevice(Cat(TaskName("worker", number), "/device:GPU:0"));
    Output x = ops::Placeholder(root.WithName("x"), DType::kFloat, {.shape = {-1}});
    ops::CollectiveReduceV2(scope.WithName("sum"), x, 2, 1, 1, {}, "Add", "Id", {.timeout_seconds = 100});
    WEIR_RETURN_IF_ERROR(root.status());
    WEIR_ASSIGN_OR_RETURN(task->session_, task->server_->CreateSession({}, absl::Minutes(1)));
    WEIR_RETURN_IF_ERROR(task->session_->Extend(root.graph()));
    return task;
  }
  StatusOr<Tensor> Step(float value) {
    std::vector<Tensor> out;
    const std::vector<Feed> feeds = {{"x:0", Tensor::Vector<float>({value, 1})}};
    const std::vector<std::string> fetches = {"sum:0"};
    WEIR_RETURN_IF_ERROR(session_->Run(feeds, fetches, {}, &out));
    return out[0];
  }

 private:
  std::shared_ptr<Environment> environment_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<Session> session_;
};

// This test again in a process of its own, which sees the second card only.
pid_t StartChild(const std::string& addresses) {
  std::string ports = Cat(kChild, "=", addresses), cards = "CUDA_VISIBLE_DEVICES=1";
  std::vector<char*> variables = {ports.data(), cards.data()};
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable(*each);
    if (!variable.starts_with("GTEST_") && !variable.starts_with("CUDA_VISIBLE_DEVICES=")) variables.push_back(*each);
  }
  variables.push_back(nullptr);
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string filter = Cat("--gtest_filter=", test->test_suite_name(), ".", test->name());
  char program[] = "/proc/self/exe";
  char* arguments[] = {program, filter.data(), nullptr};
  pid_t child = -1;
  return posix_spawn(&child, program, nullptr, nullptr, arguments, variables.data()) == 0 ? child : -1;
}

// Ends a process whatever becomes of the test: whoever reads the test's output waits for it, too.
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

// The second task: runs steps until one fails.
void RunChild(const char* addresses) {
  auto task = Task::Start(addresses, 1);
  ASSERT_TRUE(task.ok()) << task.status();
  while ((*task)->Step(10).ok()) {
  }
}

TEST(NcclProcesses, GpusOfTwoProcessesReduceAndTheDeathOfOneEndsTheOthersStep) {
  if (const char* addresses = std::getenv(kChild)) return RunChild(addresses);
  const std::vector<int> ports = FreePorts(2);
  const std::string addresses = Cat("127.0.0.1:", ports[0], ",127.0.0.1:", ports[1]);
  Killer child{StartChild(addresses)};
  ASSERT_GT(child.process, 0);
  auto task = Task::Start(addresses, 0);
  ASSERT_TRUE(task.ok()) << task.status();
  const int64_t before = NcclCalls();
  for (int step = 0; step < 3; ++step) {
    const StatusOr<Tensor> sum = (*task)->Step(static_cast<float>(step));
    ASSERT_TRUE(sum.ok()) << sum.status();
    ExpectTensorEqual(*sum, Tensor::Vector<float>({static_cast<float>(10 + step), 2}));
  }
  EXPECT_EQ(NcclCalls() - before, 3);
  // NCCL itself would not tell that a rank has died while all wait in it.
  HoldNcclCalls(true);
  StatusOr<Tensor> last = Unknown("not run");
  std::thread step([&] { last = (*task)->Step(1); });
  AwaitHeldNcclCalls(2);
  child.Kill();
  step.join();
  EXPECT_EQ(last.status().code(), absl::StatusCode::kUnavailable) << last.status();
  EXPECT_THAT(Message(last.status()), HasSubstr("/job:worker/replica:0/task:1/device:GPU:0"));
  HoldNcclCalls(false);
}

}  // namespace
}  // namespace weir::gpu_testing
