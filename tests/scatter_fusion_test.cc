// Sparse steps of descent: what a scatter subtracts is multiplied on the way, to the bit as before.
#include <gtest/gtest.h>

#include <cstring>

#include "weir/client/environment.h"
#include "weir/device/cpu/rewrites/fuse_scatter.h"
#include "weir/runtime/session.h"

namespace weir {
namespace {

constexpr int64_t kRows = 3000, kWidth = 7, kUpdates = 5000;

// variable = given; "step": variable[ids] -= updates * 0.3, with the factor on either side; "value": what is there.
class ScatterFusionTest : public testing::Test {
 protected:
  ScatterFusionTest() : environment_(DefaultEnvironment()), graph_(environment_->ops) {}

  Status Fuse() {
    RewriteContext context(&graph_);
    return FuseScatters(context);
  }

  Endpoint Add(std::string name, std::string op, std::vector<Endpoint> inputs, AttrMap attrs,
               std::vector<NodeId> control = {}) {
    StatusOr<Node*> node =
        graph_.AddNode({std::move(name), std::move(op), std::move(attrs), std::move(inputs), std::move(control)});
    EXPECT_TRUE(node.ok()) << node.status();
    return {(*node)->id, 0};
  }
  static AttrMap Typed(std::string_view name, DType type) {
    AttrMap attrs;
    attrs.Set(name, type);
    return attrs;
  }
  Endpoint Feed(std::string name, DType type) { return Add(std::move(name), "Placeholder", {}, Typed("dtype", type)); }

  void Build(bool factor_first, bool product_is_seen = false) {
    AttrMap attrs = Typed("dtype", DType::kFloat);
    attrs.Set("shape", Shape({kRows, kWidth}));
    attrs.Set("shared_name", "table");
    Endpoint variable = Add("variable", "VarHandleOp", {}, attrs);
    Add("assign", "AssignVariableOp", {variable, Feed("given", DType::kFloat)}, Typed("dtype", DType::kFloat));
    attrs = Typed("dtype", DType::kFloat);
    attrs.Set("value", Tensor::Scalar(0.3f));
    Endpoint factor = Add("factor", "Const", {}, attrs), updates = Feed("updates", DType::kFloat);
    std::vector<Endpoint> operands = {updates, factor};
    if (factor_first) std::swap(operands[0], operands[1]);
    Endpoint product = Add("product", "Mul", operands, Typed("T", DType::kFloat));
    if (product_is_seen) Add("seen", "Identity", {product}, Typed("T", DType::kFloat));
    attrs = Typed("dtype", DType::kFloat);
    attrs.Set("Tindices", DType::kInt32);
    scatter_ = Add("step", "ResourceScatterSub", {variable, Feed("ids", DType::kInt32), product}, attrs).node;
    Add("value", "ReadVariableOp", {variable}, Typed("dtype", DType::kFloat));
  }

  Tensor Step(const Tensor& updates, Toggle fusion) {
    SessionOptions options;
    options.isolate_state = true;
    options.rewrites.fusion = fusion;
    auto session = Session::Create(environment_, options).value();
    EXPECT_TRUE(session->Extend(graph_).ok());
    auto run = [&](std::vector<weir::Feed> feeds, std::vector<std::string> fetches, std::vector<std::string> targets) {
      std::vector<Tensor> out;
      const Status status = session->Run(feeds, fetches, targets, &out);
      EXPECT_TRUE(status.ok()) << status;
      return out;
    };
    run({{"given:0", Noise({kRows, kWidth}, 1)}}, {}, {"assign"});
    Tensor ids = Tensor::Zeros(DType::kInt32, {kUpdates}).value();
    for (int64_t i = 0; i < kUpdates; ++i) ids.data<int32_t>()[i] = static_cast<int32_t>(i * i % kRows);
    run({{"ids:0", ids}, {"updates:0", updates}}, {}, {"step"});
    return run({}, {"value:0"}, {})[0];
  }
  static Tensor Noise(const Shape& shape, uint32_t seed) {
    Tensor out = Tensor::Zeros(DType::kFloat, shape).value();
    for (float& x : out.span<float>()) {
      seed = seed * 1664525 + 1013904223;
      x = static_cast<float>(seed) * 1e-9f - 2;
    }
    return out;
  }
  void ExpectSame(const Tensor& updates) {
    const Tensor fused = Step(updates, Toggle::kOn), plain = Step(updates, Toggle::kOff);
    EXPECT_EQ(std::memcmp(fused.raw_data(), plain.raw_data(), plain.num_bytes()), 0);
    const Tensor before = Noise({kRows, kWidth}, 1);
    EXPECT_NE(std::memcmp(fused.raw_data(), before.raw_data(), before.num_bytes()), 0);
  }

  std::shared_ptr<Environment> environment_;
  Graph graph_;
  NodeId scatter_ = kNoNode;
};

TEST_F(ScatterFusionTest, GivesTheSameBits) {
  Build(/*factor_first=*/false);
  ExpectSame(Noise({kUpdates, kWidth}, 2));
}

TEST_F(ScatterFusionTest, OneNumberForAll) {
  Build(/*factor_first=*/true);
  ExpectSame(Tensor::Scalar(1.7f));
}

TEST_F(ScatterFusionTest, TakesTheProduct) {
  Build(/*factor_first=*/true);
  ASSERT_TRUE(Fuse().ok());
  const Node& step = *graph_.node(scatter_);
  EXPECT_EQ(step.op(), "_ScaledResourceScatterSub");
  ASSERT_EQ(step.inputs.size(), 4u);
  EXPECT_EQ(step.inputs[2].node, graph_.Find("updates")->id);
  EXPECT_EQ(step.inputs[3].node, graph_.Find("factor")->id);
}

TEST_F(ScatterFusionTest, LeavesWhatOthersSee) {
  Build(/*factor_first=*/false, /*product_is_seen=*/true);
  ASSERT_TRUE(Fuse().ok());
  EXPECT_EQ(graph_.node(scatter_)->op(), "ResourceScatterSub");
}

}  // namespace
}  // namespace weir
