#include "weir/runtime/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "weir/base/sanitizers.h"
#include "weir/graph/graph.h"
#include "weir/proto/step_stats.pb.h"
#include "weir/runtime/session_testing.h"

namespace weir {
namespace {

using testing::HasSubstr;

class SessionTest : public testing::Test {
 protected:
  SessionTest() : environment_(TestEnvironment()), graph_(environment_->ops) {}

  Endpoint Add(std::string name, std::string op, std::vector<Endpoint> inputs, AttrMap attrs = {},
               std::vector<NodeId> control = {}) {
    Graph::NodeSpec spec{std::move(name), std::move(op), std::move(attrs), std::move(inputs), std::move(control), ""};
    StatusOr<Node*> node = graph_.AddNode(std::move(spec));
    EXPECT_TRUE(node.ok()) << node.status();
    return node.ok() ? Endpoint{(*node)->id, 0} : Endpoint{};
  }
  static AttrMap Typed(DType dtype, std::string_view attr = "T") {
    AttrMap attrs;
    attrs.Set(attr, dtype);
    return attrs;
  }
  static AttrMap Pair(DType dtype) {
    AttrMap attrs = Typed(dtype);
    attrs.Set("N", 2);
    return attrs;
  }
  Endpoint Const(std::string name, Tensor value, std::vector<NodeId> control = {}) {
    AttrMap attrs = Typed(value.dtype(), "dtype");
    attrs.Set("value", value);
    return Add(std::move(name), "Const", {}, attrs, std::move(control));
  }
  Endpoint Placeholder(std::string name, DType dtype = DType::kFloat) {
    return Add(std::move(name), "Placeholder", {}, Typed(dtype, "dtype"));
  }
  Endpoint Plus(std::string name, Endpoint a, Endpoint b, DType dtype = DType::kFloat) {
    return Add(std::move(name), "AddV2", {a, b}, Typed(dtype));
  }

  // i = 0; while i < limit: i += 1, the result "out".
  void AddCounterLoop(int32_t limit) {
    AttrMap type = Typed(DType::kInt32);
    AttrMap enter = type;
    enter.Set("frame_name", "loop");
    Endpoint start = Add("enter", "Enter", {Const("zero", Tensor::Scalar<int32_t>(0))}, enter);
    AttrMap constant = enter;
    constant.Set("is_constant", true);
    Endpoint bound = Add("bound", "Enter", {Const("limit", Tensor::Scalar<int32_t>(limit))}, constant);
    Endpoint merge = Add("merge", "Merge", {start, start}, Pair(DType::kInt32));
    Endpoint cond = Add("cond", "LoopCond", {Add("less", "Less", {merge, bound}, type)});
    Endpoint choice = Add("switch", "Switch", {merge, cond}, type);
    Endpoint body = Add("body", "Identity", {Endpoint{choice.node, 1}}, type);
    Endpoint sum = Plus("sum", body, Const("one", Tensor::Scalar<int32_t>(1), {body.node}), DType::kInt32);
    Endpoint next = Add("next", "NextIteration", {sum}, type);
    graph_.node(merge.node)->inputs[1] = next;
    Add("out", "Exit", {choice}, type);
  }

  void Start(SessionOptions options = {}) {
    auto session = Session::Create(environment_, std::move(options));
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
    Status status = session_->Extend(graph_);
    ASSERT_TRUE(status.ok()) << status;
  }
  float Fetch(std::vector<Feed> feeds, const std::string& name) {
    std::vector<Tensor> out;
    std::vector<std::string> fetches = {name};
    Status status = session_->Run(feeds, fetches, {}, &out);
    EXPECT_TRUE(status.ok()) << status;
    return status.ok() ? out[0].scalar<float>() : -1;
  }
  Status Run(std::vector<Feed> feeds, std::vector<std::string> fetches, std::vector<std::string> targets = {}) {
    std::vector<Tensor> out;
    return session_->Run(feeds, fetches, targets, &out);
  }

