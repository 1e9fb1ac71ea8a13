// Recomputation: what the backward pass computes again, that results stay the same to the bit, and how it is asked for.
#include "weir/passes/recompute.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "weir/client/control_flow.h"
#include "weir/client/nn/model.h"
#include "weir/proto/config.pb.h"
#include "weir/proto/graph.pb.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir {
namespace {

Tensor Wave(std::vector<int64_t> dims, float step) {
  Tensor out = Tensor::Zeros(DType::kFloat, Shape::Make(dims).value()).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    out.data<float>()[i] = std::sin(static_cast<float>(i) * step) * 0.1f;
  }
  return out;
}

int Count(const Graph& graph, std::string_view op) {
  return static_cast<int>(
      std::ranges::count_if(graph.nodes(), [&](const auto& node) { return node != nullptr && node->op() == op; }));
}

class RecomputeTest : public testing::Test {
 protected:
  Output Input(std::vector<int64_t> dims) {
    Output input = ops::Placeholder(root_, DType::kFloat, {.shape = Shape::Make(dims).value()});
    feeds_.emplace_back(input, Wave(std::move(dims), 0.3f + 0.1f * static_cast<float>(feeds_.size())));
    return input;
  }
  // The graph with the gradients of `loss`, after the pass.
  Graph Rewritten(const Output& loss, const std::vector<Output>& xs, Recomputation what) {
    if (gradients_.empty()) gradients_ = ops::Gradients(root_, {loss}, xs);
    EXPECT_TRUE(root_.status().ok()) << root_.status();
    Graph graph = root_.graph().Clone();
    RewriteContext context(&graph);
    const Status status = RecomputeActivations(context, {.what = what});
    EXPECT_TRUE(status.ok()) << status;
    context.EndPass();
    return graph;
  }
  std::vector<Tensor> Run(Recomputation what) {
    SessionOptions options;
    options.recompute.what = what;
    auto session = ClientSession::Create(root_, options);
    EXPECT_TRUE(session.ok()) << session.status();
    auto out = (*session)->Run(feeds_, gradients_);
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? *std::move(out) : std::vector<Tensor>();
  }
  void ExpectSameResults() {
    const std::vector<Tensor> expected = Run(Recomputation::kNone);
    for (Recomputation what : {Recomputation::kMarked, Recomputation::kChosen}) {
      const std::vector<Tensor> actual = Run(what);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) ExpectTensorEqual(actual[i], expected[i]);
    }
  }

  Scope root_ = Scope::NewRoot();
  ClientSession::Feeds feeds_;
  std::vector<Output> gradients_;
};

TEST_F(RecomputeTest, CheapOperationsAreChosenIfThatSavesMemory) {
  const Output x = Input({64, 64}), w = Input({64, 64}), v = Input({64, 64});
  const Output h = ops::MatMul(root_, x, w);
  // The backward pass takes the derivative of Softplus, a sigmoid, and the result of Tanh; their operand is less. A
  // rectifier's gradient takes its result alone.
  const Output bent = ops::Tanh(root_, ops::Softplus(root_, h));
  const Output rectified = ops::Relu(root_, ops::MatMul(root_, bent, v));
  const Output loss = ops::L2Loss(root_, ops::MatMul(root_, rectified, w));
  const Graph graph = Rewritten(loss, {x, w, v}, Recomputation::kChosen);
  EXPECT_EQ(Count(graph, "Softplus"), 2);
  EXPECT_EQ(Count(graph, "Tanh"), 2);
  EXPECT_EQ(Count(graph, "Sigmoid"), 1);  // in the backward pass
  EXPECT_EQ(Count(graph, "Relu"), 1);
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || node->op() != "TanhGrad") continue;
    const Node* copy = graph.node(node->inputs[0].node);
    const Node* softplus = graph.node(copy->inputs[0].node);
    const Node* gate = graph.node(softplus->inputs[0].node);
    EXPECT_EQ(gate->op(), "Identity");
    ASSERT_EQ(gate->control_inputs.size(), 1u);  // waits for a gradient from what comes after
    EXPECT_EQ(graph.node(gate->control_inputs[0])->op(), "ReluGrad");
  }
  const Graph marked = Rewritten(loss, {x, w, v}, Recomputation::kMarked);
  EXPECT_EQ(Count(marked, "Tanh"), 1);
  ExpectSameResults();
}

