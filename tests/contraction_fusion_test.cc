// Fused products and convolutions give what the nodes they stand for give.
#include <gtest/gtest.h>

#include <limits>

#include "tests/fusion_fixture.h"
#include "weir/device/cpu/rewrites/fuse_contractions.h"
#include "weir/device/cpu/rewrites/sink_reshapes.h"
#include "weir/device/cpu/winograd.h"
#include "weir/passes/merge_products.h"

namespace weir {
namespace {

TEST_F(FusionTest, TakesBiasAndActivation) {
  Value x = Feed(Wave({1, 4, 4, 2}, 0.7)), w = Feed(Wave({3, 3, 2, 2}, 0.7)), b = Feed(Wave({2}, 0.7));
  Value relu = emit_.Op("Relu", {emit_.Op("BiasAdd", {Convolution(x, w), b})});
  Value m = emit_.Op("MatMul", {Feed(Wave({2, 2}, 0.7)), emit_.Constant(Wave({2, 2}, 0.7))});
  Value sum = emit_.Op("BiasAdd", {m, b});
  ASSERT_TRUE(Apply(FuseContractions).ok());
  const Node& first = *graph_.node(relu.node());
  EXPECT_EQ(first.op(), "_FusedConv2D");
  EXPECT_EQ(first.inputs, (std::vector<Endpoint>{{x.node(), 0}, {w.node(), 0}, {b.node(), 0}}));
  EXPECT_EQ(first.Attr<std::vector<std::string>>("fused_ops").value(), (std::vector<std::string>{"BiasAdd", "Relu"}));
  EXPECT_EQ(first.attrs.Find("_constant_weights"), nullptr);
  const Node& second = *graph_.node(sum.node());
  EXPECT_EQ(second.op(), "_FusedMatMul");
  EXPECT_NE(second.attrs.Find("_constant_weights"), nullptr);
}

// Both sides of the sum could take it; one does, and the other stays whole.
TEST_F(FusionTest, ASumOfTwoConvolutionsBelongsToOne) {
  Value x = Feed(Wave({1, 6, 6, 16}, 0.7));
  auto side = [&](double frequency) {
    return Norm(Convolution(x, emit_.Constant(Wave({3, 3, 16, 16}, frequency))), 16, /*is_constant=*/true);
  };
  Value relu = emit_.Op("Relu", {emit_.Op("AddV2", {side(0.2), side(0.3)})});
  ExpectSame({relu});
  ASSERT_TRUE(Apply(FuseContractions).ok());
  const Node& last = *graph_.node(relu.node());
  EXPECT_EQ(last.op(), "_FusedConv2D");
  EXPECT_EQ(last.Attr<std::vector<std::string>>("fused_ops").value(),
            (std::vector<std::string>{"FusedBatchNorm", "Add", "Relu"}));
  const Node& other = *graph_.node(last.inputs.back().node);
  EXPECT_EQ(other.op(), "_FusedConv2D");
  EXPECT_EQ(other.Attr<std::vector<std::string>>("fused_ops").value(), (std::vector<std::string>{"FusedBatchNorm"}));
}

TEST_F(FusionTest, LeavesWhatOthersSee) {
  Value b = Feed(Wave({2}, 0.7));
  Value m = emit_.Op("MatMul", {Feed(Wave({2, 2}, 0.7)), Feed(Wave({2, 2}, 0.7))});
  Value sum = emit_.Op("BiasAdd", {m, b});
  emit_.Op("Neg", {m});
  ASSERT_TRUE(Apply(FuseContractions).ok());
  EXPECT_EQ(graph_.node(sum.node())->op(), "BiasAdd");
}

constexpr std::string_view kActivations[] = {"", "Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"};

TEST_F(FusionTest, ProductsWithBias) {
  std::vector<Value> fetches;
  for (int64_t size : {3, 40}) {
    for (bool is_constant : {false, true}) {
      for (std::string_view activation : kActivations) {
        Value x = Feed(Wave({size, size + 1}, 0.7)), w = Given(Wave({size + 1, size + 2}, 0.2), is_constant);
        Value product = emit_.Op("MatMul", {x, w});
        Value sum = emit_.Op("BiasAdd", {product, Given(Wave({size + 2}, 0.9), is_constant)});
        fetches.push_back(Activation(activation, sum));
      }
    }
  }
  ExpectSame(fetches);
}

TEST_F(FusionTest, ConvolutionsWithBiasNormAndResidual) {
  std::vector<Value> fetches;
  for (int64_t channels : {2, 16}) {
    for (bool is_constant : {false, true}) {
      for (bool has_norm : {false, true}) {
        for (bool has_residual : {false, true}) {
          for (std::string_view activation : {"", "Relu", "LeakyRelu"}) {
            Value x = Feed(Wave({2, 6, 7, channels}, 0.7));
            Value y = Convolution(x, Given(Wave({3, 3, channels, channels}, 0.2), is_constant));
            y = has_norm ? Norm(y, channels, is_constant)
                         : emit_.Op("BiasAdd", {y, Given(Wave({channels}, 0.9), is_constant)});
            if (has_residual) y = emit_.Op("AddV2", {x, y});
            fetches.push_back(Activation(activation, y));
          }
        }
      }
    }
  }
  ExpectSame(fetches);
}

// The sum may be made where the residual was; with few channels by loops.
TEST_F(FusionTest, ResidualsThatNobodyElseNeeds) {
  std::vector<Value> fetches;
  for (int64_t channels : {2, 32}) {
    for (bool is_constant : {false, true}) {
      for (bool has_norm : {false, true}) {
        Value x = Feed(Wave({2, 6, 7, channels}, 0.7));
        Value y = Convolution(x, Given(Wave({3, 3, channels, channels}, 0.2), is_constant));
        y = has_norm ? Norm(y, channels, is_constant)
                     : emit_.Op("BiasAdd", {y, Given(Wave({channels}, 0.9), is_constant)});
        fetches.push_back(emit_.Op("Relu", {emit_.Op("AddV2", {y, emit_.Op("Neg", {x})})}));
        Value matrix = Feed(Wave({channels, 40}, 0.7));
        Value product = emit_.Op("MatMul", {matrix, Given(Wave({40, 40}, 0.2), is_constant)});
        product = emit_.Op("BiasAdd", {product, Given(Wave({40}, 0.9), is_constant)});
        fetches.push_back(emit_.Op("Elu", {emit_.Op("AddV2", {emit_.Op("Exp", {matrix}), product})}));
      }
    }
  }
  ExpectSame(fetches);
}

// Shapes that only the step knows: what looks like a residual sum may broadcast either side.
TEST_F(FusionTest, SumsThatBroadcastAfterAll) {
  auto unknown = [&](Tensor value, std::vector<int64_t> dims) {
    const PartialShape shape = PartialShape::Make(dims).value();
    Value out = emit_.Op("Placeholder", {}, {{"dtype", value.dtype()}, {"shape", shape}});
    feeds_.emplace_back(Cat(graph_.node(out.node())->name, ":0"), std::move(value));
    return out;
  };
  std::vector<Value> fetches;
  for (int64_t rows : {1, 5, 40}) {
    for (int64_t addend_rows : {int64_t{1}, rows}) {
      for (int64_t width : {1, 30}) {
        Value x = unknown(Wave({rows, 30}, 0.7), {-1, 30}), w = unknown(Wave({30, 30}, 0.2), {30, -1});
        Value y = emit_.Op("BiasAdd", {emit_.Op("MatMul", {x, w}), Feed(Wave({30}, 0.4))});
        y = emit_.Op("AddV2", {y, unknown(Wave({addend_rows, width}, 0.3), {-1, -1})});
        fetches.push_back(emit_.Op("Relu", {y}));
      }
    }
  }
  Value one = emit_.Op(
      "BiasAdd", {Convolution(unknown(Wave({1, 1, 1, 16}, 0.7), {-1, -1, -1, 16}), Feed(Wave({3, 3, 16, 16}, 0.2))),
                  Feed(Wave({16}, 0.4))});
  fetches.push_back(emit_.Op("AddV2", {unknown(Wave({3, 4, 5, 16}, 0.1), {-1, -1, -1, 16}), one}));
  Value none = emit_.Op(
      "BiasAdd", {Convolution(unknown(Wave({0, 4, 4, 16}, 0.7), {-1, -1, -1, 16}), Feed(Wave({3, 3, 16, 16}, 0.2))),
                  Feed(Wave({16}, 0.4))});
  fetches.push_back(emit_.Op("AddV2", {unknown(Wave({1, 4, 4, 16}, 0.1), {-1, -1, -1, 16}), none}));
  ExpectSame(fetches);
}

TEST_F(FusionTest, ResultsInBetweenCanBeFetched) {
  Value product = emit_.Op("MatMul", {Feed(Wave({40, 30}, 0.7)), Feed(Wave({30, 50}, 0.2))});
  Value sum = emit_.Op("BiasAdd", {product, Feed(Wave({50}, 0.3))});
  ExpectSame({sum, emit_.Op("Relu", {sum})});
  ExpectSame({product, sum});
}

TEST_F(FusionTest, NaNStaysNaNWhereWeightsMayChange) {
  Tensor x = Wave({40, 30}, 0.7);
  x.data<float>()[5] = NAN;
  Value product = emit_.Op("MatMul", {Feed(x), Feed(Wave({30, 50}, 0.2))});
  Value relu = emit_.Op("Relu", {emit_.Op("BiasAdd", {product, Feed(Wave({50}, 0.3))})});
  std::vector<Tensor> out = Run({relu}, Toggle::kOn);
  for (int64_t i = 0; i < 50; ++i) EXPECT_TRUE(std::isnan(out[0].data<float>()[i]));
}

TEST_F(FusionTest, ErrorsAreThoseOfTheParts) {
  Value product = emit_.Op("MatMul", {Feed(Wave({4, 3}, 0.7)), Feed(Wave({3, 5}, 0.2))});
  Value wrong = emit_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}});
  Value sum = emit_.Op("BiasAdd", {product, wrong});
  feeds_.emplace_back(Cat(graph_.node(wrong.node())->name, ":0"), Wave({4}, 0.1));
  ExpectError(sum, "Must provide as many biases as the last dimension of the input tensor: [4] vs. [4,5]");
}

