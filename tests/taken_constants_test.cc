// Weights that kernels keep in the library's order alone, and everybody else still finds as they were.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "weir/client/environment.h"
#include "weir/device/cpu/contraction.h"
#include "weir/proto/graph.pb.h"
#include "weir/runtime/session.h"
#include "weir/testing/tensor_matchers.h"

namespace weir {
namespace {

constexpr int64_t kWidth = 192;

Tensor Wave(const Shape& shape, double frequency) {
  Tensor out = Tensor::Zeros(DType::kFloat, shape).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    out.data<float>()[i] = static_cast<float>(std::sin(static_cast<double>(i) * frequency));
  }
  return out;
}

void ExpectBits(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape(), expected.shape());
  EXPECT_EQ(std::memcmp(actual.raw_data(), expected.raw_data(), expected.num_bytes()), 0);
}

// A session over "product" = x weights, "layer" = relu(x weights + bias + x), "convolved" = image filter, "sum" =
// weights + weights, and their constants.
class TakenConstantsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!ContractionLibrary().starts_with("oneDNN")) GTEST_SKIP() << ContractionLibrary();
    Graph graph = Build();
    for (Toggle fusion : {Toggle::kOn, Toggle::kOff}) {
      SessionOptions options;
      options.rewrites.fusion = fusion;
      auto& session = fusion == Toggle::kOn ? session_ : plain_;
      session = Session::Create(environment_, options).value();
      ASSERT_TRUE(session->Extend(graph).ok());
    }
  }

  Graph Build() {
    Graph graph(environment_->ops);
    auto add = [&](std::string name, std::string op, std::vector<Endpoint> inputs, AttrMap attrs) {
      return Endpoint{graph.AddNode({std::move(name), std::move(op), std::move(attrs), std::move(inputs)}).value()->id,
                      0};
    };
    auto typed = [](std::string_view name) {
      AttrMap attrs;
      attrs.Set(name, DType::kFloat);
      return attrs;
    };
    auto constant = [&](std::string name, const Tensor& value) {
      AttrMap attrs = typed("dtype");
      attrs.Set("value", value);
      return add(std::move(name), "Const", {}, attrs);
    };
    Endpoint x = add("x", "Placeholder", {}, typed("dtype")), image = add("image", "Placeholder", {}, typed("dtype"));
    Endpoint other = add("other", "Placeholder", {}, typed("dtype"));
    Endpoint w = constant("weights", weights_), filter = constant("filter", filter_);
    add("product", "MatMul", {x, w}, typed("T"));
    add("by_other", "MatMul", {x, other}, typed("T"));
    Endpoint dense = add("dense", "MatMul", {x, w}, typed("T"));
    dense = add("with_bias", "BiasAdd", {dense, constant("dense_bias", Wave({kWidth}, 0.5))}, typed("T"));
    add("layer", "Relu", {add("residual", "AddV2", {dense, x}, typed("T"))}, typed("T"));
    add("sum", "AddV2", {w, w}, typed("T"));
    AttrMap attrs = typed("T");
    AttrList ones;
    ones.i = {1, 1, 1, 1};
    attrs.Set("strides", ones);
    attrs.Set("padding", "SAME");
    Endpoint convolved = add("convolution", "Conv2D", {image, filter}, attrs);
    add("convolved", "BiasAdd", {convolved, constant("bias", Wave({64}, 0.4))}, typed("T"));
    return graph;
  }

  std::vector<Tensor> Run(Session& session, const std::vector<std::string>& fetches, int64_t rows = 8) {
    std::vector<Feed> feeds;
    for (const std::string& fetch : fetches) {
      if (fetch == "product:0" || fetch == "layer:0") feeds.emplace_back("x:0", Wave({rows, kWidth}, 0.7));
      if (fetch == "convolved:0") feeds.emplace_back("image:0", Wave({rows, 9, 8, 64}, 0.3));
    }
    std::vector<Tensor> out;
    const Status status = session.Run(feeds, fetches, {}, &out);
    EXPECT_TRUE(status.ok()) << status;
    return out;
  }
  void ExpectAsWithoutFusion(const std::vector<std::string>& fetches, int64_t rows = 8) {
    std::vector<Tensor> actual = Run(*session_, fetches, rows), expected = Run(*plain_, fetches, rows);
    ASSERT_EQ(actual.size(), fetches.size());
    ASSERT_EQ(expected.size(), fetches.size());
    for (size_t i = 0; i < actual.size(); ++i) ExpectTensorNear(actual[i], expected[i], 1e-4, 1e-4);
  }

  std::shared_ptr<Environment> environment_ = DefaultEnvironment();
  Tensor weights_ = Wave({kWidth, kWidth}, 0.2), filter_ = Wave({3, 3, 64, 64}, 0.1);
  std::unique_ptr<Session> session_, plain_;
};

