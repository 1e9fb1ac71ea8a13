// Fused nodes give what the nodes they stand for give.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/emitted_graph.h"
#include "weir/device/cpu/float_loops.h"
#include "weir/device/cpu/winograd.h"
#include "weir/ops/math/register.h"
#include "weir/passes/fuse.h"
#include "weir/passes/fuse_elementwise.h"
#include "weir/passes/fuse_norms.h"
#include "weir/passes/merge_products.h"
#include "weir/passes/sink_broadcasts.h"
#include "weir/testing/kernel_runner.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

Tensor Wave(const Shape& shape, double frequency, float shift = 0) {
  Tensor out = Tensor::Zeros(DType::kFloat, shape).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    out.data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i) * frequency)) + shift;
  }
  return out;
}

class FusionTest : public EmittedGraphTest {
 protected:
  Value Given(Tensor value, bool is_constant) { return is_constant ? emit_.Constant(std::move(value)) : Feed(value); }

  // Without fusion nothing else is rewritten either.
  std::vector<Tensor> Run(const std::vector<Value>& fetches, Toggle fusion) {
    SessionOptions options;
    options.rewrites.fusion = fusion;
    options.rewrites.disable_all = fusion == Toggle::kOff;
    return RunIn(options, fetches, /*times=*/2);  // the second time with the constants at hand
  }
  void ExpectSame(const std::vector<Value>& fetches) {
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    std::vector<Tensor> fused = Run(fetches, Toggle::kOn), plain = Run(fetches, Toggle::kOff);
    ASSERT_EQ(fused.size(), plain.size());
    for (size_t i = 0; i < fused.size(); ++i) ExpectTensorNear(fused[i], plain[i], 1e-4, 1e-4);
  }
  // INVALID_ARGUMENT that says this, fused or not.
  void ExpectError(Value fetch, const std::string& text) {
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    for (Toggle fusion : {Toggle::kOn, Toggle::kOff}) {
      SessionOptions options;
      options.rewrites.fusion = fusion;
      auto session = Session::Create(environment_, options).value();
      ASSERT_TRUE(session->Extend(graph_).ok());
      std::vector<Tensor> out;
      const std::string name = graph_.TensorName({fetch.node(), 0});
      const Status status = session->Run(feeds_, std::span(&name, 1), {}, &out);
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_NE(Message(status).find(text), std::string::npos) << status;
    }
  }

  Value Convolution(Value x, Value w) {
    return emit_.Op("Conv2D", {x, w}, {{"strides", Ints({1, 1, 1, 1})}, {"padding", "SAME"}});
  }
  Value Activation(std::string_view op, Value x) {
    if (op.empty()) return x;
    return op == "LeakyRelu" ? emit_.Op(op, {x}, {{"alpha", 0.3f}}) : emit_.Op(op, {x});
  }
  Value Norm(Value x, int64_t channels, bool is_constant) {
    return emit_.Op("FusedBatchNormV3",
                    {x, Given(Wave({channels}, 0.3, 1), is_constant), Given(Wave({channels}, 0.4), is_constant),
                     Given(Wave({channels}, 0.5), is_constant), Given(Wave({channels}, 0.6, 1.5f), is_constant)},
                    {{"is_training", false}, {"epsilon", 0.01f}});
  }

  Value Unary(std::string_view op, Value x) { return emit_.Op(op, {x}); }
  Value Binary(std::string_view op, Value x, Value y) { return emit_.Op(op, {x, y}); }
  Value Nothing() { return emit_.Constant(Tensor::Zeros(DType::kFloat, {0}).value()); }
  Value Number(float value) { return emit_.Constant(Tensor::Scalar(value)); }
  Value Reduced(std::string_view op, Value x, int32_t axis, bool keep = true) {
    return emit_.Op(op, {x, emit_.Constant(Tensor::Scalar(axis))}, {{"keep_dims", keep}});
  }
  std::vector<std::string> OpsOf(Value fused) const {
    return graph_.node(fused.node())->Attr<std::vector<std::string>>("ops").value_or(std::vector<std::string>());
  }
  int Count(std::string_view op) const {
    return static_cast<int>(
        std::ranges::count_if(graph_.nodes(), [&](const auto& node) { return node != nullptr && node->op() == op; }));
  }
};