TEST_F(RecomputeTest, SmallTensorsAreKept) {
  const Output x = Input({4, 8}), w = Input({8, 8});
  const Output bent = ops::Tanh(root_, ops::Softplus(root_, ops::MatMul(root_, x, w)));
  const Graph graph = Rewritten(ops::L2Loss(root_, ops::MatMul(root_, bent, w)), {x, w}, Recomputation::kChosen);
  EXPECT_EQ(Count(graph, "Tanh"), 1);
}

TEST_F(RecomputeTest, OfMarkedBlocksOnlyWhatFlowsInIsKept) {
  Output x = Input({16, 32});
  const Output w = Input({32, 32});
  for (int block = 0; block < 3; ++block) {
    const Scope inside = root_.WithRecomputation();
    Output hidden = ops::Sigmoid(inside, ops::MatMul(inside, x, w));
    x = ops::Tanh(inside, ops::MatMul(inside, hidden, w));
  }
  const Graph graph = Rewritten(ops::L2Loss(root_, x), {w}, Recomputation::kMarked);
  EXPECT_EQ(Count(graph, "Sigmoid"), 6);
  // The results of the first two blocks flow into the next ones, and the gradient takes that of the last at once.
  EXPECT_EQ(Count(graph, "Tanh"), 3);
  EXPECT_TRUE(std::ranges::none_of(graph.nodes(), [](const auto& node) {
    return node != nullptr && node->name.starts_with("gradients") && node->attrs.Find(kRecomputeHint) != nullptr;
  }));
  ExpectSameResults();
}

TEST_F(RecomputeTest, RandomNumbersAreDrawnOnce) {
  const Output x = Input({32, 64}), w = Input({64, 64});
  const Scope inside = root_.WithRecomputation();
  const Output noise =
      ops::RandomUniform(inside, Tensor::Vector<int32_t>({32, 64}), DType::kFloat, {.seed = 7, .seed2 = 8});
  const Output masked = ops::Mul(inside, ops::Sigmoid(inside, ops::MatMul(inside, x, w)), noise);
  const Graph graph =
      Rewritten(ops::L2Loss(root_, ops::Tanh(root_, ops::MatMul(root_, masked, w))), {x, w}, Recomputation::kMarked);
  EXPECT_EQ(Count(graph, "RandomUniform"), 1);
  EXPECT_EQ(Count(graph, "Sigmoid"), 2);
  ExpectSameResults();
}

TEST_F(RecomputeTest, LoopsAndBranchesKeepWhatTheyHave) {
  const Output x = Input({64, 64}), w = Input({64, 64});
  const Scope inside = root_.WithRecomputation();
  const Output bent = ops::Tanh(inside, ops::Softplus(inside, ops::MatMul(inside, x, w)));
  const Output is_large = ops::Greater(root_, ops::L2Loss(root_, bent), Constant(root_, Tensor::Scalar(0.5f)));
  const std::vector<Output> chosen = Cond(
      root_, is_large,
      [&](const Scope& scope) {
        return std::vector<Output>{ops::Tanh(scope, ops::Softplus(scope, ops::MatMul(scope, bent, w)))};
      },
      [&](const Scope& scope) { return std::vector<Output>{ops::Mul(scope, bent, w)}; });
  Rewritten(ops::L2Loss(root_, chosen[0]), {x, w}, Recomputation::kChosen);
  ExpectSameResults();
}

