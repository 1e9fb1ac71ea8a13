#include "weir/client/optimizer.h"

#include <gtest/gtest.h>

#include "weir/client/client_session.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/client/tensor_math.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

// w after three steps on the loss sum((w - target)^2 * scale), from [1, -2, 3]. The expected values are TensorFlow's:
// tests/fixtures/client/optimizers.py.
struct Case {
  const char* name;
  Optimizer optimizer;
  std::vector<float> expected;
  std::vector<std::string> slots;
};

std::vector<Case> Cases() {
  using namespace optimizer;
  return {
#include "tests/fixtures/client/optimizers.inc"
  };
}

class OptimizerTest : public testing::TestWithParam<int> {};

TEST_P(OptimizerTest, StepsAreTensorFlows) {
  const Case c = Cases()[GetParam()];
  Scope root = Scope::NewRoot();
  Variable w(root, "w", Input(Tensor::Vector<float>({1, -2, 3})));
  Output error = w - Input(Tensor::Vector<float>({0.5f, 0.5f, -1}));
  Output loss = Sum(root, error * error * Input(Tensor::Vector<float>({1, 0.1f, 2})));
  Training training = c.optimizer.Minimize(root, loss);
  ASSERT_TRUE(root.ok()) << c.name << ": " << root.status();
  auto session = ClientSession::Create(root).value();
  ASSERT_TRUE(session->RunTargets({InitializeVariables(root)}).ok());
  for (int i = 0; i < 3; ++i) {
    Status status = session->RunTargets({training.op});
    ASSERT_TRUE(status.ok()) << c.name << ": " << status;
  }
  ExpectTensorNear(session->Evaluate(w).value(), Tensor::Vector<float>(std::span<const float>(c.expected)), 1e-5);
  EXPECT_EQ(session->Evaluate(training.step).value().scalar<int64_t>(), 3) << c.name;
  std::vector<std::string> names;
  for (const Variable& variable : Variables(root)) {
    if (variable.saved() && !variable.trainable() && variable.name() != "global_step") names.push_back(variable.name());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, c.slots) << c.name;
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerTest, testing::Range(0, static_cast<int>(Cases().size())),
                         [](const auto& info) { return std::string(Cases()[info.param].name); });

// Rows 0 and 2 of a table are used, row 2 twice: only they change.
TEST(SparseGradients, TouchOnlyTheRowsThatAreUsed) {
  for (const Optimizer& how :
       {optimizer::GradientDescent({.learning_rate = 1}), optimizer::Momentum({.learning_rate = 1, .momentum = 0})}) {
    Scope root = Scope::NewRoot();
    Variable table(root, "table", Shape({3, 2}), init::Ones());
    Output rows = ops::ResourceGather(root, table.handle(), Input({0, 2, 2}), DType::kFloat);
    Training training = how.Minimize(root, Sum(root, rows));
    ASSERT_TRUE(root.ok()) << root.status();
    auto session = ClientSession::Create(root).value();
    ASSERT_TRUE(session->RunTargets({InitializeVariables(root)}).ok());
    Status status = session->RunTargets({training.op});
    ASSERT_TRUE(status.ok()) << status;
    ExpectTensorEqual(session->Evaluate(table).value(),
                      Tensor::FromSpan<float>(std::vector<float>{0, 0, 1, 1, -1, -1}, {3, 2}));
  }
}

TEST(Clipping, LimitsTheNormOfAllGradientsTogether) {
  Scope root = Scope::NewRoot();
  Variable a(root, "a", Input(Tensor::Vector<float>({0, 0}))), b(root, "b", Input(Tensor::Scalar(0.0f)));
  // Gradients [3, 0] and 4: the norm is 5.
  Output loss = Sum(root, a * Input(Tensor::Vector<float>({3, 0}))) + b * 4;
  Training training =
      optimizer::GradientDescent({.learning_rate = 1}).Minimize(root, loss, {.limits = {.global_norm = 1}});
  ASSERT_TRUE(root.ok()) << root.status();
  auto session = ClientSession::Create(root).value();
  ASSERT_TRUE(session->RunTargets({InitializeVariables(root)}).ok());
  ASSERT_TRUE(session->RunTargets({training.op}).ok());
  ExpectTensorNear(session->Evaluate(a).value(), Tensor::Vector<float>({-0.6f, 0}), 1e-6);
  ExpectTensorNear(session->Evaluate(b).value(), Tensor::Scalar(-0.8f), 1e-6);
}

TEST(Minimize, NeedsALossThatDependsOnAVariable) {
  Scope root = Scope::NewRoot();
  Variable w(root, "w", Input(1.0f));
  optimizer::Adam().Minimize(root, Constant(root, 1.0f));
  EXPECT_EQ(root.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Schedules, AreFunctionsOfTheStep) {
  struct ScheduleCase {
    LearningRate rate;
    std::vector<double> at;  // steps 0, 5, 10, 20
  };
  const ScheduleCase cases[] = {
      {0.5, {0.5, 0.5, 0.5, 0.5}},
      {schedule::Exponential(1, 10, 0.25), {1, 0.5, 0.25, 0.0625}},
      {schedule::Exponential(1, 10, 0.25, true), {1, 1, 0.25, 0.0625}},
      {schedule::Piecewise({5, 10}, {3, 2, 1}), {3, 3, 2, 1}},
      {schedule::Polynomial(1, 10, 0.5), {1, 0.75, 0.5, 0.5}},
      {schedule::InverseTime(1, 10, 1), {1, 1 / 1.5, 0.5, 1 / 3.0}},
      {schedule::Cosine(2, 10), {2, 1, 0, 0}},
      {schedule::Cosine(2, 10, 0, 10), {0, 1, 2, 0}},
      {schedule::CosineRestarts(2, 10), {2, 1, 2, 1}},
  };
  for (const ScheduleCase& c : cases) {
    Scope root = Scope::NewRoot();
    Output step = ops::Placeholder(root, DType::kFloat, {.shape = PartialShape(Shape())});
    Output rate = c.rate(root, step);
    auto session = ClientSession::Create(root).value();
    const float steps[] = {0, 5, 10, 20};
    for (int i = 0; i < 4; ++i) {
      auto value = session->Evaluate(rate, {{step, Tensor::Scalar(steps[i])}});
      ASSERT_TRUE(value.ok()) << value.status();
      EXPECT_NEAR(value->scalar<float>(), c.at[i], 1e-6) << &c - cases << " at " << steps[i];
    }
  }
}

}  // namespace
}  // namespace weir
