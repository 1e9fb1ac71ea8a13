// The same C++ sessions in this process and on a server, told apart by one string.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "tests/cluster_fixture.h"
#include "weir/client/client_session.h"
#include "weir/client/environment.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/client/optimizer.h"
#include "weir/client/saver.h"
#include "weir/distributed/server.h"

namespace weir {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// On a server if the parameter says so.
class AnySession : public ::testing::TestWithParam<bool> {
 protected:
  AnySession() : environment_(MakeEnvironment().value()) {
    if (!GetParam()) return;
    server_ = Server::Start({}, MakeEnvironment().value()).value();
    options_.target = server_->target();
  }

  std::unique_ptr<Session> NewSession() {
    auto session = Session::Create(environment_, options_);
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }
  // x and y = 2 x and z = y + x, a variable, and an empty queue.
  static GraphDef Model() {
    GraphText graph;
    graph.Placeholder("x");
    graph.Placeholder("w");
    graph.Add("y", "AddV2", {"x", "x"}).Type("T", DT_FLOAT);
    graph.Add("z", "AddV2", {"y", "w"}).Type("T", DT_FLOAT);
    graph.Variable("v", "x", "");
    graph.Queue("q", "x", "");
    return graph.def();
  }
  static Feed Fed(const std::string& name, float value) { return {name, Tensor::Scalar(value)}; }
  static std::vector<float> Numbers(const std::vector<Tensor>& tensors) {
    std::vector<float> out;
    for (const Tensor& tensor : tensors) out.push_back(tensor.scalar<float>());
    return out;
  }

