#include "weir/client/control_flow.h"

#include <gtest/gtest.h>

#include "weir/client/client_session.h"
#include "weir/client/differentiate.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/client/variable.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

class ControlFlowTest : public testing::Test {
 protected:
  Tensor Value(const Output& fetch, const ClientSession::Feeds& feeds = {}) {
    EXPECT_TRUE(root.ok()) << root.status();
    auto session = ClientSession::Create(root).value();
    auto value = session->Evaluate(fetch, feeds);
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? *value : Tensor();
  }
  Scope root = Scope::NewRoot();
};

TEST_F(ControlFlowTest, CondTakesOneBranchAndSeesWhatIsAround) {
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = PartialShape(Shape())});
  Output three = Constant(root, 3.0f);
  std::vector<Output> y = Cond(
      root, x > 0, [&](const Scope& scope) { return std::vector<Output>{three * x}; },
      [&](const Scope& scope) { return std::vector<Output>{ops::Exp(scope, x)}; });
  ASSERT_EQ(y.size(), 1u) << root.status();
  std::vector<Output> slope = ops::Gradients(root, {y[0]}, {x});
  ExpectTensorNear(Value(y[0], {{x, Tensor::Scalar(2.0f)}}), Tensor::Scalar(6.0f));
  ExpectTensorNear(Value(y[0], {{x, Tensor::Scalar(-1.0f)}}), Tensor::Scalar(0.36787944f));
  ExpectTensorNear(Value(slope[0], {{x, Tensor::Scalar(2.0f)}}), Tensor::Scalar(3.0f));
  ExpectTensorNear(Value(slope[0], {{x, Tensor::Scalar(-1.0f)}}), Tensor::Scalar(0.36787944f));
}

TEST_F(ControlFlowTest, BranchesMustAgree) {
  Output x = Constant(root, 1.0f);
  Cond(
      root, x > 0, [&](const Scope& scope) { return std::vector<Output>{x}; },
      [&](const Scope& scope) { return std::vector<Output>{Constant(scope, 1, DType::kInt32)}; });
  EXPECT_EQ(root.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ControlFlowTest, CaseCountsItsBranches) {
  Output index = ops::Placeholder(root, DType::kInt32, {.shape = PartialShape(Shape())});
  auto constant = [](float value) {
    return [=](const Scope& scope) { return std::vector<Output>{Constant(scope, value)}; };
  };
  std::vector<Output> y = Case(root, index, {constant(10), constant(20), constant(30)});
  ASSERT_EQ(y.size(), 1u) << root.status();
  for (auto [at, expected] : {std::pair(0, 10.f), {1, 20.f}, {2, 30.f}, {7, 30.f}, {-1, 30.f}}) {
    ExpectTensorEqual(Value(y[0], {{index, Tensor::Scalar<int32_t>(at)}}), Tensor::Scalar(expected));
  }
}

TEST_F(ControlFlowTest, WhileLoopsAndHasAGradient) {
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = PartialShape(Shape())});
  // x to the fourth power.
  std::vector<Output> end = While(
      root, {Constant(root, 0, DType::kInt32), Constant(root, 1.0f)},
      [](const Scope& scope, const std::vector<Output>& v) { return v[0] < 4; },
      [&](const Scope& scope, const std::vector<Output>& v) {
        return std::vector<Output>{v[0] + 1, v[1] * x};
      });
  std::vector<Output> slope = ops::Gradients(root, {end[1]}, {x});
  ExpectTensorEqual(Value(end[0], {{x, Tensor::Scalar(2.0f)}}), Tensor::Scalar<int32_t>(4));
  ExpectTensorNear(Value(end[1], {{x, Tensor::Scalar(2.0f)}}), Tensor::Scalar(16.0f));
  ExpectTensorNear(Value(slope[0], {{x, Tensor::Scalar(2.0f)}}), Tensor::Scalar(32.0f));
}

TEST_F(ControlFlowTest, LoopsThatChangeTypesOrShapesAreRefused) {
  Output zero = Constant(root, 0, DType::kInt32);
  While(
      root, {zero}, [](const Scope& scope, const std::vector<Output>& v) { return v[0] < 4; },
      [](const Scope& scope, const std::vector<Output>& v) {
        return std::vector<Output>{ops::Cast(scope, v[0], DType::kFloat)};
      });
  EXPECT_EQ(root.status().code(), absl::StatusCode::kInvalidArgument);
  Scope other = Scope::NewRoot();
  While(
      other, {Constant(other, {1, 2})},
      [](const Scope& scope, const std::vector<Output>& v) { return ops::Any(scope, v[0] > 0, 0); },
      [](const Scope& scope, const std::vector<Output>& v) {
        return std::vector<Output>{ops::ConcatV2(scope, {v[0], v[0]}, 0)};
      });
  EXPECT_EQ(other.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ControlFlowTest, BodiesMayBeNestedAndUseVariables) {
  Variable w(root, "w", Input(2.0f));
  Output rounds = Constant(root, 3, DType::kInt32);
  // Doubles three times, but only while the value is below 10.
  std::vector<Output> end = While(
      root, {Constant(root, 0, DType::kInt32), Constant(root, 2.0f)},
      [&](const Scope& scope, const std::vector<Output>& v) { return v[0] < rounds; },
      [&](const Scope& scope, const std::vector<Output>& v) {
        std::vector<Output> next = Cond(
            scope, v[1] < 10, [&](const Scope& inner) { return std::vector<Output>{v[1] * w.value()}; },
            [&](const Scope& inner) { return std::vector<Output>{v[1]}; });
        return std::vector<Output>{v[0] + 1, next.at(0)};
      });
  ASSERT_TRUE(root.ok()) << root.status();
  auto session = ClientSession::Create(root).value();
  ASSERT_TRUE(session->RunTargets({InitializeVariables(root)}).ok());
  ExpectTensorEqual(session->Evaluate(end[1]).value(), Tensor::Scalar(16.0f));
}

TEST_F(ControlFlowTest, CallMapAndScan) {
  Output x = Constant(root, {{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}});
  Output two = Constant(root, 2.0f);
  std::vector<Output> called = Call(root, "double", {x}, [&](const Scope& scope, const std::vector<Output>& a) {
    return std::vector<Output>{a[0] * two};
  });
  ASSERT_EQ(called.size(), 1u) << root.status();
  EXPECT_FLOAT_EQ(Value(called[0]).data<float>()[5], 12);
  Output sums = MapFn(root, x, [&](const Scope& scope, const Output& row) { return ops::Sum(scope, row, {0}) * two; });
  ExpectTensorNear(Value(sums), Tensor::Vector<float>({6, 14, 22}));
  Output running = Scan(root, x, Constant(root, {0.0f, 0.0f}),
                        [](const Scope& scope, const Output& state, const Output& row) { return state + row; });
  ExpectTensorNear(Value(running), Tensor::FromSpan<float>(std::vector<float>{1, 2, 4, 6, 9, 12}, {3, 2}));
  std::vector<Output> slope = ops::Gradients(root, {sums}, {x});
  ExpectTensorNear(Value(slope[0]), Tensor::FromSpan<float>(std::vector<float>(6, 2.0f), {3, 2}));
}

}  // namespace
}  // namespace weir
