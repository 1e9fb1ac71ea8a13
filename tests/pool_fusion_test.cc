// A pool of a padded image pads by itself where that gives the same.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/emitted_graph.h"
#include "weir/device/cpu/rewrites/fuse_pool.h"
#include "weir/passes/pool_gradients.h"

namespace weir {
namespace {

class PoolFusionTest : public EmittedGraphTest {
 protected:
  static constexpr int64_t kPlaceOfNaN = 3;
  PoolFusionTest() {
    Tensor x = Tensor::Zeros(DType::kFloat, {2, 7, 9, 5}).value();
    for (int64_t i = 0; i < x.num_elements(); ++i) x.data<float>()[i] = static_cast<float>(std::sin(0.7 * i)) - 0.3f;
    x.data<float>()[kPlaceOfNaN] = NAN;
    image_ = Feed(std::move(x));
  }
  Value PaddedPool(Value x, std::vector<int32_t> paddings, int64_t size = 3) {
    Value padded = emit_.Op("Pad", {x, emit_.Constant(Tensor::FromSpan<int32_t>(paddings, {4, 2}))});
    return emit_.Op("MaxPool", {padded},
                    {{"ksize", Ints({1, size, size, 1})}, {"strides", Ints({1, 2, 2, 1})}, {"padding", "VALID"}});
  }
  Tensor Run(Value fetch, Toggle fusion, Toggle arithmetic = Toggle::kOn) {
    SessionOptions options;
    options.rewrites.arithmetic = arithmetic;
    options.rewrites.fusion = fusion;
    return RunIn(options, {fetch})[0];
  }
  bool IsFused(Value pool) {
    EXPECT_TRUE(Apply(FusePaddedPools).ok());
    return graph_.node(pool.node())->Attr<std::string>("padding").value() == "EXPLICIT";
  }

  Value image_;
};

TEST_F(PoolFusionTest, GivesTheSame) {
  for (const std::vector<int32_t>& paddings :
       {std::vector<int32_t>{0, 0, 1, 1, 1, 1, 0, 0}, std::vector<int32_t>{0, 0, 0, 2, 2, 1, 0, 0}}) {
    Value pool = PaddedPool(emit_.Op("Relu", {image_}), paddings);
    const Tensor fused = Run(pool, Toggle::kOn), plain = Run(pool, Toggle::kOff);
    ASSERT_EQ(fused.shape(), plain.shape());
    EXPECT_EQ(std::memcmp(fused.raw_data(), plain.raw_data(), plain.num_bytes()), 0);
  }
}

TEST_F(PoolFusionTest, TakesThePadding) {
  Value relu = emit_.Op("Relu", {image_});
  Value pool = PaddedPool(relu, {0, 0, 1, 2, 0, 1, 0, 0});
  ASSERT_TRUE(IsFused(pool));
  const Node& node = *graph_.node(pool.node());
  EXPECT_EQ(node.inputs[0].node, relu.node());
  EXPECT_EQ(node.Attr<std::vector<int64_t>>("explicit_paddings").value(),
            (std::vector<int64_t>{0, 0, 1, 2, 0, 1, 0, 0}));
}

TEST_F(PoolFusionTest, LeavesWhereZerosMayWinOrFillAWindow) {
  EXPECT_FALSE(IsFused(PaddedPool(image_, {0, 0, 1, 1, 1, 1, 0, 0})));
  Value relu = emit_.Op("Relu", {image_});
  EXPECT_FALSE(IsFused(PaddedPool(relu, {0, 0, 3, 0, 1, 1, 0, 0})));
  EXPECT_FALSE(IsFused(PaddedPool(relu, {0, 0, 1, 1, 1, 1, 1, 0})));
  EXPECT_FALSE(IsFused(PaddedPool(relu, {1, 0, 1, 1, 1, 1, 0, 0})));
}

TEST_F(PoolFusionTest, LeavesWhatOthersSee) {
  Value pool = PaddedPool(emit_.Op("Relu", {image_}), {0, 0, 1, 1, 1, 1, 0, 0});
  const Endpoint padded = graph_.node(pool.node())->inputs[0];
  Graph::NodeSpec spec{.name = "seen", .op = "Identity"};
  spec.attrs.Set("T", DType::kFloat);
  spec.inputs = {padded};
  ASSERT_TRUE(graph_.AddNode(std::move(spec)).ok());
  EXPECT_FALSE(IsFused(pool));
}

// max pool of relu(image), and the gradient that comes back to the image.
class PoolGradientsTest : public PoolFusionTest {
 protected:
  Value Gradient(Value x, Value other, int64_t size) {
    const std::vector<std::pair<std::string_view, Attribute>> attrs = {
        {"ksize", Ints({1, size, size, 1})}, {"strides", Ints({1, 2, 2, 1})}, {"padding", "SAME"}};
    Value y = emit_.Op("MaxPool", {x}, {attrs[0], attrs[1], attrs[2]});
    Value weights = emit_.Op("Sin", {y});
    inner_ = emit_.Op("MaxPoolGrad", {x, y, weights}, {attrs[0], attrs[1], attrs[2]});
    return emit_.Op("ReluGrad", {inner_, other});
  }
  Value inner_;
};

TEST_F(PoolGradientsTest, GiveTheSame) {
  for (int64_t size : {2, 3}) {  // apart, and over each other
    Value x = emit_.Op("Relu", {image_});
    Value out = Gradient(x, x, size);
    const Tensor moved = Run(out, Toggle::kOn, Toggle::kOn), plain = Run(out, Toggle::kOn, Toggle::kOff);
    ASSERT_EQ(moved.shape(), plain.shape());
    for (int64_t i = 0; i < plain.num_elements(); ++i) {
      if (i == kPlaceOfNaN) continue;
      EXPECT_EQ(moved.data<float>()[i], plain.data<float>()[i]) << i;
    }
  }
}

TEST_F(PoolGradientsTest, TheReluComesFirst) {
  Value x = emit_.Op("Relu", {image_});
  Value out = Gradient(x, x, 2);
  ASSERT_TRUE(Apply(MoveReluGradients).ok());
  EXPECT_EQ(graph_.node(out.node())->op(), "MaxPoolGrad");
  EXPECT_EQ(graph_.node(inner_.node())->op(), "ReluGrad");
}

TEST_F(PoolGradientsTest, OtherFeaturesStay) {
  Value out = Gradient(emit_.Op("Relu", {image_}), emit_.Op("Abs", {image_}), 2);
  ASSERT_TRUE(Apply(MoveReluGradients).ok());
  EXPECT_EQ(graph_.node(out.node())->op(), "ReluGrad");
}

}  // namespace
}  // namespace weir