  std::shared_ptr<Environment> environment_;
  std::unique_ptr<Server> server_;
  SessionOptions options_;
};

TEST_P(AnySession, RunsStepsOverAGraphThatGrows) {
  auto session = NewSession();
  EXPECT_EQ(session->graph_version(), 0);
  ASSERT_TRUE(session->Extend(Model()).ok());
  EXPECT_EQ(session->graph_version(), 1);
  std::vector<Tensor> out;
  const Feed feeds[] = {Fed("x:0", 3), Fed("w:0", 1)};
  const std::string fetches[] = {"z:0", "y:0", "z:0"};
  ASSERT_TRUE(session->Run(feeds, fetches, {}, &out).ok());
  EXPECT_THAT(Numbers(out), ElementsAre(7, 6, 7));
  GraphText more;
  more.Identity("last", "z");
  ASSERT_TRUE(session->Extend(more.def()).ok());
  EXPECT_EQ(session->graph_version(), 2);
  const std::string last[] = {"last:0"};
  ASSERT_TRUE(session->Run(feeds, last, {}, &out).ok());
  EXPECT_THAT(Numbers(out), ElementsAre(7));
  EXPECT_TRUE(absl::IsInvalidArgument(session->Extend(more.def())));  // it is there already
  const std::string absent[] = {"absent:0"};
  EXPECT_FALSE(session->Run({}, absent, {}, &out).ok());
}

TEST_P(AnySession, KeepsStateBetweenStepsAndResetsIt) {
  auto session = NewSession();
  ASSERT_TRUE(session->Extend(Model()).ok());
  const std::string init[] = {"v/init"}, add[] = {"v/add"}, read[] = {"v/read:0"};
  std::vector<Tensor> out;
  ASSERT_TRUE(session->Run({}, {}, init, nullptr).ok());
  for (float value : {1, 2, 4}) {
    const Feed feeds[] = {Fed("x:0", value)};
    ASSERT_TRUE(session->Run(feeds, {}, add, nullptr).ok());
  }
  ASSERT_TRUE(session->Run({}, read, {}, &out).ok());
  EXPECT_THAT(Numbers(out), ElementsAre(7));
  session = nullptr;
  session = NewSession();  // variables outlive sessions
  ASSERT_TRUE(session->Extend(Model()).ok());
  ASSERT_TRUE(session->Run({}, read, {}, &out).ok());
  EXPECT_THAT(Numbers(out), ElementsAre(7));
  session = nullptr;
  ASSERT_TRUE(ResetContainers(*environment_, options_, {}).ok());
  session = NewSession();
  ASSERT_TRUE(session->Extend(Model()).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(session->Run({}, read, {}, &out)));
}

TEST_P(AnySession, MakesCallables) {
  auto session = NewSession();
  ASSERT_TRUE(session->Extend(Model()).ok());
  Session::CallableSpec spec;
  spec.feeds = {"x:0"};
  spec.fetches = {"z:0", "y:0"};
  spec.connections = {{"y:0", "w:0"}};
  spec.options.trace = TraceLevel::kFull;
  const Session::Callable callable = session->MakeCallable(spec).value();
  std::vector<Tensor> out;
  StepReport report;
  const Tensor feeds[] = {Tensor::Scalar(2.0f)};
  ASSERT_TRUE(session->RunCallable(callable, feeds, &out, &report).ok());
  EXPECT_THAT(Numbers(out), ElementsAre(8, 4));
  EXPECT_FALSE(report.devices.empty());
  EXPECT_TRUE(absl::IsInvalidArgument(session->RunCallable(callable, {}, &out)));
  EXPECT_TRUE(session->ReleaseCallable(callable).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(session->RunCallable(callable, feeds, &out)));
}

TEST_P(AnySession, RunsAStepInSeveralCalls) {
  auto session = NewSession();
  ASSERT_TRUE(session->Extend(Model()).ok());
  const std::string feeds[] = {"x:0", "w:0"}, fetches[] = {"y:0", "z:0"};
  const std::string run = session->PartialRunSetup(feeds, fetches, {}).value();
  std::vector<Tensor> out;
  const Feed first[] = {Fed("x:0", 1)}, second[] = {Fed("w:0", 5)};
  ASSERT_TRUE(session->PartialRun(run, first, std::span(fetches).first(1), &out).ok());
  EXPECT_THAT(Numbers(out), ElementsAre(2));
  ASSERT_TRUE(session->PartialRun(run, second, std::span(fetches).last(1), &out).ok());
  EXPECT_THAT(Numbers(out), ElementsAre(7));
  EXPECT_FALSE(session->PartialRun("none", second, fetches, &out).ok());
}

TEST_P(AnySession, ReportsOnSteps) {
  auto session = NewSession();
  ASSERT_TRUE(session->Extend(Model()).ok());
  StepOptions options;
  options.trace = TraceLevel::kFull;
  options.partition_graphs = true;
  StepReport report;
  std::vector<Tensor> out;
  const Feed feeds[] = {Fed("x:0", 1)};
  const std::string fetches[] = {"y:0"};
  ASSERT_TRUE(session->Run(options, feeds, fetches, {}, &out, &report).ok());
  std::vector<std::string> nodes;
  for (const DeviceStats& device : report.devices) {
    for (const NodeStats& node : device.nodes) nodes.push_back(node.node);
  }
  EXPECT_THAT(nodes, Contains("y"));
  EXPECT_FALSE(report.partition_graphs.empty());
}

TEST_P(AnySession, EndsStepsThatWaitTooLong) {
  auto session = NewSession();
  ASSERT_TRUE(session->Extend(Model()).ok());
  StepOptions options;
  options.timeout = absl::Milliseconds(50);
  const std::string take[] = {"q/take:0"};
  std::vector<Tensor> out;
  Status late = session->Run(options, {}, take, {}, &out, nullptr);
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_THAT(Message(late), HasSubstr("q/take"));

  CancellationManager cancellation;
  options = {};
  options.cancellation = &cancellation;
  std::thread cancel([&] { cancellation.StartCancel(Cancelled("no more")); });
  EXPECT_TRUE(absl::IsCancelled(session->Run(options, {}, take, {}, &out, nullptr)));
  cancel.join();
}

TEST_P(AnySession, ClosingEndsItsSteps) {
  auto session = NewSession();
  ASSERT_TRUE(session->Extend(Model()).ok());
  const std::string take[] = {"q/take:0"};
  std::vector<Tensor> out;
  absl::Notification ended;
  session->RunAsync({}, {}, take, {}, nullptr, [&](const Status& status, const std::vector<Tensor>&) {
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
    ended.Notify();
  });
  EXPECT_TRUE(session->Close().ok());
  ended.WaitForNotification();
  EXPECT_EQ(session->running_steps(), 0);
  EXPECT_TRUE(absl::IsCancelled(session->Run({}, take, {}, &out)));
  EXPECT_TRUE(absl::IsCancelled(session->Extend(Model())));
}

TEST_P(AnySession, ListsItsDevices) {
  std::vector<std::string> names;
  for (const DeviceInfo& info : NewSession()->ListDevices()) names.push_back(info.name);
  EXPECT_THAT(names, ElementsAre("/job:localhost/replica:0/task:0/device:CPU:0"));
}

// A model, its gradients, an optimizer and a checkpoint.
TEST_P(AnySession, TrainsAndSaves) {
  Scope root = Scope::NewRoot(environment_);
  Variable w(root, "w", Input({0.0f, 0.0f}));
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = PartialShape({2})});
  Training training =
      optimizer::Adam({.learning_rate = 0.1}).Minimize(root, ops::Sum(root, ops::Square(root, w.value() - x), 0));
  Saver saver(root);
  auto session = ClientSession::Create(root, options_).value();
  ASSERT_TRUE(session->RunTargets({InitializeVariables(root)}).ok());
  const ClientSession::Feeds feeds = {{x, Tensor::Vector<float>({1, -1})}};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->RunTargets({training.op}, feeds).ok());
  StatusOr<std::string> saved = saver.Save(*session, testing::TempDir() + "/any_session", 3);
  ASSERT_TRUE(saved.ok()) << saved.status();
  const Tensor trained = session->Evaluate(w).value();
  EXPECT_NEAR(trained.span<float>()[0], 0.3, 0.02);
  EXPECT_NEAR(trained.span<float>()[1], -0.3, 0.02);
  ASSERT_TRUE(session->RunTargets({InitializeVariables(root)}).ok());
  ASSERT_TRUE(saver.Restore(*session, *saved).ok());
  EXPECT_EQ(session->Evaluate(w)->span<float>()[0], trained.span<float>()[0]);
}