  std::shared_ptr<Environment> environment_;
  Graph graph_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, RunsWhatTheFetchNeeds) {
  Endpoint x = Placeholder("x");
  Plus("y", x, Const("one", Tensor::Scalar(1.0f)));
  Start();
  EXPECT_EQ(Fetch({{"x:0", Tensor::Scalar(41.0f)}}, "y:0"), 42.0f);
  EXPECT_EQ(Fetch({{"x:0", Tensor::Scalar(1.0f)}}, "y:0"), 2.0f);
}

TEST_F(SessionTest, AFeedReplacesAnyTensor) {
  Endpoint sum = Plus("sum", Const("a", Tensor::Scalar(1.0f)), Const("b", Tensor::Scalar(2.0f)));
  Plus("twice", sum, sum);
  Start();
  EXPECT_EQ(Fetch({}, "twice:0"), 6.0f);
  EXPECT_EQ(Fetch({{"sum:0", Tensor::Scalar(10.0f)}}, "twice:0"), 20.0f);
  EXPECT_EQ(Fetch({{"a:0", Tensor::Scalar(5.0f)}}, "twice:0"), 14.0f);
}

TEST_F(SessionTest, FetchesComeInTheOrderAskedAlsoTwice) {
  Const("a", Tensor::Scalar(1.0f));
  Const("b", Tensor::Scalar(2.0f));
  Start();
  std::vector<Tensor> out;
  std::vector<std::string> fetches = {"b:0", "a:0", "b:0"};
  ASSERT_TRUE(session_->Run({}, fetches, {}, &out).ok());
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].scalar<float>(), 2.0f);
  EXPECT_EQ(out[1].scalar<float>(), 1.0f);
  EXPECT_EQ(out[2].scalar<float>(), 2.0f);
}

TEST_F(SessionTest, LargeConstantsOfAGraphAreShared) {
  Tensor large = Tensor::Zeros(DType::kFloat, {4096}).value();
  Const("large", large);
  Start();
  std::vector<Tensor> out;
  std::vector<std::string> fetches = {"large:0"};
  ASSERT_TRUE(session_->Run({}, fetches, {}, &out).ok());
  EXPECT_TRUE(out[0].SharesBufferWith(large));
}

