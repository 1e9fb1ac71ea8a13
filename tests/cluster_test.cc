// Several servers of one cluster in this process: steps over tasks, state, errors, restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "tests/cluster_fixture.h"
#include "tests/in_process_cluster.h"
#include "tests/master_client.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr char kPs0[] = "/job:ps/task:0";
constexpr char kPs1[] = "/job:ps/task:1";
constexpr char kWorker0[] = "/job:worker/task:0";
constexpr char kWorker1[] = "/job:worker/task:1";

ConfigProto Filtered(std::vector<std::string> filters) {
  ConfigProto config;
  for (std::string& filter : filters) config.add_device_filters(std::move(filter));
  return config;
}

TEST(Cluster, AStepUsesVariablesOfTwoTasks) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Placeholder("x");
  graph.Identity("x0", "x", kWorker0);
  graph.Variable("v", "x0", kPs0);
  graph.Variable("w", "v/read", kPs1);
  graph.Identity("y", "w/read", kWorker1);
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  ASSERT_TRUE(client.Run(session, {}, "", {"v/init", "w/init"}).ok());
  ASSERT_TRUE(client.Run(session, {{"x:0", Tensor::Scalar(3.0f)}}, "", {"v/add"}).ok());
  ASSERT_TRUE(client.Run(session, {}, "", {"w/add"}).ok());
  ASSERT_TRUE(client.Run(session, {}, "", {"w/add"}).ok());
  StatusOr<Tensor> y = client.Run(session, {}, "y:0");
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->scalar<float>(), 6);
  // Another master sees the same variables.
  MasterClient other(cluster.target("worker", 1));
  const std::string second = other.CreateSession(graph.def()).value();
  EXPECT_EQ(other.Run(second, {}, "v/read:0")->scalar<float>(), 3);
  EXPECT_TRUE(client.Close(session).ok());
  EXPECT_TRUE(other.Close(second).ok());
}

TEST(Cluster, ControlEdgesCrossTasks) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Const("one", Tensor::Scalar(1.0f), kWorker0);
  graph.Variable("v", "one", kPs0);
  graph.Add("after", "Identity", {"one", "^v/add"}, kWorker0).Type("T", DT_FLOAT);
  graph.Add("group", "NoOp", {"^after"}, kPs1);
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  ASSERT_TRUE(client.Run(session, {}, "", {"v/init"}).ok());
  for (int i = 1; i <= 20; ++i) {
    ASSERT_TRUE(client.Run(session, {}, "", {"group"}).ok());
    ASSERT_EQ(client.Run(session, {}, "v/read:0")->scalar<float>(), i);
  }
}

// An old-style variable's memory is what a fetch shows, read before or after the write: TensorFlow's programs (such as
// SyncReplicasOptimizer) count on it.
TEST(Cluster, AFetchedReferenceShowsWhatTheStepLeaves) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Const("one", Tensor::Scalar(1.0f), kPs0);
  graph.Add("v", "VariableV2", {}, kPs0).Type("dtype", DT_FLOAT).Scalars("shape");
  graph.Add("init", "Assign", {"v", "one"}, kPs0).Type("T", DT_FLOAT);
  graph.Identity("before", "v", kPs0);
  graph.Add("add", "AssignAdd", {"v", "one", "^before"}, kPs0).Type("T", DT_FLOAT);
  graph.Add("after", "Identity", {"before", "^add"}, kPs1).Type("T", DT_FLOAT);
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  for (const char* fetch : {"v:0", "before:0", "after:0"}) {
    ASSERT_TRUE(client.Run(session, {}, "", {"init"}).ok());
    for (int i = 2; i < 12; ++i) {
      StatusOr<Tensor> value = client.Run(session, {}, fetch, {"add"});
      ASSERT_TRUE(value.ok()) << value.status();
      EXPECT_EQ(value->scalar<float>(), i) << fetch;
    }
  }
}

