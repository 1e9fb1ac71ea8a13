#include "weir/client/scope.h"

#include <gtest/gtest.h>

#include "weir/client/client_session.h"
#include "weir/client/operators.h"
#include "weir/client/ops/all_ops.h"
#include "weir/client/variable.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

// Runs `fetch` of a graph without feeds.
Tensor Value(const Output& fetch) {
  auto session = ClientSession::Create(fetch.scope());
  EXPECT_TRUE(session.ok()) << session.status();
  auto value = (*session)->Evaluate(fetch);
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() ? *value : Tensor();
}

TEST(Scope, NamesAreMadeUnique) {
  Scope root = Scope::NewRoot();
  EXPECT_EQ(Constant(root, 1).name(), "Const:0");
  EXPECT_EQ(Constant(root, 1).name(), "Const_1:0");
  EXPECT_EQ(Constant(root, 1).name(), "Const_2:0");
  EXPECT_EQ(Constant(root.WithName("x"), 1).name(), "x:0");
  EXPECT_EQ(Constant(root.WithName("x"), 1).name(), "x_1:0");
  EXPECT_EQ(Constant(root.WithName("x_1"), 1).name(), "x_1_1:0");
  EXPECT_EQ(Constant(root.SubScope("layer").WithName("x"), 1).name(), "layer/x:0");
  EXPECT_EQ(Constant(root.SubScope("layer").WithName("x"), 1).name(), "layer_1/x:0");
  EXPECT_EQ(Constant(root.SubScope("a").SubScope("b"), 1).name(), "a/b/Const:0");
}

TEST(Scope, DevicesColocationAndControlDependencies) {
  Scope root = Scope::NewRoot();
  Output a = Constant(root.WithName("a").WithDevice("/job:worker/device:CPU:0"), 1);
  Scope inner = root.WithDevice("/job:worker/device:CPU:0").WithDevice("/device:CPU:1");
  Output b = Constant(inner.WithName("b").ColocateWith(a.op()).WithControlDependencies({a.op()}), 2);
  const Node* node = root.graph().Find("b");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(root.graph().Find("a")->requested_device, "/job:worker/device:CPU:0");
  EXPECT_EQ(node->requested_device, "/job:worker/device:CPU:1");
  EXPECT_EQ(node->Attr<std::vector<std::string>>("_class").value(), std::vector<std::string>{"loc:@a"});
  EXPECT_EQ(node->control_inputs, std::vector<NodeId>{a.endpoint().node});
}

