// Attention on GPUs: kernels for every type and the host agree, and with what products and a softmax give.
#include <gtest/gtest.h>

#include "tests/cuda/gpu_fixture.h"
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

INSTANTIATE_TEST_SUITE_P(Types, GpuAttention, testing::Values(DType::kFloat, DType::kHalf, DType::kBFloat16),
                         [](const auto& info) { return std::string(Name(info.param)); });

TEST(GpuAttentionOp, EmptyAndUnfitInputsAreHandledAsOnTheHost) {
  const Tensor none = Random(DType::kFloat, {0, 4, 2, 16}, 1), some = Random(DType::kFloat, {2, 4, 2, 16}, 2);
  ExpectAgree("_Attention", {none, none, none}, {});
  ExpectAgree("_Attention", {some, some, none}, {});
  ExpectAgree("_Attention", {some, Random(DType::kFloat, {2, 4, 3, 16}, 3), some}, {});
  ExpectAgree("_Attention", {Random(DType::kFloat, {2, 4}, 3), some, some}, {});
}

}  // namespace
}  // namespace weir::gpu_testing
