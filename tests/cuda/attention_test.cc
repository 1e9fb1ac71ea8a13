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

}  // namespace
}  // namespace weir::gpu_testing