INSTANTIATE_TEST_SUITE_P(HereAndThere, AnySession, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "OnAServer" : "InThisProcess"; });

TEST(GrpcSession, SaysWhatIsWrongWithATarget) {
  auto environment = MakeEnvironment().value();
  for (const char* target :
       {"grpc://", "grpc://host", "grpc://:1", "grpc://host:x", "grpc://host:70000", "http://a:1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Session::Create(environment, {.target = target}).status())) << target;
  }
  SessionOptions nobody;
  nobody.target = Cat("grpc://127.0.0.1:", FreePorts(1)[0]);
  nobody.connect_timeout = absl::Milliseconds(200);
  Status silent = Session::Create(environment, nobody).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(silent)) << silent;
  EXPECT_THAT(Message(silent), HasSubstr(nobody.target));
  environment->connector = nullptr;
  EXPECT_TRUE(absl::IsUnimplemented(Session::Create(environment, nobody).status()));
}

TEST(GrpcSession, ALostServerIsUnavailable) {
  auto environment = MakeEnvironment().value();
  auto server = Server::Start({}, MakeEnvironment().value()).value();
  const std::string target = server->target();
  auto session = Session::Create(environment, {.target = target}).value();
  GraphText graph;
  graph.Const("c", Tensor::Scalar(1.0f));
  ASSERT_TRUE(session->Extend(graph.def()).ok());
  server = nullptr;
  const std::string fetches[] = {"c:0"};
  std::vector<Tensor> out;
  Status lost = session->Run({}, fetches, {}, &out);
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
  EXPECT_THAT(Message(lost), HasSubstr(target));
  EXPECT_TRUE(session->ListDevices().empty());
}

}  // namespace
}  // namespace weir