TEST_F(TakenConstantsTest, TheOriginalGoesOncePacked) {
  ExpectAsWithoutFusion({"product:0", "convolved:0"}, /*rows=*/1);  // too few for tiles, which keep the filter as it is
  plain_ = nullptr;
  EXPECT_TRUE(weights_.unique());
  EXPECT_TRUE(filter_.unique());
  const Tensor weights = weights_.Clone().value(), filter = filter_.Clone().value();
  weights_ = filter_ = Tensor();
  std::vector<Tensor> out = Run(*session_, {"weights:0", "filter:0"});
  ExpectBits(out[0], weights);
  ExpectBits(out[1], filter);
}

TEST_F(TakenConstantsTest, LaterStepsFindItAgain) {
  ExpectAsWithoutFusion({"product:0"});
  ExpectAsWithoutFusion({"product:0", "sum:0"});
  ExpectAsWithoutFusion({"product:0", "weights:0", "convolved:0"});
  for (int64_t rows : {1, 3, 64, 200}) ExpectAsWithoutFusion({"product:0", "convolved:0"}, rows);
}

TEST_F(TakenConstantsTest, LayersOfFewAndOfManyRows) {
  for (int64_t rows : {100, 5, 32, 31}) ExpectAsWithoutFusion({"layer:0"}, rows);
  ExpectBits(Run(*session_, {"weights:0"})[0], weights_);
  ExpectAsWithoutFusion({"layer:0"}, 64);
}

// Steps that run in pieces may want another order.
TEST_F(TakenConstantsTest, DeterministicSteps) {
  SessionOptions options;
  options.deterministic = true;
  session_ = Session::Create(environment_, options).value();
  ASSERT_TRUE(session_->Extend(Build()).ok());
  for (int64_t rows : {3, 200, 3}) ExpectAsWithoutFusion({"product:0", "convolved:0"}, rows);
}

TEST_F(TakenConstantsTest, SessionsDoNotTakeItFromEachOther) {
  auto other = Session::Create(environment_, {}).value();
  ASSERT_TRUE(other->Extend(Build()).ok());
  Run(*other, {"product:0"});
  ExpectAsWithoutFusion({"product:0"});
  other = nullptr;
  ExpectAsWithoutFusion({"product:0", "sum:0"}, 5);
}

TEST_F(TakenConstantsTest, ExtendedSessionsUseIt) {
  ExpectAsWithoutFusion({"product:0"});
  const std::string more =
      "node { name: 'twice' op: 'AddV2' input: 'weights' input: 'weights' attr { key: 'T' value { type: DT_FLOAT } } }";
  GraphDef def;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(more, &def));
  for (Session* session : {session_.get(), plain_.get()}) ASSERT_TRUE(session->Extend(def).ok());
  ExpectAsWithoutFusion({"twice:0", "product:0"}, 9);
}

TEST_F(TakenConstantsTest, StepsMayCompileAndRunAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      const std::vector<std::string> fetches[] = {
          {"product:0"}, {"weights:0", "product:0"}, {"sum:0"}, {"convolved:0"}};
      for (int k = 0; k < 4; ++k) ExpectAsWithoutFusion(fetches[(i + k) % 4], 2 + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The kernel of a product by a constant must not serve one whose operand changes.
TEST_F(TakenConstantsTest, FedOperandsAreNotKept) {
  Run(*session_, {"product:0"});
  Tensor other = Wave({kWidth, kWidth}, 0.9);
  std::vector<Tensor> out;
  const std::string fetch = "by_other:0";
  for (int i = 0; i < 2; ++i) {
    std::vector<Feed> feeds = {{"x:0", Wave({8, kWidth}, 0.7)}, {"other:0", other}};
    ASSERT_TRUE(session_->Run(feeds, std::span(&fetch, 1), {}, &out).ok());
  }
  EXPECT_TRUE(other.unique());
}

}  // namespace
}  // namespace weir