TEST(Cluster, ARemoteCallRunsWhereItsTargetSays) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  FunctionDef* function = graph.AddFunction("Handle", "h", DT_RESOURCE);
  NodeDef* body = function->add_node_def();
  body->set_name("node");
  body->set_op("VarHandleOp");
  (*body->mutable_attr())["dtype"].set_type(DT_FLOAT);
  (*body->mutable_attr())["shape"].mutable_shape();
  (*body->mutable_attr())["shared_name"].set_s("v");
  (*function->mutable_ret())["h"] = "node:resource:0";
  graph.Const("one", Tensor::Scalar(1.0f), kWorker0);
  graph.Variable("v", "one", kPs1);
  graph.Const("target", Tensor::Scalar(std::string("/job:ps/replica:0/task:1/device:CPU:0")), kWorker0);
  graph.Add("call", "RemoteCall", {"target", "one"}, kWorker0)
      .Types("Tin", {DT_FLOAT})
      .Types("Tout", {DT_RESOURCE})
      .Function("f", "Handle");
  graph.Add("there", "VarIsInitializedOp", {"call"}, kPs1);
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  ASSERT_TRUE(client.Run(session, {}, "", {"v/init"}).ok());
  StatusOr<Tensor> there = client.Run(session, {}, "there:0");
  ASSERT_TRUE(there.ok()) << there.status();
  EXPECT_TRUE(there->scalar<bool>());
}

// Where it is to run must be known before the step is cut into parts.
TEST(Cluster, ARemoteCallToATargetThatIsComputedIsRefused) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  FunctionDef* function = graph.AddFunction("One", "h", DT_FLOAT);
  NodeDef* body = function->add_node_def();
  body->set_name("node");
  body->set_op("Const");
  (*body->mutable_attr())["dtype"].set_type(DT_FLOAT);
  EXPECT_TRUE(ToProto(Tensor::Scalar(1.0f), (*body->mutable_attr())["value"].mutable_tensor()).ok());
  (*function->mutable_ret())["h"] = "node:output:0";
  graph.Add("target", "Placeholder", {}, kWorker0).Type("dtype", DT_STRING);
  graph.Const("one", Tensor::Scalar(1.0f), kWorker0);
  graph.Add("call", "RemoteCall", {"target", "one"}, kWorker0)
      .Types("Tin", {DT_FLOAT})
      .Types("Tout", {DT_FLOAT})
      .Function("f", "One");
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  const Tensor here = Tensor::Scalar(std::string(kWorker0)), there = Tensor::Scalar(std::string(kPs1));
  EXPECT_TRUE(client.Run(session, {{"target", here}}, "call:0").ok());
  Status refused = client.Run(session, {{"target", there}}, "call:0").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Message(refused), testing::AllOf(HasSubstr("node call"), HasSubstr(kPs1), HasSubstr("is a constant")));
}

TEST(Cluster, ErrorsNameTheTaskAndTheNode) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Const("one", Tensor::Scalar(1.0f), kWorker0);
  graph.Variable("v", "one", kPs0);
  graph.Identity("y", "v/read", kWorker0);
  graph.Identity("z", "y", kPs1);
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  for (int i = 0; i < 20; ++i) {
    Status status = client.Run(session, {}, "z:0").status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr("From /job:ps/replica:0/task:0:"));
    EXPECT_THAT(Message(status), HasSubstr("{{node v/read}}"));
    EXPECT_THAT(Message(status), ::testing::Not(HasSubstr("Derived")));
  }
  ASSERT_TRUE(client.Run(session, {}, "", {"v/init"}).ok());
  EXPECT_TRUE(client.Run(session, {}, "z:0").ok());
}

TEST(Cluster, ListsTheDevicesOfAllTasks) {
  Cluster cluster;
  cluster.StartAll();
  MasterClient client(cluster.target());
  auto names = [&](const std::string& session) {
    ListDevicesRequest request;
    request.set_session_handle(session);
    ListDevicesResponse response;
    EXPECT_TRUE(client.Call("ListDevices", request, &response).ok());
    std::vector<std::string> out;
    EXPECT_EQ(response.local_device_size(), 1);
    for (const auto& device : response.local_device()) out.push_back(device.name());
    for (const auto& device : response.remote_device()) out.push_back(device.name());
    return out;
  };
  auto all =
      UnorderedElementsAre("/job:worker/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:1/device:CPU:0",
                           "/job:ps/replica:0/task:0/device:CPU:0", "/job:ps/replica:0/task:1/device:CPU:0");
  EXPECT_THAT(names(""), all);
  EXPECT_THAT(names(client.CreateSession(GraphDef()).value()), all);
  EXPECT_THAT(
      names(client.CreateSession(GraphDef(), Filtered({"/job:ps/task:1"})).value()),
      UnorderedElementsAre("/job:worker/replica:0/task:0/device:CPU:0", "/job:ps/replica:0/task:1/device:CPU:0"));
}

