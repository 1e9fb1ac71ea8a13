#include "weir/client/distribute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "weir/client/nn/model.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"

namespace weir {
namespace {

using testing::HasSubstr;

std::shared_ptr<Environment> ThreeDevices() { return MakeEnvironment({.num_cpu_devices = 3}).value(); }

nn::Batch RandomBatch(int step, int64_t rows) {
  std::mt19937 random(1000 + step);
  std::vector<float> x;
  std::vector<int64_t> y;
  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0;
    for (int j = 0; j < 6; ++j) sum += x.emplace_back(static_cast<float>(random() % 2000) / 1000 - 1);
    y.push_back(sum > 0 ? 1 : 0);
  }
  return {{Tensor::FromSpan<float>(x, {rows, 6})}, Tensor::FromSpan<int64_t>(y, {rows})};
}

nn::CompileOptions HowToTrain() {
  return {.optimizer = optimizer::Adam({.learning_rate = 0.01}),
          .loss = loss::SparseCategoricalCrossentropy(),
          .metrics = {metric::SparseCategoricalAccuracy()},
          .limits = {.global_norm = 1.0}};
}

// A model of the current strategy. All have the same first values.
std::unique_ptr<nn::Model> MakeModel(const std::shared_ptr<Environment>& environment) {
  auto network =
      nn::Sequential({nn::Dense(16, {.activation = "tanh", .kernel_regularizer = nn::L2(0.001)}), nn::Dense(2)});
  auto model = std::make_unique<nn::Model>(network, std::vector<nn::InputSpec>{{6}}, /*seed=*/7, environment);
  EXPECT_EQ(model->Compile(HowToTrain()), OkStatus());
  return model;
}

class Strategies : public ::testing::TestWithParam<distribute::Strategy> {};

TEST_P(Strategies, TrainAsOneReplicaOnTheWholeBatch) {
  auto environment = ThreeDevices();
  std::unique_ptr<nn::Model> together, alone = MakeModel(environment);
  {
    distribute::StrategyScope scope(GetParam());
    together = MakeModel(environment);
  }
  EXPECT_TRUE(distribute::Current().name.empty());
  for (int step = 0; step < 60; ++step) {
    // Batches that cannot be divided, and with fewer rows than replicas.
    const nn::Batch batch = RandomBatch(step, step % 4 == 0 ? 1 + step % 3 : 31);
    auto expected = alone->TrainOnBatch(batch), got = together->TrainOnBatch(batch);
    ASSERT_TRUE(expected.ok() && got.ok()) << expected.status() << got.status();
    for (int i = 0; i < 2; ++i) {
      ASSERT_NEAR((*got)[i].second, (*expected)[i].second, 1e-5 * (1 + step / 5.0)) << step << (*got)[i].first;
    }
  }
  EXPECT_EQ(together->step().value(), 60);
  // What one has written, the other loads.
  const std::string prefix = Cat(testing::TempDir(), "/strategy_", GetParam().name, GetParam().devices.size());
  const std::string saved = together->Save(prefix).value();
  ASSERT_EQ(alone->Load(saved), OkStatus());
  const nn::Batch batch = RandomBatch(1000, 64);
  EXPECT_NEAR((*alone->TrainOnBatch(batch))[0].second, (*together->TrainOnBatch(batch))[0].second, 1e-6);
  const std::string back = alone->Save(Cat(prefix, "_back")).value();
  ASSERT_EQ(alone->TrainOnBatch(batch).status(), OkStatus());
  ASSERT_EQ(together->Load(back), OkStatus());
  ASSERT_EQ(together->TrainOnBatch(batch).status(), OkStatus());
  EXPECT_NEAR((*alone->TrainOnBatch(batch))[0].second, (*together->TrainOnBatch(batch))[0].second, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(All, Strategies,
                         ::testing::Values(distribute::OneDevice("/device:CPU:2"),
                                           distribute::Mirrored({"/device:CPU:0", "/device:CPU:1"}),
                                           distribute::Mirrored({"/device:CPU:2", "/device:CPU:0", "/device:CPU:1"}),
                                           distribute::CentralStorage({"/device:CPU:1", "/device:CPU:2"})),
                         [](const auto& info) { return Cat(info.param.name, info.param.devices.size()); });

TEST(Distribute, MirroredTakesAllDevices) {
  auto environment = ThreeDevices();
  const distribute::Strategy strategy = distribute::Mirrored({}, environment.get());
  EXPECT_EQ(strategy.devices.size(), 3);
  EXPECT_EQ(strategy.num_replicas(), 3);
  EXPECT_EQ(distribute::Default().value().num_replicas(), 1);
}

TEST(Distribute, CopiesFollowAndStatisticsAreAveraged) {
  auto environment = ThreeDevices();
  distribute::StrategyScope scope(distribute::Mirrored({"/device:CPU:0", "/device:CPU:1"}));
  nn::Model model(nn::Sequential({nn::BatchNorm(), nn::Dense(2)}), {{6}}, /*seed=*/3, environment);
  ASSERT_EQ(model.Compile(HowToTrain()), OkStatus());
  const nn::Batch batch = RandomBatch(5, 8);
  ASSERT_EQ(model.TrainOnBatch(batch).status(), OkStatus());
  int copies = 0;
  for (const Variable& variable : Variables(model.scope())) {
    if (!variable.name().starts_with("train_1/")) continue;
    ++copies;
    EXPECT_FALSE(variable.saved());
    for (const Variable& own : model.variables()) {
      if (Cat("train_1/", own.name()) != variable.name()) continue;
      const Tensor a = model.session().Evaluate(own).value(), b = model.session().Evaluate(variable).value();
      EXPECT_EQ(std::memcmp(a.raw_data(), b.raw_data(), a.num_bytes()), 0) << own.name();
      if (!own.name().ends_with("moving_mean")) continue;
      // The mean of halves that are equally large is the mean of all.
      double sum = 0;
      for (int i = 0; i < 8; ++i) sum += batch.inputs[0].data<float>()[i * 6];
      EXPECT_NEAR(a.data<float>()[0], 0.01 * sum / 8, 1e-6);
    }
  }
  EXPECT_EQ(copies, 6);
}

TEST(Distribute, RunAndReduceForOwnLoops) {
  auto environment = ThreeDevices();
  Scope root = Scope::NewRoot(environment);
  const distribute::Strategy strategy = distribute::Mirrored({"/device:CPU:0", "/device:CPU:1", "/device:CPU:2"});
  const std::vector<Output> values = distribute::Run(root, strategy, [](const Scope& scope, int replica) {
    Output value = ops::Square(scope, Constant(scope, Tensor::Scalar(static_cast<float>(replica + 1))));
    EXPECT_THAT(scope.graph().Find(value.op().name())->requested_device, HasSubstr(Cat("CPU:", replica)));
    return value;
  });
  auto session = ClientSession::Create(root).value();
  using distribute::Reduction;
  EXPECT_EQ(session->Evaluate(distribute::Reduce(root, strategy, Reduction::kSum, values))->scalar<float>(), 14);
  EXPECT_FLOAT_EQ(session->Evaluate(distribute::Reduce(root, strategy, Reduction::kMean, values))->scalar<float>(),
                  14.0f / 3);
  distribute::Reduce(root, strategy, Reduction::kSum, {});
  EXPECT_TRUE(absl::IsInvalidArgument(root.status()));
}

}  // namespace
}  // namespace weir
