// Attention on GPUs: kernels for every type and the host agree, and with what products and a softmax give.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

struct Case {
  int64_t batch, queries, keys, heads, size;
  bool causal;
};

const Case kCases[] = {{1, 64, 64, 1, 64, false}, {2, 100, 100, 2, 32, true}, {1, 130, 130, 2, 64, true},
                       {1, 5, 70, 3, 16, false},  {1, 33, 20, 1, 128, true},  {1, 6, 7, 2, 5, true},
                       {1, 20, 150, 1, 128, true}};

class GpuAttention : public testing::TestWithParam<DType> {};

// Wide enough for 16 bits: weights and outputs are rounded to them.
double Tolerance(DType dtype) { return dtype == DType::kFloat ? 2e-3 : dtype == DType::kHalf ? 8e-3 : 5e-2; }

// The op and its gradient, perhaps with a mask.
void ExpectMaskedAgree(std::vector<Tensor> inputs, std::optional<Tensor> mask, Attrs attrs, double slack = 1) {
  const double tolerance = slack * Tolerance(inputs[0].dtype());
  attrs.emplace_back("masks", int64_t{mask.has_value()});
  if (mask) attrs.emplace_back("M", mask->dtype());
  std::vector<Tensor> forward = inputs, backward = inputs;
  if (mask) forward.push_back(*mask);
  ExpectAgree("_Attention", forward, attrs, tolerance);
  auto out = RunOn("/device:CPU:0", "_Attention", forward, attrs);
  ASSERT_TRUE(out.ok()) << out.status();
  const Shape& shape = inputs[0].shape();
  backward.insert(backward.end(),
                  {(*out)[0], (*out)[1], Random(inputs[0].dtype(), {shape.dims().begin(), shape.dims().end()}, 4)});
  if (mask) backward.push_back(*mask);
  ExpectAgree("_AttentionGrad", backward, attrs, 4 * tolerance);
}

TEST_P(GpuAttention, AgreesWithTheHost) {
  for (const Case& c : kCases) {
    const std::vector<int64_t> q = {c.batch, c.queries, c.heads, c.size}, k = {c.batch, c.keys, c.heads, c.size};
    const Tensor query = Random(GetParam(), q, 1), key = Random(GetParam(), k, 2), value = Random(GetParam(), k, 3);
    const Attrs attrs = {{"causal", c.causal}, {"scale", 0.2f}};
    ExpectAgree("_Attention", {query, key, value}, attrs, Tolerance(GetParam()));
    auto forward = RunOn("/device:CPU:0", "_Attention", {query, key, value}, attrs);
    ASSERT_TRUE(forward.ok()) << forward.status();
    ExpectAgree("_AttentionGrad", {query, key, value, (*forward)[0], (*forward)[1], Random(GetParam(), q, 4)}, attrs,
                4 * Tolerance(GetParam()));
  }
}

class GpuLongAttention : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, GpuLongAttention, testing::Values(DType::kHalf, DType::kBFloat16),
                         [](const auto& info) { return std::string(Name(info.param)); });

// Sequences that are worth a plan of cuDNN's.
TEST_P(GpuLongAttention, AgreesWithTheHost) {
  for (const Case& c : {Case{1, 256, 256, 8, 64, true}, Case{1, 136, 384, 11, 64, false}}) {
    auto dims = [&](int64_t times) {
      return c.causal ? std::vector<int64_t>{c.batch, c.heads, times, c.size}
                      : std::vector<int64_t>{c.batch, times, c.heads, c.size};
    };
    ExpectMaskedAgree({Random(GetParam(), dims(c.queries), 1), Random(GetParam(), dims(c.keys), 2),
                       Random(GetParam(), dims(c.keys), 3)},
                      {}, {{"causal", c.causal}, {"heads_first", c.causal}});
  }
}

TEST_P(GpuAttention, HeadsMayComeFirst) {
  for (const Case& c : {kCases[1], kCases[3], kCases[5]}) {
    const std::vector<int64_t> q = {c.batch, c.heads, c.queries, c.size}, k = {c.batch, c.heads, c.keys, c.size};
    ExpectMaskedAgree({Random(GetParam(), q, 1), Random(GetParam(), k, 2), Random(GetParam(), k, 3)}, {},
                      {{"causal", c.causal}, {"heads_first", true}});
  }
}

