// Shapes of models whose batch is not known before the step.
#include "weir/passes/settle_sizes.h"

#include "tests/fusion_fixture.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir {
namespace {

class SettleSizesTest : public FusionTest {
 protected:
  Value FeedAnyBatch(Tensor value, int unknown = 1) {
    PartialShape shape = value.shape();
    for (int i = 0; i < unknown; ++i) shape.set_dim(i, PartialShape::kUnknown);
    Value out = emit_.Op("Placeholder", {}, {{"dtype", value.dtype()}, {"shape", shape}});
    feeds_.emplace_back(Cat(graph_.node(out.node())->name, ":0"), std::move(value));
    return out;
  }
  Value Shape(Value x) { return emit_.Op("Shape", {x}); }
  Value Batch(Value x) {
    return emit_.Op("StridedSlice", {Shape(x), emit::Ints(x, {0}), emit::Ints(x, {1}), emit::Ints(x, {1})},
                    {{"shrink_axis_mask", 1}});
  }
  Value Pack(const std::vector<Value>& sizes) { return emit_.Op("Pack", {sizes}); }
  // The gradient of x + y for x.
  Value SumFor(Value flow, Value x, Value y) {
    Values axes = emit_.Outputs("BroadcastGradientArgs", {Shape(x), Shape(y)});
    return emit::Reshape(emit_.Op("Sum", {flow, axes[0]}), Shape(x));
  }
  // Runs with the pass and without.
  void Settle(Value fetch) {
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    Value out = emit_.Op("Snapshot", {fetch});
    const std::vector<Tensor> before = Run({out}, Toggle::kOff);
    RewriteContext context(&graph_);
    ASSERT_TRUE(SettleSizes(context).ok());
    context.EndPass();
    const std::vector<Tensor> after = Run({out}, Toggle::kOff);
    ASSERT_EQ(before.size(), after.size());
    ExpectTensorEqual(after[0], before[0]);
  }
};

TEST_F(SettleSizesTest, SumsOverNothingGo) {
  Value x = FeedAnyBatch(Wave({3, 4}, 0.3));
  Value y = emit::MatMul(Unary("Exp", x), emit_.Constant(Wave({4, 4}, 0.5)));
  Settle(SumFor(Binary("Mul", x, y), x, y));
  EXPECT_EQ(Count("Sum"), 0);
  EXPECT_EQ(Count("BroadcastGradientArgs"), 0);
}

TEST_F(SettleSizesTest, SumsOverWhatMayBroadcastStay) {
  Value x = FeedAnyBatch(Wave({1, 4}, 0.3)), y = FeedAnyBatch(Wave({3, 4}, 0.4));
  Settle(SumFor(Binary("Mul", x, y), x, y));
  EXPECT_EQ(Count("Sum"), 1);
}

TEST_F(SettleSizesTest, SumsThatOthersOrderStay) {
  Value x = FeedAnyBatch(Wave({3, 4}, 0.3));
  Value sum = SumFor(Unary("Exp", x), x, x);
  AddControlInput(graph_.node(graph_.node(sum.node())->inputs[0].node), x.node());
  Settle(sum);
  EXPECT_EQ(Count("Sum"), 1);
}

TEST_F(SettleSizesTest, ReshapesToWhatIsLeftOverAreConstant) {
  Value x = FeedAnyBatch(Wave({3, 4, 6}, 0.3));
  Value flat = emit::MatMul(emit::Reshape(x, emit::Ints(x, {-1, 6})), emit_.Constant(Wave({6, 10}, 0.5)));
  Settle(emit::Reshape(flat, Pack({Batch(x), emit::Int(x, 4), emit::Int(x, 5), emit::Int(x, 2)})));
  EXPECT_EQ(Count("Pack"), 0);
  EXPECT_EQ(Count("Shape"), 0);
}

TEST_F(SettleSizesTest, ReshapesToShapesOfOthersAreConstant) {
  Value x = FeedAnyBatch(Wave({3, 4, 6}, 0.3));
  Value flat = Unary("Exp", emit::Reshape(x, emit::Ints(x, {-1, 24})));
  Settle(emit::Reshape(flat, Shape(Unary("Neg", x))));
  EXPECT_EQ(Count("Shape"), 0);
}

TEST_F(SettleSizesTest, ReshapesThatMayFailStay) {
  Value x = FeedAnyBatch(Wave({3, 4}, 0.3)), other = FeedAnyBatch(Wave({3, 2}, 0.4));
  Settle(emit::Reshape(x, Pack({Batch(other), emit::Int(x, 2), emit::Int(x, 2)})));
  EXPECT_EQ(Count("Pack"), 1);
}

TEST_F(SettleSizesTest, ReshapesOfTwoUnknownSizesStay) {
  Value x = FeedAnyBatch(Wave({3, 4, 6}, 0.3), 2);
  Settle(emit::Reshape(Unary("Exp", emit::Reshape(x, emit::Ints(x, {-1, 6}))), Shape(x)));
  EXPECT_EQ(Count("Shape"), 1);
}

TEST_F(SettleSizesTest, KnownSizesOfOpenShapesAreConstant) {
  Value x = FeedAnyBatch(Wave({3, 4}, 0.3));
  Value second = emit_.Op("StridedSlice", {Shape(x), emit::Ints(x, {1}), emit::Ints(x, {2}), emit::Ints(x, {1})},
                          {{"shrink_axis_mask", 1}});
  Settle(emit::MatMul(x, emit_.Op("Fill", {Pack({second, second}), Number(2)})));
  EXPECT_EQ(Count("Shape"), 0);
  EXPECT_EQ(Count("StridedSlice"), 0);
}

TEST_F(SettleSizesTest, ConditionsThatAlwaysHoldAreNoneOfAMask) {
  for (int64_t rows : {3, 1}) {
    Value x = FeedAnyBatch(Wave({3, 4}, 0.3)), like = rows == 3 ? x : FeedAnyBatch(Wave({rows, 4}, 0.4));
    Value always = emit_.Op("Fill", {Shape(like), emit_.Constant(Tensor::Scalar(true))});
    Value mask = emit_.Op("LogicalAnd", {always, emit_.Op("Greater", {x, Number(0)})});
    Settle(emit_.Op("SelectV2", {mask, x, Number(-1)}));
    EXPECT_EQ(Count("LogicalAnd"), rows == 3 ? 0 : 1);  // else the condition may have more rows than x
  }
}

// Constants in a loop run in it.
TEST(SettleSizesInLoops, GiveTheSame) {
  Scope root = Scope::NewRoot();
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = {-1, 4, 6}});
  Output weights = ops::Const(root, Wave({6, 6}, 0.3), DType::kFloat);
  auto below = [](const Scope& scope, const std::vector<Output>& values) { return ops::Less(scope, values[0], 3); };
  auto body = [&](const Scope& scope, const std::vector<Output>& values) {
    Output flat = ops::MatMul(scope, ops::Reshape(scope, values[1], Tensor::Vector<int32_t>({-1, 6})), weights);
    Output shape = ops::Shape(scope, values[1]);
    Output batch = ops::Gather(scope, shape, 0);
    Output size = ops::StridedSlice(scope, shape, Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({2}),
                                    Tensor::Vector<int32_t>({1}), {.shrink_axis_mask = 1});
    Output back = ops::Reshape(scope, ops::Tanh(scope, flat), ops::Pack(scope, InputList{batch, size, 6}));
    return std::vector<Output>{ops::AddV2(scope, values[0], 1),
                               ops::Reshape(scope, back, ops::Shape(scope, ops::Neg(scope, values[1])))};
  };
  const std::vector<Output> out =
      While(root, {ops::Const(root, Tensor::Scalar<int32_t>(0), DType::kInt32), x}, below, body);
  std::vector<Tensor> results[2];
  for (bool rewrite : {false, true}) {
    SessionOptions options;
    options.rewrites.disable_all = !rewrite;
    auto session = ClientSession::Create(root, options);
    ASSERT_TRUE(session.ok()) << session.status();
    auto values = (*session)->Run({{x, Wave({2, 4, 6}, 0.7)}}, {out[1]});
    ASSERT_TRUE(values.ok()) << values.status();
    results[rewrite] = *values;
  }
  ExpectTensorNear(results[1][0], results[0][0]);
}

}  // namespace
}  // namespace weir