TEST_F(FusionTest, TakesBiasAndActivation) {
  Value x = Feed(Wave({1, 4, 4, 2}, 0.7)), w = Feed(Wave({3, 3, 2, 2}, 0.7)), b = Feed(Wave({2}, 0.7));
  Value relu = emit_.Op("Relu", {emit_.Op("BiasAdd", {Convolution(x, w), b})});
  Value m = emit_.Op("MatMul", {Feed(Wave({2, 2}, 0.7)), emit_.Constant(Wave({2, 2}, 0.7))});
  Value sum = emit_.Op("BiasAdd", {m, b});
  ASSERT_TRUE(FuseContractions(&graph_).ok());
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
  ASSERT_TRUE(FuseContractions(&graph_).ok());
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
  ASSERT_TRUE(FuseContractions(&graph_).ok());
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

TEST_F(FusionTest, EveryFusibleOperationHasALoop) {
  for (std::string_view op : FusibleElementwiseOps()) EXPECT_TRUE(FindFloatLoop(op).has_value()) << op;
}

TEST_F(FusionTest, ElementwiseOperationsBecomeOne) {
  Value x = Feed(Wave({4, 4}, 0.7)), y = Feed(Wave({4}, 0.3));
  Value last = Unary("Tanh", Binary("Mul", Binary("AddV2", x, y), y));
  ASSERT_TRUE(FuseElementwise(&graph_).ok());
  const Node& fused = *graph_.node(last.node());
  EXPECT_EQ(fused.op(), "_FusedElementwise");
  EXPECT_EQ(fused.inputs, (std::vector<Endpoint>{{x.node(), 0}, {y.node(), 0}}));
  EXPECT_EQ(fused.Attr<std::vector<std::string>>("ops").value(), (std::vector<std::string>{"AddV2", "Mul", "Tanh"}));
  EXPECT_EQ(fused.Attr<std::vector<int64_t>>("operands").value(), (std::vector<int64_t>{0, 1, 2, 1, 3, -1}));
  EXPECT_EQ(fused.Attr<std::vector<int64_t>>("results").value(), (std::vector<int64_t>{2}));
}

TEST_F(FusionTest, WhatOthersSeeIsAFurtherOutput) {
  Value x = Feed(Wave({4, 4}, 0.7));
  Value sum = Binary("AddV2", x, x);
  Value last = Unary("Tanh", sum);
  Value product = Binary("MatMul", sum, last);
  ASSERT_TRUE(FuseElementwise(&graph_).ok());
  EXPECT_EQ(graph_.node(product.node())->inputs, (std::vector<Endpoint>{{last.node(), 1}, {last.node(), 0}}));
}

// The product needs the sum and gives what the difference needs: they cannot be one node.
TEST_F(FusionTest, NoCyclesArise) {
  Value x = Feed(Wave({4, 4}, 0.7));
  Value sum = Binary("AddV2", x, x);
  Value difference = Binary("Sub", Binary("MatMul", sum, x), sum);
  ASSERT_TRUE(FuseElementwise(&graph_).ok());
  EXPECT_EQ(Count("_FusedElementwise"), 0);
  ExpectSame({difference});
}

TEST_F(FusionTest, DeadValuesStayApart) {
  Value x = Feed(Wave({4, 4}, 0.7));
  Value sum = Unary("Neg", Binary("AddV2", x, x));
  Value alive = Feed(Tensor::Scalar(false));
  Value branch = emit_.Outputs("Switch", {x, alive})[1];
  Value dead = Binary("Mul", sum, branch);
  Value merged = emit_.Outputs("Merge", {std::vector<Value>{dead, Unary("Identity", sum)}})[0];
  ExpectSame({merged, sum});
}

TEST_F(FusionTest, ElementwiseShapes) {
  std::vector<Value> fetches;
  const std::vector<std::vector<Shape>> cases = {
      {{3, 5, 70}, {3, 5, 1}, {70}},   // a norm
      {{2, 3, 4}, {3, 1}, {1}},        // neither row nor column
      {{3000}, {}, {1}},               // more than a block
      {{40, 50}, {50}, {40, 1}},       // rows and columns that a block cuts
      {{4, 1}, {1, 5}, {4, 5}},        // only the results are large
      {{0, 3}, {3}, {1}},              // nothing
      {{}, {}, {}},                    //
      {{1, 1}, {4}, {1}},              // the same elements in other shapes
      {{5}, {1, 5}, {1, 1, 5}},        //
      {{2000, 3}, {3}, {2000, 1}},     //
      {{7, 300}, {7, 300}, {7, 300}},  //
  };
  for (const std::vector<Shape>& shapes : cases) {
    Value x = Feed(Wave(shapes[0], 0.7)), y = Feed(Wave(shapes[1], 0.3, 2)), z = Feed(Wave(shapes[2], 0.2));
    Value centred = Binary("Sub", x, z);
    Value factor = Unary("Rsqrt", Binary("AddV2", Unary("Square", y), emit_.Constant(Tensor::Scalar(0.5f))));
    Value out = Binary("AddV2", Binary("Mul", centred, Binary("Mul", factor, z)), y);
    fetches.insert(fetches.end(), {factor, out, Unary("Exp", Unary("Neg", Unary("Square", out)))});
  }
  ExpectSame(fetches);
}

TEST_F(FusionTest, GradientsOfElementwiseOperations) {
  Value x = Feed(Wave({30, 50}, 0.7)), w = Feed(Wave({50}, 0.2, 1));
  Value y = Binary("Mul", Unary("Tanh", Binary("Mul", x, w)), Unary("Sigmoid", Binary("Sub", x, w)));
  Value dy = Feed(Wave({30, 50}, 0.4));
  Value first = Binary("TanhGrad", y, dy);
  Value second = Binary("SigmoidGrad", Unary("Sigmoid", y), Binary("Mul", first, dy));
  ExpectSame({y, first, Binary("AddV2", second, first), Binary("RsqrtGrad", y, second)});
}

TEST_F(FusionTest, BatchNormsTakeTheRelu) {
  auto norm = [&](Value x) {
    return emit_.Outputs("FusedBatchNormV3", {x, Feed(Wave({5}, 0.3, 1)), Feed(Wave({5}, 0.2)), Nothing(), Nothing()},
                         {});
  };
  Value x = Feed(Wave({3, 4, 6, 5}, 0.7)), other = Feed(Wave({3, 4, 6, 5}, 0.3));
  Values plain = norm(x), added = norm(other);
  Value first = Unary("Relu", plain[0]), second = Unary("Relu", Binary("AddV2", other, added[0]));
  Value dy = Feed(Wave({3, 4, 6, 5}, 0.9));
  Values back =
      emit_.Outputs("FusedBatchNormGradV3",
                    {Binary("ReluGrad", dy, first), x, Feed(Wave({5}, 0.3, 1)), plain[3], plain[4], plain[5]}, {});
  ExpectSame({first, second, plain[1], plain[2], added[1], added[2], back[0], back[1], back[2]});
  ASSERT_TRUE(FuseNorms(&graph_).ok());
  EXPECT_EQ(graph_.node(plain[0].node())->op(), "_FusedBatchNormEx");
  EXPECT_EQ(graph_.node(added[0].node())->inputs.back(), (Endpoint{other.node(), 0}));
  EXPECT_EQ(graph_.node(back[0].node())->op(), "_FusedBatchNormGradEx");
  EXPECT_EQ(graph_.node(back[0].node())->inputs.back(), (Endpoint{plain[0].node(), 0}));
}

// What is added comes of the norm's own statistics: the norm cannot wait for it.
TEST_F(FusionTest, BatchNormsDoNotWaitForThemselves) {
  Value x = Feed(Wave({3, 4, 6, 5}, 0.7));
  Values norm =
      emit_.Outputs("FusedBatchNormV3", {x, Feed(Wave({5}, 0.3, 1)), Feed(Wave({5}, 0.2)), Nothing(), Nothing()}, {});
  Value out = Unary("Relu", Binary("AddV2", norm[0], Binary("Mul", x, norm[1])));
  ExpectSame({out, norm[2]});
  ASSERT_TRUE(FuseNorms(&graph_).ok());
  EXPECT_EQ(graph_.node(norm[0].node())->op(), "FusedBatchNormV3");
}

TEST_F(FusionTest, ANormOverRowsBecomesOne) {
  Value x = Feed(Wave({4, 3, 70}, 0.7)), scale = Feed(Wave({70}, 0.3, 1)), offset = Feed(Wave({70}, 0.2));
  Value mean = Reduced("Mean", x, -1), variance = Reduced("Mean", Binary("SquaredDifference", x, mean), 2);
  Value factor = Binary("Mul", Unary("Rsqrt", Binary("AddV2", variance, Number(1e-5f))), scale);
  Value out = Binary("AddV2", Binary("Mul", Binary("Sub", x, mean), factor), offset);
  ExpectSame({out, mean, factor});
  ASSERT_TRUE(FuseElementwise(&graph_).ok());
  EXPECT_EQ(OpsOf(out), (std::vector<std::string>{"Mean", "SquaredDifference", "Mean", "AddV2", "Rsqrt", "Mul", "Sub",
                                                  "Mul", "AddV2"}));
  EXPECT_EQ(graph_.node(out.node())->inputs.size(), 4u);
}

TEST_F(FusionTest, ReductionsOfOtherDimensionsStayApart) {
  Value x = Feed(Wave({4, 3, 70}, 0.7));
  Value sums[] = {Reduced("Sum", Unary("Neg", x), 1), Reduced("Sum", Unary("Exp", x), -1, /*keep=*/false),
                  emit_.Op("Sum", {Unary("Tanh", x), emit_.Constant(emit::IntsTensor(std::vector<int64_t>{1, 2}))},
                           {{"keep_dims", true}})};
  ExpectSame({sums[0], sums[1], sums[2]});
  ASSERT_TRUE(FuseElementwise(&graph_).ok());
  for (Value sum : sums) EXPECT_EQ(graph_.node(sum.node())->op(), "Sum");
}

TEST_F(FusionTest, RowsOfManyShapes) {
  std::vector<Value> fetches;
  struct Case {
    Shape x, y, z;
  };
  const Case cases[] = {
      {{3, 5, 70}, {70}, {3, 5, 1}},             //
      {{2, 4, 9, 33}, {2, 1, 1, 33}, {9, 33}},   // a mask for each sequence
      {{2, 4, 9, 33}, {2, 1, 9, 1}, {4, 1, 1}},  // neither rows nor columns
      {{7}, {1}, {}},                            // one row
      {{3, 1}, {3, 1}, {1}},                     // rows of one
      {{600, 2}, {2}, {600, 1}},                 // more rows than a block has
      {{3, 4000}, {4000}, {3, 4000}},            // longer than a block
      {{2, 9000}, {2, 1}, {9000}},               // too long to be fused
      {{0, 5}, {5}, {1}},                        // no rows
      {{1, 1, 128}, {1, 1, 128}, {1, 1, 1}},     //
  };
  for (const auto& [xs, ys, zs] : cases) {
    Value x = Feed(Wave(xs, 0.7)), y = Feed(Wave(ys, 0.3, 2)), z = Feed(Wave(zs, 0.2));
    Value scores = Binary("AddV2", Binary("Mul", x, y), z);
    Value weights = Unary("Softmax", scores);
    // The gradient of a softmax.
    Value product = Binary("Mul", x, weights);
    Value slope = Binary("Mul", Binary("Sub", x, Reduced("Sum", product, -1)), weights);
    fetches.insert(fetches.end(), {weights, slope, Unary("LogSoftmax", Unary("Neg", scores))});
    for (std::string_view op : {"Sum", "Mean", "Max", "Min", "Prod"}) {
      Value reduced = Reduced(op, Unary("Sin", x), -1);
      fetches.insert(fetches.end(), {Binary("Maximum", Unary("Square", reduced), z), Binary("Sub", x, reduced)});
    }
  }
  ExpectSame(fetches);
}

// What a backward pass takes of the forward pass is made again of what is stored anyway.
TEST_F(FusionTest, CheapValuesAreMadeAgain) {
  Value x = Feed(Wave({8, 8}, 0.7)), w = Feed(Wave({8, 8}, 0.2));
  Value tanh = Unary("Tanh", x), factor = Binary("AddV2", tanh, Number(1));
  Value y = Binary("Mul", w, factor);
  Value back = Binary("MatMul", y, w);
  Value slope = Binary("Mul", Binary("TanhGrad", tanh, back), factor);
  ExpectSame({y, slope});
  ASSERT_TRUE(FuseElementwise(&graph_).ok());
  const Node& forward = *graph_.node(y.node());
  EXPECT_EQ(forward.op(), "_FusedElementwise");
  EXPECT_EQ(forward.num_outputs(), 2);  // the product and the tangent, not the factor
  EXPECT_EQ(OpsOf(slope), (std::vector<std::string>{"AddV2", "TanhGrad", "Mul"}));
}

TEST_F(FusionTest, WhatComesOfValuesThatAreReadAnywayIsMadeAgain) {
  Value x = Feed(Wave({8, 8}, 0.7)), w = Feed(Wave({8, 8}, 0.2));
  Value inner = Binary("AddV2", x, Binary("Mul", Binary("Mul", x, x), Number(0.1f)));
  Value tanh = Unary("Tanh", inner);
  Value y = Binary("Mul", x, tanh);
  Value back = Binary("MatMul", y, w);
  Value slope = Binary("Mul", Binary("TanhGrad", tanh, back), x);
  ExpectSame({y, slope});
  ASSERT_TRUE(FuseElementwise(&graph_).ok());
  EXPECT_EQ(graph_.node(y.node())->num_outputs(), 1);
  EXPECT_EQ(OpsOf(slope), (std::vector<std::string>{"Mul", "Mul", "AddV2", "Tanh", "TanhGrad", "Mul"}));
}

TEST_F(FusionTest, SumsOfManyAreFused) {
  Value x = Feed(Wave({5, 40}, 0.7)), y = Feed(Wave({5, 40}, 0.3));
  Value sum = emit::AddN({Unary("Neg", x), Unary("Exp", y), x, Binary("Mul", x, y)});
  ExpectSame({sum, Unary("Sqrt", Unary("Square", sum))});
  ASSERT_TRUE(FuseElementwise(&graph_).ok());
  EXPECT_EQ(Count("_FusedElementwise"), 1);
}

TEST_F(FusionTest, SumsOfOtherShapesAreErrors) {
  auto unknown = [&](Tensor value) {
    Value out = emit_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 4})}});
    feeds_.emplace_back(Cat(graph_.node(out.node())->name, ":0"), std::move(value));
    return out;
  };
  Value sum = emit::AddN({Unary("Neg", unknown(Wave({3, 4}, 0.1))), Unary("Exp", unknown(Wave({1, 4}, 0.1)))});
  ExpectError(Unary("Neg", sum), "must have the same size and shape.  Input 0: [3,4] != input 1: [1,4]");
}

