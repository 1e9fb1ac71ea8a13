// Fused nodes give what the nodes they stand for give.
#include <gtest/gtest.h>

#include <cmath>

#include "weir/autodiff/emit.h"
#include "weir/autodiff/graph_emitter.h"
#include "weir/client/environment.h"
#include "weir/passes/fuse.h"
#include "weir/runtime/session.h"
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

TEST_F(FusionTest, NaNStaysNaN) {
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
  ASSERT_TRUE(emit_.status().ok()) << emit_.status();
  for (Toggle fusion : {Toggle::kOn, Toggle::kOff}) {
    SessionOptions options;
    options.rewrites.fusion = fusion;
    auto session = Session::Create(environment_, options).value();
    ASSERT_TRUE(session->Extend(graph_).ok());
    std::vector<Tensor> out;
    const std::string fetch = graph_.TensorName({sum.node(), 0});
    Status status = session->Run(feeds_, std::span(&fetch, 1), {}, &out);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(
        Message(status).find("Must provide as many biases as the last dimension of the input tensor: [4] vs. [4,5]"),
        std::string::npos)
        << status;
  }
}

}  // namespace
}  // namespace weir