TEST_F(SessionTest, AnErrorNamesTheNode) {
  Add("bad", "Fail", {Const("a", Tensor::Scalar(1.0f))});
  Start();
  Status status = Run({}, {"bad:0"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("as asked"));
  EXPECT_THAT(Message(status), HasSubstr("{{node bad}}"));
  EXPECT_EQ(Fetch({}, "a:0"), 1.0f);
}

TEST_F(SessionTest, UnknownNamesAreErrors) {
  Const("a", Tensor::Scalar(1.0f));
  Start();
  EXPECT_EQ(Run({}, {"zzz:0"}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Run({}, {"a:3"}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Run({}, {}, {"zzz"}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Run({{"q:0", Tensor::Scalar(1.0f)}}, {"a:0"}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Run({}, {}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Run({{"a:0", Tensor::Scalar(1.0f)}}, {"a:0"}).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SessionTest, SwitchAndMergeRunOneSide) {
  Endpoint p = Placeholder("p", DType::kBool);
  Endpoint x = Const("x", Tensor::Scalar(10.0f));
  Endpoint choice = Add("switch", "Switch", {x, p}, Typed(DType::kFloat));
  Endpoint one = Const("one", Tensor::Scalar(1.0f));
  Endpoint plus = Plus("plus", Endpoint{choice.node, 1}, one);
  Endpoint minus = Add("minus", "Sub", {choice, one}, Typed(DType::kFloat));
  Endpoint merge = Add("merge", "Merge", {minus, plus}, Pair(DType::kFloat));
  Add("which", "Identity", {Endpoint{merge.node, 1}}, Typed(DType::kInt32));
  Start();
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Fetch({{"p:0", Tensor::Scalar(true)}}, "merge:0"), 11.0f);
    EXPECT_EQ(Fetch({{"p:0", Tensor::Scalar(false)}}, "merge:0"), 9.0f);
  }
  std::vector<Tensor> out;
  std::vector<Feed> feeds = {{"p:0", Tensor::Scalar(true)}};
  std::vector<std::string> which = {"which:0"};
  ASSERT_TRUE(session_->Run(feeds, which, {}, &out).ok());
  EXPECT_EQ(out[0].scalar<int32_t>(), 1);
  Status dead = Run({{"p:0", Tensor::Scalar(true)}}, {"minus:0"});
  EXPECT_EQ(dead.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(dead), HasSubstr("Retval[0] does not have value"));
}

TEST_F(SessionTest, ALoopCounts) {
  AddCounterLoop(1000);
  Start();
  for (int round = 0; round < 3; ++round) {
    std::vector<Tensor> out;
    std::vector<std::string> fetches = {"out:0"};
    Status status = session_->Run({}, fetches, {}, &out);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(out[0].scalar<int32_t>(), 1000);
  }
}

TEST_F(SessionTest, AnEndlessLoopEndsAtItsDeadline) {
  AddCounterLoop(std::numeric_limits<int32_t>::max());
  Start();
  StepOptions options;
  options.timeout = absl::Milliseconds(20);
  std::vector<Tensor> out;
  std::vector<std::string> fetches = {"out:0"};
  Status status = session_->Run(options, {}, fetches, {}, &out, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
}

TEST_F(SessionTest, ADeadlineNamesWhatIsMissing) {
  Add("stuck", "Block", {Const("a", Tensor::Scalar(1.0f))});
  Start();
  StepOptions options;
  options.timeout = absl::Milliseconds(20);
  std::vector<Tensor> out;
  std::vector<std::string> fetches = {"stuck:0"};
  Status status = session_->Run(options, {}, fetches, {}, &out, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(Message(status), HasSubstr("'stuck' (Block)"));
}

TEST_F(SessionTest, CloseEndsRunningSteps) {
  Add("stuck", "Block", {Const("a", Tensor::Scalar(1.0f))});
  Start();
  Status status;
  std::thread runner([&] { status = Run({}, {"stuck:0"}); });
  AwaitBlocked(1);
  EXPECT_TRUE(session_->Close().ok());
  runner.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  EXPECT_EQ(Run({}, {"a:0"}).code(), absl::StatusCode::kCancelled);
}

TEST_F(SessionTest, CancellingFromOutsideEndsTheStep) {
  Add("stuck", "Block", {Const("a", Tensor::Scalar(1.0f))});
  Start();
  CancellationManager cancellation;
  StepOptions options;
  options.cancellation = &cancellation;
  std::vector<Tensor> out;
  std::vector<std::string> fetches = {"stuck:0"};
  Status status;
  std::thread runner([&] { status = session_->Run(options, {}, fetches, {}, &out, nullptr); });
  AwaitBlocked(1);
  cancellation.StartCancel();
  runner.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
}

TEST_F(SessionTest, ExtendAddsNodesForLaterSteps) {
  Const("a", Tensor::Scalar(1.0f));
  Start();
  EXPECT_EQ(session_->graph_version(), 1);
  Graph more(environment_->ops);
  Graph::NodeSpec spec;
  spec.name = "b";
  spec.op = "Const";
  spec.attrs.Set("dtype", DType::kFloat);
  spec.attrs.Set("value", Tensor::Scalar(2.0f));
  ASSERT_TRUE(more.AddNode(spec).ok());
  ASSERT_TRUE(session_->Extend(more).ok());
  EXPECT_EQ(session_->graph_version(), 2);
  EXPECT_EQ(Fetch({}, "b:0"), 2.0f);
  EXPECT_FALSE(session_->Extend(more).ok());
  EXPECT_EQ(session_->graph_version(), 2);
}

TEST_F(SessionTest, CallablesTakeFeedsByPosition) {
  Endpoint x = Placeholder("x");
  Endpoint y = Placeholder("y");
  Add("difference", "Sub", {x, y}, Typed(DType::kFloat));
  Start();
  Session::CallableSpec spec;
  spec.feeds = {"y:0", "x:0"};
  spec.fetches = {"difference:0"};
  StatusOr<Session::Callable> callable = session_->MakeCallable(spec);
  ASSERT_TRUE(callable.ok()) << callable.status();
  std::vector<Tensor> out;
  std::vector<Tensor> feeds = {Tensor::Scalar(1.0f), Tensor::Scalar(10.0f)};
  ASSERT_TRUE(session_->RunCallable(*callable, feeds, &out).ok());
  EXPECT_EQ(out[0].scalar<float>(), 9.0f);
  feeds.pop_back();
  EXPECT_EQ(session_->RunCallable(*callable, feeds, &out).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(session_->ReleaseCallable(*callable).ok());
  EXPECT_EQ(session_->RunCallable(*callable, feeds, &out).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SessionTest, AConnectionFeedsATensorFromAnother) {
  Endpoint x = Placeholder("x");
  Endpoint one = Const("one", Tensor::Scalar(1.0f));
  Endpoint sum = Plus("sum", x, one);
  Endpoint y = Placeholder("y");
  Plus("result", y, one);
  (void)sum;
  Start();
  Session::CallableSpec spec;
  spec.feeds = {"x:0"};
  spec.fetches = {"result:0"};
  spec.connections = {{"sum:0", "y:0"}};
  StatusOr<Session::Callable> callable = session_->MakeCallable(spec);
  ASSERT_TRUE(callable.ok()) << callable.status();
  std::vector<Tensor> out;
  std::vector<Tensor> feeds = {Tensor::Scalar(5.0f)};
  ASSERT_TRUE(session_->RunCallable(*callable, feeds, &out).ok());
  EXPECT_EQ(out[0].scalar<float>(), 7.0f);
}

TEST_F(SessionTest, APartialRunTakesFeedsInTurn) {
  Endpoint a = Placeholder("a");
  Endpoint b = Placeholder("b");
  Endpoint c = Placeholder("c");
  Endpoint first = Plus("first", a, b);
  Plus("second", first, c);
  Start();
  std::vector<std::string> feeds = {"a:0", "b:0", "c:0"};
  std::vector<std::string> fetches = {"first:0", "second:0"};
  StatusOr<std::string> handle = session_->PartialRunSetup(feeds, fetches, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  std::vector<Tensor> out;
  std::vector<Feed> ab = {{"a:0", Tensor::Scalar(1.0f)}, {"b:0", Tensor::Scalar(2.0f)}};
  std::vector<std::string> want_first = {"first:0"}, want_second = {"second:0"};
  EXPECT_EQ(session_->PartialRun(*handle, ab, want_second, &out).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(session_->PartialRun(*handle, ab, want_first, &out).ok());
  EXPECT_EQ(out[0].scalar<float>(), 3.0f);
  EXPECT_EQ(session_->PartialRun(*handle, ab, want_second, &out).code(), absl::StatusCode::kInvalidArgument);
  std::vector<Feed> just_c = {{"c:0", Tensor::Scalar(10.0f)}};
  ASSERT_TRUE(session_->PartialRun(*handle, just_c, want_second, &out).ok());
  EXPECT_EQ(out[0].scalar<float>(), 13.0f);
  EXPECT_EQ(session_->PartialRun(*handle, {}, want_second, &out).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SessionTest, APartialRunThatWaitsForFeedsEndsWithItsSession) {
  Plus("y", Placeholder("a"), Placeholder("b"));
  Start();
  std::vector<std::string> feeds = {"a:0", "b:0"}, fetches = {"y:0"};
  StatusOr<std::string> unfed = session_->PartialRunSetup(feeds, fetches, {});
  StatusOr<std::string> half_fed = session_->PartialRunSetup(feeds, fetches, {});
  ASSERT_TRUE(unfed.ok() && half_fed.ok());
  std::vector<Tensor> out;
  std::vector<Feed> a = {{"a:0", Tensor::Scalar(1.0f)}}, b = {{"b:0", Tensor::Scalar(1.0f)}};
  ASSERT_TRUE(session_->PartialRun(*half_fed, a, {}, &out).ok());
  EXPECT_TRUE(session_->Close().ok());
  EXPECT_EQ(session_->running_steps(), 0);
  EXPECT_EQ(session_->PartialRun(*half_fed, b, fetches, &out).code(), absl::StatusCode::kCancelled);
}

TEST_F(SessionTest, APartialRunThatFailsDoesNotWaitForOtherFeeds) {
  Endpoint failed = Add("failed", "Fail", {Placeholder("a")});
  Plus("sum", failed, Placeholder("b"));
  Start();
  std::vector<std::string> feeds = {"a:0", "b:0"}, fetches = {"failed:0", "sum:0"};
  StatusOr<std::string> handle = session_->PartialRunSetup(feeds, fetches, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  std::vector<Tensor> out;
  std::vector<Feed> a = {{"a:0", Tensor::Scalar(1.0f)}};
  Status status = session_->PartialRun(*handle, a, std::span(fetches).first(1), &out);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("as asked"));
}

TEST_F(SessionTest, ACancelledCallEndsItsPartialRun) {
  Endpoint blocked = Add("blocked", "Block", {Placeholder("a")});
  Plus("sum", blocked, Placeholder("b"));
  Start();
  std::vector<std::string> feeds = {"a:0", "b:0"}, fetches = {"blocked:0", "sum:0"};
  StatusOr<std::string> handle = session_->PartialRunSetup(feeds, fetches, {});
  ASSERT_TRUE(handle.ok()) << handle.status();
  CancellationManager cancellation;
  StepOptions options;
  options.cancellation = &cancellation;
  std::vector<Feed> a = {{"a:0", Tensor::Scalar(1.0f)}};
  absl::Notification ended;
  session_->PartialRunAsync(*handle, options, a, std::span(fetches).first(1), [&](Status status, std::vector<Tensor>) {
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
    ended.Notify();
  });
  AwaitBlocked(1);
  cancellation.StartCancel();
  ended.WaitForNotification();
  EXPECT_TRUE(session_->Close().ok());
}

// A session that waits no time for its steps to end, and a step of it that does not hear of its cancellation.
class StubbornStepTest : public SessionTest {
 protected:
  void StartStubbornStep(absl::Notification* ended) {
    Add("stubborn", "Deaf", {Placeholder("a")});
    SessionOptions options;
    options.close_timeout = absl::Milliseconds(1);
    Start(options);
    std::vector<Feed> a = {{"a:0", Tensor::Scalar(1.0f)}};
    std::vector<std::string> fetches = {"stubborn:0"};
    session_->RunAsync({}, a, fetches, {}, nullptr, [ended](Status, std::vector<Tensor>) { ended->Notify(); });
    AwaitBlocked(1);
  }
};

TEST_F(StubbornStepTest, ClosingNamesStepsThatDoNotEnd) {
  absl::Notification ended;
  StartStubbornStep(&ended);
  Status closed = session_->Close();
  EXPECT_EQ(closed.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(closed.message()), HasSubstr("waiting for 'stubborn' (Deaf)"));
  ReleaseBlocked();
  ended.WaitForNotification();
  EXPECT_TRUE(session_->Close().ok());
}

TEST_F(StubbornStepTest, AStepMayOutliveItsSession) {
  absl::Notification ended;
  StartStubbornStep(&ended);
  session_ = nullptr;
  ReleaseBlocked();
  ended.WaitForNotification();
}

TEST_F(StubbornStepTest, TheMemoryOfADestroyedSessionIsFreedWhenItsStepsEnd) {
  absl::Notification ended, freed;
  std::shared_ptr<Environment> kept = environment_;
  environment_ = std::shared_ptr<Environment>(kept.get(), [&](Environment*) { freed.Notify(); });
  StartStubbornStep(&ended);
  environment_ = nullptr;
  session_ = nullptr;
  EXPECT_FALSE(freed.HasBeenNotified());
  ReleaseBlocked();
  ended.WaitForNotification();
  EXPECT_TRUE(freed.WaitForNotificationWithTimeout(absl::Seconds(60)));
}

TEST_F(SessionTest, ATracedStepReportsItsNodes) {
  Plus("y", Placeholder("x"), Const("one", Tensor::Scalar(1.0f)));
  Start();
  StepOptions options;
  options.trace = TraceLevel::kFull;
  StepReport report;
  std::vector<Tensor> out;
  std::vector<Feed> feeds = {{"x:0", Tensor::Scalar(1.0f)}};
  std::vector<std::string> fetches = {"y:0"};
  ASSERT_TRUE(session_->Run(options, feeds, fetches, {}, &out, &report).ok());
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_THAT(report.devices[0].nodes, testing::Contains(testing::Field(&NodeStats::node, "y")));
  EXPECT_THAT(report.devices[0].nodes, testing::Contains(testing::Field(&NodeStats::allocated_bytes, sizeof(float))));
  EXPECT_EQ(report.partition_graphs.size(), 1u);
  EXPECT_THAT(report.ToChromeTrace(), HasSubstr("\"AddV2\""));
}

TEST_F(SessionTest, TheCostGraphComesEverySoManySteps) {
  Plus("sum", Placeholder("x"), Placeholder("y"));
  SessionOptions session_options;
  session_options.build_cost_model = 2;
  session_options.build_cost_model_after = 1;
  std::unique_ptr<Session> session = Session::Create(environment_, session_options).value();
  ASSERT_EQ(session->Extend(graph_), OkStatus());
  const std::vector<Feed> feeds = {{"x:0", Tensor::Scalar(1.0f)}, {"y:0", Tensor::Scalar(2.0f)}};
  const std::vector<std::string> fetches = {"sum:0"};
  for (int step = 0; step < 5; ++step) {
    StepReport report;
    std::vector<Tensor> out;
    ASSERT_EQ(session->Run({}, feeds, fetches, {}, &out, &report), OkStatus());
    EXPECT_TRUE(report.devices.empty());
    CostGraphDef costs;
    ASSERT_TRUE(costs.ParseFromString(report.cost_graph));
    if (step != 2 && step != 4) {
      EXPECT_EQ(costs.node_size(), 0) << step;
      continue;
    }
    ASSERT_EQ(costs.node_size(), 2 + 4) << costs.DebugString();  // two arguments, the sum, a result
    auto sum = std::find_if(costs.node().begin(), costs.node().end(), [](auto& node) { return node.name() == "sum"; });
    ASSERT_NE(sum, costs.node().end());
    EXPECT_EQ(sum->input_info_size(), 2);
    EXPECT_EQ(costs.node(sum->input_info(0).preceding_node()).id(), sum->input_info(0).preceding_node());
    EXPECT_EQ(sum->output_info(0).size(), 4);
    EXPECT_EQ(sum->output_info(0).dtype(), DT_FLOAT);
  }
}

TEST_F(SessionTest, ManyThreadsRunStepsAtOnce) {
  AddCounterLoop(50);
  Endpoint x = Placeholder("x");
  for (int i = 0; i < 20; ++i) x = Plus(Cat("y", i), x, Const(Cat("c", i), Tensor::Scalar(1.0f)));
  Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(Fetch({{"x:0", Tensor::Scalar(static_cast<float>(t))}}, "y19:0"), static_cast<float>(t) + 20);
        EXPECT_TRUE(Run({}, {"out:0"}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

#if !defined(__SANITIZE_ADDRESS__)  // there, blocks are never kept
TEST_F(SessionTest, ARepeatedStepAsksTheSystemForNoMemory) {
  Endpoint x = Placeholder("x");
  for (int i = 0; i < 50; ++i) x = Plus(Cat("y", i), x, Const(Cat("c", i), Tensor::Scalar(1.0f)));
  Start();
  std::vector<Feed> feeds = {{"x:0", Tensor::Scalar(1.0f)}};
  for (int i = 0; i < 3; ++i) Run(feeds, {"y49:0"}).IgnoreError();
  int64_t before = CpuSystemAllocations();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Run(feeds, {"y49:0"}).ok());
  EXPECT_EQ(CpuSystemAllocations(), before);
}
#endif

}  // namespace
}  // namespace weir