TEST_F(FusionTest, GradientsOfMeansNeedNoBroadcast) {
  Value x = Feed(Wave({4, 3, 70}, 0.7)), dy = Feed(Wave({4, 3, 1}, 0.3)), other = Feed(Wave({4, 3, 70}, 0.1));
  Value wide = emit_.Op("BroadcastTo", {dy, emit_.Constant(emit::IntsTensor(std::vector<int64_t>{4, 3, 70}))});
  Value slope = Binary("RealDiv", wide, Number(70));
  Value product = Binary("Mul", slope, x), sum = emit::AddN({other, slope, x});
  ExpectSame({slope, product, sum});
  ASSERT_TRUE(SinkBroadcasts(&graph_).ok());
  const Node& small = *graph_.node(graph_.node(product.node())->inputs[0].node);
  EXPECT_EQ(small.op(), "RealDiv");
  EXPECT_EQ(small.inputs[0], (Endpoint{dy.node(), 0}));
  EXPECT_EQ(graph_.node(slope.node())->op(), "BroadcastTo");  // for whoever wants it whole
  EXPECT_EQ(graph_.node(sum.node())->op(), "AddV2");
  EXPECT_EQ(graph_.node(sum.node())->inputs[1], (Endpoint{small.id, 0}));
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
  ASSERT_TRUE(MergeProducts(&graph_).ok());
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
  ASSERT_TRUE(MergeProducts(&graph_).ok());
  EXPECT_EQ(graph_.node(sum.node())->inputs.size(), 4u);
}