TEST(Cluster, ASilentTaskIsNamedAtTheDeadline) {
  Cluster cluster;
  cluster.Start("worker", 0);
  cluster.Start("ps", 1);
  MasterClient client(cluster.target());
  ConfigProto config;
  config.set_operation_timeout_in_ms(300);
  Status status = client.CreateSession(GraphDef(), config).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("/job:ps/replica:0/task:0"));
  EXPECT_THAT(Message(status), HasSubstr("/job:worker/replica:0/task:1"));
  // Who does not need it does not wait for it.
  EXPECT_TRUE(client.CreateSession(GraphDef(), Filtered({"/job:ps/task:1"})).ok());
  // It may still come.
  std::thread late([&] {
    cluster.Start("ps", 0);
    cluster.Start("worker", 1);
  });
  EXPECT_TRUE(client.CreateSession(GraphDef()).ok());
  late.join();
}

TEST(Cluster, CallablesAndPartialRunsCrossTasks) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Placeholder("a");
  graph.Placeholder("b");
  graph.Identity("a1", "a", kPs0);
  graph.Identity("b1", "b", kPs1);
  graph.Identity("a2", "a1", kWorker1);
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();

  MakeCallableRequest make;
  make.set_session_handle(session);
  make.mutable_options()->add_feed("a:0");
  make.mutable_options()->add_fetch("a2:0");
  MakeCallableResponse made;
  ASSERT_TRUE(client.Call("MakeCallable", make, &made).ok());
  RunCallableRequest run;
  run.set_session_handle(session);
  run.set_handle(made.handle());
  ASSERT_TRUE(ToProto(Tensor::Scalar(5.0f), run.add_feed()).ok());
  RunCallableResponse ran;
  Status status = client.Call("RunCallable", run, &ran);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(FromProto(ran.fetch(0))->scalar<float>(), 5);

  PartialRunSetupRequest setup;
  setup.set_session_handle(session);
  for (const char* feed : {"a:0", "b:0"}) setup.add_feed(feed);
  for (const char* fetch : {"a2:0", "b1:0"}) setup.add_fetch(fetch);
  PartialRunSetupResponse set_up;
  ASSERT_TRUE(client.Call("PartialRunSetup", setup, &set_up).ok());
  auto part = [&](const char* feed, float value, const char* fetch) -> float {
    RunStepRequest request;
    request.set_session_handle(session);
    request.set_partial_run_handle(set_up.partial_run_handle());
    request.add_feed()->set_name(feed);
    EXPECT_TRUE(ToProto(Tensor::Scalar(value), request.mutable_feed(0)->mutable_tensor()).ok());
    request.add_fetch(fetch);
    RunStepResponse response;
    Status status = client.Call("RunStep", request, &response);
    EXPECT_TRUE(status.ok()) << status;
    return response.tensor_size() == 1 ? FromProto(response.tensor(0).tensor())->scalar<float>() : -1;
  };
  EXPECT_EQ(part("a:0", 7, "a2:0"), 7);
  EXPECT_EQ(part("b:0", 8, "b1:0"), 8);
}

TEST(Cluster, ResetEmptiesTheContainersOfChosenTasks) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Const("one", Tensor::Scalar(1.0f));
  graph.Variable("v", "one", kPs0);
  graph.Variable("w", "one", kPs1);
  MasterClient client(cluster.target());
  const std::string first = client.CreateSession(graph.def()).value();
  ASSERT_TRUE(client.Run(first, {}, "", {"v/init", "w/init"}).ok());
  ResetRequest request;
  request.add_device_filters(kPs0);
  ResetResponse response;
  ASSERT_TRUE(client.Call("Reset", request, &response).ok());
  EXPECT_TRUE(absl::IsAborted(client.Run(first, {}, "v/read:0").status()));
  const std::string second = client.CreateSession(graph.def()).value();
  EXPECT_TRUE(absl::IsFailedPrecondition(client.Run(second, {}, "v/read:0").status()));
  EXPECT_TRUE(client.Run(second, {}, "w/read:0").ok());
}

TEST(Cluster, ResetThatNamesNoContainerKeepsTheNamedOnes) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  for (const std::string& name : std::vector<std::string>{"kept", "lost"}) {
    graph.Add(name, "VarHandleOp", {}, kPs0)
        .Type("dtype", DT_FLOAT)
        .Scalars("shape")
        .Text("container", name == "kept" ? "box" : "");
    graph.Const(name + "/one", Tensor::Scalar(1.0f), kPs0);
    graph.Add(name + "/init", "AssignVariableOp", {name, name + "/one"}, kPs0).Type("dtype", DT_FLOAT);
    graph.Add(name + "/there", "VarIsInitializedOp", {name}, kPs0);
  }
  MasterClient client(cluster.target());
  const std::string first = client.CreateSession(graph.def()).value();
  ASSERT_TRUE(client.Run(first, {}, "", {"kept/init", "lost/init"}).ok());
  ResetRequest request;
  ResetResponse response;
  ASSERT_TRUE(client.Call("Reset", request, &response).ok());
  const std::string second = client.CreateSession(graph.def()).value();
  EXPECT_TRUE(client.Run(second, {}, "kept/there:0")->scalar<bool>());
  EXPECT_FALSE(client.Run(second, {}, "lost/there:0")->scalar<bool>());
  request.add_container("box");
  ASSERT_TRUE(client.Call("Reset", request, &response).ok());
  const std::string third = client.CreateSession(graph.def()).value();
  EXPECT_FALSE(client.Run(third, {}, "kept/there:0")->scalar<bool>());
}

// What Variable.initialized_value() builds.
TEST(Cluster, ABranchMayLeaveAVariableWithoutValueAlone) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  FunctionDef* function = graph.AddFunction("Value", "y", DT_FLOAT);
  (*function->mutable_ret())["y"] = "node:output:0";
  NodeDef* body = function->add_node_def();
  body->set_name("node");
  body->set_op("Identity");
  body->add_input("x");
  (*body->mutable_attr())["T"].set_type(DT_FLOAT);
  function = graph.AddFunction("Other", "y", DT_FLOAT);
  (*function->mutable_ret())["y"] = "node:output:0";
  body = function->add_node_def();
  body->set_name("node");
  body->set_op("Const");
  (*body->mutable_attr())["dtype"].set_type(DT_FLOAT);
  EXPECT_TRUE(ToProto(Tensor::Scalar(7.0f), (*body->mutable_attr())["value"].mutable_tensor()).ok());
  graph.Add("v", "VariableV2", {}, kPs1).Type("dtype", DT_FLOAT).Scalars("shape");
  graph.Const("three", Tensor::Scalar(3.0f), kPs1);
  graph.Add("v/init", "Assign", {"v", "three"}, kPs1).Type("T", DT_FLOAT);
  graph.Add("known", "IsVariableInitialized", {"v"}, kPs1).Type("dtype", DT_FLOAT);
  for (const char* device : {kPs0, kPs1}) {
    graph.Add(device == kPs0 ? "far" : "near", "StatelessIf", {"known", "v"}, device)
        .Type("Tcond", DT_BOOL)
        .Types("Tin", {DT_FLOAT})
        .Types("Tout", {DT_FLOAT})
        .Function("then_branch", "Value")
        .Function("else_branch", "Other");
  }
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  auto value = [&](const char* fetch) {
    StatusOr<Tensor> got = client.Run(session, {}, fetch);
    EXPECT_TRUE(got.ok()) << got.status();
    return got.ok() ? got->scalar<float>() : -1;
  };
  EXPECT_EQ(value("far:0"), 7);
  EXPECT_EQ(value("near:0"), 7);
  ASSERT_TRUE(client.Run(session, {}, "", {"v/init"}).ok());
  EXPECT_EQ(value("far:0"), 3);
  EXPECT_EQ(value("near:0"), 3);
}

