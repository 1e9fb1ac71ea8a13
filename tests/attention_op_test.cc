// _Attention on the host: what two products and a softmax give, and its gradient.
#include <gtest/gtest.h>

#include <cmath>

#include "weir/client/op_call.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir {
namespace {

Tensor Wave(std::vector<int64_t> dims, double step) {
  Tensor out = Tensor::Allocate(DType::kFloat, Shape::Make(dims).value()).value();
  for (int64_t i = 0; i < out.num_elements(); ++i) out.data<float>()[i] = std::sin(step * static_cast<double>(i));
  return out;
}

// The op, or the same of other ops, with the gradients of the sum of squares.
StatusOr<std::vector<Tensor>> Attend(bool as_one, bool causal) {
  Scope root = Scope::NewRoot();
  const int64_t steps = 5, heads = 2, size = 3;
  const std::vector<int64_t> dims = {2, steps, heads, size};
  std::vector<Output> inputs;
  for (double step : {0.7, 1.1, 1.7}) inputs.push_back(ops::Const(root, Wave(dims, step), DType::kFloat));
  Output out;
  if (as_one) {
    out = OpCall(root, "_Attention")
              .Add(inputs[0])
              .Add(inputs[1])
              .Add(inputs[2])
              .Add(InputList(std::vector<Output>()))
              .Set("causal", causal)
              .One(0);
  } else {
    Output q = ops::Transpose(root, inputs[0], Tensor::Vector<int32_t>({0, 2, 1, 3}));
    Output k = ops::Transpose(root, inputs[1], Tensor::Vector<int32_t>({0, 2, 1, 3}));
    Output v = ops::Transpose(root, inputs[2], Tensor::Vector<int32_t>({0, 2, 1, 3}));
    Tensor mask = Tensor::Zeros(DType::kFloat, {steps, steps}).value();
    for (int64_t i = 0; i < steps && causal; ++i) {
      for (int64_t j = i + 1; j < steps; ++j) mask.data<float>()[i * steps + j] = -1e9f;
    }
    Output scores = ops::BatchMatMulV2(root, q, k, {.adj_y = true});
    scores = ops::AddV2(root, ops::Mul(root, scores, 1 / std::sqrt(3.0f)), mask);
    out = ops::Transpose(root, ops::BatchMatMulV2(root, ops::Softmax(root, scores), v),
                         Tensor::Vector<int32_t>({0, 2, 1, 3}));
  }
  std::vector<Output> fetches = {out};
  const std::vector<Output> gradients = ops::Gradients(root, {ops::L2Loss(root, out)}, inputs);
  fetches.insert(fetches.end(), gradients.begin(), gradients.end());
  WEIR_ASSIGN_OR_RETURN(auto session, ClientSession::Create(root));
  return session->Run(fetches);
}

TEST(Attention, IsTwoProductsAndASoftmax) {
  for (bool causal : {false, true}) {
    auto one = Attend(true, causal), several = Attend(false, causal);
    ASSERT_TRUE(one.ok()) << one.status();
    ASSERT_TRUE(several.ok()) << several.status();
    for (size_t i = 0; i < one->size(); ++i) {
      SCOPED_TRACE(i);
      ExpectTensorNear((*one)[i], (*several)[i], 1e-5, 1e-5);
    }
  }
}

}  // namespace
}  // namespace weir
