#include "weir/client/loss_scale.h"

#include <gtest/gtest.h>

#include <limits>

#include "weir/client/client_session.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/client/optimizer.h"
#include "weir/client/tensor_math.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Descent on the loss w x + 0 v, with a momentum's and Adam's state to look at.
class LossScaleTest : public testing::Test {
 protected:
  void Build(const MinimizeOptions& options, const Optimizer& optimizer) {
    x_ = ops::Placeholder(root_, DType::kFloat, {.shape = PartialShape(Shape())});
    w_ = Variable(root_, "w", Input(1.0f));
    training_ = optimizer.Minimize(root_, w_.value() * x_, options);
    ASSERT_TRUE(root_.ok()) << root_.status();
    session_ = ClientSession::Create(root_).value();
    ASSERT_TRUE(session_->RunTargets({InitializeVariables(root_)}).ok());
  }
  void Step(float x) {
    const Status status = session_->RunTargets({training_.op}, {{x_, Tensor::Scalar(x)}});
    ASSERT_TRUE(status.ok()) << status;
  }
  float Value(const std::string& name) {
    for (const Variable& variable : Variables(root_)) {
      if (variable.name() == name) return ValueOf(variable);
    }
    ADD_FAILURE() << "no variable " << name;
    return 0;
  }
  float ValueOf(const Variable& variable) {
    const Tensor value = session_->Evaluate(variable).value();
    return variable.dtype() == DType::kInt64 ? static_cast<float>(value.scalar<int64_t>()) : value.scalar<float>();
  }

  Scope root_ = Scope::NewRoot();
  Output x_;
  Variable w_;
  Training training_;
  std::unique_ptr<ClientSession> session_;
};

TEST_F(LossScaleTest, UpdatesAreThoseWithoutAScale) {
  Build({.loss_scale = LossScaleOptions()}, optimizer::GradientDescent({.learning_rate = 0.5}));
  EXPECT_EQ(Value("current_loss_scale"), 32768);
  Step(3);
  EXPECT_EQ(ValueOf(w_), 1 - 0.5f * 3);
  EXPECT_EQ(Value("good_steps"), 1);
  EXPECT_EQ(ValueOf(training_.step), 1);
}

TEST_F(LossScaleTest, AStepThatIsNotFiniteOnlyHalvesTheScale) {
  Build({.loss_scale = LossScaleOptions()}, optimizer::AdamW({.learning_rate = 0.5, .weight_decay = 0.1}));
  Step(3);
  const float w = ValueOf(w_), m = Value("w/AdamW"), power = Value("beta1_power");
  for (float bad : {kInfinity, std::numeric_limits<float>::quiet_NaN()}) Step(bad);
  EXPECT_EQ(ValueOf(w_), w);
  EXPECT_EQ(Value("w/AdamW"), m);
  EXPECT_EQ(Value("beta1_power"), power);
  EXPECT_EQ(ValueOf(training_.step), 1);
  EXPECT_EQ(Value("current_loss_scale"), 8192);
  EXPECT_EQ(Value("good_steps"), 0);
  Step(3);
  EXPECT_NE(ValueOf(w_), w);
  EXPECT_EQ(ValueOf(training_.step), 2);
}

TEST_F(LossScaleTest, GrowsAfterGoodStepsAndEndsAtOne) {
  Build({.loss_scale = LossScaleOptions{.initial = 2, .growth_interval = 3}}, optimizer::GradientDescent());
  for (int i = 0; i < 2; ++i) Step(1);
  EXPECT_EQ(Value("current_loss_scale"), 2);
  Step(1);
  EXPECT_EQ(Value("current_loss_scale"), 4);
  EXPECT_EQ(Value("good_steps"), 0);
  for (int i = 0; i < 5; ++i) Step(kInfinity);
  EXPECT_EQ(Value("current_loss_scale"), 1);
}

TEST_F(LossScaleTest, TheScaleDoesNotBecomeInfinite) {
  Build({.loss_scale = LossScaleOptions{.initial = 2e38, .growth_interval = 1}}, optimizer::GradientDescent());
  Step(1e-20f);
  EXPECT_EQ(Value("current_loss_scale"), 2e38f);
}

TEST_F(LossScaleTest, AccumulatedGradientsAreAppliedTogether) {
  Build({.accumulation_steps = 3}, optimizer::GradientDescent({.learning_rate = 1}));
  for (int round = 1; round <= 2; ++round) {
    for (float x : {1.0f, 2.0f}) Step(x);
    EXPECT_EQ(ValueOf(training_.step), round - 1);
    Step(6);
    EXPECT_NEAR(ValueOf(w_), 1 - 3 * round, 1e-5);
    EXPECT_EQ(ValueOf(training_.step), round);
  }
}

TEST_F(LossScaleTest, OneBadPartSkipsTheWholeUpdate) {
  Build({.loss_scale = LossScaleOptions(), .accumulation_steps = 2}, optimizer::GradientDescent({.learning_rate = 1}));
  Step(kInfinity);
  EXPECT_EQ(Value("current_loss_scale"), 32768);
  Step(1);
  EXPECT_EQ(ValueOf(w_), 1);
  EXPECT_EQ(Value("current_loss_scale"), 16384);
  for (float x : {1.0f, 3.0f}) Step(x);
  EXPECT_EQ(ValueOf(w_), -1);
  EXPECT_EQ(Value("good_steps"), 1);
}

// Rows of tables stay rows.
TEST(LossScaledRows, AreSkippedToo) {
  Scope root = Scope::NewRoot();
  Variable table(root, "table", Input(Tensor::Vector<float>({1, 2, 3})));
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = PartialShape(Shape())});
  Output loss = Sum(root, ops::ResourceGather(root, table.handle(), {2, 0, 2}, DType::kFloat) * x);
  Training training = optimizer::Adagrad({.learning_rate = 1}).Minimize(root, loss, {.loss_scale = LossScaleOptions()});
  ASSERT_TRUE(root.ok()) << root.status();
  auto session = ClientSession::Create(root).value();
  ASSERT_TRUE(session->RunTargets({InitializeVariables(root)}).ok());
  ASSERT_TRUE(session->RunTargets({training.op}, {{x, Tensor::Scalar(kInfinity)}}).ok());
  ExpectTensorEqual(session->Evaluate(table).value(), Tensor::Vector<float>({1, 2, 3}));
  ASSERT_TRUE(session->RunTargets({training.op}, {{x, Tensor::Scalar(1.0f)}}).ok());
  const Tensor moved = session->Evaluate(table).value();
  EXPECT_LT(moved.data<float>()[0], 1);
  EXPECT_EQ(moved.data<float>()[1], 2);
  EXPECT_LT(moved.data<float>()[2], 3);
}

TEST(LossScaleOptions, WithoutSenseAreErrors) {
  for (const LossScaleOptions& options : {LossScaleOptions{.initial = 0.5}, LossScaleOptions{.growth_interval = 0}}) {
    Scope root = Scope::NewRoot();
    LossScale scale(root, options);
    EXPECT_EQ(root.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace weir