TEST(Cluster, OptionalsCrossTasks) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Placeholder("x", DT_FLOAT, kPs0);
  graph.Add("some", "OptionalFromValue", {"x"}, kPs0).Types("Toutput_types", {DT_FLOAT});
  graph.Add("none", "OptionalNone", {}, kPs0);
  graph.Add("has", "OptionalHasValue", {"none"}, kWorker1);
  graph.Add("value", "OptionalGetValue", {"some"}, kWorker1)
      .Types("output_types", {DT_FLOAT})
      .ListOfScalars("output_shapes");
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  StatusOr<Tensor> value = client.Run(session, {{"x:0", Tensor::Scalar(3.0f)}}, "value:0");
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->scalar<float>(), 3);
  StatusOr<Tensor> has = client.Run(session, {}, "has:0");
  ASSERT_TRUE(has.ok()) << has.status();
  EXPECT_FALSE(has->scalar<bool>());
}

TEST(Cluster, IsolatedSessionsHaveTheirOwnStateEverywhere) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Const("one", Tensor::Scalar(1.0f));
  graph.Variable("v", "one", kPs0);
  MasterClient client(cluster.target());
  ConfigProto config;
  config.set_isolate_session_state(true);
  const std::string a = client.CreateSession(graph.def(), config).value();
  const std::string b = client.CreateSession(graph.def(), config).value();
  ASSERT_TRUE(client.Run(a, {}, "", {"v/init"}).ok());
  ASSERT_TRUE(client.Run(a, {}, "", {"v/add"}).ok());
  EXPECT_EQ(client.Run(a, {}, "v/read:0")->scalar<float>(), 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(client.Run(b, {}, "v/read:0").status()));
}

TEST(Cluster, ADeadlineNamesWhatTheStepWaitsFor) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Const("one", Tensor::Scalar(1.0f));
  graph.Queue("q", "one", kPs0);
  graph.Identity("y", "q/take", kWorker0);
  MasterClient client(cluster.target());
  ConfigProto config;
  config.set_operation_timeout_in_ms(200);
  const std::string session = client.CreateSession(graph.def(), config).value();
  Status status = client.Run(session, {}, "y:0").status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("/job:ps/replica:0/task:0"));
  // It took nothing with it.
  ASSERT_TRUE(client.Run(session, {}, "", {"q/put"}).ok());
  EXPECT_EQ(client.Run(session, {}, "y:0")->scalar<float>(), 1);
}

TEST(Cluster, ClosingASessionEndsItsStepsEverywhere) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Const("one", Tensor::Scalar(1.0f));
  graph.Queue("q", "one", kPs0);
  graph.Identity("y", "q/take", kWorker1);
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  std::thread waiting([&] {
    MasterClient own(cluster.target());
    Status status = own.Run(session, {}, "y:0").status();
    EXPECT_TRUE(absl::IsCancelled(status) || absl::IsAborted(status)) << status;
  });
  ASSERT_TRUE(client.Run(session, {}, "one:0").ok());
  EXPECT_TRUE(client.Close(session).ok());
  waiting.join();
  const std::string again = client.CreateSession(graph.def()).value();
  ASSERT_TRUE(client.Run(again, {}, "", {"q/put"}).ok());
  EXPECT_EQ(client.Run(again, {}, "y:0")->scalar<float>(), 1);
}

TEST(Cluster, ALostTaskIsUnavailableAndARestartedOneAborted) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Const("one", Tensor::Scalar(1.0f));
  graph.Variable("v", "one", kPs0);
  graph.Identity("y", "v/read", kWorker0);
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  ASSERT_TRUE(client.Run(session, {}, "", {"v/init"}).ok());
  ASSERT_TRUE(client.Run(session, {}, "y:0").ok());
  cluster.Stop("ps", 0);
  Status lost = client.Run(session, {}, "y:0").status();
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
  EXPECT_THAT(Message(lost), HasSubstr("/job:ps/replica:0/task:0"));
  cluster.Start("ps", 0);
  Status restarted = client.Run(session, {}, "y:0").status();
  for (int i = 0; i < 1000 && absl::IsUnavailable(restarted); ++i) restarted = client.Run(session, {}, "y:0").status();
  EXPECT_TRUE(absl::IsAborted(restarted)) << restarted;
  EXPECT_TRUE(client.Close(session).ok());
  const std::string again = client.CreateSession(graph.def()).value();
  EXPECT_TRUE(absl::IsFailedPrecondition(client.Run(again, {}, "y:0").status()));
  ASSERT_TRUE(client.Run(again, {}, "", {"v/init"}).ok());
  EXPECT_EQ(client.Run(again, {}, "y:0")->scalar<float>(), 0);
}