TEST_F(RecomputeTest, SessionsThatRewriteNothingRecomputeNothing) {
  const Output x = Input({64, 64}), w = Input({64, 64});
  const Output bent = ops::Tanh(root_, ops::Softplus(root_, ops::MatMul(root_, x, w)));
  gradients_ = ops::Gradients(root_, {ops::L2Loss(root_, ops::MatMul(root_, bent, w))}, {x, w});
  auto count = [&](bool disable_all) {
    SessionOptions options;
    options.recompute.what = Recomputation::kChosen;
    options.rewrites.disable_all = disable_all;
    options.rewrites.fusion = Toggle::kOff;
    auto session = Session::Create(root_.environment(), options);
    EXPECT_TRUE(session.ok() && (*session)->Extend(root_.graph()).ok());
    StepOptions step;
    step.partition_graphs = true;
    std::vector<Feed> feeds;
    for (const auto& [input, value] : feeds_) feeds.emplace_back(input.name(), value);
    std::vector<std::string> names = {gradients_[0].name(), gradients_[1].name()};
    std::vector<Tensor> out;
    StepReport report;
    const Status status = (*session)->Run(step, feeds, names, {}, &out, &report);
    EXPECT_TRUE(status.ok()) << status;
    int softplus = 0;
    for (const std::string& bytes : report.partition_graphs) {
      GraphDef def;
      EXPECT_TRUE(def.ParseFromString(bytes));
      softplus += static_cast<int>(std::ranges::count(def.node(), "Softplus", [](const NodeDef& n) { return n.op(); }));
    }
    return softplus;
  };
  EXPECT_EQ(count(false), 2);
  EXPECT_EQ(count(true), 1);
}

TEST(RecomputeConfig, IsTensorFlowsMemoryOptimization) {
  ConfigProto config;
  RewriterConfig* rewrites = config.mutable_graph_options()->mutable_rewrite_options();
  const std::pair<RewriterConfig::MemOptType, Recomputation> cases[] = {
      {RewriterConfig::DEFAULT_MEM_OPT, Recomputation::kNone},
      {RewriterConfig::NO_MEM_OPT, Recomputation::kNone},
      {RewriterConfig::MANUAL, Recomputation::kMarked},
      {RewriterConfig::SWAPPING_HEURISTICS, Recomputation::kNone},
      {RewriterConfig::RECOMPUTATION_HEURISTICS, Recomputation::kChosen},
      {RewriterConfig::HEURISTICS, Recomputation::kChosen}};
  for (const auto& [mode, expected] : cases) {
    rewrites->set_memory_optimization(mode);
    auto options = SessionOptions::FromConfig(config, {});
    ASSERT_TRUE(options.ok());
    EXPECT_EQ(options->recompute.what, expected) << mode;
    ConfigProto written;
    options->ToConfig(&written);
    EXPECT_EQ(SessionOptions::FromConfig(written, {})->recompute.what, expected);
  }
  rewrites->set_memory_optimizer_target_node_name_scope("backward/");
  EXPECT_EQ(SessionOptions::FromConfig(config, {})->recompute.gradient_scope, "backward/");
}

TEST(RecomputeModel, TrainsAsWithoutIt) {
  const Tensor images = Wave({32, 12, 12, 4}, 0.7f);
  Tensor labels = Tensor::Zeros(DType::kInt64, Shape({32})).value();
  for (int64_t i = 0; i < 32; ++i) labels.data<int64_t>()[i] = i % 3;
  std::vector<double> expected;
  for (const char* recompute : {"none", "marked", "chosen"}) {
    auto block = [](int64_t filters) {
      return nn::Recomputed(
          nn::Sequential({nn::Conv2D(filters, 3, {.padding = "same"}), nn::BatchNorm(), nn::Activate("relu")}));
    };
    nn::Model model(nn::Sequential({block(8), block(8), nn::Flatten(), nn::Dense(3)}), {{12, 12, 4}}, 5);
    Status status = model.Compile({.optimizer = optimizer::Adam({.learning_rate = 0.01}),
                                   .loss = loss::SparseCategoricalCrossentropy(),
                                   .recompute = recompute});
    ASSERT_TRUE(status.ok()) << status;
    std::vector<double> losses;
    for (int step = 0; step < 4; ++step) {
      auto logs = model.TrainOnBatch({.inputs = {images}, .labels = labels});
      ASSERT_TRUE(logs.ok()) << logs.status();
      ASSERT_EQ((*logs)[0].first, "loss");
      losses.push_back((*logs)[0].second);
    }
    if (expected.empty()) expected = losses;
    EXPECT_EQ(losses, expected) << recompute;
  }
  nn::Model model(nn::Dense(2), {{3}});
  EXPECT_EQ(model.Compile({.loss = loss::MeanSquaredError(), .recompute = "all"}).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir
