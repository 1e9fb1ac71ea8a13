// Reference variables in a GPU's memory.
#include <gtest/gtest.h>

#include "tests/cuda/gpu_fixture.h"
#include "weir/testing/tensor_matchers.h"
#include "weir/weir.h"

namespace weir::gpu_testing {
namespace {

TEST(GpuRefVariables, AreAssignedAndUpdatedAsOnTheHost) {
  std::vector<std::vector<Tensor>> results;
  for (const char* device : {"/device:CPU:0", "/device:GPU:0"}) {
    Scope root = Scope::NewRoot(GpuEnvironment()).WithDevice(device);
    Output variable = ops::VariableV2(root, PartialShape({3, 2}), DType::kFloat);
    Output set = ops::Assign(root, variable, Random(DType::kFloat, {3, 2}));
    Output add = ops::AssignAdd(root, variable, Random(DType::kFloat, {3, 2}, 2));
    Output sub = ops::AssignSub(root, variable, Random(DType::kFloat, {3, 2}, 3));
    const Tensor rows = Tensor::Vector<int32_t>({2, 0, 2});
    Output scatter = ops::ScatterAdd(root, variable, rows, Random(DType::kFloat, {3, 2}, 4));
    const Tensor places = rows.Reshaped(Shape({3, 1})).value();
    Output slices = ops::ScatterNdUpdate(root, variable, places, Random(DType::kFloat, {3, 2}, 5));
    const Tensor one = Tensor::Vector<int32_t>({1}), two = Tensor::Vector<int32_t>({2});
    Output slice = ops::StridedSliceAssign(root, variable, one, two, one, Random(DType::kFloat, {1, 2}, 6));
    Output step = ops::ApplyGradientDescent(root, variable, Tensor::Scalar(0.5f), Random(DType::kFloat, {3, 2}, 7));
    Output doubled = ops::AddV2(root, variable, variable);
    Output is_set = ops::IsVariableInitialized(root, variable);
    auto session = ClientSession::Create(root);
    ASSERT_TRUE(session.ok()) << session.status();
    std::vector<Tensor>& mine = results.emplace_back();
    for (const Output& each : {is_set, set, add, sub, scatter, slices, slice, step, doubled, is_set}) {
      auto out = (*session)->Run({each});
      ASSERT_TRUE(out.ok()) << out.status();
      mine.push_back((*out)[0]);
    }
  }
  for (size_t i = 0; i < results[0].size(); ++i) {
    SCOPED_TRACE(i);
    if (results[0][i].dtype() == DType::kBool) {
      ExpectTensorEqual(results[1][i], results[0][i]);
    } else {
      ExpectTensorNear(results[1][i], results[0][i], 1e-6, 1e-6);
    }
  }
}

TEST(GpuRefVariables, TemporaryOnesLiveOnTheGpu) {
  Scope root = Scope::NewRoot(GpuEnvironment()).WithDevice("/device:GPU:0");
  Output memory = ops::TemporaryVariable(root, PartialShape({2}), DType::kFloat, {.var_name = "t"});
  Output set = ops::Assign(root, memory, Tensor::Vector<float>({1, 2}));
  Output added = ops::AssignAdd(root, set, Tensor::Vector<float>({10, 20}));
  Output value = ops::DestroyTemporaryVariable(root, added, "t");
  auto session = ClientSession::Create(root);
  ASSERT_TRUE(session.ok()) << session.status();
  auto out = (*session)->Run({value});
  ASSERT_TRUE(out.ok()) << out.status();
  ExpectTensorEqual((*out)[0], Tensor::Vector<float>({11, 22}));
}

}  // namespace
}  // namespace weir::gpu_testing