TEST(Cluster, ManyStepsAtOnceAddUp) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Const("one", Tensor::Scalar(1.0f), kWorker0);
  graph.Variable("v", "one", kPs0);
  graph.Variable("w", "one", kPs1);
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  ASSERT_TRUE(client.Run(session, {}, "", {"v/init", "w/init"}).ok());
  constexpr int kThreads = 4, kSteps = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      MasterClient own(cluster.target());
      for (int j = 0; j < kSteps; ++j) {
        StatusOr<Tensor> ran = own.Run(session, {}, "", {"v/add", "w/add"});
        EXPECT_TRUE(ran.ok()) << ran.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(client.Run(session, {}, "v/read:0")->scalar<float>(), kThreads * kSteps);
  EXPECT_EQ(client.Run(session, {}, "w/read:0")->scalar<float>(), kThreads * kSteps);
}

TEST(Cluster, TracesShowAllTasks) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Const("one", Tensor::Scalar(1.0f), kWorker0);
  graph.Identity("a", "one", kPs0);
  graph.Identity("b", "a", kWorker0);
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  RunStepRequest request;
  request.set_session_handle(session);
  request.add_fetch("b:0");
  request.mutable_options()->set_trace_level(RunOptions::FULL_TRACE);
  RunStepResponse response;
  ASSERT_TRUE(client.Call("RunStep", request, &response).ok());
  std::vector<std::string> devices;
  for (const auto& device : response.metadata().step_stats().dev_stats()) devices.push_back(device.device());
  EXPECT_THAT(devices, UnorderedElementsAre("/job:ps/replica:0/task:0/device:CPU:0",
                                            "/job:worker/replica:0/task:0/device:CPU:0"));
}

std::string ReadHttp(int port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  std::string out;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    const std::string request = "GET /metrics HTTP/1.1\r\n\r\n";
    EXPECT_EQ(send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    char bytes[4096];
    for (ssize_t count; (count = recv(fd, bytes, sizeof(bytes), 0)) > 0;) out.append(bytes, count);
  }
  close(fd);
  return out;
}

TEST(Metrics, CountStepsAndTensors) {
  ServerOptions options;
  options.host = "127.0.0.1";
  options.metrics_port = 0;
  auto server = Server::Start(options, MakeEnvironment().value());
  ASSERT_TRUE(server.ok()) << server.status();
  GraphText graph;
  graph.Placeholder("x");
  graph.Identity("y", "x");
  MasterClient client((*server)->target());
  const std::string session = client.CreateSession(graph.def()).value();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.Run(session, {{"x:0", Tensor::Scalar(1.0f)}}, "y:0").ok());
  EXPECT_FALSE(client.Run(session, {}, "y:0").ok());
  const std::string text = ReadHttp((*server)->metrics_port());
  EXPECT_THAT(text, HasSubstr("HTTP/1.1 200 OK"));
  EXPECT_THAT(text, HasSubstr("\nweir_steps_total 4\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_step_errors_total 1\n"));
  EXPECT_THAT(text, HasSubstr("\nweir_sessions 1\n"));
}

// Tensors that are too large to go with an answer come through shared memory.
TEST(Cluster, LargeTensorsCrossTasks) {
  Cluster cluster;
  cluster.StartAll();
  GraphText graph;
  graph.Placeholder("x");
  graph.Identity("a", "x", kPs0);
  graph.Identity("b", "a", kWorker1);
  MasterClient client(cluster.target());
  const std::string session = client.CreateSession(graph.def()).value();
  Tensor x = Tensor::Zeros(DType::kFloat, Shape({1 << 20})).value();
  for (int64_t i = 0; i < x.num_elements(); ++i) static_cast<float*>(x.raw_data())[i] = static_cast<float>(i);
  for (int i = 0; i < 3; ++i) {
    StatusOr<Tensor> b = client.Run(session, {{"x:0", x}}, "b:0");
    ASSERT_TRUE(b.ok()) << b.status();
    EXPECT_EQ(memcmp(b->raw_data(), x.raw_data(), x.num_bytes()), 0);
  }
}

}  // namespace
}  // namespace weir
