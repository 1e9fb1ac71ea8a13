// Optimizers on GPUs: many variables in one launch, as each by itself.
#include <gtest/gtest.h>

#include <functional>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

// 70 variables of many sizes, more than a launch takes, after three steps.
std::vector<Tensor> Train(const Optimizer& optimizer, bool merge, DType dtype = DType::kFloat,
                          const MinimizeOptions& how = {}) {
  Scope root = Scope::NewRoot(GpuEnvironment());
  std::vector<Output> losses, values;
  for (uint32_t i = 0; i < 70; ++i) {
    const int64_t size = i == 5 ? 0 : i == 30 ? 9000 : 1 + 37 * i;
    Variable w(root, Cat("w", i), Random(dtype, {size}, i + 1));
    losses.push_back(ops::Sum(root, ops::Square(root, ops::Sub(root, w.value(), Random(dtype, {size}, i + 100))), {0}));
    values.push_back(w.value());
  }
  Training training = optimizer.Minimize(root, ops::AddN(root, losses), how);
  SessionOptions options;
  options.isolate_state = true;
  options.rewrites.fusion = merge ? Toggle::kOn : Toggle::kOff;
  auto session = ClientSession::Create(root, options);
  EXPECT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE((*session)->RunTargets({InitializeVariables(root)}).ok());
  for (int i = 0; i < 3; ++i) {
    const Status status = (*session)->RunTargets({training.op});
    EXPECT_TRUE(status.ok()) << status;
  }
  auto out = (*session)->Run(values);
  EXPECT_TRUE(out.ok()) << out.status();
  return out.ok() ? *out : std::vector<Tensor>();
}

TEST(GpuUpdates, OfManyVariablesAreThoseOfEach) {
  const std::pair<const char*, Optimizer> optimizers[] = {
      {"descent", optimizer::GradientDescent({.learning_rate = 0.1})},
      {"momentum", optimizer::Momentum({.learning_rate = 0.1, .nesterov = true})},
      {"Adam", optimizer::Adam({.learning_rate = 0.1})},
      {"RMSProp", optimizer::RMSProp({.learning_rate = 0.1})},
      {"Ftrl", optimizer::Ftrl({.learning_rate = 0.1})}};
  for (const auto& [name, optimizer] : optimizers) {
    SCOPED_TRACE(name);
    const std::vector<Tensor> merged = Train(optimizer, true), single = Train(optimizer, false);
    ASSERT_EQ(merged.size(), single.size());
    for (size_t i = 0; i < merged.size(); ++i) ExpectTensorNear(merged[i], single[i], 1e-6, 1e-6);
  }
}

TEST(GpuUpdates, OfOtherTypesAreThoseOfEach) {
  for (DType dtype : {DType::kHalf, DType::kDouble}) {
    SCOPED_TRACE(Name(dtype));
    const Optimizer optimizer = optimizer::Momentum({.learning_rate = 0.1});
    const std::vector<Tensor> merged = Train(optimizer, true, dtype), single = Train(optimizer, false, dtype);
    ASSERT_EQ(merged.size(), single.size());
    for (size_t i = 0; i < merged.size(); ++i) ExpectTensorEqual(merged[i], single[i]);
  }
}

TEST(GpuUpdates, ThatAreSkippedAreSoTogether) {
  const Optimizer optimizer = optimizer::Momentum({.learning_rate = 0.1});
  const MinimizeOptions every_second = {.loss_scale = LossScaleOptions(), .accumulation_steps = 2};
  const std::vector<Tensor> merged = Train(optimizer, true, DType::kFloat, every_second);
  const std::vector<Tensor> single = Train(optimizer, false, DType::kFloat, every_second);
  ASSERT_EQ(merged.size(), single.size());
  for (size_t i = 0; i < merged.size(); ++i) ExpectTensorNear(merged[i], single[i], 1e-6, 1e-6);
}

TEST(GpuUpdates, OfSmallVariablesAreOneNode) {
  for (const MinimizeOptions& how : {MinimizeOptions{}, MinimizeOptions{.loss_scale = LossScaleOptions()}}) {
    Scope root = Scope::NewRoot(GpuEnvironment());
    std::vector<Output> losses;
    for (const char* name : {"a", "b", "c"}) {
      Variable w(root, name, Random(DType::kFloat, {5}));
      losses.push_back(ops::Sum(root, ops::Mul(root, w.value(), w.value()), {0}));
    }
    Training training = optimizer::Adam().Minimize(root, ops::AddN(root, losses), how);
    auto session = ClientSession::Create(root);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE((*session)->RunTargets({InitializeVariables(root)}).ok());
    const std::string target = training.op.name();
    StepOptions options;
    options.trace = TraceLevel::kFull;
    StepReport report;
    const Status status = (*session)->session().Run(options, {}, {}, std::span(&target, 1), nullptr, &report);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(CountRuns(report, "_ResourceApplyMany"), 1);
    EXPECT_EQ(CountRuns(report, "ResourceApplyAdam"), 0);
  }
}

TEST(GpuUpdates, ChangeNothingIfAVariableHasNoValue) {
  Scope root = Scope::NewRoot(GpuEnvironment());
  const Tensor start = Random(DType::kFloat, {4});
  Variable first(root, "first", start), second(root, "second", start);
  Scope here = root.WithDevice("/device:GPU:0");
  const std::vector<Operation> updates = {ops::ResourceApplyGradientDescent(here, first.handle(), 0.5f, start),
                                          ops::ResourceApplyGradientDescent(here, second.handle(), 0.5f, start)};
  auto session = ClientSession::Create(root);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->RunTargets({first.initializer()}).ok());
  EXPECT_EQ((*session)->RunTargets(updates).code(), absl::StatusCode::kFailedPrecondition);
  ExpectTensorEqual((*session)->Evaluate(first).value(), start);
}

}  // namespace
}  // namespace weir::gpu_testing