// x W + b for each of the vectors of `x`, which has three dimensions.
class SequenceFusionTest : public FusionTest {
 protected:
  static constexpr int64_t kBatch = 2, kLength = 5, kWidth = 16;

  Value Ints(std::vector<int32_t> values) {
    const int64_t size = static_cast<int64_t>(values.size());
    return emit_.Constant(Tensor::FromSpan<int32_t>(values, {size}));
  }
  Value Flat() { return Ints({kBatch * kLength, kWidth}); }
  Value Whole() { return Ints({kBatch, kLength, kWidth}); }
  Value Layer(Value x, Value w, Value b, Value flat, Value whole) {
    Value product = emit_.Op("MatMul", {emit_.Op("Reshape", {x, flat}), w});
    return emit_.Op("Reshape", {emit_.Op("BiasAdd", {product, b}), whole});
  }
  Value Layer(Value x, bool is_constant = false) {
    Value w = Given(Wave({kWidth, kWidth}, 0.2), is_constant), b = Given(Wave({kWidth}, 0.9), is_constant);
    return Layer(x, w, b, Flat(), Whole());
  }
  const Node& Input(const Node& node, int i) const { return *graph_.node(node.inputs[i].node); }
};

TEST_F(SequenceFusionTest, ResidualSumsBecomePartOfTheLayer) {
  for (bool is_constant : {false, true}) {
    Value x = Feed(Wave({kBatch, kLength, kWidth}, 0.7));
    Value first = Binary("AddV2", Layer(x, is_constant), x);
    Value second = Binary("AddV2", first, Layer(first, is_constant));
    Value third = Binary("AddV2", second, Layer(Unary("Exp", second), is_constant));
    ExpectSame({second, Unary("Neg", third)});
    ASSERT_TRUE(Apply(SinkReshapes).ok());
    for (Value sum : {first, second, third}) {
      const Node& reshape = *graph_.node(sum.node());
      ASSERT_EQ(reshape.op(), "Reshape");
      ASSERT_EQ(Input(reshape, 0).op(), "AddV2");
      const int layer = sum.node() == first.node() ? 0 : 1;
      EXPECT_EQ(Input(Input(reshape, 0), layer).op(), "BiasAdd");
      EXPECT_EQ(Input(Input(reshape, 0), 1 - layer).op(), "Reshape");
    }
  }
}