TEST_P(GpuAttention, MasksAgreeWithTheHost) {
  for (const Case& c : {kCases[1], kCases[3], kCases[5], kCases[6]}) {
    const std::vector<int64_t> q = {c.batch, c.queries, c.heads, c.size}, k = {c.batch, c.keys, c.heads, c.size};
    const std::vector<Tensor> inputs = {Random(GetParam(), q, 1), Random(GetParam(), k, 2), Random(GetParam(), k, 3)};
    ExpectMaskedAgree(inputs, Random(DType::kBool, {c.batch, 1, 1, c.keys}, 4), {{"causal", c.causal}});
    ExpectMaskedAgree(inputs, Random(DType::kFloat, {1, c.heads, c.queries, c.keys}, 5), {{"causal", c.causal}});
    ExpectMaskedAgree(inputs, Random(GetParam(), {c.batch, 1, c.queries, 1}, 6), {{"causal", c.causal}});
  }
}

// Queries that see no key look at all alike; those of which all is minus infinity have no result.
TEST_P(GpuAttention, QueriesWithoutKeysAgreeWithTheHost) {
  const std::vector<int64_t> dims = {1, 6, 2, 16};
  const std::vector<Tensor> inputs = {Random(GetParam(), dims, 1), Random(GetParam(), dims, 2),
                                      Random(GetParam(), dims, 3)};
  Tensor seen = Random(DType::kBool, {1, 1, 6, 6}, 4), low = Random(DType::kFloat, {1, 1, 6, 6}, 4);
  for (int64_t i = 6; i < 12; ++i) seen.data<bool>()[i] = false;
  for (float lowest : {-1e9f, -std::numeric_limits<float>::max(), -INFINITY}) {
    for (int64_t i = 6; i < 12; ++i) low.data<float>()[i] = lowest;
    ExpectMaskedAgree(inputs, low, {}, 2);
  }
  ExpectMaskedAgree(inputs, seen, {{"mask_value", -1e9f}}, 2);
}

INSTANTIATE_TEST_SUITE_P(Types, GpuAttention, testing::Values(DType::kFloat, DType::kHalf, DType::kBFloat16),
                         [](const auto& info) { return std::string(Name(info.param)); });

// Other tests forbid TensorFloat-32.
class GpuTensorFloatAttention : public testing::Test {
 protected:
  GpuTensorFloatAttention() { AllowTensorFloat32(true); }
  ~GpuTensorFloatAttention() override { AllowTensorFloat32(false); }
};

TEST_F(GpuTensorFloatAttention, AgreesWithTheHost) {
  for (const Case& c : {kCases[0], kCases[1], kCases[2], kCases[3], Case{1, 20, 70, 1, 48, true}}) {
    const std::vector<int64_t> q = {c.batch, c.queries, c.heads, c.size}, k = {c.batch, c.keys, c.heads, c.size};
    ExpectMaskedAgree({Random(DType::kFloat, q, 1), Random(DType::kFloat, k, 2), Random(DType::kFloat, k, 3)}, {},
                      {{"causal", c.causal}, {"scale", 0.2f}}, 2);
  }
}

TEST_F(GpuTensorFloatAttention, MasksAgreeWithTheHost) {
  const Case& c = kCases[1];
  const std::vector<int64_t> dims = {c.batch, c.heads, c.queries, c.size};
  const std::vector<Tensor> inputs = {Random(DType::kFloat, dims, 1), Random(DType::kFloat, dims, 2),
                                      Random(DType::kFloat, dims, 3)};
  const Attrs attrs = {{"causal", c.causal}, {"heads_first", true}};
  ExpectMaskedAgree(inputs, Random(DType::kBool, {c.batch, 1, 1, c.keys}, 4), attrs, 2);
  ExpectMaskedAgree(inputs, Random(DType::kFloat, {1, c.heads, c.queries, c.keys}, 5), attrs, 2);
}

