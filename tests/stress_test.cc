// A thousand steps at once over shared variables and queues, some cancelled, some out of time, some closed under their
// feet.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <thread>

#include "weir/client/environment.h"
#include "weir/graph/graph.h"
#include "weir/runtime/session.h"

namespace weir {
namespace {

constexpr int kThreads = 8;
constexpr int kSteps = 1000;

// A variable `total`, and a queue with room for 16 numbers, both shared by all sessions of an environment.
Graph StressGraph(const Environment& environment) {
  Graph graph(environment.ops);
  auto add = [&graph](std::string name, std::string op, std::vector<Endpoint> inputs,
                      std::vector<AttrMap::Entry> attrs) {
    AttrMap map;
    for (auto& [key, value] : attrs) map.Set(key, std::move(value));
    auto node = graph.AddNode(
        {.name = std::move(name), .op = std::move(op), .attrs = std::move(map), .inputs = std::move(inputs)});
    EXPECT_TRUE(node.ok()) << node.status();
    return Endpoint{(*node)->id, 0};
  };
  const Attribute type(DType::kInt64);
  const Attribute types(AttrList{.type = {DType::kInt64}});
  const Endpoint x = add("x", "Placeholder", {}, {{"dtype", type}, {"shape", Shape()}});

  const Endpoint total =
      add("total", "VarHandleOp", {}, {{"dtype", type}, {"shape", Shape()}, {"shared_name", "total"}});
  add("set", "AssignVariableOp", {total, x}, {{"dtype", type}});
  add("add", "AssignAddVariableOp", {total, x}, {{"dtype", type}});
  add("read", "ReadVariableOp", {total}, {{"dtype", type}});

  const Endpoint queue =
      add("queue", "FIFOQueueV2", {}, {{"component_types", types}, {"capacity", 16}, {"shared_name", "queue"}});
  add("enqueue", "QueueEnqueueV2", {queue, x}, {{"Tcomponents", types}});
  add("dequeue", "QueueDequeueV2", {queue}, {{"component_types", types}});
  add("size", "QueueSizeV2", {queue}, {});
  add("close", "QueueCloseV2", {queue}, {{"cancel_pending_enqueues", true}});
  add("finish", "QueueCloseV2", {queue}, {{"cancel_pending_enqueues", false}});
  return graph;
}

std::unique_ptr<Session> NewSession(const std::shared_ptr<Environment>& environment) {
  auto session = Session::Create(environment);
  EXPECT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->Extend(StressGraph(*environment)), OkStatus());
  return *std::move(session);
}

// What became of many asynchronous steps.
class Outcomes {
 public:
  Session::RunDone Expect() {
    absl::MutexLock lock(&mu_);
    ++waiting_;
    return [this](Status status, std::vector<Tensor> outputs) {
      absl::MutexLock lock(&mu_);
      --waiting_;
      ++count_[status.code()];
      if (status.ok() && !outputs.empty()) sum_ += outputs[0].scalar<int64_t>();
    };
  }
  // False if some step did not end for a minute.
  bool Wait() {
    absl::MutexLock lock(&mu_);
    auto ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return waiting_ == 0; };
    return mu_.AwaitWithTimeout(absl::Condition(&ended), absl::Minutes(1));
  }
  int count(absl::StatusCode code) {
    absl::MutexLock lock(&mu_);
    return count_[code];
  }
  int64_t sum() {
    absl::MutexLock lock(&mu_);
    return sum_;
  }

 private:
  absl::Mutex mu_;
  int waiting_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<absl::StatusCode, int> count_ ABSL_GUARDED_BY(mu_);
  int64_t sum_ ABSL_GUARDED_BY(mu_) = 0;
};

void StartAdd(Session& session, const std::string& node, int64_t x, Outcomes& outcomes,
              const StepOptions& options = {}) {
  const Feed feeds[] = {{"x:0", Tensor::Scalar(x)}};
  const std::string targets[] = {node};
  session.RunAsync(options, feeds, {}, targets, nullptr, outcomes.Expect());
}

void StartDequeue(Session& session, Outcomes& outcomes, const StepOptions& options = {}) {
  const std::string fetches[] = {"dequeue:0"};
  session.RunAsync(options, {}, fetches, {}, nullptr, outcomes.Expect());
}