TEST_F(SequenceFusionTest, ReshapesStayWhereMoreIsKnownOfThem) {
  Value x = Feed(Wave({kBatch, kLength, kWidth}, 0.7)), seen = Layer(x);
  Value broadcast = Binary("AddV2", Layer(x), Feed(Wave({kBatch, 1, kWidth}, 0.3)));
  Value larger = Binary("AddV2", Feed(Wave({3, kBatch, kLength, kWidth}, 0.3)), Layer(x));
  Value shared = Binary("AddV2", seen, x);
  Value twice = Layer(x);
  twice = Binary("AddV2", twice, twice);
  ExpectSame({broadcast, larger, shared, seen, twice});
  Unary("Neg", seen);
  ASSERT_TRUE(Apply(SinkReshapes).ok());
  for (Value sum : {broadcast, larger, shared, twice}) EXPECT_EQ(graph_.node(sum.node())->op(), "AddV2");
}

// for (i = 0; i < 3; ++i) x = layer(x) + x, as a graph with Switch and Merge.
TEST_F(SequenceFusionTest, ResidualSumsOfLoops) {
  auto enter = [&](Value value, bool is_constant) {
    return emit_.Op("Enter", {value}, {{"frame_name", "loop"}, {"is_constant", is_constant}});
  };
  Value w = enter(Feed(Wave({kWidth, kWidth}, 0.2)), true), b = enter(Feed(Wave({kWidth}, 0.9)), true);
  Value one = enter(Number(1), true), limit = enter(Number(3), true);
  Value enter_i = enter(Number(0), false), enter_x = enter(Feed(Wave({kBatch, kLength, kWidth}, 0.7)), false);
  Value i = emit_.Outputs("Merge", {std::vector<Value>{enter_i, enter_i}})[0];
  Value x = emit_.Outputs("Merge", {std::vector<Value>{enter_x, enter_x}})[0];
  Value goes_on = Unary("LoopCond", Binary("Less", i, limit));
  Values next_i = emit_.Outputs("Switch", {i, goes_on}), next_x = emit_.Outputs("Switch", {x, goes_on});
  Value flat = Flat(), whole = Whole(), pivot = Unary("Identity", next_i[1]);
  for (Value constant : {flat, whole}) graph_.node(constant.node())->control_inputs.push_back(pivot.node());
  Value sum = Binary("AddV2", Layer(next_x[1], w, b, flat, whole), next_x[1]);
  auto go_round = [&](Value merge, Value next) {
    next = Unary("NextIteration", next);
    graph_.node(merge.node())->inputs[1] = {next.node(), next.index()};
  };
  go_round(i, Binary("AddV2", pivot, one));
  go_round(x, sum);
  ExpectSame({Unary("Exit", next_x[0])});
  ASSERT_TRUE(Apply(SinkReshapes).ok());
  EXPECT_EQ(graph_.node(sum.node())->op(), "Reshape");
}