TEST(Scope, TheFirstErrorIsKept) {
  Scope root = Scope::NewRoot();
  Output a = Constant(root, Tensor::Vector<float>({1, 2, 3})), b = Constant(root, Tensor::Vector<float>({1, 2}));
  Output bad = ops::AddV2(root.WithName("sum"), a, b);
  EXPECT_FALSE(bad.has_value());
  EXPECT_EQ(root.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(Message(root.status()).find("sum"), std::string::npos) << root.status();
  const Status first = root.status();
  Output worse = ops::MatMul(root, bad, bad) + 1;
  EXPECT_FALSE(worse.has_value());
  EXPECT_EQ(root.status(), first);
  EXPECT_FALSE(ClientSession::Create(root).value()->Evaluate(a).ok());
}

TEST(Scope, TensorsOfAnotherGraphAreRefused) {
  Scope one = Scope::NewRoot(), two = Scope::NewRoot();
  Output sum = ops::Neg(one, Constant(two, 1.0f));
  EXPECT_FALSE(sum.has_value());
  EXPECT_EQ(one.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(two.ok());
}

TEST(Scope, ShapesAreKnownWhileBuilding) {
  Scope root = Scope::NewRoot();
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = {-1, 28, 28, 1}});
  Output y = ops::MaxPool(root, x, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME");
  EXPECT_EQ(y.shape(), PartialShape({-1, 14, 14, 1}));
  EXPECT_EQ(y.dtype(), DType::kFloat);
}

TEST(Literals, TakeTheTypeOfTheOtherInputs) {
  Scope root = Scope::NewRoot();
  Output x = Constant(root, Tensor::Vector<double>({1, 2}));
  ExpectTensorEqual(Value(x * 2 + 0.5f), Tensor::Vector<double>({2.5, 4.5}));
  ExpectTensorEqual(Value(1 - x), Tensor::Vector<double>({0, -1}));
  Output i = Constant(root, Tensor::Vector<int64_t>({7, -7}));
  ExpectTensorEqual(Value(i / 2), Tensor::Vector<int64_t>({3, -3}));
  ExpectTensorEqual(Value(i > 0), Tensor::Vector<bool>({true, false}));
  ExpectTensorEqual(Value(ops::Reshape(root, i, {2, 1})),
                    Tensor::FromSpan<int64_t>(std::vector<int64_t>{7, -7}, {2, 1}));
  ExpectTensorEqual(Value(ops::ConcatV2(root, {i, i}, 0)), Tensor::Vector<int64_t>({7, -7, 7, -7}));
  ExpectTensorEqual(Value(ops::Add(root, 1.5, 2)), Tensor::Scalar(3.5f));
  ExpectTensorEqual(Value(Constant(root, {{1, 2}, {3, 4}})),
                    Tensor::FromSpan<int32_t>(std::vector<int32_t>{1, 2, 3, 4}, {2, 2}));
  ExpectTensorEqual(Value(Constant(root, {"a", "b"})), Tensor::Vector<std::string>({"a", "b"}));
}

TEST(Literals, ThatDoNotFitAreErrors) {
  Scope root = Scope::NewRoot();
  Output i = Constant(root, Tensor::Scalar<int32_t>(7));
  EXPECT_FALSE((i + 0.5).has_value());
  EXPECT_EQ(root.status().code(), absl::StatusCode::kInvalidArgument);
  Scope other = Scope::NewRoot();
  EXPECT_FALSE((Constant(other, Tensor::Scalar<uint8_t>(7)) + 256).has_value());
  EXPECT_FALSE(other.ok());
}

TEST(GeneratedOps, AttributesDefaultsListsAndSeveralOutputs) {
  Scope root = Scope::NewRoot();
  Output a = Constant(root, {{1.0f, 2.0f}, {3.0f, 4.0f}});
  ExpectTensorEqual(Value(ops::MatMul(root, a, a, {.transpose_b = true})),
                    Tensor::FromSpan<float>(std::vector<float>{5, 11, 11, 25}, {2, 2}));
  auto top = ops::TopKV2(root, a, 1);
  ExpectTensorEqual(Value(top.values), Tensor::FromSpan<float>(std::vector<float>{2, 4}, {2, 1}));
  ExpectTensorEqual(Value(top.indices), Tensor::FromSpan<int32_t>(std::vector<int32_t>{1, 1}, {2, 1}));
  std::vector<Output> rows = ops::Unpack(root, a, 2);
  ASSERT_EQ(rows.size(), 2u);
  ExpectTensorEqual(Value(ops::Pack(root, {rows[1], rows[0]})),
                    Tensor::FromSpan<float>(std::vector<float>{3, 4, 1, 2}, {2, 2}));
  ExpectTensorEqual(Value(ops::Cast(root, a, DType::kInt32)),
                    Tensor::FromSpan<int32_t>(std::vector<int32_t>{1, 2, 3, 4}, {2, 2}));
}

TEST(Variable, KeepsItsValueFromStepToStep) {
  Scope root = Scope::NewRoot();
  Variable count(root, "count", Input(0.0f));
  Variable table(root.SubScope("layer"), "table", Shape({2}), init::Value(3));
  Operation add = count.AssignAdd(root, 2);
  EXPECT_EQ(table.name(), "layer/table");
  EXPECT_EQ(Variables(root).size(), 2u);
  auto session = ClientSession::Create(root);
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE((*session)->RunTargets({InitializeVariables(root)}).ok()) << root.status();
  ASSERT_TRUE((*session)->RunTargets({add}).ok());
  ASSERT_TRUE((*session)->RunTargets({add}).ok());
  ExpectTensorEqual((*session)->Evaluate(count * 10).value(), Tensor::Scalar(40.0f));
  ExpectTensorEqual((*session)->Evaluate(table).value(), Tensor::Vector<float>({3, 3}));
  // Another session has variables of its own.
  auto other = ClientSession::Create(root);
  EXPECT_EQ((*other)->Evaluate(count).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Initializers, HaveTheRightSpread) {
  Scope root = Scope::NewRoot();
  SetRandomSeed(root, 7);
  struct Case {
    const char* name;
    Initializer initializer;
    double deviation;
  };
  const Case cases[] = {{"glorot", init::GlorotUniform(), std::sqrt(2.0 / 400)},
                        {"glorot_normal", init::GlorotNormal(), std::sqrt(2.0 / 400)},
                        {"he", init::HeNormal(), std::sqrt(2.0 / 100)},
                        {"lecun", init::LecunUniform(), std::sqrt(1.0 / 100)},
                        {"normal", init::RandomNormal(0, 0.5), 0.5}};
  for (const Case& c : cases) {
    Tensor value = Value(c.initializer(root, Shape({100, 300}), DType::kFloat));
    ASSERT_EQ(value.shape(), Shape({100, 300})) << c.name;
    double sum = 0, squares = 0;
    for (float v : value.span<float>()) sum += v, squares += v * v;
    EXPECT_NEAR(sum / 30000, 0, c.deviation / 30) << c.name;
    EXPECT_NEAR(std::sqrt(squares / 30000), c.deviation, c.deviation / 30) << c.name;
  }
}

TEST(Initializers, OrthogonalMatricesAreOrthogonal) {
  for (const Shape& shape : {Shape({3, 5}), Shape({5, 3}), Shape({2, 2, 3}), Shape({0, 3})}) {
    Scope root = Scope::NewRoot();
    SetRandomSeed(root, 1);
    Output value = init::Orthogonal(2)(root, shape, DType::kFloat);
    ASSERT_TRUE(root.ok()) << root.status();
    if (shape.num_elements() == 0) continue;
    const int64_t columns = shape.dim(shape.rank() - 1), rows = shape.num_elements() / columns;
    Output matrix = ops::Reshape(root, value, {rows, columns});
    Output product = ops::MatMul(root, matrix, matrix, {.transpose_a = rows >= columns, .transpose_b = rows < columns});
    Output expected = init::Identity(4)(root, Shape({std::min(rows, columns), std::min(rows, columns)}), DType::kFloat);
    ExpectTensorNear(Value(product), Value(expected), 1e-5, 1e-5);
  }
  Scope root = Scope::NewRoot();
  init::Orthogonal()(root, Shape({3}), DType::kFloat);
  EXPECT_FALSE(root.ok());
}

}  // namespace
}  // namespace weir
