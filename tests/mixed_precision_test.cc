// Mixed precision: which nodes run in the small type, where casts go, and that networks train as they do in float32.
#include "weir/passes/mixed_precision.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/emitted_graph.h"
#include "weir/proto/config.pb.h"
#include "weir/weir.h"

namespace weir {
namespace {

Tensor Wave(const Shape& shape, float step) {
  Tensor out = Tensor::Zeros(DType::kFloat, shape).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    out.data<float>()[i] = std::sin(static_cast<float>(i) * step) * 0.5f;
  }
  return out;
}

class MixedPrecisionTest : public EmittedGraphTest {
 protected:
  Value Floats(std::vector<int64_t> dims) { return Feed(Wave(Shape::Make(dims).value(), 0.7f)); }
  Value Product(Value a, Value b) { return emit::MatMul(a, b); }
  Value Convolution(Value x, Value w) {
    return emit_.Op("Conv2D", {x, w}, {{"strides", Ints({1, 1, 1, 1})}, {"padding", "SAME"}});
  }

  static Value Mean(Value x) { return emit::Mean(x, emit::Ints(x, {1}), true); }

  void Mix(DeviceRewriteOptions options = {}) {
    ASSERT_TRUE(emit_.status().ok()) << emit_.status();
    options.mixed_precision = DType::kBFloat16;
    RewriteContext context(&graph_);
    const Status status = MixPrecision(context, options);
    ASSERT_TRUE(status.ok()) << status;
    context.EndPass();
  }
  bool IsSmall(Value value) const { return graph_.type({value.node(), value.index()}) == DType::kBFloat16; }
  int Count(std::string_view op) const {
    return static_cast<int>(
        std::ranges::count_if(graph_.nodes(), [&](const auto& node) { return node != nullptr && node->op() == op; }));
  }
};

TEST_F(MixedPrecisionTest, ProductsAndWhatLiesBetweenThemAreSmall) {
  Value first = Product(Floats({4, 8}), Floats({8, 8}));
  Value biased = emit_.Op("BiasAdd", {first, Floats({8})});
  Value rectified = emit_.Op("Relu", {biased});
  Value second = Product(rectified, Floats({8, 2}));
  Value end = emit_.Op("BiasAdd", {second, Floats({2})});
  Mix();
  // The last bias, too: it goes with its product, though nobody who is small takes the sum.
  for (Value value : {first, biased, rectified, second, end}) EXPECT_TRUE(IsSmall(value));
  EXPECT_EQ(Count("Cast"), 5);  // three operands and two biases
}

TEST_F(MixedPrecisionTest, SumsAndWhatIsMadeOfThemStayFloat) {
  Value x = Product(Floats({4, 8}), Floats({8, 8}));
  Value centred = emit::Binary("Sub", x, Mean(x));
  Value doubled = emit::Binary("Mul", centred, centred);
  Value moved = emit::Reshape(doubled, emit_.Constant(Tensor::Vector<int32_t>({8, 4})));
  Value exponential = emit::Unary("Exp", x);
  Value sum = emit::Binary("AddV2", moved, Floats({8, 4}));
  Value end = Product(sum, Floats({4, 2}));
  Mix();
  for (Value value : {centred, doubled, moved, sum, exponential}) EXPECT_FALSE(IsSmall(value));
  for (Value value : {x, end}) EXPECT_TRUE(IsSmall(value));
}

TEST_F(MixedPrecisionTest, MovedDataFollowsItsNeighbours) {
  Value x = Floats({4, 8});
  Value transposed = emit::Transpose(x, {1, 0});
  Value product = Product(transposed, Floats({4, 4}));
  Value largest = emit_.Op("Max", {product, emit_.Constant(Tensor::Scalar<int32_t>(0))});
  Value alone = emit_.Op("Relu", {x});
  Mix();
  EXPECT_TRUE(IsSmall(transposed) && IsSmall(product) && IsSmall(largest));
  EXPECT_FALSE(IsSmall(alone));
}

TEST_F(MixedPrecisionTest, ATensorIsCastOnce) {
  Value w = Floats({8, 8}), x = Floats({8, 8});
  Value a = Product(x, w), b = Product(a, w);
  Value c = emit::MatMul(b, w, false, true);
  emit::Unary("Exp", c);
  emit::Unary("Expm1", c);
  Mix();
  EXPECT_EQ(Count("Cast"), 3);  // w, x and c
}

TEST_F(MixedPrecisionTest, WeightsOfLoopsAreCastBeforeTheLoop) {
  auto enter = [&](Value x) { return emit_.Op("Enter", {x}, {{"frame_name", "loop"}, {"is_constant", true}}); };
  Value weights = Floats({8, 8});
  Value product = Product(enter(Floats({4, 8})), enter(weights));
  Product(product, enter(emit_.Constant(Wave({8, 8}, 0.2f))));
  Mix();
  const Node& inside = *graph_.node(graph_.node(product.node())->inputs[1].node);
  ASSERT_EQ(inside.op(), "Enter");
  EXPECT_EQ(inside.Attr<std::string>("frame_name").value(), "loop");
  const Node& cast = *graph_.node(inside.inputs[0].node);
  EXPECT_EQ(cast.op(), "Cast");
  EXPECT_EQ(cast.inputs[0].node, weights.node());
  EXPECT_EQ(Count("Cast"), 2);
  EXPECT_EQ(Count("Enter"), 3);  // those of float32 are gone
}

TEST_F(MixedPrecisionTest, ConstantsAreCastAtOnce) {
  Value w = emit_.Constant(Tensor::Vector<float>({1, 2, 0.1f, 4})), matrix = emit_.Constant(Wave({4, 4}, 0.3f));
  Value x = Product(Floats({4, 4}), matrix);
  Value scaled = emit::Binary("Mul", x, w);
  Value end = Product(scaled, matrix);
  Mix();
  EXPECT_TRUE(IsSmall(scaled) && IsSmall(end));
  EXPECT_EQ(Count("Cast"), 1);
  EXPECT_EQ(Count("Const"), 2);
  const Node& small = *graph_.node(graph_.node(scaled.node())->inputs[1].node);
  EXPECT_EQ(static_cast<float>(small.Attr<Tensor>("value")->data<BFloat16>()[2]), 0.10009765625f);
}

TEST_F(MixedPrecisionTest, BatchNormsKeepTheirStatistics) {
  Value x = Convolution(Floats({1, 4, 4, 3}), Floats({3, 3, 3, 8}));
  Value none = emit_.Constant(Tensor::Zeros(DType::kFloat, {0}).value());
  Values norm = emit_.Outputs("FusedBatchNormV3", {x, Floats({8}), Floats({8}), none, none}, {{"is_training", true}});
  Convolution(emit_.Op("Relu", {norm[0]}), Floats({1, 1, 8, 2}));
  Mix();
  EXPECT_TRUE(IsSmall(norm[0]));
  for (int i : {1, 2}) EXPECT_EQ(graph_.type({norm[i].node(), i}), DType::kFloat);
}

TEST_F(MixedPrecisionTest, SumsOfWhatIsSmallDoNotNeedItsCopy) {
  Value slope = emit_.Op("Relu", {Product(Floats({64, 8}), Floats({8, 8}))});
  Product(slope, Floats({8, 8}));
  Value bias = emit_.Op("BiasAddGrad", {slope});
  emit::Unary("Exp", bias);
  Mix();
  EXPECT_TRUE(IsSmall(bias));
}

TEST_F(MixedPrecisionTest, WhatTheDeviceDoesNotSupportStaysFloat) {
  Value image = Convolution(Floats({1, 4, 4, 3}), Floats({3, 3, 3, 8}));
  Value rectified = emit_.Op("Relu", {image});
  DeviceRewriteOptions options;
  options.supports = [](std::string_view op, const AttrMap&) { return op != "Conv2D"; };
  Mix(options);
  EXPECT_FALSE(IsSmall(image) || IsSmall(rectified));
  EXPECT_EQ(Count("Cast"), 0);
}

TEST_F(MixedPrecisionTest, OnlyFloatsChange) {
  Value doubles =
      Product(Feed(Tensor::Zeros(DType::kDouble, {2, 2}).value()), Feed(Tensor::Zeros(DType::kDouble, {2, 2}).value()));
  Mix();
  EXPECT_EQ(graph_.type({doubles.node(), 0}), DType::kDouble);
  EXPECT_EQ(Count("Cast"), 0);
}

TEST_F(MixedPrecisionTest, SessionsRoundOnlyIfToldTo) {
  Value product = Product(Floats({4, 8}), Floats({8, 4}));
  const Tensor exact = RunIn({}, {product})[0];
  SessionOptions options;
  options.host_mixed_precision = DType::kBFloat16;
  const Tensor rounded = RunIn(options, {product})[0];
  ASSERT_EQ(rounded.dtype(), DType::kFloat);
  bool differs = false;
  for (int i = 0; i < 16; ++i) {
    EXPECT_NEAR(rounded.data<float>()[i], exact.data<float>()[i], 0.02f);
    EXPECT_EQ(rounded.data<float>()[i], static_cast<float>(BFloat16(rounded.data<float>()[i])));
    differs = differs || rounded.data<float>()[i] != exact.data<float>()[i];
  }
  EXPECT_TRUE(differs);
  options.rewrites.disable_all = true;
  const Tensor as_written = RunIn(options, {product})[0];
  EXPECT_EQ(as_written.data<float>()[5], exact.data<float>()[5]);
}

TEST_F(MixedPrecisionTest, TypesOtherThanTheSmallOnesAreRefused) {
  SessionOptions options;
  options.host_mixed_precision = DType::kDouble;
  auto session = Session::Create(environment_, options).value();
  Value product = Product(Floats({4, 8}), Floats({8, 4}));
  ASSERT_TRUE(session->Extend(graph_).ok());
  const std::string name = graph_.TensorName({product.node(), 0});
  std::vector<Tensor> out;
  EXPECT_EQ(session->Run(feeds_, std::span(&name, 1), {}, &out).code(), absl::StatusCode::kInvalidArgument);
}

TEST(MixedPrecisionConfig, IsTensorFlows) {
  ConfigProto config;
  EXPECT_EQ(SessionOptions::FromConfig(config, {})->mixed_precision, DType::kInvalid);
  EXPECT_EQ(SessionOptions::FromConfig(config, {})->host_mixed_precision, DType::kInvalid);
  RewriterConfig* rewriter = config.mutable_graph_options()->mutable_rewrite_options();
  rewriter->set_auto_mixed_precision(RewriterConfig::ON);
  rewriter->set_auto_mixed_precision_onednn_bfloat16(RewriterConfig::ON);
  EXPECT_EQ(SessionOptions::FromConfig(config, {})->mixed_precision, DType::kHalf);
  EXPECT_EQ(SessionOptions::FromConfig(config, {})->host_mixed_precision, DType::kBFloat16);
}

TEST(MixedPrecisionConfig, TravelsToServers) {
  for (DType type : {DType::kInvalid, DType::kHalf, DType::kBFloat16}) {
    SessionOptions options;
    options.mixed_precision = options.host_mixed_precision = type;
    ConfigProto config;
    options.ToConfig(&config);
    EXPECT_EQ(SessionOptions::FromConfig(config, {})->mixed_precision, type);
    EXPECT_EQ(SessionOptions::FromConfig(config, {})->host_mixed_precision, type);
  }
}

// The losses of a convolution, a batch norm, a pool and two dense layers, trained for some steps.
std::vector<float> TrainNetwork(DType precision) {
  Scope root = Scope::NewRoot();
  Variable filter(root, "filter", Wave({3, 3, 3, 8}, 0.9f)), middle(root, "middle", Wave({128, 16}, 1.3f));
  Variable scale(root, "scale", Shape({8}), init::Ones()), offset(root, "offset", Shape({8}), init::Zeros());
  Variable last(root, "last", Wave({16, 4}, 1.7f)), bias(root, "bias", Shape({4}), init::Zeros());
  const Tensor none = Tensor::Vector<float>({});
  Output image = ops::Conv2D(root, Wave({6, 8, 8, 3}, 0.37f), filter.value(), {1, 1, 1, 1}, "SAME");
  image = ops::FusedBatchNormV3(root, image, scale.value(), offset.value(), none, none).y;
  image = ops::MaxPool(root, ops::Relu(root, image), {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");
  Output flat = ops::Reshape(root, image, Tensor::Vector<int32_t>({-1, 128}));
  Output hidden = ops::Tanh(root, ops::MatMul(root, flat, middle.value()));
  Output logits = ops::BiasAdd(root, ops::MatMul(root, hidden, last.value()), bias.value());
  Output labels = ops::Const(root, Tensor::Vector<int64_t>({0, 1, 2, 3, 0, 1}), DType::kInt64);
  Output loss = loss::SparseCategoricalCrossentropy()(root, labels, logits);
  Training training = optimizer::Adam({.learning_rate = 0.01f}).Minimize(root, loss);
  SessionOptions options;
  options.isolate_state = true;
  options.host_mixed_precision = precision;
  auto session = ClientSession::Create(root, options).value();
  EXPECT_TRUE(session->RunTargets({InitializeVariables(root)}).ok());
  std::vector<float> losses;
  for (int i = 0; i < 12; ++i) {
    auto out = session->Run({}, {loss}, {training.op});
    EXPECT_TRUE(out.ok()) << out.status();
    if (!out.ok()) break;
    losses.push_back((*out)[0].scalar<float>());
  }
  return losses;
}

TEST(MixedPrecisionTraining, LossesFollowThoseOfFloat32) {
  const std::vector<float> exact = TrainNetwork(DType::kInvalid);
  for (DType precision : {DType::kBFloat16, DType::kHalf}) {
    const std::vector<float> mixed = TrainNetwork(precision);
    ASSERT_EQ(mixed.size(), exact.size());
    EXPECT_NE(mixed[1], exact[1]);
    for (size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(mixed[i], exact[i], 0.03f) << Name(precision) << " " << i;
  }
}

}  // namespace
}  // namespace weir