TEST_F(FusionTest, SumsOfProductsAreOneProduct) {
  std::vector<Value> products, columns, few;
  for (int i = 0; i < 5; ++i) {
    Value a = Feed(Wave({3 + i, 6}, 0.1 * (i + 1))), b = Feed(Wave({3 + i, 4}, 0.3 * (i + 1)));
    products.push_back(emit_.Op("MatMul", {a, b}, {{"transpose_a", true}}));
    columns.push_back(Unary("BiasAddGrad", b));
    if (i < 3) few.push_back(emit_.Op("MatMul", {a, b}, {{"transpose_a", true}}));
  }
  products.push_back(Feed(Wave({6, 4}, 0.2)));
  Value sum = emit::AddN(products), bias = emit::AddN(columns), sum_of_few = emit::AddN(few);
  ExpectSame({sum, bias, sum_of_few});
  ASSERT_TRUE(Apply(MergeProducts).ok());
  EXPECT_EQ(graph_.node(sum.node())->inputs.size(), 2u);
  EXPECT_EQ(graph_.node(bias.node())->op(), "Identity");
  EXPECT_EQ(graph_.node(sum_of_few.node())->inputs.size(), 3u);
  EXPECT_EQ(Count("ConcatV2"), 2);
}

TEST_F(FusionTest, ProductsThatOthersSeeAreNotMerged) {
  std::vector<Value> products;
  for (int i = 0; i < 4; ++i) {
    Value a = Feed(Wave({3, 6}, 0.1 * (i + 1))), b = Feed(Wave({3, 4}, 0.3 * (i + 1)));
    products.push_back(emit_.Op("MatMul", {a, b}, {{"transpose_a", true}}));
  }
  Value sum = emit::AddN(products), seen = Unary("Neg", products[2]);
  ExpectSame({sum, seen});
  ASSERT_TRUE(Apply(MergeProducts).ok());
  EXPECT_EQ(graph_.node(sum.node())->inputs.size(), 4u);
}