// A client may feed another shape than the placeholder declares; nothing that was made of the graph may rely on it.
TEST_F(FusionTest, FeedsOfOtherShapesThanDeclared) {
  Value x = emit_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({-1, 3})}});
  Value fetches[] = {Unary("Rank", x), Reduced("Sum", Unary("Exp", x), 1)};
  ASSERT_TRUE(emit_.status().ok());
  auto session = Session::Create(environment_, {}).value();
  ASSERT_TRUE(session->Extend(graph_).ok());
  Session::CallableSpec spec;
  spec.feeds = {Cat(graph_.node(x.node())->name, ":0")};
  for (Value fetch : fetches) spec.fetches.push_back(graph_.TensorName({fetch.node(), 0}));
  auto callable = session->MakeCallable(spec);
  ASSERT_TRUE(callable.ok()) << callable.status();
  for (const Shape& shape : {Shape({5, 3}), Shape({2, 3, 4}), Shape({1, 3}), Shape({2, 7})}) {
    const Tensor value = Wave(shape, 0.3);
    const weir::Feed feed(spec.feeds[0], value);
    std::vector<Tensor> run, called;
    ASSERT_TRUE(session->Run(std::span(&feed, 1), spec.fetches, {}, &run).ok());
    ASSERT_TRUE(session->RunCallable(*callable, std::span(&value, 1), &called).ok());
    for (const std::vector<Tensor>& out : {run, called}) {
      EXPECT_EQ(out[0].scalar<int32_t>(), shape.rank());
      Shape reduced = shape;
      ASSERT_TRUE(reduced.SetDim(1, 1).ok());
      EXPECT_EQ(out[1].shape(), reduced);
    }
  }
}

