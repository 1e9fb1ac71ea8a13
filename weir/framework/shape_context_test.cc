#include "weir/framework/shape_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/framework/op_table.h"

namespace weir {
namespace {

OpSchema Binary() { return ParseOpTable("op Op(x: f32, y: f32) -> (z: f32)")->front(); }

PartialShape Infer(ShapeFunction function, std::vector<PartialShape> inputs) {
  OpSchema schema = Binary();
  AttrMap attrs;
  std::vector<InferredTensor> tensors(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) tensors[i].shape = inputs[i];
  ShapeContext ctx(schema, attrs, std::move(tensors), 1);
  Status status = function(ctx);
  EXPECT_TRUE(status.ok()) << status;
  return ctx.outputs()[0].shape;
}

StatusOr<PartialShape> AsShape(InferredTensor input) {
  OpSchema schema = Binary();
  AttrMap attrs;
  return ShapeContext(schema, attrs, {std::move(input)}, 1).InputAsShape(0);
}

TEST(Shapes, Broadcast) {
  EXPECT_EQ(Infer(shapes::Broadcast, {{2, 1, 3}, {4, 1}}), PartialShape({2, 4, 3}));
  EXPECT_EQ(Infer(shapes::Broadcast, {{-1, 3}, {2, -1}}), PartialShape({2, 3}));
  EXPECT_EQ(Infer(shapes::Broadcast, {{-1, -1}, {1, 0}}), PartialShape({-1, -1}));
  EXPECT_EQ(Infer(shapes::Broadcast, {Shape(), {3}}), PartialShape({3}));
  EXPECT_EQ(Infer(shapes::Broadcast, {PartialShape::Unknown(), {3}}), PartialShape());
  EXPECT_EQ(Message(BroadcastShapes({2}, {3}).status()), "Dimensions must be equal, but are 2 and 3");
}

TEST(Shapes, CommonFunctions) {
  EXPECT_EQ(Infer(shapes::Unchanged, {{2, -1}, {1}}), PartialShape({2, -1}));
  EXPECT_EQ(Infer(shapes::Scalar, {{2}}), PartialShape(Shape()));
  EXPECT_EQ(Infer(shapes::Unknown, {{2}}), PartialShape());
  EXPECT_EQ(Infer(shapes::MergeAll, {{2, -1}, {-1, 3}}), PartialShape({2, 3}));
}

TEST(ShapeContext, RanksAreChecked) {
  EXPECT_EQ(*WithRank(PartialShape(), 2), PartialShape({-1, -1}));
  EXPECT_EQ(Message(WithRank({1}, 2).status()), "Shape must be rank 2 but is rank 1");
  EXPECT_EQ(Message(WithRankAtLeast({1}, 2).status()), "Shape must be at least rank 2 but is rank 1");
  EXPECT_EQ(Message(WithRankAtMost({1, 2}, 1).status()), "Shape must be at most rank 1 but is rank 2");
}

TEST(ShapeContext, InputAsShape) {
  InferredTensor constant;
  constant.value = Tensor::Vector<int64_t>({2, -1});
  EXPECT_EQ(*AsShape(constant), PartialShape({2, -1}));
  constant.value = Tensor::Scalar<int32_t>(-1);
  EXPECT_EQ(*AsShape(constant), PartialShape());
  constant.value = Tensor::Scalar<int32_t>(3);
  EXPECT_FALSE(AsShape(constant).ok());
  constant.value = Tensor::Vector<int32_t>({-2});
  EXPECT_FALSE(AsShape(constant).ok());
  constant.value = Tensor::Vector<float>({1});
  EXPECT_FALSE(AsShape(constant).ok());
  InferredTensor vector;
  vector.shape = PartialShape({3});
  EXPECT_EQ(*AsShape(vector), PartialShape({-1, -1, -1}));
  vector.shape = PartialShape({1000000});
  EXPECT_FALSE(AsShape(vector).ok());
  vector.shape = PartialShape({2, 2});
  EXPECT_FALSE(AsShape(vector).ok());
  InferredTensor partial;
  partial.value_as_shape = PartialShape({-1, 4});
  EXPECT_EQ(*AsShape(partial), PartialShape({-1, 4}));
}

}  // namespace
}  // namespace weir