// A filter that is fed and one that is a constant, with all that is done to the result on the way; and the gradients.
TEST_F(FusionTest, ConvolutionsByWinogradsMethod) {
  for (const int64_t window : {3, 5}) {
    Value image = Feed(Wave({6, 14, 13, 32}, 0.37));
    const Tensor filter = Wave({window, window, 32, 48}, 0.11);
    const Tensor sizes[] = {
        Tensor::Vector<int32_t>({6, 14, 13, 32}),
        Tensor::Vector<int32_t>({static_cast<int32_t>(window), static_cast<int32_t>(window), 32, 48})};
    std::vector<Value> fetches;
    for (const bool is_constant : {false, true}) {
      Value given = Given(filter, is_constant);
      Value sum = Binary("AddV2", Norm(Convolution(image, given), 48, is_constant), Feed(Wave({6, 14, 13, 48}, 0.5)));
      fetches.push_back(Unary("Relu", sum));
      fetches.push_back(Convolution(image, given));
      Value gradient = Feed(Wave({6, 14, 13, 48}, 0.23));
      EmitAttrs attrs = {{"strides", Ints({1, 1, 1, 1})}, {"padding", "SAME"}};
      fetches.push_back(emit_.Op("Conv2DBackpropInput", {emit_.Constant(sizes[0]), given, gradient}, attrs));
      fetches.push_back(emit_.Op("Conv2DBackpropFilter", {image, emit_.Constant(sizes[1]), gradient}, attrs));
    }
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    const std::vector<Tensor> fused = Run(fetches, Toggle::kOn), plain = Run(fetches, Toggle::kOff);
    for (size_t i = 0; i < fused.size(); ++i) ExpectTensorNear(fused[i], plain[i], 3e-4, 1e-4);
  }
}

// An infinity shows which arithmetic was used: the method's differences make NaN of it.
TEST_F(FusionTest, WithoutArithmeticAConvolutionIsItsSum) {
  Tensor image = Tensor::Zeros(DType::kFloat, {16, 8, 8, 16}).value();
  image.data<float>()[0] = std::numeric_limits<float>::infinity();
  Value result = Convolution(Feed(image), Feed(Wave({3, 3, 16, 16}, 0.3)));
  for (const Toggle arithmetic : {Toggle::kOn, Toggle::kOff}) {
    SessionOptions options;
    options.rewrites.arithmetic = arithmetic;
    const Tensor out = RunIn(options, {result})[0];
    const bool has_nan = std::any_of(out.data<float>(), out.data<float>() + 32, [](float x) { return std::isnan(x); });
    EXPECT_EQ(has_nan, arithmetic == Toggle::kOn && WinogradConvolver::IsAvailable());
  }
}

}  // namespace
}  // namespace weir