TEST(GpuAttentionOp, EmptyAndUnfitInputsAreHandledAsOnTheHost) {
  const Tensor none = Random(DType::kFloat, {0, 4, 2, 16}, 1), some = Random(DType::kFloat, {2, 4, 2, 16}, 2);
  ExpectAgree("_Attention", {none, none, none}, {});
  ExpectAgree("_Attention", {some, some, none}, {});
  ExpectAgree("_Attention", {some, Random(DType::kFloat, {2, 4, 3, 16}, 3), some}, {});
  ExpectAgree("_Attention", {Random(DType::kFloat, {2, 4}, 3), some, some}, {});
  for (const std::vector<int64_t>& mask : std::vector<std::vector<int64_t>>{{4, 4}, {2, 2, 4, 3}, {3, 1, 1, 1}}) {
    ExpectAgree("_Attention", {some, some, some, Random(DType::kBool, mask, 4)}, {{"masks", int64_t{1}}});
  }
}

// A layer in bfloat16 and its gradient, written out: one operation each, also by mixed precision.
TEST(GpuAttentionOp, WrittenOutBecomesOneOperation) {
  for (bool mixed : {false, true}) {
    SCOPED_TRACE(mixed);
    const DType dtype = mixed ? DType::kFloat : DType::kBFloat16;
    Scope root = Scope::NewRoot(GpuEnvironment());
    std::vector<Output> inputs, heads;
    for (uint32_t i = 0; i < 3; ++i) {
      inputs.push_back(ops::Placeholder(root, dtype, {.shape = {2, 40, 3, 16}}));
      heads.push_back(ops::Transpose(root, inputs[i], Tensor::Vector<int32_t>({0, 2, 1, 3})));
    }
    Tensor mask = Tensor::Zeros(DType::kFloat, {40, 40}).value();
    for (int64_t i = 0; i < 1600; ++i) mask.data<float>()[i] = i % 40 > i / 40 ? -1e9f : 0;
    Output scores = ops::Cast(root, ops::BatchMatMulV2(root, heads[0], heads[1], {.adj_y = true}), DType::kFloat);
    scores = ops::AddV2(root, ops::Mul(root, scores, 0.25f), mask);
    Output weights = ops::Cast(root, ops::Softmax(root, scores), dtype);
    Output out =
        ops::Transpose(root, ops::BatchMatMulV2(root, weights, heads[2]), Tensor::Vector<int32_t>({0, 2, 1, 3}));
    std::vector<Output> fetches = {out};
    const std::vector<Output> gradients =
        ops::Gradients(root, {ops::L2Loss(root, ops::Cast(root, out, DType::kFloat))}, inputs);
    fetches.insert(fetches.end(), gradients.begin(), gradients.end());
    std::vector<Feed> feeds;
    for (uint32_t i = 0; i < 3; ++i) feeds.emplace_back(inputs[i].name(), Random(dtype, {2, 40, 3, 16}, i));
    std::vector<std::string> names;
    for (const Output& fetch : fetches) names.push_back(fetch.name());
    std::vector<Tensor> results[2];
    for (bool fuse : {false, true}) {
      SessionOptions options;
      options.rewrites.disable_all = !fuse;
      if (mixed && fuse) options.mixed_precision = DType::kBFloat16;
      auto session = ClientSession::Create(root, options);
      ASSERT_TRUE(session.ok()) << session.status();
      ASSERT_TRUE((*session)->session().Extend(root.graph()).ok());
      StepOptions step;
      step.trace = TraceLevel::kFull;
      StepReport report;
      const Status status = (*session)->session().Run(step, feeds, names, {}, &results[fuse], &report);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(CountRuns(report, "_Attention"), fuse);
      EXPECT_EQ(CountRuns(report, "_AttentionGrad"), fuse);
      EXPECT_EQ(CountRuns(report, "Softmax"), !fuse);
      if (fuse) {
        EXPECT_EQ(CountRuns(report, "Transpose"), 0);
      }
    }
    for (size_t i = 0; i < fetches.size(); ++i) ExpectTensorNear(results[1][i], results[0][i], 6e-2, 6e-2);
  }
}