Status Set(Session& session, int64_t x) {
  const Feed feeds[] = {{"x:0", Tensor::Scalar(x)}};
  const std::string targets[] = {"set"};
  return session.Run(feeds, {}, targets, nullptr);
}

template <typename T>
StatusOr<T> Fetch(Session& session, const std::string& name) {
  const std::string fetches[] = {name};
  std::vector<Tensor> outputs;
  WEIR_RETURN_IF_ERROR(session.Run({}, fetches, {}, &outputs));
  return outputs[0].scalar<T>();
}

void InThreads(const std::function<void(int thread)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

class Stress : public testing::Test {
 protected:
  void SetUp() override {
    auto environment = MakeEnvironment();
    ASSERT_TRUE(environment.ok()) << environment.status();
    environment_ = *std::move(environment);
    session_ = NewSession(environment_);
    ASSERT_EQ(Set(*session_, 0), OkStatus());
  }
  // Closes the queue and takes what is left in it and what waits to get in.
  int64_t Drain() {
    const std::string targets[] = {"finish"};
    Outcomes closed;  // once those that wait have got in
    session_->RunAsync({}, {}, {}, targets, nullptr, closed.Expect());
    int64_t sum = 0;
    StatusOr<int64_t> element;
    while ((element = Fetch<int64_t>(*session_, "dequeue:0")).ok()) sum += *element;
    EXPECT_EQ(element.status().code(), absl::StatusCode::kOutOfRange) << element.status();
    EXPECT_TRUE(closed.Wait());
    return sum;
  }
  // Of elements worth 1 each: none is taken twice, and none is lost but by a step that ended early with it in its
  // hands.
  void ExpectNothingLost(Outcomes& enqueues, Outcomes& dequeues, absl::StatusCode ended_early) {
    const int64_t taken = dequeues.sum() + Drain();
    ASSERT_TRUE(enqueues.Wait());
    EXPECT_LE(taken, enqueues.count(absl::StatusCode::kOk) + enqueues.count(ended_early));
    EXPECT_GE(taken, enqueues.count(absl::StatusCode::kOk) - dequeues.count(ended_early));
    EXPECT_EQ(dequeues.count(absl::StatusCode::kOk) + dequeues.count(ended_early), kSteps);
  }

  std::shared_ptr<Environment> environment_;
  std::unique_ptr<Session> session_;
};

TEST_F(Stress, ConcurrentStepsLoseNoUpdateAndNoElement) {
  Outcomes adds, enqueues, dequeues;
  InThreads([&](int thread) {
    for (int i = thread; i < kSteps; i += kThreads) {
      StartAdd(*session_, "add", i, adds);
      StartAdd(*session_, "enqueue", i, enqueues);
      StartDequeue(*session_, dequeues);
    }
  });
  ASSERT_TRUE(adds.Wait() && enqueues.Wait() && dequeues.Wait());
  constexpr int64_t kSum = int64_t{kSteps} * (kSteps - 1) / 2;
  EXPECT_EQ(adds.count(absl::StatusCode::kOk), kSteps);
  EXPECT_EQ(Fetch<int64_t>(*session_, "read:0").value_or(-1), kSum);
  EXPECT_EQ(enqueues.count(absl::StatusCode::kOk), kSteps);
  EXPECT_EQ(dequeues.count(absl::StatusCode::kOk), kSteps);
  EXPECT_EQ(dequeues.sum(), kSum);
  EXPECT_EQ(session_->running_steps(), 0);
}

TEST_F(Stress, StepsCancelledWhileOthersFeedThemLoseNothing) {
  Outcomes enqueues, dequeues;
  std::vector<std::unique_ptr<CancellationManager>> cancellations(kSteps);
  for (auto& cancellation : cancellations) cancellation = std::make_unique<CancellationManager>();
  // Twice as many dequeues as enqueues; whoever waits is cancelled by another thread than the one that began it.
  InThreads([&](int thread) {
    for (int i = thread; i < kSteps; i += kThreads) {
      StartDequeue(*session_, dequeues, {.cancellation = cancellations[i].get()});
      if (i % 2 == 0) StartAdd(*session_, "enqueue", 1, enqueues);
      cancellations[(i + kSteps / 2) % kSteps]->StartCancel();
    }
  });
  for (auto& cancellation : cancellations) cancellation->StartCancel();
  ASSERT_TRUE(dequeues.Wait());
  ExpectNothingLost(enqueues, dequeues, absl::StatusCode::kCancelled);
}

TEST_F(Stress, WaitersThatWereCancelledTakeNothing) {
  Outcomes enqueues, dequeues;
  CancellationManager cancellation;
  InThreads([&](int thread) {
    for (int i = thread; i < kSteps; i += kThreads) StartDequeue(*session_, dequeues, {.cancellation = &cancellation});
  });
  cancellation.StartCancel();
  ASSERT_TRUE(dequeues.Wait());
  EXPECT_EQ(dequeues.count(absl::StatusCode::kCancelled), kSteps);
  InThreads([&](int thread) {
    for (int i = thread; i < kSteps; i += kThreads) StartAdd(*session_, "enqueue", 1, enqueues);
  });
  // An enqueue may begin only after the queue was closed.
  const int64_t taken = Drain();
  ASSERT_TRUE(enqueues.Wait());
  EXPECT_EQ(taken, enqueues.count(absl::StatusCode::kOk));
  EXPECT_EQ(taken + enqueues.count(absl::StatusCode::kCancelled), kSteps);
}

TEST_F(Stress, StepsOutOfTimeLoseNothing) {
  Outcomes enqueues, dequeues;
  InThreads([&](int thread) {
    for (int i = thread; i < kSteps; i += kThreads) {
      const StepOptions options{.timeout = absl::Milliseconds(1 + i % 20)};
      StartDequeue(*session_, dequeues, options);
      StartAdd(*session_, "enqueue", 1, enqueues, options);
    }
  });
  ASSERT_TRUE(enqueues.Wait() && dequeues.Wait());
  ExpectNothingLost(enqueues, dequeues, absl::StatusCode::kDeadlineExceeded);
}

TEST_F(Stress, AClosedQueueLetsEveryStepGo) {
  Outcomes dequeues, closes;
  InThreads([&](int thread) {
    for (int i = thread; i < kSteps; i += kThreads) StartDequeue(*session_, dequeues);
    const std::string targets[] = {"close"};
    if (thread == 0) session_->RunAsync({}, {}, {}, targets, nullptr, closes.Expect());
  });
  ASSERT_TRUE(closes.Wait() && dequeues.Wait());
  EXPECT_EQ(dequeues.count(absl::StatusCode::kOutOfRange), kSteps);
}

TEST_F(Stress, AClosedSessionLetsEveryStepGo) {
  Outcomes dequeues, adds;
  InThreads([&](int thread) {
    for (int i = thread; i < kSteps; i += kThreads) {
      StartDequeue(*session_, dequeues);
      StartAdd(*session_, "add", 1, adds);
      if (i == kSteps / 2) session_->Close().IgnoreError();
    }
  });
  ASSERT_TRUE(dequeues.Wait() && adds.Wait());
  EXPECT_EQ(session_->running_steps(), 0);
  EXPECT_EQ(dequeues.count(absl::StatusCode::kCancelled), kSteps);
  // What was reported as done was done; a step that was cancelled may have come that far too.
  const int64_t total = Fetch<int64_t>(*NewSession(environment_), "read:0").value_or(-1);
  EXPECT_GE(total, adds.count(absl::StatusCode::kOk));
  EXPECT_LE(total, kSteps);
}

TEST_F(Stress, SessionsComeAndGoOverSharedState) {
  constexpr int kSessions = 20;
  InThreads([&](int thread) {
    for (int i = 0; i < kSessions; ++i) {
      Outcomes adds, stuck;
      auto session = NewSession(environment_);
      for (int step = 0; step < 5; ++step) {
        StartAdd(*session, "add", 1, adds);
        StartDequeue(*session, stuck);
      }
      EXPECT_TRUE(adds.Wait());
      session.reset();  // ends the steps that wait
      EXPECT_TRUE(stuck.Wait());
      EXPECT_EQ(stuck.count(absl::StatusCode::kCancelled), 5);
    }
  });
  EXPECT_EQ(Fetch<int64_t>(*session_, "read:0").value_or(-1), kThreads * kSessions * 5);
}

}  // namespace
}  // namespace weir
