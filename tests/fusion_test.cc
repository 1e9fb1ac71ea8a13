// Fused nodes give what the nodes they stand for give.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "weir/autodiff/emit.h"
#include "weir/autodiff/graph_emitter.h"
#include "weir/client/environment.h"
#include "weir/device/cpu/float_loops.h"
#include "weir/ops/math/register.h"
#include "weir/passes/fuse.h"
#include "weir/passes/fuse_elementwise.h"
#include "weir/runtime/session.h"
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

AttrList Ints(std::vector<int64_t> values) {
  AttrList list;
  list.i = std::move(values);
  return list;
}

class FusionTest : public testing::Test {
 protected:
  FusionTest()
      : environment_(DefaultEnvironment()), graph_(environment_->ops), shapes_(graph_), emit_(graph_, shapes_) {}

  Value Feed(Tensor value) {
    Value out = emit_.Op("Placeholder", {}, {{"dtype", value.dtype()}, {"shape", value.shape()}});
    feeds_.emplace_back(Cat(graph_.node(out.node())->name, ":0"), std::move(value));
    return out;
  }
  Value Given(Tensor value, bool is_constant) { return is_constant ? emit_.Constant(std::move(value)) : Feed(value); }

  std::vector<Tensor> Run(const std::vector<Value>& fetches, Toggle fusion) {
    SessionOptions options;
    options.rewrites.fusion = fusion;
    auto session = Session::Create(environment_, options).value();
    EXPECT_TRUE(session->Extend(graph_).ok());
    std::vector<std::string> names;
    for (Value fetch : fetches) names.push_back(graph_.TensorName({fetch.node(), fetch.index()}));
    std::vector<Tensor> out;
    for (int i = 0; i < 2; ++i) {  // the second time with the constants at hand
      Status status = session->Run(feeds_, names, {}, &out);
      EXPECT_TRUE(status.ok()) << status;
    }
    return out;
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
  int Count(std::string_view op) const {
    return static_cast<int>(
        std::ranges::count_if(graph_.nodes(), [&](const auto& node) { return node != nullptr && node->op() == op; }));
  }

  std::shared_ptr<Environment> environment_;
  Graph graph_;
  GraphShapes shapes_;
  GraphEmitter emit_;
  std::vector<weir::Feed> feeds_;
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

}  // namespace
}  // namespace weir