// The layer of the C++ client, whose batch is not known before the step, and its training in mixed precision.
TEST(GpuAttentionOp, TheLayerBecomesOneOperation) {
  Scope root = Scope::NewRoot(GpuEnvironment());
  Output x = ops::Placeholder(root, DType::kFloat, {.shape = {-1, 24, 32}});
  SetRandomSeed(root, 5);
  nn::Context context(std::make_shared<nn::NetworkState>(nn::NetworkState{.root = root}), root, /*training=*/true);
  Output y = context(nn::MultiHeadAttention(2, 16, {.causal = true}), x);
  Output loss = ops::L2Loss(root, y);
  const Training training = optimizer::GradientDescent({.learning_rate = 1e-4}).Minimize(root, loss);
  std::vector<float> losses[2];
  for (bool fuse : {false, true}) {
    SessionOptions options;
    options.isolate_state = true;
    if (fuse) options.mixed_precision = DType::kBFloat16;
    auto session = ClientSession::Create(root, options);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE((*session)->RunTargets({InitializeVariables(root)}).ok());
    const std::string fetch = loss.name(), target = training.op.name();
    const std::vector<Feed> feeds = {{x.name(), Random(DType::kFloat, {3, 24, 32}, 5)}};
    for (int i = 0; i < 4; ++i) {
      StepOptions step;
      step.trace = TraceLevel::kFull;
      StepReport report;
      std::vector<Tensor> out;
      const Status status =
          (*session)->session().Run(step, feeds, std::span(&fetch, 1), std::span(&target, 1), &out, &report);
      ASSERT_TRUE(status.ok()) << status;
      losses[fuse].push_back(out[0].scalar<float>());
      EXPECT_EQ(CountRuns(report, "_Attention"), fuse);
      EXPECT_EQ(CountRuns(report, "_AttentionGrad"), fuse);
    }
  }
  EXPECT_LT(losses[0].back(), losses[0].front());
  for (size_t i = 0; i < losses[0].size(); ++i) EXPECT_NEAR(losses[1][i], losses[0][i], 0.03 * losses[0][i]);
}

// What the pass adds runs where the attention does.
TEST(GpuAttentionOp, WrittenOutInALoopBecomesOneOperation) {
  Scope root = Scope::NewRoot(GpuEnvironment());
  const Tensor order = Tensor::Vector<int32_t>({0, 2, 1, 3});
  Output x = ops::Placeholder(root, DType::kBFloat16, {.shape = {2, 24, 3, 16}});
  auto below = [](const Scope& scope, const std::vector<Output>& values) { return ops::Less(scope, values[0], 2); };
  auto body = [&](const Scope& scope, const std::vector<Output>& values) {
    Output turned = ops::Transpose(scope, values[1], order), keys = ops::Neg(scope, turned);
    Output scores = ops::BatchMatMulV2(scope, turned, keys, {.adj_y = true});
    Output mixed = ops::BatchMatMulV2(scope, ops::Softmax(scope, scores), turned);
    return std::vector<Output>{ops::AddV2(scope, values[0], 1), ops::Transpose(scope, mixed, order)};
  };
  const std::vector<Output> out =
      While(root, {ops::Const(root, Tensor::Scalar<int32_t>(0), DType::kInt32), x}, below, body);
  const std::string fetch = out[1].name();
  std::vector<Tensor> results[2];
  for (bool fuse : {false, true}) {
    SessionOptions options;
    options.rewrites.disable_all = !fuse;
    auto session = ClientSession::Create(root, options);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE((*session)->session().Extend(root.graph()).ok());
    const std::vector<Feed> feeds = {{x.name(), Random(DType::kBFloat16, {2, 24, 3, 16}, 3)}};
    StepOptions step;
    step.trace = TraceLevel::kFull;
    StepReport report;
    const Status status = (*session)->session().Run(step, feeds, std::span(&fetch, 1), {}, &results[fuse], &report);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(CountRuns(report, "_Attention") > 0, fuse);
    EXPECT_EQ(CountRuns(report, "Softmax") > 0, !fuse);
  }
  ExpectTensorNear(results[1][0], results[0][0], 6e-2, 6e-2);
}

}  // namespace
}  // namespace weir::gpu_testing
