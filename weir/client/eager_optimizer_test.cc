#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/client/client_session.h"
#include "weir/client/eager/eager.h"
#include "weir/client/eager/optimizer.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

struct NamedRule {
  const char* name;
  Optimizer rule;
};

std::vector<NamedRule> AllRules() {
  namespace o = optimizer;
  return {{"GradientDescent", o::GradientDescent()},
          {"Momentum", o::Momentum()},
          {"Nesterov", o::Momentum({.nesterov = true})},
          {"Adagrad", o::Adagrad()},
          {"AdagradDA", o::AdagradDA({.l1 = 0.01})},
          {"Adadelta", o::Adadelta()},
          {"RMSProp", o::RMSProp({.momentum = 0.5})},
          {"CenteredRMSProp", o::RMSProp({.centered = true})},
          {"Adam", o::Adam()},
          {"AdamOfASchedule", o::Adam({.learning_rate = schedule::Exponential(0.1, 2, 0.5)})},
          {"AdamW", o::AdamW()},
          {"Adamax", o::Adamax()},
          {"Nadam", o::Nadam()},
          {"Lamb", o::Lamb()},
          {"Ftrl", o::Ftrl({.l1 = 0.01})},
          {"FtrlV2", o::Ftrl({.l2_shrinkage = 0.1})},
          {"ProximalGradientDescent", o::ProximalGradientDescent({.l1 = 0.01})},
          {"ProximalAdagrad", o::ProximalAdagrad({.l2 = 0.01})}};
}

const Tensor kTable = Tensor::Vector<float>({1, -2, 3, 0.5f, 4, -1}).Reshaped(Shape({3, 2})).value();
const Tensor kBias = Tensor::Vector<float>({0.25f, -0.5f});
const Tensor kRows = Tensor::Vector<int32_t>({2, 0, 2});
constexpr int kSteps = 4;

// The mean square of three rows of a table, and a bias: the table's gradient is sparse.
class EagerNet {
 public:
  eager::Variable table{Input(kTable), {.name = "table"}};
  eager::Variable bias{Input(kBias), {.name = "bias"}};
  std::vector<eager::Variable> variables() const { return {table, bias}; }
  EagerTensor Loss() const { return eager::Mean(eager::Square(table.Gather(kRows) + bias), {0, 1}); }
};

struct GraphNet {
  Scope root = Scope::NewRoot();
  Variable table{root, "table", Input(kTable)};
  Variable bias{root, "bias", Input(kBias)};
  Output loss = ops::Mean(
      root, ops::Square(root, ops::ResourceGather(root, table.handle(), kRows, DType::kFloat) + bias.value()), {0, 1});
};

void ExpectValue(const eager::Variable& variable, const Tensor& expected) {
  StatusOr<Tensor> value = variable.Read().value();
  ASSERT_TRUE(value.ok()) << value.status();
  ExpectTensorNear(*value, expected);
}

TEST(EagerOptimizer, EveryRuleStepsAsInAGraph) {
  for (const NamedRule& row : AllRules()) {
    SCOPED_TRACE(row.name);
    GraphNet graph;
    const Training training = row.rule.Minimize(graph.root, graph.loss);
    auto session = ClientSession::Create(graph.root).value();
    ASSERT_TRUE(session->RunTargets({InitializeVariables(graph.root)}).ok());
    EagerNet net;
    eager::Optimizer optimizer(row.rule);
    for (int i = 0; i < kSteps; ++i) {
      ASSERT_TRUE(session->RunTargets({training.op}).ok());
      const EagerTensor loss = optimizer.Minimize([&] { return net.Loss(); }, net.variables());
      ASSERT_TRUE(loss.ok()) << loss.status();
    }
    ExpectValue(net.table, session->Evaluate(graph.table).value());
    ExpectValue(net.bias, session->Evaluate(graph.bias).value());
    ExpectValue(optimizer.step(), Tensor::Scalar<int64_t>(kSteps));
    for (const eager::Variable& kept : optimizer.variables()) {
      for (const Variable& variable : Variables(graph.root)) {
        if (variable.name() == kept.name()) ExpectValue(kept, session->Evaluate(variable).value());
      }
    }
  }
}

TEST(EagerOptimizer, NamesWhatItKeepsAsAGraphDoes) {
  EagerNet net;
  eager::Optimizer adam(optimizer::Adam());
  ASSERT_TRUE(adam.Prepare(net.variables()).ok());
  std::vector<std::string> names;
  for (const eager::Variable& kept : adam.variables()) names.push_back(kept.name());
  EXPECT_THAT(names, UnorderedElementsAre("global_step", "beta1_power", "beta2_power", "table/Adam", "table/Adam_1",
                                          "bias/Adam", "bias/Adam_1"));
}

TEST(EagerOptimizer, StepsInsideACompiledFunction) {
  EagerNet plain, compiled;
  eager::Optimizer one(optimizer::Adam()), two(optimizer::Adam());
  auto step = eager::Compile(
      [&](EagerTensor factor) { return two.Minimize([&] { return compiled.Loss() * factor; }, compiled.variables()); });
  const EagerTensor factor = Tensor::Scalar(2.0f);
  EXPECT_THAT(Message(step(factor).status()), HasSubstr("while a function is traced"));
  ASSERT_TRUE(two.Prepare(compiled.variables()).ok());
  for (int i = 0; i < kSteps; ++i) {
    ASSERT_TRUE(one.Minimize([&] { return plain.Loss() * factor; }, plain.variables()).ok());
    const EagerTensor loss = step(factor);
    ASSERT_TRUE(loss.ok()) << loss.status();
  }
  ExpectValue(compiled.table, plain.table.Read().tensor());
  ExpectValue(compiled.bias, plain.bias.Read().tensor());
  EXPECT_EQ(step.trace_count(), 1);
}

TEST(EagerOptimizer, TheRateMayBeChanged) {
  eager::Variable w(Input(1.0f), {.name = "w"});
  eager::Optimizer descent(optimizer::GradientDescent({.learning_rate = 0.5}));
  auto loss = [&] { return w * 2.0f; };
  ASSERT_TRUE(descent.Minimize(loss, {w}).ok());
  ExpectValue(w, Tensor::Scalar(0.0f));
  ASSERT_TRUE(descent.learning_rate().Assign(1.0f).ok());
  ASSERT_TRUE(descent.Minimize(loss, {w}).ok());
  ExpectValue(w, Tensor::Scalar(-2.0f));
}

TEST(EagerOptimizer, BadUsesAreErrors) {
  eager::Variable w(Input(1.0f), {.name = "w"}), unused(Input(1.0f), {.name = "unused"});
  eager::Optimizer adam(optimizer::Adam());
  EXPECT_THAT(Message(adam.Apply({w}, {})), HasSubstr("0 gradients are given for 1 variables"));
  EXPECT_THAT(Message(adam.Minimize([&] { return w * 1.0f; }, {unused}).status()), HasSubstr("has a gradient"));
  EXPECT_EQ(adam.Apply({eager::Variable()}, {EagerGradient()}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(adam.Apply({w}, {EagerGradient{.dense = Tensor::Vector<float>({1, 2})}}).code(),
            absl::StatusCode::kInvalidArgument);
  // A variable without a gradient stays as it is, also among others.
  ASSERT_TRUE(adam.Minimize([&] { return w * 1.0f; }, {w, unused}).ok());
  ExpectValue(unused, Tensor::Scalar(1.0f));
  ExpectValue(adam.step(), Tensor::Scalar<int64_t>(1));
}

}  // namespace
}  // namespace weir