TEST_F(FusionTest, ElementwiseErrorsAreThoseOfTheParts) {
  Value x = emit_.Op("Placeholder", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape()}});
  Value out = Unary("Exp", Binary("Mul", Unary("Neg", x), Feed(Wave({4}, 0.2))));
  feeds_.emplace_back(Cat(graph_.node(x.node())->name, ":0"), Wave({3}, 0.1));
  ExpectError(out, "Incompatible shapes: [3] vs. [4]");
}

TEST_F(FusionTest, MalformedProgramsAreRefused) {
  struct Program {
    std::vector<std::string> ops;
    std::vector<int64_t> operands, results;
  };
  const Program programs[] = {{{}, {}, {0}},
                              {{"Neg"}, {0}, {0}},
                              {{"Neg"}, {0, 0}, {0}},
                              {{"Neg"}, {1, -1}, {0}},
                              {{"Neg"}, {-1, -1}, {0}},
                              {{"AddV2"}, {0, -1}, {0}},
                              {{"AddV2"}, {0, 1}, {0}},
                              {{"Neg"}, {0, -1}, {1}},
                              {{"MatMul"}, {0, 0}, {0}}};
  KernelRunner run({RegisterMathKernels});
  for (const Program& program : programs) {
    KernelCall call = run("_FusedElementwise")
                          .Attr("M", 1)
                          .Attr("ops", AttrList{.s = program.ops})
                          .Attr("operands", program.operands)
                          .Attr("results", program.results)
                          .Input(Wave({4}, 0.1));
    EXPECT_FALSE(call.Run().ok());
  }
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
