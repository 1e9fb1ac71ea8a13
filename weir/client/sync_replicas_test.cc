#include "weir/client/sync_replicas.h"

#include <gtest/gtest.h>

#include <thread>

#include "weir/client/environment.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"

namespace weir {
namespace {

std::string Worker(int index) { return Cat("/device:CPU:", index); }

// A worker that moves w towards x: loss (w - x)^2, and rows of a table that it looks up.
struct Replica {
  Replica(const std::shared_ptr<Environment>& environment, int index, int aggregate, int total)
      : root(Scope::NewRoot(environment)),
        w(root.WithDevice(Worker(0)), "w", Input(0.0f)),
        table(root.WithDevice(Worker(0)), "table", Shape({4}), init::Zeros()),
        x(ops::Placeholder(root, DType::kFloat, {.shape = PartialShape(Shape())})),
        loss(ops::Square(root, w.value() - x) +
             ops::Sum(root, ops::ResourceGather(root, table.handle(), {1, 3}, DType::kFloat), 0)),
        sync(root, optimizer::GradientDescent({.learning_rate = 0.1}), loss,
             {.replicas_to_aggregate = aggregate, .total_replicas = total, .worker_device = Worker(index)}) {
    EXPECT_TRUE(root.ok()) << root.status();
    session = ClientSession::Create(root, SessionOptions()).value();
  }
  Status Step(float value) { return session->RunTargets({sync.training().op}, {{x, Tensor::Scalar(value)}}); }
  float Weight() { return session->Evaluate(w).value().scalar<float>(); }
  int64_t Steps() { return session->Evaluate(sync.training().step).value().scalar<int64_t>(); }
  float Stale() { return session->Evaluate(sync.stale()).value().scalar<float>(); }

  Scope root;
  Variable w;
  Variable table;
  Output x;
  Output loss;
  SyncReplicas sync;
  std::unique_ptr<ClientSession> session;
};

std::shared_ptr<Environment> TwoDevices() { return MakeEnvironment({.num_cpu_devices = 2}).value(); }

void Begin(Replica& chief, Replica& other) {
  ASSERT_TRUE(chief.session->RunTargets({InitializeVariables(chief.root.WithPrefix(""))}).ok());
  ASSERT_TRUE(chief.session->RunTargets({chief.sync.begin_chief()}).ok());
  for (Replica* replica : {&chief, &other}) {
    ASSERT_TRUE(replica->session->RunTargets({replica->sync.begin()}).ok());
  }
}

TEST(SyncReplicas, AppliesTheMeanOfAllWorkers) {
  auto environment = TwoDevices();
  Replica chief(environment, 0, 2, 2), other(environment, 1, 2, 2);
  Begin(chief, other);
  float expected = 0;
  for (int i = 0; i < 3; ++i) {
    std::thread update([&] { EXPECT_TRUE(chief.session->RunTargets({chief.sync.update()}).ok()); });
    std::thread beside([&] { EXPECT_TRUE(other.Step(3).ok()); });
    EXPECT_TRUE(chief.Step(1).ok());
    beside.join();
    update.join();
    expected -= 0.1f * ((2 * (expected - 1) + 2 * (expected - 3)) / 2);
    EXPECT_FLOAT_EQ(chief.Weight(), expected);
    EXPECT_EQ(other.Steps(), i + 1);
  }
  EXPECT_EQ(chief.Stale(), 0);
  const Tensor rows = other.session->Evaluate(other.table).value();
  EXPECT_FLOAT_EQ(rows.span<float>()[1], -0.3f);
  EXPECT_EQ(rows.span<float>()[0], 0);
}

TEST(SyncReplicas, CountsTheGradientsOfBackupsThatComeTooLate) {
  auto environment = TwoDevices();
  Replica chief(environment, 0, 1, 2), backup(environment, 1, 1, 2);
  Begin(chief, backup);
  std::thread update([&] { EXPECT_TRUE(chief.session->RunTargets({chief.sync.update()}).ok()); });
  EXPECT_TRUE(chief.Step(1).ok());
  update.join();
  EXPECT_FLOAT_EQ(chief.Weight(), 0.2f);
  EXPECT_TRUE(backup.Step(100).ok());  // of the step before
  EXPECT_EQ(backup.Stale(), 1);
  EXPECT_FLOAT_EQ(chief.Weight(), 0.2f);
  EXPECT_EQ(chief.Steps(), 1);
}

// The hook runs the chief's updates while both train until the last step. A worker that is faster may take both tokens
// of a step, so both have the same target.
TEST(SyncReplicas, TrainsInLoops) {
  auto environment = TwoDevices();
  Replica chief(environment, 0, 2, 2), other(environment, 1, 2, 2);
  auto train = [](Replica& replica, bool is_chief, float target) {
    TrainingLoopOptions options{.last_step = 10};
    options.shared = true;
    options.is_chief = is_chief;
    options.hooks = {replica.sync.MakeHook(is_chief)};
    options.feeds = [&](int64_t) -> StatusOr<ClientSession::Feeds> {
      return ClientSession::Feeds{{replica.x, Tensor::Scalar(target)}};
    };
    StatusOr<int64_t> steps = TrainUntil(*replica.session, replica.sync.training(), replica.loss, options);
    EXPECT_TRUE(steps.ok()) << steps.status();
    EXPECT_EQ(steps.value_or(-1), 10);
  };
  std::thread beside([&] { train(other, false, 2); });
  train(chief, true, 2);
  beside.join();
  float expected = 0;
  for (int i = 0; i < 10; ++i) expected -= 0.1f * (2 * expected - 4);
  EXPECT_NEAR(chief.Weight(), expected, 1e-5);
}

// The chief may end on a step whose update has not given out its tokens yet; the update is then cancelled.
TEST(SyncReplicas, TheChiefLeavesNobodyWaitingForAToken) {
  auto environment = TwoDevices();
  Replica chief(environment, 0, 2, 2), other(environment, 1, 2, 2);
  Begin(chief, other);
  std::shared_ptr<TrainingHook> hook = chief.sync.MakeHook(/*is_chief=*/true);
  ASSERT_TRUE(hook->OnBegin(*chief.session, 0).ok());
  std::thread waits([&] { EXPECT_TRUE(other.Step(1).ok()); });  // half of what an update needs
  EXPECT_TRUE(hook->OnEnd(*chief.session, 0).ok());
  waits.join();
  EXPECT_EQ(chief.Steps(), 0);
}

TEST(SyncReplicas, AFailedUpdateEndsTheWaitOfTheWorkers) {
  auto environment = TwoDevices();
  Replica chief(environment, 0, 2, 2), other(environment, 1, 2, 2);
  Begin(chief, other);
  ASSERT_TRUE(chief.session->RunTargets({chief.sync.close()}).ok());
  EXPECT_FALSE(other.Step(1).ok());
}

TEST(SyncReplicas, RefusesStepsWithoutGradients) {
  Scope root = Scope::NewRoot();
  Variable w(root, "w", Input(0.0f));
  SyncReplicas sync(root, optimizer::GradientDescent(), ops::Square(root, w), {.replicas_to_aggregate = 0});
  EXPECT_TRUE(absl::IsInvalidArgument(root.status()));
}

}  // namespace
}  // namespace weir
